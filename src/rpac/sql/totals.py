"""Sums, counts and extremes over all worlds at once, from one aggregate a (group, unit)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpac._base.types import Bools, Floats, Ints

_BLOCK = 1 << 17
"""Entries of the world matrix that are held as floats at a time: as many as a cache holds."""
_FEW = 64
"""Cells that are looked at together for a least value."""
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


def ranked(groups: Ints, values: Floats, size: int) -> list[Ints]:
    """Return the cells of every group, the least value first; cells without one are left out."""
    order = np.lexsort((values, groups))
    order = order[~np.isnan(values[order])]
    return [order[cells] for _, cells in _slices(groups[order], size)]


def extremes(ranks: list[Ints], units: Ints, values: Floats, members: Bools) -> Floats:
    """Return the least value over the units of every world, (m, groups); NaN where there is none.

    Args:
        ranks: Cells of every group by rising value, from `ranked`.
        units: (n,) unit of every cell.
        values: (n,) value of every cell.
        members: (units, m) who is in which world.
    """
    out = np.full((len(ranks), members.shape[1]), np.nan)
    for g, order in enumerate(ranks):
        left = np.ones(members.shape[1], bool)
        for start in range(0, len(order), _FEW):  # mostly decided by the first few
            if not left.any():
                break
            part = order[start : start + _FEW]
            here = members[units[part]]
            found = here.any(axis=0) & left
            out[g, found] = values[part][here[:, found].argmax(axis=0)]
            left &= ~found
    return out.T


def _slices(groups: Ints, size: int) -> Any:
    edges = np.searchsorted(groups, np.arange(size + 1))
    return [(g, slice(int(edges[g]), int(edges[g + 1]))) for g in range(size)]
