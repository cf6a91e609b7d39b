"""Attacks by the exact posterior: below every truth, near it, and above what is claimed wrongly."""

import numpy as np
import pytest
from benchmarks import attack as bench
from scipy.stats import norm

import rpac
from rpac import attack
from rpac.attack.bayes import membership
from rpac.attack.likelihood import posteriors, world_gains
from rpac.certificate.person import posterior_membership, unit_success
from rpac.oracles import problems
from tests.conftest import SHARED, load_truths

CASES = load_truths("mi_gaussian_1d") + load_truths("mi_gaussian_2d")
DATA = np.random.default_rng(3).lognormal(size=(40, 3))


def mean(x):
    return x.mean(axis=0)


@pytest.fixture(scope="module")
def outputs():
    return rpac.simulate(rpac.Subsets(DATA, worlds=128), mean)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.get('name', 'qpsk')}-{c['mi']:.3f}")
def test_lower_limits_approach_independent_truths(case):
    cov = case.get("cov", [[case.get("sigma", 0) ** 2]])
    worlds = rpac.Outputs(np.asarray(case["atoms"], float), case["p"])
    found = rpac.audit((worlds, cov), ["bayes"], games=200_000)
    assert 0.95 * case["mi"] - 0.003 <= found.lower <= case["mi"]
    assert not found.alarm


@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.name)
def test_attack_truth_certificate(problem):
    report = rpac.audit((problem.outputs, problem.noise), ["bayes"])
    certificate = rpac.certify(problem.outputs, problem.noise, draws=0)
    assert 0.8 * problem.nats - 0.02 <= report.lower <= problem.nats <= certificate.bound
    assert not report.alarm


@pytest.mark.skipif(not (SHARED / "data/iris.csv").exists(), reason="Iris not found beside it")
def test_iris_noise_that_keeps_its_budget_and_noise_that_does_not():
    worlds = bench.iris_outputs()
    law = rpac.tabulate(worlds, rpac.calibrate(worlds, 0.5, "auto-pac"))
    certificate = rpac.certify(worlds, law, draws=2_000)
    report = rpac.audit((worlds, law), budget=0.5, certificate=certificate, games=8_000)
    person = next(f for f in report.findings if f.attack == "membership")
    assert not report.alarm
    assert 0.5 < person.low <= certificate.worst_unit_success
    assert person.high <= certificate.success_rate(0.5)
    printed = rpac.audit((worlds, 0.0016 * np.eye(4)), ["bayes"], budget=0.5, games=8_000)
    assert printed.alarm
    assert printed.lower > 3.5


def test_every_law_gives_the_posterior_of_its_density():
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(60, 2)))
    gaussian = rpac.calibrate(outputs, 0.5, "auto-pac")
    pair = (gaussian.sample, gaussian.log_density)
    table = rpac.tabulate(outputs, gaussian)
    product = rpac.calibrate(outputs, 0.5, rpac.Equilibrium(family="product"))
    y = outputs.values[:50] + gaussian.sample(50, np.random.default_rng(0))

    def post(noise, values):
        game = attack.Game(outputs, noise)
        decoder = attack.DeclaredLaw(outputs, game.noise)
        return np.concatenate([p for _, p in posteriors(decoder, outputs.weights, values)])

    exact = post(gaussian, y)
    assert post(pair, y) == pytest.approx(exact, abs=1e-10)
    assert post(table, y) == pytest.approx(exact, abs=5e-3)  # worlds sit on the grid there
    released = attack.Game(outputs, product).play(50, 1).released
    raw = np.stack([product.log_density(y - product.decode(outputs.codes(product)))
                    for y in released])  # fmt: skip
    raw = np.exp(raw - raw.max(axis=1, keepdims=True))
    assert post(product, released) == pytest.approx(raw / raw.sum(axis=1, keepdims=True), abs=1e-9)


def test_dropped_directions_and_tables_are_fitted_too():
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(30, 2)))
    line = rpac.GaussianNoise.on([[1.0], [0.0]], [4.0], drop=True)

    def dropped(worlds, rng):
        y = np.tile(outputs.center, (len(worlds), 1))
        y[:, 0] = outputs.values[worlds, 0] + 0.7 * line.sample(len(worlds), rng)[:, 0]
        return y

    weak = rpac.audit((outputs, line), ["bayes"], released=dropped, games=8_000)
    assert "fitted law" in weak.findings[0].note
    assert weak.alarm
    axis = rpac.LatticeNoise(0.1, np.arange(-30, 31), np.full(61, 1 / 61))
    box = rpac.GridNoise(np.eye(2), np.zeros(2), (axis, axis))

    def off_the_box(worlds, rng):
        return outputs.values[worlds] + rng.normal(0, 0.5, size=(len(worlds), 2))

    assert rpac.audit((outputs, box), ["bayes"], budget=0.5, released=off_the_box).alarm


