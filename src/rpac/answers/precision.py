"""How noisy a number is, beside its own size, with a plain word: from what was released alone."""

from __future__ import annotations

import math
from typing import Any

from rpac._base.types import Json
from rpac.pictures.text import rounded_up

CAUTION, TOO_NOISY = 0.33, 0.65
"""Relative errors (half a 95 % interval over the number) from which there is a word: two and four
times 16.5 % of standard error, as official statistics have it (Statistics Canada)."""
_BEYOND = 10.0
SIGN = "+-"
"""What stands before a relative error in plain text; pages have one letter for it."""


def relative(value: Any, ends: Any) -> float | None:
    """Return how far off a number may be, in shares of itself; None where that is not known.

    Args:
        value: What was released.
        ends: (low, high) of its noise interval; infinite ones may be text, as in JSON.

    >>> relative(200, (150, 240)), relative(0, (-8, 8)), relative("a", None)
    (0.25, inf, None)
    >>> relative(200, ("-inf", "inf"))
    inf
    """
    parts = [value, *(ends or ())]
    if [str(end) for end in parts[1:]] == ["-inf", "inf"]:
        return math.inf
    if len(parts) != 3 or not all(isinstance(x, int | float) and math.isfinite(x) for x in parts):
        return None
    off = max(value - ends[0], ends[1] - value)
    if off <= 0:
        return 0.0
    return off / abs(value) if value else math.inf


def too_noisy(cell: Json) -> bool:
    """Whether a number of an answer's rows is too noisy to publish."""
    share = relative(cell.get("value"), cell.get("noise"))
    return share is not None and share > TOO_NOISY


def marked(rows: list[Json]) -> list[Json]:
    """Return an answer's rows for a picture: numbers that are too noisy to publish are "noisy"."""
    return [
        {
            name: cell | {"noisy": too_noisy(cell)} if isinstance(cell, dict) else cell
            for name, cell in row.items()
        }
        for row in rows
    ]


def in_words(share: float | None, sign: str = SIGN) -> str:
    """Return a relative error with its word; nothing where it is not known.

    >>> in_words(0.004), in_words(0.4), in_words(0.7)
    ('+-0.4 %', '+-40 %: use with caution', '+-70 %: too noisy to publish')
    """
    if share is None:
        return ""
    said = (
        f"{sign}{rounded_up(100 * share * (1 - 1e-13), 2):g} %"
        if share <= _BEYOND
        else f"beyond {sign}{100 * _BEYOND:g} %"
    )
    if share <= CAUTION:
        return said
    return f"{said}: {'use with caution' if share <= TOO_NOISY else 'too noisy to publish'}"


def of(cell: Any, sign: str = SIGN) -> str:
    """Return the relative error of a cell of an answer's rows, in words."""
    if not isinstance(cell, dict):
        return ""
    return in_words(relative(cell.get("value"), cell.get("noise")), sign)
