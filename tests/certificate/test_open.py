"""Open distributions: the bound holds as often as it says, and is tight for light tails."""

import numpy as np
import pytest
from scipy.stats import binomtest

import rpac
from rpac.certificate.open import code_box, open_bound
from rpac.oracles import laws

REPEATS = 60
CONFIDENCE = 0.9


@rpac.vectorized
def identity(stack):
    return stack


def bounds(law, dim, sigma, repeats):
    noise = rpac.GaussianNoise(sigma**2 * np.eye(dim))
    source = law.source(dim)
    for seed in range(repeats):
        outputs = rpac.simulate(source, identity, seed=seed)
        yield rpac.certify(outputs, noise, CONFIDENCE).bound


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("law", laws(), ids=lambda law: law.name)
def test_coverage_and_tightness(law, dim):
    truth = dim * law.nats(1.0)
    found = np.array(list(bounds(law, dim, 1.0, REPEATS)))
    violations = int((found < truth).sum())
    assert binomtest(violations, REPEATS, 1 - CONFIDENCE, "greater").pvalue > 1e-3
    if law.light:
        assert np.median(found) <= 1.25 * truth + 0.01
    assert np.median(found) <= 3 * truth + 0.05


def test_twelve_laws_half_of_them_light():
    assert len(laws()) == 12
    assert sum(law.light for law in laws()) == 6


def test_the_truths_of_the_laws_agree_with_other_computations():
    by_name = {law.name: law for law in laws()}
    assert by_name["normal"].nats(1.0) == pytest.approx(0.5 * np.log(2), abs=1e-4)
    coin = rpac.oracles.quadrature_nats([-1, 1], [0.5, 0.5], 1.0)
    assert by_name["coin"].nats(1.0) == pytest.approx(coin, abs=1e-6)


def test_without_public_bounds_draws_are_refused():
    with pytest.raises(rpac.InputError, match=r"Expected public bounds clip=\(low, high\); got"):
        rpac.Draws(lambda rng: rng.normal())


def test_a_second_noise_on_the_same_draws_is_refused():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=400)
    outputs = rpac.simulate(source, lambda x: x)
    first = rpac.certify(outputs, rpac.GaussianNoise(1.0), 0.9)
    assert rpac.certify(outputs, rpac.GaussianNoise(1.0), 0.9).bound == first.bound
    with pytest.raises(rpac.InputError, match="a second one, GridNoise.*Simulate again"):
        rpac.certify(outputs, rpac.GaussianNoise(2.0), 0.9)
    twin = rpac.simulate(source, lambda x: x)  # the same draws again are no new draws
    with pytest.raises(rpac.InputError, match="a second one, GridNoise"):
        rpac.certify(twin, rpac.GaussianNoise(2.0), 0.9)
    other = rpac.simulate(source, lambda x: x, seed=1)
    assert rpac.certify(other, rpac.GaussianNoise(2.0), 0.9).bound < first.bound


def test_correlated_draws_are_charged_for_their_correlation_once():
    @rpac.vectorized
    def sampler(rng, n):
        x = rng.normal(size=(n, 1))
        return np.hstack([x, x + 0.01 * rng.normal(size=(n, 1))])

    source = rpac.Draws(sampler, clip=([-5, -5], [5, 5]))
    outputs = rpac.simulate(source, identity)
    certificate = rpac.certify(outputs, rpac.GaussianNoise(np.eye(2)), 0.9)
    truth = 0.5 * np.log(3)  # two looks at one unit normal
    assert truth <= certificate.bound <= 1.25 * truth


def test_wide_boxes_do_without_tables():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-1e5, 1e5), draws=400)
    outputs = rpac.simulate(source, lambda x: x)
    certificate = rpac.certify(outputs, rpac.GaussianNoise(1.0), 0.9)
    assert np.isfinite(certificate.bound)
    assert certificate.bound > 0.5 * np.log(2)


def test_other_tables_on_draws_are_refused():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=100)
    outputs = rpac.simulate(source, lambda x: x)
    with pytest.raises(rpac.InputError, match="Expected Gaussian noise for draws; got"):
        rpac.certify(outputs, rpac.LatticeNoise(1.0, [-1, 1], [0.5, 0.5]))


def test_a_rare_flip_never_goes_bare():
    """A coordinate that is constant in all simulated draws still gets noise: it has a box."""
    source = rpac.Draws(lambda rng: float(rng.random() < 1e-9), clip=(0, 1), draws=512)
    outputs = rpac.simulate(source, lambda x: x)
    certificate = rpac.certify(outputs, rpac.GaussianNoise(0.25), 0.999)
    assert certificate.bound > 0.005
    with pytest.raises(rpac.InputError, match="the same output in all"):
        rpac.calibrate(rpac.simulate(source, lambda x: x), 0.1)


def test_the_box_follows_the_center_of_the_grid():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-3, 5), draws=2_000)
    outputs = rpac.simulate(source, lambda x: x)
    law = rpac.tabulate(outputs, rpac.GaussianNoise(1.0))
    moved = rpac.GridNoise(law.basis, law.center + 100.25, law.axes)
    low, high = code_box(outputs, moved)
    codes = moved.encode_rows(outputs.values)
    assert (low <= codes).all()
    assert (codes <= high).all()
    near = rpac.certify(outputs, moved, 0.9).bound
    assert near == pytest.approx(0.5 * np.log(2), rel=0.15)


def test_boxes_too_wide_for_integers_are_refused():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-1e18, 1e18), draws=100)
    outputs = rpac.simulate(source, lambda x: x)
    with pytest.raises(rpac.InputError, match=r"Expected a box within 2\*\*50 grid steps; got"):
        rpac.certify(outputs, rpac.GaussianNoise(1e-3), 0.9)


def test_codes_outside_the_box_are_refused():
    law = rpac.tabulate(rpac.Outputs([0.0, 1.0]), rpac.GaussianNoise(1.0))
    box = (np.array([-5]), np.array([5]))
    with pytest.raises(rpac.InputError, match="Expected codes inside the public box; got codes"):
        open_bound(np.array([[9]]), law, rpac.GaussianReference([0.0], [[1.0]]), box, 0.1)


def test_a_reference_narrower_than_the_noise_is_refused():
    """Its sum over the grid might exceed theta: it would not be normalised."""
    law = rpac.tabulate(rpac.Outputs([0.0, 1.0]), rpac.GaussianNoise(1.0))
    box = (np.array([-5]), np.array([5]))
    with pytest.raises(rpac.InputError, match="Expected a reference no narrower than the noise"):
        open_bound(np.array([[0], [1]]), law, rpac.GaussianReference([0.0], [[0.5]]), box, 0.1)


def test_another_confidence_is_a_second_judgement():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=400)
    outputs = rpac.simulate(source, lambda x: x)
    law = rpac.tabulate(outputs, rpac.GaussianNoise(1.0))
    first = rpac.certify(outputs, law, 0.9)
    assert rpac.certify(outputs, law, 0.9).bound == first.bound  # the same judgement again
    with pytest.raises(rpac.InputError, match="draws that judged no other noise"):
        rpac.certify(outputs, law, 0.99)