def test_membership_posteriors_agree_with_the_trusted_ones(outputs):
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    play = attack.Play(attack.Game(outputs, noise), 1_000)
    ours = membership(play, play.decoder, play.judge, np.arange(40))
    points = noise.whiten(outputs.values, outputs.center)
    y = (play.judge.released - outputs.center) @ noise.basis / np.sqrt(noise.variances)
    theirs = posterior_membership(points, outputs.weights, outputs.masks, y)
    assert ours == pytest.approx(theirs, abs=1e-10)


def test_success_on_the_worst_unit_lies_below_its_bound(outputs):
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 1.0, "auto-pac"))
    report = rpac.audit((outputs, law), ["membership"])
    bound = unit_success(outputs.codes(law), outputs.weights, outputs.masks, law, delta=1e-3)
    first = report.worst_units[0]
    assert first["low"] <= bound[first["unit"]]
    assert first["high"] >= bound.max() - 0.05
    assert first["unit"] in np.argsort(-bound)[:3]
    leakage = report.findings[0].detail["leakage"]
    assert leakage.shape == (40,)
    assert leakage.argmax() == first["unit"]
    curve = report.roc
    assert (np.diff(curve.tpr[:, 0]) >= 0).all()
    assert (curve.tpr[:, 2] >= curve.fpr[:, 1]).all()
    assert curve.tpr[1, 0] > curve.wanted[1]  # better than chance at 1 % false positives


def test_roc_of_two_normals_is_the_closed_form():
    rng = np.random.default_rng(0)
    inside = rng.random(200_000) < 0.5
    curve = attack.roc(rng.normal(size=200_000) + inside, inside, rng.normal(size=100_000), 0.01)
    assert curve.tpr[:, 0] == pytest.approx(norm.sf(norm.isf(curve.wanted) - 1), abs=0.01)
    with pytest.raises(rpac.InputError, match="Expected members and non-members; got one"):
        attack.roc(np.zeros(3), [True] * 3, np.zeros(3), 0.1)


def test_a_unit_that_is_always_in_is_no_secret():
    masks = np.array([[1, 0], [1, 0], [1, 1], [1, 1]], bool)
    worlds = rpac.Outputs([[0.0], [1.0], [2.0], [3.0]], masks=masks)
    report = rpac.audit((worlds, 1.0), ["membership"])
    assert [row["unit"] for row in report.worst_units] == [1]


def test_reconstruction_success_by_a_measure_of_ones_own():
    worlds = rpac.Outputs(np.arange(8.0))
    near = attack.Inference(np.arange(8.0), lambda a, b: abs(a - b) <= 1, name="within one")
    same = attack.Inference([z >= 4 for z in range(8)], name="upper half")
    report = rpac.audit((worlds, 1.0), [near, same, "bayes"], games=40_000)
    first, second, _ = report.findings
    assert first.prior == pytest.approx(3 / 8)
    assert second.prior == pytest.approx(0.5)
    assert second.low <= sum(norm.cdf(k + 0.5) for k in range(4)) / 4 <= second.high
    assert first.estimate > 0.85
    assert first.detail["delta_prior"] == pytest.approx(5 / 8)
    assert first.detail["delta"] == pytest.approx(1 - first.estimate)
    assert max(first.nats, second.nats) <= report.lower <= report.claims["certificate"]


def test_reconstruction_needs_a_secret_for_each_world():
    worlds = rpac.Outputs([[0.0], [1.0]])
    with pytest.raises(rpac.InputError, match="Expected 2 secrets; got 3"):
        rpac.audit((worlds, 1.0), [attack.Inference([1, 2, 3])])
    certain = rpac.audit((worlds, 1.0), [attack.Inference([1, 1])])  # nothing to guess
    assert certain.findings[0].estimate == 1.0
    assert certain.lower == 0.0


def test_the_informed_adversary_has_a_better_prior_and_no_more_nats(outputs):
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    report = rpac.audit((outputs, noise), ["informed", attack.Informed([5, 6, 7, 8, 9, 10], 2)])
    few, many = (f.detail for f in report.findings)
    assert 0.5 < few["before"] < many["before"] < many["after"]
    assert many["worlds_left"] < 20
    assert not report.alarm
    for wrong in (attack.Informed([1], 1), attack.Informed(40), attack.Informed([77])):
        with pytest.raises(rpac.InputError, match="Expected known units below 40"):
            rpac.audit((outputs, noise), [wrong])


def test_gains_need_a_release_for_each_world(outputs):
    decoder = attack.DeclaredLaw(outputs, rpac.GaussianNoise(np.eye(3)))
    with pytest.raises(rpac.InputError, match="Expected one release for each world; got 2"):
        world_gains(decoder, outputs.weights, np.zeros(3, int), np.zeros((2, 3)))
