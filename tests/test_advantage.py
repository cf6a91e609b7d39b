"""Nats, success and (epsilon, delta): both directions, any prior."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import norm

import rpac
from rpac import InputError, advantage


def test_conversions_invert_each_other_on_ten_thousand_points():
    rng = np.random.default_rng(0)
    prior = rng.uniform(0.001, 0.999, 10_000)
    nats = np.exp(rng.uniform(np.log(1e-6), np.log(0.99 * np.log(1 / prior))))
    success = advantage.nats_to_success(nats, prior)
    assert ((success > prior) & (success <= 1)).all()
    assert np.abs(advantage.success_to_nats(success, prior) - nats).max() < 1e-9
    back = advantage.nats_to_success(advantage.success_to_nats(success, prior), prior)
    assert np.abs(back - success).max() < 1e-9


def test_epsilon_inverts_on_random_points():
    rng = np.random.default_rng(1)
    for _ in range(400):
        delta, epsilon = 10 ** rng.uniform(-9, -3), rng.uniform(0.05, 8)
        success = advantage.epsilon_to_success(epsilon, delta)
        assert advantage.success_to_epsilon(success, delta) == pytest.approx(epsilon, abs=1e-9)
        nats = advantage.epsilon_to_nats(epsilon, delta)
        assert advantage.nats_to_epsilon(nats, delta) == pytest.approx(epsilon, abs=1e-7)


def test_epsilon_ceiling_is_reached_by_the_best_test_of_randomised_response():
    for epsilon in (0.1, 1.0, 3.0):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        for prior in (0.2, 0.5, 0.9):
            best = max(prior, 1 - prior, keep)  # guess blindly, or believe the answer
            assert advantage.epsilon_to_success(epsilon, 0.0, prior) == pytest.approx(best)


def test_edges():
    assert advantage.nats_to_success(0.0, 0.3) == 0.3
    assert advantage.nats_to_success(5.0, 0.5) == 1.0
    assert advantage.success_to_nats(0.2, 0.3) == 0.0
    assert advantage.success_to_nats(1.0, 0.25) == pytest.approx(math.log(4))
    assert advantage.binary_kl(0.0, 0.25) == pytest.approx(math.log(4 / 3))
    assert advantage.success_to_epsilon(1.0) == math.inf
    assert advantage.success_to_epsilon(0.5) == 0.0
    assert advantage.fano_nats(advantage.fano_accuracy(0.5, 7), 7) == pytest.approx(0.5)


def test_success_is_rounded_up():
    for prior in (1e-4, 0.3, 0.5, 0.99):
        nats = np.geomspace(1e-9, 0.95 * np.log(1 / prior), 1_000)
        found = advantage.binary_kl(advantage.nats_to_success(nats, prior), prior)
        assert (found >= nats * (1 - 1e-12)).all()
        assert found == pytest.approx(nats, rel=1e-5)


def test_binary_kl_keeps_its_digits_near_the_prior():
    for s, p in ((0.5001, 0.5), (0.3000001, 0.3), (0.2, 0.7), (0.999, 0.001)):
        a, b = Fraction(s), Fraction(p)
        getcontext().prec = 60
        exact = (
            _decimal(a) * (_decimal(a) / _decimal(b)).ln()
            + _decimal(1 - a) * (_decimal(1 - a) / _decimal(1 - b)).ln()
        )
        assert float(advantage.binary_kl(s, p)) == pytest.approx(float(exact), rel=1e-9)


def _decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: advantage.binary_kl(1.2, 0.5), r"Expected success in \[0, 1\], prior in \(0, 1\)"),
        (lambda: advantage.binary_kl(0.5, 0.0), r"Pass probabilities"),
        (lambda: advantage.nats_to_success(-0.1), "Expected nats of at least 0; got -0.1"),
        (lambda: advantage.nats_to_success(float("nan")), "Expected nats of at least 0; got nan"),
        (lambda: advantage.fano_accuracy(0.1, 1), "Expected a whole `classes` of at least 2"),
        (lambda: advantage.epsilon_to_success(-1.0), "Expected epsilon >= 0"),
        (lambda: advantage.epsilon_to_success(1.0, delta=1.0), "Check their order"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_binary_kl_is_its_formula_and_takes_arrays():
    s, p = np.array([0.1, 0.5, 0.9]), np.array([[0.2], [0.7]])
    direct = s * np.log(s / p) + (1 - s) * np.log((1 - s) / (1 - p))
    assert advantage.binary_kl(s, p) == pytest.approx(direct, abs=1e-14)
    assert advantage.binary_kl(s, s) == pytest.approx(np.zeros(3), abs=0)


def test_no_attack_on_a_channel_beats_the_ceiling_of_its_information():
    """Random joint tables: the best guess's success lies below what their nats allow."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        joint = rng.dirichlet(np.full(12, 0.4)).reshape(3, 4)
        prior, law = joint.sum(axis=1), joint.sum(axis=0)
        used = joint > 0
        nats = (joint[used] * np.log((joint / np.outer(prior, law))[used])).sum()
        success = joint.max(axis=0).sum()
        assert success <= advantage.nats_to_success(max(nats, 0.0), prior.max()) + 1e-12
        assert advantage.success_to_nats(success, prior.max()) <= nats + 1e-12


def test_success_rises_with_nats_and_with_the_prior():
    nats = np.linspace(0, 1, 50)
    assert (np.diff(advantage.nats_to_success(nats, 0.2)) > 0).all()
    assert (np.diff(advantage.nats_to_success(0.1, np.linspace(0.05, 0.85, 50))) > 0).all()


