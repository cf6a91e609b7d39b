"""Least noise: the equilibrium against independent optima, closed forms and Auto-PAC."""

import time
import warnings

import numpy as np
import pytest

import rpac
from rpac.calibrators.lattice import LatticeGame, gaussian_start, meet_along_mu


def test_lattice_optima(truths):
    for case in truths("lattice_optimum"):
        outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
        start = time.process_time()
        noise = rpac.calibrate(outputs, case["budget"])
        assert time.process_time() - start < 3
        assert noise.power <= 1.005 * case["power"], case["name"]
        assert rpac.certify(outputs, noise, budget=case["budget"]).grade == "proved"


def test_gaussian_equilibria(truths):
    for case in truths("gaussian_equilibrium_2d"):
        outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
        noise = rpac.calibrate(outputs, case["budget"])
        assert noise.power <= 1.01 * case["power"], case
        planning = rpac.certify(outputs, noise, budget=case["budget"])
        released = rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=case["budget"])
        assert not planning.charged
        assert released.charged


def test_the_lattice_solution_satisfies_its_kkt_conditions():
    codes, p = np.array([-6, -5, -4, -1, 0, 1, 4, 5, 6]), np.full(9, 1 / 9)
    cost = np.square(np.arange(-40, 41)).astype(float)
    game = LatticeGame.of(codes, p, cost)
    q, mu = meet_along_mu(game, 0.5, gaussian_start(40, 3.0), 20.0)
    log_q, mi = game.solve(mu, np.log(np.maximum(q, 1e-300)), tolerance=1e-10)
    assert mi == pytest.approx(0.5, abs=1e-4)
    assert game.kkt(log_q, mu) < 1e-3 * mu


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


@pytest.mark.parametrize(("dim", "budget"), [(5, 0.1), (5, 2.0), (50, 0.5)])
def test_gaussian_outputs_give_auto_pac(dim, budget):
    rng = np.random.default_rng(dim)
    outputs = rpac.Outputs(rng.normal(size=(10_000, dim)) * np.linspace(1, 0.3, dim))
    noise = rpac.calibrate(outputs, budget)
    closed = rpac.calibrate(outputs, budget, method="auto-pac")
    assert 0.99 <= noise.power / closed.power <= 1.0


@pytest.mark.parametrize("budget", [0.1, 0.5, 2.0])
def test_a_quantised_normal_gives_auto_pac(budget):
    from scipy.special import ndtr

    edges = np.arange(-60.5, 61)
    p = np.diff(ndtr(edges / 12.0))
    p /= p.sum()
    outputs = rpac.Outputs(np.arange(-60, 61), p)
    noise = rpac.calibrate(outputs, budget)
    variance = float(p @ np.square(np.arange(-60, 61)))
    assert noise.power == pytest.approx(variance / np.expm1(2 * budget), rel=0.01)


@pytest.fixture(scope="module")
def digits():
    """Logits of a small classifier on held-out digits, with their labels."""
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    from sklearn.neural_network import MLPClassifier

    x, y = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:900], order[900:]
    model = MLPClassifier((64,), max_iter=600, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[train] / 16, y[train])
    hidden = np.maximum(x[test] / 16 @ model.coefs_[0] + model.intercepts_[0], 0)
    return hidden @ model.coefs_[1] + model.intercepts_[1], y[test]


def test_logits_of_digits(digits):
    logits, labels = digits
    assert logits.shape == (897, 10)
    outputs = rpac.Outputs(logits)
    most = {5: 0.55, 3: 0.85}
    for budget in (5, 4, 3, 2, 1, 0.5, 0.25, 0.1):
        noise = rpac.calibrate(outputs, budget)
        closed = rpac.calibrate(outputs, budget, method="auto-pac")
        assert noise.power <= most.get(budget, 1.005) * closed.power
        rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=budget)
        noisy = logits + noise.sample(len(logits), np.random.default_rng(0))
        accuracy = (noisy.argmax(axis=1) == labels).mean()
        ceiling = float(rpac.advantage.fano_accuracy(budget, 10))
        print(f"{budget} nats: accuracy {accuracy:.3f}, Fano ceiling {ceiling:.3f}")
        assert accuracy <= ceiling + 0.03


def test_labels_of_digits_reach_the_fano_ceiling(digits):
    logits, truth = digits
    predicted = logits.argmax(axis=1)
    base = (predicted == truth).mean()
    outputs = rpac.Outputs([f"digit {i}" for i in predicted])
    for budget in (2, 1, 0.5, 0.25, 0.1):
        channel = rpac.calibrate(outputs, budget)
        rpac.certify(outputs, channel, budget=budget)
        kept = channel.matrix[predicted, predicted].mean()
        ceiling = float(rpac.advantage.fano_accuracy(budget, 10))
        assert kept * base >= 0.99 * ceiling * base


