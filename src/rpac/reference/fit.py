"""Propose a reference for an open distribution. Untrusted: a poor one costs tightness only."""

from __future__ import annotations

import numpy as np

from rpac._types import Floats, Ints
from rpac.leakage import grid_kernel, open_bound
from rpac.noise.grid import GridNoise
from rpac.reference.gaussian import GaussianReference
from rpac.reference.table import TableReference, convolve

_FLOORS = (0.5, 0.1, 0.02, 0.004)
_MOST_CELLS = 1 << 22

Box = tuple[Ints, Ints]


def fit_reference(
    codes: Ints, noise: GridNoise, box: Box, delta: float
) -> GaussianReference | TableReference:
    """Return the reference that judged best on a part of these draws, refitted on all of them."""
    half = len(codes) // 2
    cells = [int(h - low) + axis.dense.size for low, h, axis in zip(*box, noise.axes, strict=True)]
    floors = _FLOORS if max(cells) <= _MOST_CELLS else ()

    def judged(reference: GaussianReference | TableReference) -> float:
        return open_bound(codes[half:], noise, reference, box, delta)

    least = judged(_gaussian(codes[:half], noise))
    chosen = None
    parts = _smoothed(codes[:half], noise, box) if floors else []
    for floor in floors:
        bound = judged(_tables(parts, noise, box, floor))
        if bound < least:
            chosen, least = floor, bound
    if chosen is None:
        return _gaussian(codes, noise)
    return _tables(_smoothed(codes, noise, box), noise, box, chosen)


def _gaussian(codes: Ints, noise: GridNoise) -> GaussianReference:
    points = codes / noise.scales
    cov = np.atleast_2d(np.cov(points, rowvar=False)) + np.diag(grid_kernel(noise.laws).variances)
    return GaussianReference(points.mean(axis=0), cov)


def _smoothed(codes: Ints, noise: GridNoise, box: Box) -> list[tuple[Floats, Floats]]:
    """Return for each axis the draws smoothed with the noise itself, and a floor wider than it."""
    parts = []
    for c, axis in enumerate(noise.axes):
        here, last = codes[:, c] - box[0][c], int(box[1][c] - box[0][c])
        law = convolve(np.bincount(here, minlength=last + 1) / here.size, axis.dense)
        y = np.arange(law.size) + axis.offsets[0]
        spread = float(here.var()) + float(axis.cov[0, 0]) / axis.step**2
        wide = np.exp(-0.5 * np.square(y - here.mean()) / spread)
        parts.append((np.maximum(law, 0), 0.9 * wide / wide.sum() + 0.1 / law.size))
    return parts


def _tables(
    parts: list[tuple[Floats, Floats]], noise: GridNoise, box: Box, floor: float
) -> TableReference:
    lows = [int(low + axis.offsets[0]) for low, axis in zip(box[0], noise.axes, strict=True)]
    return TableReference(lows, [(1 - floor) * law + floor * wide for law, wide in parts])
