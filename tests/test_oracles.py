"""Problems that know their answer: their answers, worked out another way."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import rpac
from rpac import oracles
from rpac.oracles import coin_under_uniform, laws, problems, quadrature_nats, randomized_response

LAWS = laws()


def by_scipy(atoms, weights, sigma):
    """MI as E[log q(Y | X) - log law(Y)], with scipy's adaptive rule."""

    def law(y):
        return sum(w * norm.pdf(y, z, sigma) for z, w in zip(atoms, weights, strict=True))

    def part(z):
        return quad(
            lambda y: norm.pdf(y, z, sigma) * (norm.logpdf(y, z, sigma) - math.log(law(y))),
            z - 10 * sigma,
            z + 10 * sigma,
            limit=200,
            points=[z],
        )[0]

    return sum(w * part(z) for z, w in zip(atoms, weights, strict=True))


@pytest.mark.parametrize(
    ("atoms", "weights", "sigma"),
    [([-1, 1], [0.5, 0.5], 1.0), ([0, 4], [0.95, 0.05], 2.0), ([0, 1, 5], [0.2, 0.5, 0.3], 0.7)],
)
def test_quadrature_agrees_with_another_rule(atoms, weights, sigma):
    assert quadrature_nats(atoms, weights, sigma) == pytest.approx(
        by_scipy(atoms, weights, sigma), abs=1e-8
    )


def test_quadrature_at_its_two_ends():
    assert quadrature_nats([0, 100], [0.3, 0.7], 1.0) == pytest.approx(
        -0.3 * math.log(0.3) - 0.7 * math.log(0.7), abs=1e-9
    )
    far = quadrature_nats([-1, 1], [0.5, 0.5], 100.0)
    assert far == pytest.approx(0.5 * math.log1p(1e-4), rel=1e-3)  # the Gaussian's, to first order


def test_quadrature_does_not_depend_on_where_or_in_which_unit():
    plain = quadrature_nats([0, 1, 5], [0.2, 0.5, 0.3], 0.7)
    moved = quadrature_nats([10, 13, 25], [0.2, 0.5, 0.3], 2.1)
    assert moved == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.name)
def test_certificates_enclose_every_truth(problem):
    found = rpac.certify(problem.outputs, problem.noise, draws=20_000)
    assert found.lower - problem.error <= problem.nats <= found.bound + problem.error


def test_problems_are_a_spread_of_kinds_and_dimensions():
    found = [(problem.name, problem.nats) for problem in problems()]
    assert len(set(found)) == len(found) >= 11
    assert {1, 2, 5, 8} <= {p.outputs.dim for p in problems()}
    assert {p.outputs.kind for p in problems()} == {"real", "count", "label"}


def test_the_cube_is_its_sides():
    one, three = oracles.sign_cube(1, 1.3), oracles.sign_cube(3, 1.3)
    assert three.nats == pytest.approx(3 * one.nats)
    assert three.outputs.values.shape == (8, 3)
    assert set(np.unique(three.outputs.values)) == {-1.0, 1.0}


@pytest.mark.parametrize("width", [1, 2, 7])
def test_a_coin_under_uniform_noise_by_its_joint_table(width):
    joint = np.zeros((2, width + 1))
    joint[0, :-1] = joint[1, 1:] = 0.5 / width
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    used = joint > 0
    direct = (joint[used] * np.log(joint[used] / product[used])).sum()
    assert coin_under_uniform(width).nats == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize(("classes", "keep"), [(2, 0.75), (3, 1 / 3), (10, 0.4)])
def test_randomised_response_by_its_channel(classes, keep):
    problem = randomized_response(classes, keep)
    matrix = problem.noise.matrix
    direct = (matrix / classes * np.log(matrix / matrix.mean(axis=0))).sum()
    assert problem.nats == pytest.approx(direct, abs=1e-12)
    assert np.trace(matrix) / classes == pytest.approx(keep)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_clipping_bounds_hold_the_mass(law):
    z = law.quantile(np.linspace(0.001, 0.999, 999))
    inside = (z > law.clip[0]) & (z < law.clip[1])
    assert inside.mean() > (0.999 if law.light else 0.95)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_sources_draw_the_law_they_name(law):
    source = law.source(2, draws=4_000)
    draws = source.worlds(0)
    assert draws.shape == (4_000, 2)
    assert source.clip[0] == law.clip[0]
    below = [(draws <= law.quantile(np.array([u]))).mean() for u in (0.25, 0.75)]
    expected = [0.75, 0.25] if law.name == "arcsine" else [0.25, 0.75]
    if law.name != "coin":  # has only two values
        assert below == pytest.approx(expected, abs=0.03)


def test_nats_of_clipped_laws_with_a_closed_form():
    by_name = {law.name: law for law in LAWS}
    assert by_name["normal"].nats(1.0) == pytest.approx(0.5 * math.log(2), abs=1e-4)
    coin = by_name["coin"].nats(1.0)
    assert coin == pytest.approx(quadrature_nats([-1, 1], [0.5, 0.5], 1.0), abs=1e-4)
    for law in LAWS:
        wide, narrow = law.nats(4.0), law.nats(1.0)
        assert 0 < wide < narrow
        span = law.clip[1] - law.clip[0]
        assert wide <= 0.5 * math.log1p(span**2 / 4 / 16)  # no law on a box has more variance
