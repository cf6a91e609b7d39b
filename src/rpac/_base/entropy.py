"""Shannon entropy, and the rounding that sums of float64 terms are forgiven."""

from __future__ import annotations

import numpy as np

from rpac._base.types import Floats

ROUNDING = 4e-13
"""Added to sums of float64 terms (per axis for determinants), so that rounding never lowers one."""


def entropy(weights: Floats) -> float:
    """Return the entropy of positive weights, in nats."""
    return float(-(weights @ np.log(weights)))
