"""Bounds for open distributions: i.i.d. draws of an unknown law on a public box.

Proof: for a reference w that was fixed before the judging draws, L(q, w) = E[f(Z)] - H(B) with
f(z) = E[-log w(z + B)] known in closed form (a quadratic for a Gaussian w) or as a finite sum
(tables), so only Z is left to chance. f is bounded over the box, and `upper_mean` of f on judging
draws that neither noise nor reference has seen is below E[f(Z)] with probability at most delta.
`box_bound` needs no draws: no law on the box has more variance than its two ends.

`fit_reference` proposes w from the planning half. It need not be trusted: a poor reference costs
tightness. Tables are normalised when they are made; a Gaussian sums over the grid to at most theta
if it is no narrower than the noise, which is checked.
"""

from __future__ import annotations

import math

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import ROUNDING
from rpac._base.types import Floats, Ints
from rpac.certificate.confidence import upper_mean
from rpac.certificate.kernel import Kernel, grid_kernel
from rpac.certificate.log_det import determinant_rounding
from rpac.certificate.references import GaussianReference, TableReference, convolve
from rpac.noise.grid import GridNoise
from rpac.worlds.outputs import Outputs

LOSS_ERROR = 1e-9
"""Added per axis where a sum is taken by FFT."""
_FLOORS = (0.5, 0.1, 0.02, 0.004)
_MOST_CELLS = 1 << 22


def code_box(outputs: Outputs, law: GridNoise) -> tuple[Ints, Ints]:
    """Return the least and largest integers the clipped outputs can have on each axis.

    Along an axis v a box with middle m and half-widths h reaches m . v +- h . |v|; rounded out.
    """
    assert outputs.clip is not None
    middle = ((outputs.clip[0] + outputs.clip[1]) / 2 - law.center) @ law.basis / law.steps
    half = (outputs.clip[1] - outputs.clip[0]) / 2 @ np.abs(law.basis) / law.steps
    low, high = np.floor(middle - half - 1e-6), np.ceil(middle + half + 1e-6)
    if max(np.abs(low).max(), np.abs(high).max()) > 2**50:
        raise refuse("a box within 2**50 grid steps", "a wider one", "Clip more tightly.")
    return low.astype(np.int64), high.astype(np.int64)


def open_bound(
    codes: Ints,
    noise: GridNoise,
    reference: GaussianReference | TableReference,
    box: tuple[Ints, Ints],
    delta: float,
) -> float:
    """Return an upper bound for i.i.d. draws of an unknown law on a public box.

    Args:
        codes: (n, r) integer outputs, none of which the noise or the reference has seen.
        noise: The tabulated noise, discrete Gaussian on every axis.
        reference: Gaussian in units of the noise's scale, or a product of tables.
        box: The least and largest integers on each axis, (r,) and (r,).
        delta: Probability of error.
    """
    if (codes < box[0]).any() or (codes > box[1]).any():
        raise refuse("codes inside the public box", "codes outside", "Clip the outputs to it.")
    if isinstance(reference, GaussianReference):
        kernel, scales = grid_kernel(noise.laws), noise.scales
        _refuse_narrow(reference, kernel)
        losses = reference.loss(codes / scales, kernel.variances)
        limits = reference.loss_range(box[0] / scales, box[1] / scales, kernel.variances)
        condition = float(np.trace(reference.cov) / kernel.variances.min())
        base = kernel.log_theta - kernel.entropy + determinant_rounding(scales.size, condition)
    else:
        tables = [
            reference.loss_table(c, axis, box[0][c], box[1][c]) for c, axis in enumerate(noise.axes)
        ]
        losses = np.sum([t[codes[:, c] - box[0][c]] for c, t in enumerate(tables)], axis=0)
        limits = float(sum(t.min() for t in tables)), float(sum(t.max() for t in tables))
        base = sum(LOSS_ERROR - axis.entropy for axis in noise.axes)
    return max(0.0, base + upper_mean(losses, *limits, delta))


def _refuse_narrow(reference: GaussianReference, kernel: Kernel) -> None:
    """Refuse a Gaussian that is narrower than the noise: theta would not cover its sum."""
    least = float(np.linalg.eigvalsh(reference.cov - np.diag(kernel.variances)).min())
    if least < -1e-9 * float(np.trace(reference.cov)):
        raise refuse("a reference no narrower than the noise", repr(reference), "Widen it.")


def box_bound(noise: GridNoise, box: tuple[Ints, Ints]) -> float:
    """Return a bound for every law on the box: none has more variance than its two ends."""
    kernel = grid_kernel(noise.laws)
    wide = kernel.variances + np.square((box[1] - box[0]) / 2 / noise.scales)
    gaussian = 0.5 * float(np.log(2 * math.pi * math.e * wide).sum())
    return gaussian - kernel.entropy + kernel.log_theta + ROUNDING * (1 + wide.size)


def fit_reference(
    codes: Ints, noise: GridNoise, box: tuple[Ints, Ints], delta: float
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


def _smoothed(codes: Ints, noise: GridNoise, box: tuple[Ints, Ints]) -> list[tuple[Floats, Floats]]:
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
    parts: list[tuple[Floats, Floats]], noise: GridNoise, box: tuple[Ints, Ints], floor: float
) -> TableReference:
    lows = [int(low + axis.offsets[0]) for low, axis in zip(box[0], noise.axes, strict=True)]
    return TableReference(lows, [(1 - floor) * law + floor * wide for law, wide in parts])
