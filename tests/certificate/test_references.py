"""References are normalised, and say so when they cannot be."""

import numpy as np
import pytest

import rpac
from rpac.certificate.references import convolve
from rpac.contracts import check_reference

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(6, 2))
MIXTURE = rpac.MixtureReference(POINTS, RNG.dirichlet(np.ones(6)))
GAUSSIAN = rpac.GaussianReference([1.0, -1.0], [[2.0, 0.3], [0.3, 1.0]])
TABLE = rpac.TableReference([-3, 0], [np.arange(1.0, 8.0), np.ones(4)])


def test_gaussian_and_mixture_integrate_to_one():
    check_reference(GAUSSIAN.log_density, GAUSSIAN.mean, GAUSSIAN.cov)
    check_reference(MIXTURE.log_density, POINTS.mean(axis=0), np.cov(POINTS.T) + np.eye(2))


def test_the_table_sums_to_one_whatever_it_was_given():
    cells = np.stack(np.meshgrid(np.arange(-3, 4), np.arange(4)), axis=-1).reshape(-1, 2)
    assert np.exp(TABLE.log_density(cells)).sum() == pytest.approx(1.0, abs=1e-14)


def test_mixture_density_equals_the_plain_sum():
    y = RNG.normal(size=(50, 2)) * 3
    kernels = np.exp(-0.5 * np.square(y[:, None] - POINTS).sum(axis=2)) / (2 * np.pi)
    plain = np.log(kernels @ MIXTURE.weights)
    assert MIXTURE.log_density(y) == pytest.approx(plain, abs=1e-12)


def test_information_densities_equal_the_plain_ratio():
    worlds, noise = RNG.integers(0, 6, 40), RNG.normal(size=(40, 2))
    plus, minus = MIXTURE.densities(worlds, noise)
    for sign, found in ((1, plus), (-1, minus)):
        log_q = -0.5 * np.square(noise).sum(axis=1) - np.log(2 * np.pi)
        plain = log_q - MIXTURE.log_density(POINTS[worlds] + sign * noise)
        assert found == pytest.approx(plain, abs=1e-11)


def test_heights_bound_every_antithetic_pair():
    heights = MIXTURE.heights()
    assert (heights <= -np.log(MIXTURE.weights)).all()
    worlds, noise = RNG.integers(0, 6, 20_000), 3 * RNG.normal(size=(20_000, 2))
    plus, minus = MIXTURE.densities(worlds, noise)
    assert (0.5 * (plus + minus) <= heights[worlds] + 1e-12).all()


def test_heights_of_some_worlds_are_those_of_all():
    assert MIXTURE.heights(np.array([4, 1])) == pytest.approx(MIXTURE.heights()[[4, 1]])


def test_views_are_the_curvatures_of_the_information_density():
    heights, forms = MIXTURE.views(np.arange(6))
    assert heights == pytest.approx(MIXTURE.heights(), abs=1e-12)
    step = 1e-3
    for a in np.eye(2):
        for b in np.eye(2):
            corners = [
                sign * MIXTURE.densities(np.arange(6), np.tile(step * (s * a + t * b), (6, 1)))[0]
                for s, t, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
            ]
            found = sum(corners) / (4 * step**2)
            assert -found == pytest.approx(forms @ a @ b, abs=1e-4)
    assert (np.linalg.eigvalsh(forms) >= 0).all()


def plain_densities(points, p, worlds, noise):
    """Return g_i(b) in extended precision, from its definition."""
    u, b = points.astype(np.longdouble), noise.astype(np.longdouble)
    apart = u[worlds][:, None] - u
    exponents = -0.5 * np.square(apart).sum(axis=2) - (apart * b[:, None]).sum(axis=2)
    exponents += np.log(p.astype(np.longdouble))
    top = exponents.max(axis=1)
    return -top - np.log(np.exp(exponents - top[:, None]).sum(axis=1))


