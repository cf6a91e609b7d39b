"""The paper's statements on residual privacy, the game and its equilibrium, as checks."""

import math

import numpy as np
import pytest

import rpac
from rpac import residual
from rpac.calibrators import gaussian
from rpac.calibrators.lattice import LatticeGame, gaussian_start, meet_along_mu
from rpac.oracles import quadrature_nats


def lattice_curve(budgets):
    """Return the least E[b^2] for atoms +-1 (two steps of one) at every budget, exactly."""
    cost = np.square(np.arange(-30, 31) * 0.5)
    game = LatticeGame.of(np.array([0, 4]), np.array([0.5, 0.5]), cost)
    found = [meet_along_mu(game, b, gaussian_start(30, 2.0), 2.0)[0] for b in budgets]
    return np.array([q @ cost for q in found]), [
        game.objective(np.log(np.maximum(q, 1e-300)), 1.0) - q @ cost for q in found
    ]


def test_the_log_score_is_not_jointly_convex():
    """W(Q, pi) = E_Q[-log pi] is linear in Q and convex in pi, which is less than jointly so."""
    y_given_x = {"a": np.array([[0.9, 0.1], [0.1, 0.9]]), "b": np.array([[0.1, 0.9], [0.9, 0.1]])}

    def score(channel, decoder):
        return float(-0.5 * (channel * np.log(decoder)).sum())

    ends = [score(y_given_x[k], y_given_x[k]) for k in "ab"]
    middle = score(0.5 * (y_given_x["a"] + y_given_x["b"]), np.full((2, 2), 0.5))
    assert middle > 0.5 * sum(ends)


def test_the_best_response_is_concave_so_the_feasible_set_is_convex():
    """inf_pi W(Q, pi) = H(X | Y): concave in the noise, and {H >= beta_hat} is convex."""
    outputs = rpac.Outputs(np.array([0, 1, 5]), [0.5, 0.3, 0.2])
    rng = np.random.default_rng(0)
    k = np.arange(-6, 7)

    def remains(q):
        joint = residual.joint_law(outputs, rpac.LatticeNoise(1.0, k, q))
        return residual.conditional_entropy(joint)

    for _ in range(50):
        a, b = rng.dirichlet(0.3 * np.ones(13)), rng.dirichlet(0.3 * np.ones(13))
        share = rng.uniform()
        mixed = share * a + (1 - share) * b
        assert remains(mixed) >= share * remains(a) + (1 - share) * remains(b) - 1e-12


def test_the_adjusted_penalty_as_printed_is_zero_where_privacy_is_violated():
    target = 2.0
    for h_c, violated in ((1.5, True), (2.5, False)):
        printed = max(h_c - target, 0.0) ** 2
        shortfall = max(target - h_c, 0.0) ** 2
        assert (printed == 0.0) == violated
        assert (shortfall > 0.0) == violated


def test_the_equilibrium_spends_its_budget_one_for_one():
    budgets = np.array([0.2, 0.3, 0.4, 0.5, 0.6])
    _, leaks = lattice_curve(budgets)
    np.testing.assert_allclose(np.diff(leaks) / np.diff(budgets), 1.0, atol=1e-3)
    sigmas = 1 / np.sqrt(np.expm1(2 * budgets))
    pac = [quadrature_nats([-1, 1], [0.5, 0.5], s) for s in sigmas]
    assert (np.diff(pac) / np.diff(budgets) < 1).all()


def test_utility_falls_faster_for_auto_pac_only_while_there_is_something_to_tell():
    """Slopes of power: ahead in the middle; behind above H(X), where the least noise ends."""
    at = np.array([0.55, 0.56, 0.689, 0.6895])
    power, _ = lattice_curve(at)
    auto = 1 / np.expm1(2 * at)
    slope = -np.diff(power)[[0, 2]] / np.diff(at)[[0, 2]]
    auto_slope = -np.diff(auto)[[0, 2]] / np.diff(at)[[0, 2]]
    assert slope[0] > auto_slope[0]
    beyond = np.array([0.8, 0.9])  # above H(X) = log 2 no noise is needed at all
    assert -(np.diff(1 / np.expm1(2 * beyond)) / 0.1)[0] > 0.0
    assert (power < auto).all()


