"""Families of noise: densities against SciPy, samples against densities, tables against both."""

import math

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import jax
import jax.numpy as jnp

from rpac.learned.families import (
    FullGaussian,
    GaussianMixture,
    GeneralizedNormal,
    LowRankGaussian,
    ProductFamily,
    axis_table,
    family_of,
)
from rpac.learned.settings import FAMILIES

PRODUCTS = [name for name in FAMILIES if name not in ("gaussian", "low-rank")]
X = np.linspace(-40.0, 40.0, 40_001)


def axis(params, i=0):
    """Return the parameters of one axis."""
    return jax.tree.map(lambda leaf: leaf[i], params)


def moved(params, seed=0, size=0.3):
    """Return parameters a little off their start, so that nothing is tested at a special point."""
    leaves, tree = jax.tree.flatten(params)
    rng = np.random.default_rng(seed)
    shifted = [leaf + size * jnp.asarray(rng.normal(size=np.shape(leaf))) for leaf in leaves]
    return jax.tree.unflatten(tree, shifted)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_name_makes_a_family_that_is_equal_by_value(name):
    made = family_of(name, 5)
    assert made.components == 5
    assert made == family_of(name, 5)
    assert hash(made) == hash(family_of(name, 5))
    assert isinstance(made, ProductFamily) == (name in PRODUCTS)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_first_noise_has_the_deviation_asked_for(name):
    family = family_of(name, 7)
    draws, weights = family.sample(family.init(2, 0.5), jax.random.key(0), 20_000)
    assert float(weights.mean()) == pytest.approx(1.0, abs=1e-5)
    deviation = np.sqrt(np.mean(np.square(draws), axis=0))
    wide = 0.15 if name == "mixture" else 0.015  # its components add a width of their own
    assert deviation == pytest.approx([0.5, 0.5], abs=wide)
    assert np.mean(draws, axis=0) == pytest.approx([0.0, 0.0], abs=0.03)


@pytest.mark.parametrize("name", PRODUCTS)
def test_densities_integrate_to_one_and_samples_follow_them(name):
    family = family_of(name, 5)
    params = moved(family.init(1, 1.0))
    density = np.exp(np.asarray(family.axis_log_density(axis(params), jnp.asarray(X)), float))
    step = X[1] - X[0]
    assert density.sum() * step == pytest.approx(1.0, abs=2e-3)
    cumulative = np.cumsum(density) * step
    draws, _ = family.axis_sample(axis(params), jax.random.key(1), 20_000)
    found = np.interp(np.sort(np.asarray(draws)), X, cumulative)
    assert np.abs(found - (np.arange(20_000) + 0.5) / 20_000).max() < 0.02  # Kolmogorov at 1e-7


def test_a_generalised_normal_is_scipys():
    family = GeneralizedNormal()
    for power, scale in ((0.7, 1.3), (1.0, 0.5), (2.0, 2.0), (6.0, 1.0)):
        params = {"log_scale": jnp.log(scale), "log_power": jnp.log(power)}
        found = family.axis_log_density(params, jnp.asarray(X[19_000:21_001]))
        truth = stats.gennorm.logpdf(X[19_000:21_001], power, scale=scale)
        assert np.asarray(found) == pytest.approx(truth, abs=2e-3, rel=1e-4)


def test_laplace_keeps_its_power():
    family = family_of("laplace", 7)
    params = moved(family.init(3, 0.5), size=0.0)
    params = {**params, "log_scale": params["log_scale"] + 0.4}
    gradient = jax.grad(lambda p: family.axis_log_density(p, jnp.array(1.0)))(axis(params))
    assert float(gradient["log_power"]) == 0.0
    assert float(gradient["log_scale"]) != 0.0
    start = family.axis_log_density(axis(family.init(1, 1.0)), jnp.asarray(X[::400]))
    truth = stats.laplace.logpdf(X[::400], scale=1 / math.sqrt(2))
    assert np.asarray(start) == pytest.approx(truth, rel=1e-4, abs=1e-4)


def test_a_mixture_is_the_sum_of_its_components():
    family = GaussianMixture(3)
    params = axis(moved(family.init(1, 1.0), seed=3))
    share = np.asarray(jax.nn.softmax(params["logits"]))
    widths = 0.1 + np.exp(np.asarray(params["log_widths"]))
    parts = stats.norm.pdf(X[:, None], np.asarray(params["means"]), widths)
    found = np.exp(np.asarray(family.axis_log_density(params, jnp.asarray(X)), float))
    assert found == pytest.approx(parts @ share, abs=1e-5)