def test_balanced_labels_give_randomised_response():
    outputs = rpac.Outputs(["a", "b", "c", "d"])
    channel = rpac.calibrate(outputs, 0.5)
    keep = float(rpac.advantage.fano_accuracy(0.5, 4))
    assert np.diag(channel.matrix) == pytest.approx([keep] * 4, abs=1e-5)
    assert rpac.certify(outputs, channel).bound <= 0.5


def test_rare_labels_may_vanish():
    outputs = rpac.Outputs(["a", "b", "c"], weights=[0.9, 0.09, 0.01])
    channel = rpac.calibrate(outputs, 0.05)
    assert rpac.certify(outputs, channel, budget=0.05).bound <= 0.05
    assert channel.matrix[2, 2] < channel.matrix[0, 0]


def test_counts_get_whole_noise_and_reals_a_fine_grid():
    counts = rpac.calibrate(rpac.Outputs([3, 5, 9, 30]), 0.3)
    assert counts.steps.tolist() == [1.0]
    reals = rpac.calibrate(rpac.Outputs([0.3, 0.5, 0.9, 3.0]), 0.3)
    assert reals.steps[0] < 0.1 * np.sqrt(reals.power)


def test_clusters_far_apart_are_refined_until_the_noise_is_resolved():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=40) * 1e-3, 1000 + rng.normal(size=40) * 1e-3])
    outputs = rpac.Outputs(values)
    noise = rpac.calibrate(outputs, 2.5)  # which cluster is known; which of its worlds is not
    closed = rpac.calibrate(outputs, 2.5, method="auto-pac")
    assert noise.power < 1e-3 * closed.power
    assert rpac.certify(outputs, noise, budget=2.5).bound <= 2.5


def test_collinear_outputs_are_one_direction():
    t = np.array([0.0, 1.0, 2.0, 7.0])
    outputs = rpac.Outputs(np.outer(t, [3.0, 4.0]) + 1.0)
    noise = rpac.calibrate(outputs, 0.5)
    assert len(noise.axes) == 1
    line = rpac.calibrate(rpac.Outputs(5 * t), 0.5)
    assert noise.power == pytest.approx(line.power, rel=0.01)


def test_product_noise_is_certified_jointly():
    rng = np.random.default_rng(2)
    corners = rng.choice([-1.0, 1.0], size=(64, 3)) + 0.05 * rng.normal(size=(64, 3))
    outputs = rpac.Outputs(corners)
    closed = rpac.calibrate(outputs, 1.0, method="auto-pac")
    for basis in ("principal", "independent", np.eye(3)):
        noise = rpac.calibrate(outputs, 1.0, rpac.Equilibrium(family="product", basis=basis))
        certificate = rpac.certify(outputs, noise, budget=1.0)
        assert set(certificate.bounds) == {"entropy", "exact sum", "mixture"}
        assert noise.power < closed.power


def test_joint_certificate_encloses_a_known_answer():
    coin = rpac.oracles.coin_under_uniform(3)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (coin.noise, coin.noise))
    same = rpac.Outputs([[0, 0], [1, 1]])  # one coin seen twice: less than the sum
    certificate = rpac.certify(same, law, draws=400_000)
    truth = np.log(2) * (1 - (2 / 3) ** 2)
    assert truth <= certificate.bound <= 1.02 * truth
    assert certificate.bounds["exact sum"] == pytest.approx(2 * coin.nats)


def test_utilities_move_the_noise_where_it_costs_least():
    rng = np.random.default_rng(3)
    outputs = rpac.Outputs(rng.normal(size=(300, 2)))
    task = np.array([[1.0], [0.0]])
    plain = rpac.calibrate(outputs, 1.0)
    for utility in (
        rpac.Weighted.task(task),
        rpac.Weighted.scaled([0.1, 1.0]),
        rpac.Smooth(lambda b: 100 * b[:, 0] ** 2 + b[:, 1] ** 2),
    ):
        noise = rpac.calibrate(outputs, 1.0, rpac.Equilibrium(utility=utility))
        split = rpac.selectivity(noise, task)
        assert split["task"] < 0.3 < rpac.selectivity(plain, task)["task"]
        assert split["task"] + split["rest"] == pytest.approx(1.0)
        rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=1.0)


