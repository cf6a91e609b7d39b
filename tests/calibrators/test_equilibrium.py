"""Least noise: the equilibrium against independent optima, closed forms and Auto-PAC."""

import warnings

import numpy as np
import pytest

import rpac
from rpac.calibrators.equilibrium import Equilibrium


def test_lattice_optima(truths):
    for case in truths("lattice_optimum"):
        outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
        noise = rpac.calibrate(outputs, case["budget"])
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
        noise = rpac.calibrate(outputs, 1.0, Equilibrium(utility=utility))
        split = rpac.selectivity(noise, task)
        assert split["task"] < 0.3 < rpac.selectivity(plain, task)["task"]
        assert split["task"] + split["rest"] == pytest.approx(1.0)
        rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=1.0)


def test_directions_of_zero_weight_are_not_released():
    rng = np.random.default_rng(4)
    outputs = rpac.Outputs(rng.normal(size=(100, 3)))
    utility = rpac.Weighted(np.diag([1.0, 1.0, 0.0]))
    noise = rpac.calibrate(outputs, 1.0, Equilibrium(utility=utility))
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
        with pytest.raises(rpac.InputError, match="allow_exact=True"):
            rpac.privatize(mechanism, people, 2.0)
        release = rpac.privatize(mechanism, people, 2.0, allow_exact=True)
        options = [outputs.rebuild(row) for row in outputs.values]
        assert any(np.all(np.isclose(release.value, o)) if not isinstance(o, str)
                   else release.value == o for o in options)  # fmt: skip


def test_open_distributions_fall_back_on_auto_pac():
    source = rpac.Draws(lambda rng: rng.normal(size=2), clip=(-4, 4), draws=2_000)
    outputs = rpac.simulate(source, lambda x: x)
    assert rpac.calibrate(outputs, 0.5).power == rpac.calibrate(outputs, 0.5, "auto-pac").power


def test_a_lattice_too_large_to_solve_takes_gaussian_noise_met_tightly(monkeypatch):
    from rpac.calibrators import equilibrium

    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=60))
    closed = rpac.AutoPAC().propose(outputs, 0.5)
    monkeypatch.setattr(equilibrium, "_MOST_CELLS", 10)
    noise = Equilibrium().propose(outputs, 0.5)
    assert isinstance(noise, rpac.GaussianNoise)
    assert noise.power <= closed.power
    assert rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.5).bound <= 0.5


def test_a_budget_so_small_that_all_laws_are_alike_takes_auto_pac():
    outputs = rpac.Outputs([-1.0, 0.5, 4.0])
    noise = Equilibrium().propose(outputs, 1e-3)
    assert noise.power == rpac.AutoPAC().propose(outputs, 1e-3).power


@pytest.mark.parametrize("budgets", [[0.2, 0.5, 1.0], [0.7]])
def test_along_budgets_noise_is_as_good_as_at_each(budgets):
    angle = 2 * np.pi * np.arange(200) / 200
    outputs = rpac.Outputs(np.stack([2 * np.cos(angle), np.sin(angle)], axis=1))
    many = Equilibrium().along(outputs, budgets)
    for nats, noise in zip(budgets, many, strict=True):
        assert noise.power == pytest.approx(Equilibrium().propose(outputs, nats).power, rel=0.03)


def test_one_direction_is_solved_budget_by_budget():
    outputs = rpac.Outputs([0, 1, 5, 9])
    many = Equilibrium().along(outputs, [0.2, 0.5])
    assert [noise.steps.tolist() for noise in many] == [[1.0], [1.0]]
    assert many[0].power > many[1].power


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Equilibrium(family="normal"),
            'family "auto", "gaussian", "lattice", "product", "channel"; got \'normal\'',
        ),
        (
            lambda: Equilibrium(family="lattice").propose(rpac.Outputs(np.eye(3)), 0.1),
            "outputs that differ in one direction for a lattice; got 2",
        ),
        (
            lambda: Equilibrium(family="product", basis="best").propose(
                rpac.Outputs(np.eye(3)), 0.1
            ),
            'basis "principal", "independent" or a matrix; got \'best\'',
        ),
        (
            lambda: Equilibrium(family="product", basis=np.ones((3, 3))).propose(
                rpac.Outputs(np.eye(3)), 0.1
            ),
            r"orthonormal columns of length 3; got \[\[1.0, 1.0, 1.0\].* of shape \(3, 3\)",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected {message}"):
        call()
