"""Noise on a lattice: tables, closed forms, draws that follow them and no other."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

import rpac
from rpac.noise.base import study_uniforms, system_uniforms
from rpac.noise.lattice import TableLaw


def pvalue(noise, draws):
    """Chi-square of draws from the operating system against the table, in about 200 bins."""
    edges = np.searchsorted(np.cumsum(noise.weights), np.linspace(0.005, 0.995, 199))
    bins = np.searchsorted(edges, np.searchsorted(noise.offsets, draws), side="left")
    seen = np.bincount(bins, minlength=200)
    mass = np.bincount(
        np.searchsorted(edges, np.arange(noise.offsets.size), side="left"),
        noise.weights,
        minlength=200,
    )
    keep = mass > 0
    statistic = (np.square(seen - mass * draws.size)[keep] / (mass * draws.size)[keep]).sum()
    return chi2.sf(statistic, keep.sum() - 1)


def test_table_draws_follow_the_table_and_no_other():
    noise = rpac.LatticeNoise.gaussian(1.0, 300.0)
    draws = noise.at(system_uniforms(3_000_000))
    assert pvalue(noise, draws) > 1e-6
    for power in (0.98, 1.02):
        assert pvalue(rpac.LatticeNoise.gaussian(1.0, 300.0 * math.sqrt(power)), draws) < 1e-6


def test_small_discrete_gaussians_match_their_closed_form():
    noise = rpac.LatticeNoise.gaussian(2.0, 0.7)
    kernel = np.exp(-0.5 * np.square(np.arange(-30, 31) / 0.7))
    expected = kernel / kernel.sum()
    found = np.zeros(61)
    found[noise.offsets + 30] = noise.weights
    assert found == pytest.approx(expected, abs=1e-15)


def test_log_density_off_the_lattice():
    noise = rpac.LatticeNoise(0.5, [-2, 0, 1, 5], [0.1, 0.4, 0.3, 0.2])
    assert noise.log_density(np.array([[0.0], [0.1], [-0.5], [9.0]])).tolist() == pytest.approx(
        [math.log(0.4), -math.inf, -math.inf, -math.inf]
    )
    assert rpac.LabelChannel(np.eye(2)).log_density([0, 0], [0, 1]).tolist() == [0.0, -math.inf]


@pytest.mark.parametrize(("step", "scale"), [(1.0, -0.95), (1.0, 0.0), (1.0, math.nan), (0.0, 1.0)])
def test_discrete_gaussians_need_positive_scales(step, scale):
    with pytest.raises(rpac.InputError, match="Expected"):
        rpac.LatticeNoise.gaussian(step, scale)


def test_a_scale_is_one_number():
    for scale in ([1, 2], True, 0.0, 1e8):
        with pytest.raises(rpac.InputError, match="scale"):
            rpac.LatticeNoise.gaussian(1.0, scale)


def test_what_follows_from_a_table_cannot_be_written():
    """A calibrator that edits masses after the fact would have another law certified."""
    law = rpac.LatticeNoise.gaussian(1.0, 3.0).law
    for array in (law.log_mass[1], law.dense, law.weights, law.cumulative, law.table, law.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_table_of_another_kind_is_no_axis():
    class Silent(TableLaw):  # final for type checkers only
        def at(self, uniforms):
            return np.zeros(uniforms.shape, np.int64)

    good = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25]).law
    axis = rpac.LatticeNoise.of(1.0, Silent(good.offsets, good.table))
    with pytest.raises(rpac.InputError, match="Expected tables of rpac's own kind; got .*Silent"):
        rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))


def test_many_uniforms_select_what_single_ones_do():
    """Leading bits are a guide to the table, not another law."""
    law = rpac.LatticeNoise.gaussian(1.0, 700.0).law
    uniforms = study_uniforms(np.random.default_rng(0), 1 << 17)
    edges = np.concatenate([law.cumulative[:-1], law.cumulative[:-1] - np.uint64(1)])
    uniforms = np.concatenate([uniforms, edges, np.array([0, (1 << 63) - 1], np.uint64)])
    single = law.offsets[law.cumulative.searchsorted(uniforms, side="right")]
    assert (law.at(uniforms) == single).all()
    assert (law.at(uniforms[:100]) == single[:100]).all()


def test_variances_of_numbers_are_the_diagonal():
    noise = rpac.LatticeNoise(2.0, [-1, 1], [0.5, 0.5])
    assert noise.variances_of_numbers == pytest.approx([4.0])
