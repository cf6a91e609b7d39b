"""Several questions about one world as one: their outputs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats
from rpac.worlds.flatten import Form
from rpac.worlds.outputs import Outputs


def stacked(parts: Sequence[Outputs]) -> Outputs:
    """Return the outputs of several questions as one; its answer is the list of theirs."""
    alike = all(
        part.exact and part.kind != "label" and np.array_equal(part.weights, parts[0].weights)
        for part in parts
    )
    if not parts or not alike:
        raise refuse(
            "numeric outputs of several questions on the same finite worlds",
            parts or "none",
            "Simulate them all on one source; ask labels alone.",
        )
    ends = np.cumsum([part.dim for part in parts])[:-1]

    def rebuild(values: Floats) -> list[Any]:
        return [part.rebuild(own) for part, own in zip(parts, np.split(values, ends), strict=True)]

    return Outputs(
        np.concatenate([part.values for part in parts], axis=1),
        parts[0].weights,
        kind="real",
        statement=parts[0].statement,
        masks=parts[0].members,
        halves=parts[0].halves,
        form=Form("batch", (), whole=False, rebuild=rebuild,
                  scale=np.concatenate([part.scale for part in parts])),
    )  # fmt: skip