def test_directions_of_zero_weight_are_not_released():
    rng = np.random.default_rng(4)
    outputs = rpac.Outputs(rng.normal(size=(100, 3)))
    utility = rpac.Weighted(np.diag([1.0, 1.0, 0.0]))
    noise = rpac.calibrate(outputs, 1.0, rpac.Equilibrium(utility=utility))
    assert noise.variances.size == 2
    law = rpac.tabulate(outputs, noise)
    rpac.certify(outputs, law, budget=1.0)
    released = law.decode(outputs.codes(law))
    assert np.ptp(released[:, 2]) < 1e-9
    whole = rpac.calibrate(outputs, 1.0)
    assert noise.power < whole.power


@pytest.mark.parametrize("kind", ["constant", "duplicates", "outlier", "more d than m", "singular"])
def test_awkward_outputs_work(kind):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(40, 3))
    if kind == "constant":
        values[:, 1] = 7.0
    if kind == "duplicates":
        values = np.repeat(values[:10], 4, axis=0)
    if kind == "outlier":
        values[0] = 1e6
    if kind == "more d than m":
        values = rng.normal(size=(12, 300))
    if kind == "singular":
        values[:, 2] = values[:, 0] + values[:, 1]
    outputs = rpac.Outputs(values)
    noise = rpac.calibrate(outputs, 0.5)
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.5)
    assert 0 < certificate.bound <= 0.5
    assert noise.power <= rpac.calibrate(outputs, 0.5, method="auto-pac").power * 1.001


def test_no_noise_where_the_budget_needs_none():
    people = rpac.Worlds([1.0, 2.0, 4.0, 8.0])
    for mechanism in (lambda x: x, lambda x: int(x), lambda x: [x, -x], lambda x: str(x)):
        outputs = rpac.simulate(people, mechanism)
        with pytest.warns(rpac.ExactRelease, match="at or above the entropy of the outputs"):
            noise = rpac.calibrate(outputs, 2.0)
        assert noise.power == 0
        law = noise if isinstance(noise, rpac.LabelChannel) else rpac.tabulate(outputs, noise)
        assert rpac.certify(outputs, law).bound == pytest.approx(np.log(4))
        with (
            pytest.warns(rpac.ExactRelease),
            pytest.raises(rpac.InputError, match="A bare release needs allow_exact=True"),
        ):
            rpac.privatize(mechanism, people, 2.0)
        with pytest.warns(rpac.ExactRelease):
            release = rpac.privatize(mechanism, people, 2.0, allow_exact=True)
        options = [outputs.rebuild(row) for row in outputs.values]
        assert any(np.all(np.isclose(release.value, o)) if not isinstance(o, str)
                   else release.value == o for o in options)  # fmt: skip


def test_open_distributions_fall_back_on_auto_pac():
    source = rpac.Draws(lambda rng: rng.normal(size=2), clip=(-4, 4), draws=2_000)
    outputs = rpac.simulate(source, lambda x: x)
    assert rpac.calibrate(outputs, 0.5).power == rpac.calibrate(outputs, 0.5, "auto-pac").power


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rpac.Equilibrium(family="normal"), 'Expected family "auto"'),
        (lambda: rpac.Weighted([[1.0, 0.0]]), "Expected a symmetric, non-negative, non-zero"),
        (lambda: rpac.Weighted([[-1.0]]), "A cost must be convex"),
        (lambda: rpac.Weighted([[0.0]]), "non-zero `matrix`"),
        (lambda: rpac.Weighted.scaled([1.0, 0.0]), "Expected positive scales; got 0.0"),
        (lambda: rpac.Weighted.task(np.eye(2), ratio=0), "Expected a positive `ratio`; got 0"),
        (
            lambda: rpac.Smooth(lambda b: b[:, 0] * np.nan).cost(np.ones((3, 1))),
            "Expected one finite cost for each noise",
        ),
        (lambda: rpac.Smooth(lambda b: -np.square(b).sum(axis=1)).weight(np.eye(2)), "convex cost"),
        (
            lambda: rpac.Equilibrium(family="lattice").propose(rpac.Outputs(np.eye(3)), 0.1),
            "Expected outputs that differ in one direction for a lattice; got 2",
        ),
        (
            lambda: rpac.Equilibrium(family="product", basis="best").propose(
                rpac.Outputs(np.eye(3)), 0.1
            ),
            'Expected basis "principal", "independent" or a matrix',
        ),
        (
            lambda: rpac.Equilibrium(family="product", basis=np.ones((3, 3))).propose(
                rpac.Outputs(np.eye(3)), 0.1
            ),
            "Expected orthonormal columns of length 3",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=message):
        call()