def test_one_dimensional_mixtures_draw_every_component_with_its_weight():
    family = GaussianMixture(4)
    params = moved(family.init(1, 1.0), seed=4)
    draws, weights = family.sample(params, jax.random.key(0), 40_000)
    assert draws.shape == (40_000, 1)
    one = axis(params)
    share = np.asarray(jax.nn.softmax(one["logits"]), float)
    means, widths = np.asarray(one["means"], float), 0.1 + np.exp(np.asarray(one["log_widths"]))
    second = float((weights * jnp.square(draws[:, 0])).mean())
    assert second == pytest.approx(float(share @ (means**2 + widths**2)), rel=0.03)


@pytest.mark.parametrize("name", ["gaussian", "low-rank"])
def test_gaussian_scores_are_log_densities_up_to_a_constant(name):
    family = family_of(name, 2)
    params = moved(family.init(3, 1.0), seed=2)
    cov = np.asarray(family.cov(params), float)
    rng = np.random.default_rng(0)
    y, points = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    found = np.asarray(family.scores(params, jnp.asarray(y), jnp.asarray(points)), float)
    truth = stats.multivariate_normal.logpdf(y[:, None] - points, cov=cov)
    assert found - truth == pytest.approx(np.full((6, 4), (found - truth)[0, 0]), abs=1e-3)
    draws = np.asarray(family.sample(params, jax.random.key(0), 60_000)[0])
    assert np.cov(draws.T) == pytest.approx(cov, abs=0.04 * np.trace(cov))
    np.testing.assert_array_equal(draws[:30_000], -draws[30_000:])  # in pairs


def test_product_scores_add_the_axes():
    family = family_of("generalized-normal", 2)
    params = moved(family.init(2, 1.0), seed=1)
    y, points = jnp.array([[0.3, -1.0]]), jnp.array([[0.0, 0.0], [1.0, -2.0], [0.5, 0.5]])
    by_hand = sum(
        family.axis_log_density(axis(params, i), y[:, i] - points[:, i]) for i in range(2)
    )
    assert np.asarray(family.scores(params, y, points))[0] == pytest.approx(np.asarray(by_hand))


def test_blocks_are_independent_of_each_other():
    family = FullGaussian(blocks=(2, 1))
    params = moved(family.init(3, 1.0), seed=5)
    cov = np.asarray(family.cov(params))
    assert cov[0, 2] == cov[1, 2] == 0.0
    assert cov[0, 1] != 0.0
    assert (np.linalg.eigvalsh(cov) > 0).all()
    whole = np.asarray(FullGaussian().cov(params))
    assert whole[0, 2] != 0.0


def test_a_low_rank_covariance_is_a_diagonal_and_few_directions():
    family = LowRankGaussian(2)
    params = moved(family.init(5, 1.0), seed=6)
    cov = np.asarray(family.cov(params), float)
    rest = cov - np.diag(np.exp(2 * np.asarray(params["log_diag"], float)))
    assert np.linalg.matrix_rank(rest, tol=1e-4) == 2
    assert family_of("low-rank", 9).init(3, 1.0)["low"].shape == (3, 3)  # never above the dimension


@pytest.mark.parametrize("name", PRODUCTS)
def test_tables_hold_the_law_of_an_axis(name):
    family = family_of(name, 5)
    params = moved(family.init(2, 1.0), seed=7, size=0.1)
    step, masses = axis_table(family, params, 1)
    half = masses.size // 2
    places = step * np.arange(-half, half + 1)
    assert masses.sum() == pytest.approx(1.0)
    density = np.exp(np.asarray(family.axis_log_density(axis(params, 1), jnp.asarray(places))))
    assert masses == pytest.approx(density * step, rel=0.02, abs=1e-6)
    coarse, few = axis_table(family, params, 1, step=0.5)
    assert coarse == 0.5
    assert few.size < masses.size
    at = 0.5 * np.arange(-(few.size // 2), few.size // 2 + 1)
    assert few @ at**2 == pytest.approx(masses @ places**2, rel=0.1)
