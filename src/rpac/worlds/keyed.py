"""Worlds by keyed bits: who is in which world is a hash of the unit's own id, and of nothing else.

The bits of md5("seed:block:id") are a unit's membership in 128 complementary pairs of worlds (the
next block: in the next 128). Every unit is in exactly half of the worlds; adding or removing a
person changes nobody else's membership; and every database computes the same bits, so that nothing
but sums need leave it. A sample's size varies, about half of all: `scaled` takes that out of
totals.

A hash decides how evenly people are spread, never whether a certificate holds: it is computed from
the worlds as they are. So one that is fast and everywhere will do.
"""

from __future__ import annotations

from hashlib import md5
from typing import Any

import numpy as np

from rpac._base.types import Floats, Ints

BLOCK = 128
"""Pairs of worlds that one hash serves."""


def salt(seed: int, block: int) -> str:
    """Return what stands before an id in the text that is hashed.

    >>> salt(0, 1)
    '0:1:'
    """
    return f"{seed}:{block}:"


def blocks(pairs: int) -> range:
    """Return the numbers of the hashes that serve so many pairs of worlds."""
    return range(-(-pairs // BLOCK))


def keyed_bits(ids: list[str], pairs: int, seed: int) -> Any:
    """Return (ids, pairs / 8) packed bits of ids, the first pair's in the highest bit."""
    rows = [
        b"".join(
            md5(f"{salt(seed, b)}{name}".encode(), usedforsecurity=False).digest()
            for b in blocks(pairs)
        )
        for name in ids
    ]
    size = -(-pairs // 8)
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(ids), -1)[:, :size].copy()


def scaled(values: Floats, degrees: Ints, sizes: Ints, units: int) -> Floats:
    """Return totals of worlds as if each held just half of all units: Hajek's estimator.

    Args:
        values: (k, rows, measures) numbers of k worlds.
        degrees: (measures,) how they grow with the units.
        sizes: (k,) units in each world.
        units: Number of all units.
    """
    half = np.where(sizes > 0, units / (2.0 * np.maximum(sizes, 1)), 1.0)
    return np.asarray(values * half[:, None, None] ** degrees)