def gaussian_equilibrium(points, budget, weight):
    """Return the stationary covariance of the Gaussian game."""
    m, r = points.shape
    game = gaussian.Game.of(points, np.full(m, 1 / m), lambda _: weight, 0)
    return gaussian.stationary(game, np.eye(r), budget)[1]


def test_the_equilibrium_is_anisotropic():
    points = np.array([[x, 0.2 * y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    least, most = np.linalg.eigvalsh(gaussian_equilibrium(points, 0.5, np.eye(2)))[[0, -1]]
    assert most > 1.5 * least


def test_less_noise_than_auto_pac_for_outputs_that_are_not_gaussian():
    budgets = np.array([0.2, 0.4, 0.6])
    assert (lattice_curve(budgets)[0] < 1 / np.expm1(2 * budgets)).all()


def test_a_direction_left_clean_tells_all_it_knows():
    """Label directions stay clean only while their entropy fits the budget.

    Four worlds: a label (two clusters) and a detail. With the label clean the leakage is at least
    log 2, however small the posterior error along it; weights move noise away from it instead.
    """
    points = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], float)
    clean = rpac.GaussianNoise(np.diag([1e-6, 1e6]))
    assert rpac.certify(rpac.Outputs(points), clean, draws=20_000).lower > math.log(2) - 0.03
    plain = gaussian_equilibrium(points, 0.8, np.eye(2))
    weighted = gaussian_equilibrium(points, 0.8, np.diag([100.0, 1.0]))
    share = [cov[0, 0] / np.trace(cov) for cov in (weighted, plain)]
    assert share[0] < 0.5 * share[1]
    assert weighted[0, 0] > 0


def test_composition_adds_and_a_joint_look_is_tighter():
    """Independent noise on one secret: MI(X; Y1, Y2) <= MI(X; Y1) + MI(X; Y2)."""
    values = np.array([0.0, 1.0, 3.0])
    one = rpac.Outputs(values)
    both = rpac.Outputs(np.stack([values, values], axis=1))
    noise = rpac.GaussianNoise(1.0)
    single = rpac.certify(one, noise, draws=100_000)
    joint = rpac.certify(both, rpac.GaussianNoise(np.eye(2)), draws=100_000)
    assert joint.bound < 2 * single.lower
    entropy = math.log(3)
    assert entropy - joint.bound > 2 * (entropy - single.bound) - entropy


def test_residual_privacy_in_kl():
    """R >= H(X|Y) - E_D[-log r]; the constant is H(R) for the uniform pool, not for all."""
    outputs = rpac.Outputs(np.array([0, 1, 2]), [0.8, 0.1, 0.1])
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.3, 0.4, 0.3])
    remains = residual.conditional_entropy(residual.joint_law(outputs, noise))
    uniform = residual.uniform_pool(3)
    other = residual.SecretReference("skewed", np.array([0.02, 0.49, 0.49]))
    for reference in (uniform, other):
        found = residual.residual_privacy(outputs, noise, reference)
        constant = residual.cross_entropy(outputs.weights, reference)
        assert found.bound == pytest.approx(remains - constant)
        assert found.disadvantage >= remains - constant
    assert residual.cross_entropy(outputs.weights, uniform) == pytest.approx(uniform.entropy)
    skewed = residual.residual_privacy(outputs, noise, other)
    assert skewed.disadvantage < remains - other.entropy  # so V = H(R) would not do


def test_a_height_gap_is_no_slope_gap():
    """g > f and f convex leave g' < f' possible: the difference may shrink again."""
    beta = np.linspace(0.1, 1.0, 200)
    f, g = beta**2, beta**2 + 0.01 * np.sin(3 * beta) ** 2
    assert (g > f).all()
    assert (np.gradient(g, beta) < np.gradient(f, beta)).any()
