"""The lattice game: optimality conditions, a general-purpose optimiser, and budgets met."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from rpac.calibrators import lattice
from rpac.calibrators.lattice import (
    LatticeGame,
    TwoLevels,
    gaussian_multiplier,
    gaussian_start,
    meet_along_mu,
)

CODES, PRIOR = np.array([0, 1, 4]), np.array([0.5, 0.3, 0.2])


def squares(half):
    return np.square(np.arange(-half, half + 1)).astype(float)


def leakage(codes, p, q):
    """Return MI of integer worlds under noise q by its definition."""
    joint = np.zeros((len(codes), int(max(codes)) - int(min(codes)) + q.size))
    for row, code in enumerate(codes):
        joint[row, code - min(codes) : code - min(codes) + q.size] = p[row] * q
    law = joint.sum(axis=0)
    seen = joint > 0
    ratio = joint / (p[:, None] * np.where(law > 0, law, 1.0))
    return float((joint[seen] * np.log(ratio[seen])).sum())


def test_the_lattice_solution_satisfies_its_kkt_conditions():
    codes, p = np.array([-6, -5, -4, -1, 0, 1, 4, 5, 6]), np.full(9, 1 / 9)
    cost = np.square(np.arange(-40, 41)).astype(float)
    game = LatticeGame.of(codes, p, cost)
    q, mu = meet_along_mu(game, 0.5, gaussian_start(40, 3.0), 20.0)
    log_q, mi = game.solve(mu, np.log(np.maximum(q, 1e-300)), tolerance=1e-10)
    assert mi == pytest.approx(0.5, abs=1e-4)
    gradient = mu * game.response(log_q, mu)[1]  # K + mu (log q - E log w)
    assert np.ptp(gradient[np.exp(log_q) > 1e-9]) < 1e-3 * mu  # the same wherever q has mass


def test_no_law_near_the_lattice_optimum_is_better():
    """Perturb the optimum: whatever keeps the leakage costs more."""
    codes, p = np.array([0, 1, 5]), np.array([0.5, 0.3, 0.2])
    cost = np.square(np.arange(-20, 21)).astype(float)
    game = LatticeGame.of(codes, p, cost)
    q, mu = meet_along_mu(game, 0.4, gaussian_start(20, 2.0), 5.0)
    best = game.objective(np.log(np.maximum(q, 1e-300)), mu)
    rng = np.random.default_rng(0)
    for _ in range(300):
        other = q * np.exp(0.3 * rng.normal(size=q.size))
        other = np.maximum(other / other.sum(), 1e-300)
        assert game.objective(np.log(other / other.sum()), mu) >= best - 1e-6


def test_the_optimum_is_what_a_general_optimiser_finds():
    """Softmax coordinates, BFGS from several starts: the same least E[K] + mu MI."""
    half, mu = 4, 6.0
    game = LatticeGame.of(CODES, PRIOR, squares(half))

    def objective(free):
        q = np.exp(free - free.max())
        q /= q.sum()
        return q @ squares(half) + mu * leakage(CODES, PRIOR, q)

    rng = np.random.default_rng(0)
    found = min(minimize(objective, rng.normal(size=2 * half + 1)).fun for _ in range(3))
    log_q, mi = game.solve(mu, gaussian_start(half, 1.0), tolerance=1e-9)
    q = np.exp(log_q)
    assert q @ squares(half) + mu * mi == pytest.approx(found, abs=1e-4)
    assert mi == pytest.approx(leakage(CODES, PRIOR, q), abs=1e-9)


@pytest.mark.parametrize("nats", [0.05, 0.3, 0.6])
def test_budgets_are_met_from_below(nats):
    game = LatticeGame.of(CODES, PRIOR, squares(25))
    q, _ = meet_along_mu(game, nats, gaussian_start(25, 3.0), 10.0)
    found = leakage(CODES, PRIOR, q)
    assert nats * (1 - 1e-4) <= found <= nats
    assert q.sum() == pytest.approx(1.0)
    assert (q >= 0).all()


def test_any_start_and_any_first_multiplier_arrive():
    game = LatticeGame.of(CODES, PRIOR, squares(20))
    powers = [
        meet_along_mu(game, 0.3, gaussian_start(20, scale), mu)[0] @ squares(20)
        for scale, mu in ((0.5, 0.01), (8.0, 1_000.0), (2.0, 5.0))
    ]
    assert powers == pytest.approx([powers[0]] * 3, rel=1e-3)


def test_equal_worlds_are_one_and_far_ones_no_further_than_noise_can_reach():
    game = LatticeGame.of(np.array([7, 3, 3, 900]), np.full(4, 0.25), squares(5))
    assert game.codes.tolist() == [0, 4, 15]  # the gap of 893 is cut to the 11 places of noise
    assert game.weights.tolist() == [0.5, 0.25, 0.25]
    assert game.cells == (15 + 11) * 11


def test_the_law_of_the_release_is_a_convolution():
    game = LatticeGame.of(CODES, PRIOR, squares(2))
    q = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    dense = np.zeros(5)
    dense[CODES] = PRIOR
    assert game.spread @ q == pytest.approx(np.convolve(dense, q))
    log_q = np.log(q)
    _, gradient, mi = game.response(log_q, 3.0)
    assert mi == pytest.approx(leakage(CODES, PRIOR, q))
    assert game.objective(log_q, 3.0) == pytest.approx(q @ squares(2) / 3.0 + mi)
    step = 1e-6 * np.array([1.0, -2.0, 0.5, 1.5, -1.0])  # keeps the sum
    change = game.objective(np.log(q + step), 3.0) - game.objective(np.log(q - step), 3.0)
    assert change == pytest.approx(2 * gradient @ step, rel=1e-4)


def test_a_step_of_newton_goes_down():
    game = LatticeGame.of(CODES, PRIOR, squares(6))
    log_q = gaussian_start(6, 4.0)
    direction = game.newton(log_q, game.response(log_q, 2.0)[1])
    trial = log_q + 0.2 * direction
    trial -= math.log(np.exp(trial).sum())
    assert game.objective(trial, 2.0) < game.objective(log_q, 2.0)
    assert np.abs(direction).max() <= 3.0


def test_a_start_is_a_discrete_gaussian():
    q = np.exp(gaussian_start(40, 5.0))
    assert q.sum() == pytest.approx(1.0)
    assert q @ squares(40) == pytest.approx(25.0, rel=1e-6)
    assert np.isfinite(gaussian_start(100, 0.01)).all()


def test_wide_noise_is_solved_on_a_coarse_lattice_nearly_as_well():
    rng = np.random.default_rng(1)
    codes, p = np.rint(40 * rng.normal(size=300)).astype(int), np.full(300, 1 / 300)
    cost = squares(400)
    one, two = LatticeGame.of(codes, p, cost), TwoLevels.of(codes, p, cost, 4)
    start = gaussian_start(400, 50.0)
    mu = gaussian_multiplier(2_500.0, 2_500.0 / codes.var())
    fine, coarse = (game.solve(mu, start)[0] for game in (one, two))
    assert two.coarse.cost.size == 201
    least = one.objective(fine, mu)
    assert least <= one.objective(coarse, mu) <= least * (1 + 2e-5)
    assert two.solve(mu, start)[1] == pytest.approx(leakage(codes, p, np.exp(coarse)), rel=1e-9)


def test_noise_that_is_not_smooth_is_solved_on_the_fine_lattice():
    """Two worlds far apart: the best noise is a comb, which straight lines would miss."""
    codes, p = np.array([0, 46]), np.array([0.5, 0.5])
    one, two = LatticeGame.of(codes, p, squares(150)), TwoLevels.of(codes, p, squares(150), 2)
    for mu in (600.0, 4_000.0):
        fine, coarse = (game.solve(mu, gaussian_start(150, 20.0))[0] for game in (one, two))
        assert one.objective(coarse, mu) == pytest.approx(one.objective(fine, mu), rel=1e-4)


@pytest.mark.parametrize("nats", [0.05, 0.5, 2.0])
def test_the_multiplier_of_gaussians_is_how_their_power_falls(nats):
    """Power v / (exp(2 nats) - 1) against its difference quotient."""

    def power(nats):
        return 3.0 / math.expm1(2 * nats)

    slope = (power(nats - 1e-5) - power(nats + 1e-5)) / 2e-5
    assert gaussian_multiplier(power(nats), power(nats) / 3.0) == pytest.approx(slope, rel=1e-6)


def test_a_matrix_that_is_mostly_empty_is_multiplied_without_its_zeros(monkeypatch):
    game = LatticeGame.of(np.array([0, 40, 90, 133]), np.full(4, 0.25), squares(6))
    log_q = gaussian_start(6, 2.0)
    direction = game.newton(log_q, squares(6))
    monkeypatch.setattr(lattice, "_SPARSE", 0.0)
    assert game.newton(log_q, squares(6)) == pytest.approx(direction, rel=1e-9)
