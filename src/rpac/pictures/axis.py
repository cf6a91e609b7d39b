"""What settles the axis of released numbers: one rule for every picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BEYOND = "arrows: goes on beyond the axis, too noisy to publish"
"""What is said below an axis that some numbers leave."""


def settling(numbers: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return values and ends that an axis has to hold.

    Numbers that are "noisy" do not settle it: one of them would press all others together. Where
    all are, all do.

    Args:
        numbers: Each with "value", "noise" and "sampling" ends if it has them, and maybe "noisy".

    >>> settling([{"value": 3, "noise": (2, 4)}, {"value": 0, "noise": (-99, 99), "noisy": True}])
    [3, 2, 4]
    """
    usable = [one for one in numbers if not one.get("noisy")] or numbers
    return [
        x
        for one in usable
        for x in (one["value"], *(one.get("noise") or ()), *(one.get("sampling") or ()))
    ]