def test_epsilon_by_the_hypothesis_test_it_comes_from():
    """A guess with errors a and b obeys a + e^eps b >= 1 - delta, both ways round."""
    for epsilon, delta, prior in ((0.5, 0.0, 0.5), (1.0, 0.05, 0.5), (2.0, 0.01, 0.3)):
        a = np.linspace(0, 1, 200_001)
        b = np.maximum(0, np.maximum(1 - delta - math.exp(epsilon) * a,
                                     (1 - delta - a) / math.exp(epsilon)))  # fmt: skip
        best = (1 - (prior * b + (1 - prior) * a)).max()
        assert advantage.epsilon_to_success(epsilon, delta, prior) == pytest.approx(best, abs=1e-5)


def test_huge_epsilon_is_no_overflow():
    assert advantage.epsilon_to_success(1e6) == pytest.approx(1.0)
    assert advantage.epsilon_to_nats(0.0) == 0.0
    assert advantage.nats_to_epsilon(0.0) == 0.0


# --- distance -----------------------------------------------------------------------------------


def test_success_at_a_distance_is_that_of_the_best_test():
    """Against quadrature: the larger of both weighted densities, integrated."""
    y = np.linspace(-15, 20, 350_001)
    for distance, prior in [(0.2513, 0.5), (1.0, 0.3), (3.0, 0.9), (0.5, 0.01)]:
        both = norm.pdf(y - distance) * prior, norm.pdf(y) * (1 - prior)
        truth = np.trapezoid(np.maximum(*both), y)
        assert advantage.distance_to_success(distance, prior) == pytest.approx(truth, abs=1e-9)
    assert advantage.distance_to_success(0.0, 0.2) == 0.8
    assert advantage.distance_to_success(100.0) == 1.0


def test_distance_and_success_are_inverse_from_below():
    for success in (0.5001, 0.52, 0.55, 0.7, 0.999):
        distance = advantage.success_to_distance(success)
        assert advantage.distance_to_success(distance) <= success
        assert distance == pytest.approx(2 * norm.ppf(success), rel=1e-9)
    assert advantage.success_to_distance(0.5) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(rpac.InputError, match="a success below 1; got 1"):
        advantage.success_to_distance(1.0)
    with pytest.raises(rpac.InputError, match="distance >= 0"):
        advantage.distance_to_success(-1.0)


def test_nats_of_a_coin_are_at_most_an_eighth_of_the_squared_distance():
    y = np.linspace(-15, 20, 350_001)
    for distance in (0.1, 0.2513, 1.0, 3.0):
        for prior in (0.5, 0.3, 0.05):
            one, zero = norm.pdf(y - distance), norm.pdf(y)
            mixed = prior * one + (1 - prior) * zero
            with np.errstate(all="ignore"):
                terms = prior * xlogy(one, one / mixed) + (1 - prior) * xlogy(zero, zero / mixed)
            truth = np.trapezoid(np.nan_to_num(terms), y)
            assert truth <= advantage.distance_to_nats(distance)
    assert advantage.nats_to_distance(advantage.distance_to_nats(0.7)) == pytest.approx(0.7)


def test_epsilon_at_a_distance_meets_its_delta():
    """delta(eps) = E[(1 - exp(eps - loss))_+], the loss Gaussian: by quadrature."""
    z = np.linspace(-12, 12, 200_001)
    for distance, delta in [(0.2513, 1e-5), (1.0, 1e-6), (4.0, 1e-3)]:
        epsilon = advantage.distance_to_epsilon(distance, delta)
        loss = distance**2 / 2 + distance * z
        found = np.trapezoid(np.maximum(1 - np.exp(epsilon - loss), 0) * norm.pdf(z), z)
        assert found == pytest.approx(delta, rel=1e-3)
    assert advantage.distance_to_epsilon(0.0) == 0.0
    assert advantage.distance_to_epsilon(1e-7, 0.5) == 0.0
    assert advantage.distance_to_epsilon(70.0, 1e-300) > 2000  # the second term vanishes
    with pytest.raises(rpac.InputError, match="delta in"):
        advantage.distance_to_epsilon(1.0, 0.0)


def test_a_guess_among_alternatives():
    assert advantage.alternatives_success(0.5, 2) == pytest.approx(norm.cdf(0.25))
    assert advantage.alternatives_success(0.0, 4) == pytest.approx(0.25)
    assert advantage.alternatives_success(50.0, 4) == 1.0
    with pytest.raises(rpac.InputError, match="alternatives"):
        advantage.alternatives_success(0.5, 1)


def test_no_distance_is_free():
    for distance in (6.3e-8, 1e-9, 1e-160, 0.25, 3.0):
        assert advantage.distance_to_nats(distance) >= distance * distance / 8 * (1 - 1e-15) > 0
    assert advantage.distance_to_nats(0.8) == 0.08


@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-20, 1e-30])
def test_epsilon_keeps_its_digits_where_delta_is_small(delta):
    from scipy.special import log_ndtr

    for distance in (0.05, 0.25, 1.0):
        e = advantage.distance_to_epsilon(distance, delta)
        high = float(log_ndtr(distance / 2 - e / distance))
        low = e + float(log_ndtr(-distance / 2 - e / distance))
        reached = np.exp(high) * -np.expm1(low - high)
        assert reached == pytest.approx(delta, rel=1e-6)
