"""The one statistical bound: its control variates, its coverage, its shortcuts."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

import rpac
from rpac.certificate import controls, evidence, sampled


def test_many_worlds_skip_the_pairwise_heights(monkeypatch):
    monkeypatch.setattr(controls, "MOST_FORMS", 10)
    problem = rpac.oracles.sign_cube(5, 2.0)
    certificate = rpac.certify(problem.outputs, problem.noise)
    assert problem.nats <= certificate.bound
    assert certificate.bounds["mixture"] <= 1.1 * problem.nats


LENGTH = 4.0 - 4.0 * chi2.sf(40, 6) + 40 * chi2.sf(40, 4)
"""Mean of a chi-square of 4 degrees of freedom, clipped at 40."""
DEFICITS = {
    "explained": (lambda s, h, chance: 0.2 * s + 0.5 * h + 0.1 * chance, 0.2 * LENGTH + 0.77),
    "against": (lambda s, h, chance: 20.0 - 0.3 * s + h, 21.5 - 0.3 * LENGTH),
    "unrelated": (lambda s, h, chance: chance, 0.2),
    "shared": (lambda s, h, chance: chance * s, 0.2 * LENGTH),
}


@pytest.mark.parametrize("how", DEFICITS)
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_bound_on_deficits_holds_however_they_go_with_their_controls(how, spread):
    rng, misses, runs, n = np.random.default_rng(0), 0, 600, 320
    made, truth = DEFICITS[how]
    means, most = np.array([LENGTH - 1e-4, -1.5]), np.array([40.0, -1.0])
    for _ in range(runs):
        lengths = np.minimum(rng.chisquare(4, n), 40.0)
        heights = 1.5 + spread * (rng.random(n) - 0.5)
        deficits = made(lengths, heights, rng.exponential(0.2, n))
        known = np.stack([lengths, -heights], axis=1)
        misses += sampled.mean_at_least(deficits, known, means, most, 0.1) > truth
    assert binomtest(misses, runs, 0.1, "greater").pvalue > 1e-3


def test_the_control_variates_explain_most_of_the_variance(monkeypatch):
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(100, 6)))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 2.0, "auto-pac"))
    shares, real = [], sampled.control_slopes

    def spy(deficits, controls):
        slopes = real(deficits, controls)
        shares.append((deficits - controls @ slopes).var() / deficits.var())
        return slopes

    monkeypatch.setattr(sampled, "control_slopes", spy)
    rpac.certify(outputs, law, draws=50_000)
    assert max(shares) < 0.1


def test_slopes_are_the_best_within_their_limits_though_controls_are_all_but_equal():
    """Those of a plain fit are about 25 and -25: cut off, (1, 0) would leave more variance."""
    rng = np.random.default_rng(4)
    first = rng.normal(size=40_000)
    controls = np.stack([first, first + 0.02 * rng.normal(size=40_000), np.ones(40_000)], axis=1)
    deficits = 0.4 * first - 25 * (controls[:, 1] - first) + rng.normal(size=40_000)
    slopes = sampled.control_slopes(deficits, controls)
    assert ((slopes >= 0) & (slopes <= 1)).all()
    assert slopes[2] == 0
    ways = [(a, b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1, 41)]
    least = min((deficits - a * controls[:, 0] - b * controls[:, 1]).var() for a, b in ways)
    assert (deficits - controls @ slopes).var() <= 1.001 * least


def test_a_certificate_scatters_little_where_worlds_lie_in_a_rectangle(truths):
    case = truths("gaussian_equilibrium_2d")[0]
    outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, case["budget"]))
    bounds = [rpac.certify(outputs, law).bound for _ in range(4)]
    assert max(bounds) - min(bounds) <= 3e-4 * case["budget"]


def test_worlds_very_far_apart_are_certified_by_their_entropy():
    """Scores carry the rounding of large exponents; they are clipped to what they can be."""
    values = np.random.default_rng(3).normal(size=(50, 2)) * 1e7
    made = rpac.certify(rpac.Outputs(values), rpac.GaussianNoise(np.eye(2)), draws=2_000)
    assert made.bound == pytest.approx(np.log(50), abs=1e-9)


def judged_at(monkeypatch, stops):
    """Return what is judged of the same draws at several times of stopping."""
    seen, rng = [], np.random.default_rng(2)
    monkeypatch.setattr(sampled, "lower_mean", lambda *args: seen.append(args) or 0.0)
    deficits, known = rng.exponential(1.0, 800), rng.random((800, 2))
    for t in stops:
        sampled.mean_at_least(
            deficits[:t], known[:t], np.full(2, 0.5), np.ones(2), 0.1, planned=800
        )
    return seen


def test_what_is_judged_is_the_same_whenever_one_stops(monkeypatch):
    early, late = judged_at(monkeypatch, (200, 800))
    assert np.array_equal(early[0], late[0][:150])  # slopes and cap too: 50 draws were the pilot
    assert [len(early[0]), len(late[0])] == [150, 750]
    assert early[1:] == late[1:]  # range, error and horizon
    assert late[4] == 750


def test_a_bound_below_the_truth_is_rare_however_often_one_looks():
    """Stop once the mean is overstated, or never: the error is that of one look."""
    rng, misses, n = np.random.default_rng(0), 0, 1_600
    means, most = np.array([LENGTH - 1e-4, -1.5]), np.array([40.0, -1.0])
    for _ in range(300):
        lengths = np.minimum(rng.chisquare(4, n), 40.0)
        heights = 1.0 + rng.random(n)
        deficits, known = rng.integers(0, 2, n) * 1.0, np.stack([lengths, -heights], axis=1)
        misses += any(
            sampled.mean_at_least(deficits[:t], known[:t], means, most, 0.1, planned=n) > 0.5
            for t in range(200, n + 1, 50)
        )
    assert binomtest(misses, 300, 0.1, "greater").pvalue > 1e-3


CUBE = rpac.oracles.sign_cube(2, 1.0)
WEIGHTS = np.full(4, 0.25)


@pytest.mark.parametrize("law", ["gaussian", "table"])
def test_draws_that_stop_at_a_false_limit_do_so_rarely(law):
    """A limit just below the leakage is met by bad luck alone, at the confidence that was asked."""
    grid = rpac.tabulate(CUBE.outputs, CUBE.noise)
    codes, misses = CUBE.outputs.codes(grid), 0
    kernel = sampled_kernel(grid)
    truth = 2 * rpac.oracles.quadrature_nats([-1, 1], [0.5, 0.5], 1.0)
    limit = truth * (1 - 2e-3)  # the grid moves worlds by half a step
    for _ in range(200):
        if law == "gaussian":
            found = sampled.kernel_bounds(codes / grid.scales, WEIGHTS, kernel, 0.2, 400, limit)
            misses += found.upper <= limit
        else:
            misses += sampled.table_bound(codes, WEIGHTS, grid, 0.1, 400, limit)[0] <= limit
    assert binomtest(int(misses), 200, 0.1, "greater").pvalue > 1e-6


def sampled_kernel(grid):
    from rpac.certificate.kernel import grid_kernel

    return grid_kernel(grid.laws)


def test_draws_end_once_the_limit_is_met_and_no_sooner():
    grid = rpac.tabulate(CUBE.outputs, CUBE.noise)
    codes, kernel = CUBE.outputs.codes(grid), sampled_kernel(grid)
    points = codes / grid.scales
    for limit, made in ((9.0, 2_000), (0.0, 8_000), (sampled.NEVER, 8_000)):
        found = sampled.kernel_bounds(points, WEIGHTS, kernel, 0.01, 8_000, limit)
        assert found.densities.size == made
        assert sampled.table_bound(codes, WEIGHTS, grid, 0.01, 8_000, limit)[1].size == made
        assert found.lower <= CUBE.nats <= found.upper


@pytest.mark.parametrize(
    ("planned", "limit", "looks"),
    [
        (8_000, sampled.NEVER, [8_000]),
        (8_000, -9_000.0, [2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000]),
        (8_000, -3_500.0, [2_000, 3_000, 4_000]),
        (10, -9_000.0, [10]),
    ],
)
def test_looks_are_taken_at_times_that_are_planned(planned, limit, looks):
    seen = []

    def bound(rows):
        seen.append(len(rows))
        return -float(len(rows))

    rows, found = sampled.judged(lambda n: np.ones((n, 1)), bound, planned, limit)
    assert seen == looks
    assert found == -len(rows) == -looks[-1]


def test_a_budget_in_nats_ends_the_draws_of_a_certificate(monkeypatch):
    outputs = rpac.Outputs(np.random.default_rng(4).normal(size=(60, 3)))
    noise, made, real = rpac.GaussianNoise(4.0 * np.eye(3)), [], sampled.kernel_bounds

    def spy(*args):
        made.append(real(*args))
        return made[-1]

    monkeypatch.setattr(evidence, "kernel_bounds", spy)
    plain = rpac.certify(outputs, noise, draws=8_000)
    for budget in (1.2 * plain.bound, 2.0, plain.lower):
        try:
            rpac.certify(outputs, noise, draws=8_000, budget=budget)
        except rpac.BudgetExceeded:
            assert budget == plain.lower
    assert [found.densities.size for found in made] == [8_000, 2_000, 2_000, 8_000]


@pytest.mark.parametrize("fewer", [16, 17])
def test_more_is_drawn_where_less_is_known(fewer):
    assert sampled.default_draws(10_000, fewer) == (30_000 if fewer == 16 else 60_000)
    assert sampled.default_draws(30_000, fewer) == 60_000
    assert sampled.default_draws(4, 2) == 2_000_000
