"""Gram matrices: against sums over every outcome, and the bounds that follow from them."""

import itertools

import numpy as np
import pytest

import rpac
from rpac.certificate.gram import (
    AxisKernels,
    GramBound,
    gaussian_gram,
    product_gram,
    table_error,
)

RNG = np.random.default_rng(0)


def table(seed, size=7):
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.choice(np.arange(-12, 13), size, replace=False))
    return rpac.LatticeNoise(1.0, offsets, rng.dirichlet(np.ones(size)))


def dense_kernels(codes, axis):
    """P(y | code), (codes, outcomes), by listing outcomes."""
    low = codes.min() + axis.offsets.min()
    out = np.zeros((codes.size, int(np.ptp(codes) + np.ptp(axis.offsets)) + 1))
    for row, code in zip(out, codes, strict=True):
        row[code + axis.offsets - low] = axis.weights
    return out


@pytest.mark.parametrize("seed", range(6))
def test_norms_and_gram_of_one_axis_are_plain_sums(seed, monkeypatch):
    monkeypatch.setattr("rpac.certificate.gram._CELLS", 5)
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(-9, 40, 8))
    weights, axis = rng.dirichlet(np.ones(codes.size)), table(seed)
    plain = dense_kernels(codes, axis)
    kernels = AxisKernels(codes, weights, axis)
    mixtures = rng.normal(size=(4, codes.size))
    assert kernels.norms(mixtures) == pytest.approx(np.abs(mixtures @ plain).sum(axis=1))
    law = weights @ plain
    seen = law > 0
    expected = (plain[:, seen] / law[seen]) @ plain[:, seen].T
    assert kernels.gram() == pytest.approx(expected)


def test_gram_of_several_axes_is_a_sum_over_all_outcomes():
    codes = np.array([[0, 0], [3, 1], [3, 5], [-2, 4]])
    weights, axes = np.array([0.4, 0.3, 0.2, 0.1]), (table(1), table(2))
    law = rpac.GridNoise(np.eye(2), np.zeros(2), axes)
    each = [dense_kernels(codes[:, c], axis) for c, axis in enumerate(axes)]
    w = [weights @ kernel for kernel in each]
    expected = np.zeros((4, 4))
    for y in itertools.product(*(range(k.shape[1]) for k in each)):
        k = each[0][:, y[0]] * each[1][:, y[1]]
        if k.any():
            expected += np.outer(k, k) / (w[0][y[0]] * w[1][y[1]])
    assert product_gram(codes, weights, law) == pytest.approx(expected)


def test_an_axis_with_too_many_outcomes_has_no_gram(monkeypatch):
    monkeypatch.setattr("rpac.certificate.exact._MOST_CELLS", 3)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (table(1), table(2)))
    assert product_gram(np.array([[0, 0], [3, 1]]), np.array([0.5, 0.5]), law) is None


@pytest.mark.parametrize("scale", [1.0, 3.0, 4.0, 9.0])
def test_gram_of_gaussians_in_closed_form(scale):
    """Whole centres: exact below four steps (V = 1), to rounding above (V > 1)."""
    codes, p = np.array([-5, 0, 3, 11]), np.array([0.4, 0.3, 0.2, 0.1])
    axis = rpac.LatticeNoise.gaussian(1.0, scale)
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    z = codes / scale
    y = np.arange(-400, 400)
    wide = 1.0 + p @ z**2 if scale >= 4 else 1.0
    w = np.exp(-(y**2) / (2 * wide * scale**2))
    kernels = np.exp(-((y - codes[:, None]) ** 2) / (2 * scale**2))
    kernels, w = kernels / kernels.sum(axis=1, keepdims=True), w / w.sum()
    expected = (kernels / np.maximum(w, 1e-280)) @ kernels.T
    found, rounding = gaussian_gram(codes[:, None], p, law.laws)
    assert found == pytest.approx(expected, rel=1e-9)
    assert 0 < rounding * 2.3e-16 < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_above_the_norm_and_near_it(seed):
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(-20, 20, 30))
    weights = rng.dirichlet(np.full(codes.size, 3.0))
    axis = rpac.LatticeNoise.gaussian(1.0, rng.uniform(3, 60))
    kernels = AxisKernels(codes, weights, axis)
    mixtures = rng.choice([-1, 1], (50, codes.size)) * weights
    bound = GramBound(kernels.gram(), float(weights @ weights), kernels.law.size)
    plain = bound.of(mixtures @ bound.vectors)
    tight = bound.along(kernels.norms(bound.vectors[:, :8].T)).of(mixtures @ bound.vectors)
    truth = kernels.norms(mixtures)
    assert (truth <= tight).all()
    assert (tight <= plain).all()
    assert tight.mean() <= 1.4 * truth.mean() + 1e-4


def test_what_is_left_out_of_the_spectrum_is_added():
    whole = GramBound(np.diag([1.0, 1e-3, 1e-16]), 1.0, 0)
    assert whole.values.size == 2
    assert whole.slack > 1e-16
    assert whole.of(np.array([[0.0, 0.0]]))[0] >= 1e-8


def test_tables_are_near_the_ideal_law():
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (rpac.LatticeNoise.gaussian(1.0, 300.0),) * 2)
    axis = law.axes[0]
    ideal = np.exp(-0.5 * np.square(axis.offsets / 300.0))
    gap = np.abs(axis.weights - ideal / ideal.sum()).sum()
    assert 2 * gap <= table_error(law.laws) < 1e-13


@pytest.mark.parametrize("paired", [True, False])
def test_a_triangle_in_place_of_many_directions_gives_the_same_bounds(paired):
    rng = np.random.default_rng(int(paired))
    points = rng.normal(size=(60, 4))
    gram = np.exp(points @ points.T)
    bound = GramBound(gram, 1.0, 10.0)
    slope, rest = (
        rng.normal(size=(12, bound.values.size)) / 60,
        rng.normal(size=60)[: bound.values.size],
    )
    rest = rest * (not paired)
    z = rng.integers(0, 2, (200, 12)).astype(float)
    plain = bound.of(z @ slope + rest)
    assert bound.values.size > 13
    found = bound.mapped(slope, rest)(z)
    assert found == pytest.approx(plain, rel=1e-9)
    assert (found >= plain * (1 - 1e-12)).all()
    wide = np.vstack([slope] * 6)
    assert (bound.mapped(wide, rest)(np.tile(z, 6)) == bound.of(np.tile(z, 6) @ wide + rest)).all()