@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0, 1e5, 1e9])
@pytest.mark.parametrize("length", [1.0, 30.0])
def test_rounding_bounds_the_error_of_densities_near_and_far(spread, length):
    """Exponents that would underflow, sums that would overflow, digits that are lost."""
    points, p = spread * RNG.normal(size=(40, 3)), RNG.dirichlet(np.ones(40))
    mixture = rpac.MixtureReference(points - p @ points, p)
    worlds, noise = RNG.integers(0, 40, 200), length * RNG.normal(size=(200, 3))
    for sign, found in zip((1, -1), mixture.densities(worlds, noise), strict=True):
        plain = plain_densities(mixture.points, p, worlds, sign * noise)
        assert np.isfinite(found).all()
        assert np.abs(found - plain).max() <= mixture.rounding
    heights = plain_densities(mixture.points, p, np.arange(40), np.zeros((40, 3)))
    assert np.abs(mixture.heights() - heights).max() <= mixture.rounding
    assert mixture.views(np.arange(40))[0] == pytest.approx(mixture.heights(), abs=1e-9)


def test_gaussian_loss_is_the_mean_over_noise():
    variances = np.array([0.5, 2.0])
    noise = RNG.normal(size=(400_000, 2)) * np.sqrt(variances)
    z = np.array([[0.3, -2.0]])
    found = GAUSSIAN.loss(z, variances)[0]
    assert found == pytest.approx(-GAUSSIAN.log_density(z + noise).mean(), rel=0.01)


def test_gaussian_loss_range_holds_on_the_box():
    low, high, variances = np.array([-2.0, -3.0]), np.array([4.0, 1.0]), np.ones(2)
    losses = GAUSSIAN.loss(RNG.uniform(low, high, size=(5_000, 2)), variances)
    least, most = GAUSSIAN.loss_range(low, high, variances)
    assert least <= losses.min()
    assert losses.max() <= most


def test_loss_table_equals_the_plain_sum():
    noise = rpac.LatticeNoise(1.0, [-1, 0, 2], [0.2, 0.5, 0.3])
    found = TABLE.loss_table(0, noise, -2, 1)
    logs = np.log(np.arange(1.0, 8.0) / 28.0)
    plain = [-sum(q * logs[z + b + 3] for b, q in ((-1, 0.2), (0, 0.5), (2, 0.3)))
             for z in (-2, -1, 0, 1)]  # fmt: skip
    assert found == pytest.approx(plain, abs=1e-12)


def test_convolve_equals_numpy():
    a, b = RNG.random(37), RNG.random(5)
    assert convolve(a, b) == pytest.approx(np.convolve(a, b), abs=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rpac.MixtureReference(POINTS, np.full(6, 0.2)),
            "Expected `weights` that sum to 1",
        ),
        (lambda: rpac.MixtureReference(POINTS, [1, 0, 0, 0, 0, 0]), "Expected positive weights"),
        (lambda: rpac.GaussianReference([0.0], np.eye(2)), "Expected a 1 x 1 `cov`; got"),
        (lambda: rpac.GaussianReference([0.0], [[-1.0]]), "Expected a positive-definite `cov`"),
        (lambda: rpac.TableReference([0], [np.array([1.0, 0.0])]), "table of positive masses"),
        (
            lambda: rpac.TableReference([0, 0], [np.ones(3)]),
            "Expected one table of positive masses",
        ),
        (lambda: MIXTURE.densities(np.arange(2), np.zeros((3, 2))), "Expected one noise for each"),
        (
            lambda: TABLE.loss_table(0, rpac.LatticeNoise(1.0, [-1, 1], [0.5, 0.5]), -3, 3),
            "Expected a reference that covers the box and the noise; got less. Widen it.",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=message):
        call()


def test_an_unnormalised_reference_is_found_out():
    with pytest.raises(rpac.ContractError, match="Expected a reference that integrates to at most"):
        check_reference(lambda y: GAUSSIAN.log_density(y) + 0.1, GAUSSIAN.mean, GAUSSIAN.cov)
