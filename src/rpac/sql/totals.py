"""Sums, counts and extremes over all worlds at once, from one aggregate a (group, unit)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpac._base.types import Bools, Floats, Ints

_BLOCK = 1 << 22
"""Entries of the world matrix that are held as floats at a time."""
_LEAST = -900
"""Exponent below which a grid would leave the numbers of float64."""


def on_grid(groups: Ints, values: Floats, size: int) -> Floats:
    """Return values rounded, group by group, to a grid on which float64 adds them up exactly.

    So a world's sum is the same to the last bit in whatever order it is added, beside whatever
    other worlds, on whatever machine. Whole numbers below 2^52 in sum stay as they are.

    Args:
        groups: (n,) rising group of every cell.
        values: (n, k) what is to be added up.
        size: Number of groups.
    """
    most = np.zeros((size, values.shape[1]))
    for g, cells in _slices(groups, size):
        most[g] = np.abs(values[cells]).sum(axis=0)
    exponent = np.maximum(np.frexp(most)[1], _LEAST)
    step = np.ldexp(1.0, exponent - 52)[groups]
    return np.asarray(np.rint(values / step) * step)


def totals(groups: Ints, units: Ints, values: Floats, members: Bools, size: int) -> Floats:
    """Return sums of values over the units of every world, (m, size, k).

    Args:
        groups: (n,) rising group of every cell.
        units: (n,) unit of every cell.
        values: (n, k) what the unit adds to the group.
        members: (units, m) who is in which world.
        size: Number of groups.
    """
    out = np.zeros((size, values.shape[1], members.shape[1]))
    step = max(1, _BLOCK // max(1, members.shape[1]))
    for g, cells in _slices(groups, size):
        for start in range(cells.start, cells.stop, step):
            part = slice(start, min(start + step, cells.stop))
            out[g] += values[part].T @ members[units[part]].astype(np.float64)
    return np.moveaxis(out, 2, 0)


def extremes(groups: Ints, units: Ints, values: Floats, members: Bools, size: int) -> Floats:
    """Return the least value over the units of every world, (m, size); NaN where there is none."""
    out = np.full((size, members.shape[1]), np.nan)
    for g, cells in _slices(groups, size):
        order = np.argsort(values[cells], kind="stable")
        order = order[: np.count_nonzero(~np.isnan(values[cells]))]
        left = np.ones(members.shape[1], bool)
        for start in range(0, len(order), 64):  # mostly decided by the first few
            if not left.any():
                break
            part = order[start : start + 64]
            here = members[units[cells][part]]
            found = here.any(axis=0) & left
            out[g, found] = values[cells][part][here[:, found].argmax(axis=0)]
            left &= ~found
    return out.T


def _slices(groups: Ints, size: int) -> Any:
    edges = np.searchsorted(groups, np.arange(size + 1))
    return [(g, slice(int(edges[g]), int(edges[g + 1]))) for g in range(size)]
