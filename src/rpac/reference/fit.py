"""Propose a reference for an open distribution. Untrusted: a poor one costs tightness only."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from rpac._types import Floats, Ints
from rpac.leakage import grid_kernel, open_bound
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise
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
    proposals: list[Callable[[Ints], GaussianReference | TableReference]]
    proposals = [partial(_gaussian, noise=noise)]
    cells = [int(h - low) + axis.dense.size for low, h, axis in zip(*box, noise.axes, strict=True)]
    if max(cells) <= _MOST_CELLS:
        proposals += [partial(_tables, noise=noise, box=box, floor=f) for f in _FLOORS]
    best, least = proposals[0], math.inf
    for propose in proposals:
        bound = open_bound(codes[half:], noise, propose(codes[:half]), box, delta)
        if bound < least:
            best, least = propose, bound
    return best(codes)


def _gaussian(codes: Ints, noise: GridNoise) -> GaussianReference:
    points = codes / noise.scales
    cov = np.atleast_2d(np.cov(points, rowvar=False)) + np.diag(grid_kernel(noise).variances)
    return GaussianReference(points.mean(axis=0), cov)


def _tables(codes: Ints, noise: GridNoise, box: Box, floor: float) -> TableReference:
    """Smooth the draws with the noise itself, and mix in a floor wider than the noise."""
    lows, masses = [], []
    for c, axis in enumerate(noise.axes):
        lows.append(int(box[0][c] + axis.offsets[0]))
        masses.append(_mass(codes[:, c] - box[0][c], int(box[1][c] - box[0][c]), axis, floor))
    return TableReference(lows, masses)


def _mass(codes: Ints, last: int, axis: LatticeNoise, floor: float) -> Floats:
    law = np.maximum(convolve(np.bincount(codes, minlength=last + 1) / codes.size, axis.dense), 0)
    y = np.arange(law.size) + axis.offsets[0]
    spread = float(codes.var()) + float(axis.cov[0, 0]) / axis.step**2
    wide = np.exp(-0.5 * np.square(y - codes.mean()) / spread)
    return np.asarray((1 - floor) * law + floor * (0.9 * wide / wide.sum() + 0.1 / law.size))
