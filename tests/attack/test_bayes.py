"""Attacks by the exact posterior: below every truth, near it, and above what is claimed wrongly."""

import numpy as np
import pytest
from benchmarks import attack as bench
from scipy.stats import norm

import rpac
from rpac import attack
from rpac.attack.bayes import membership, secret_units
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
    report = rpac.audit((worlds, law), budget=0.5, certificate=certificate, games=4_000)
    person = next(f for f in report.findings if f.attack == "membership")
    assert not report.alarm
    assert 0.5 < person.low <= certificate.worst_unit_success
    assert person.high <= certificate.success_rate(0.5)
    printed = rpac.audit((worlds, 0.0016 * np.eye(4)), ["bayes"], budget=0.5, games=4_000)
    assert printed.alarm
    assert printed.lower > 3.5


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
    with pytest.raises(rpac.InputError, match="non-members and study scores; got 3 members of 3"):
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


# -- against sums over every possible release ---------------------------------------------------

SMALL = rpac.Outputs(
    [0, 1, 2, 4],
    [0.4, 0.3, 0.2, 0.1],
    masks=np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 0]], bool),
)
STEPS = {-2: 0.1, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.1}
LATTICE = rpac.LatticeNoise(1.0, list(STEPS), list(STEPS.values()))


def joint_by_hand():
    """P(world, release) of SMALL under LATTICE; releases from -2 to 6."""
    table = np.zeros((4, 9))
    for i, (z, p) in enumerate(zip((0, 1, 2, 4), SMALL.weights, strict=True)):
        for step, mass in STEPS.items():
            table[i, z + step + 2] += p * mass
    return table


def play(games=40_000, seed=0):
    return attack.Play(attack.Game(SMALL, LATTICE), games, seed)


def test_success_on_the_world_is_the_sum_of_the_largest_masses():
    found = attack.Inference(range(4)).run(play(), 1e-6)
    truth = joint_by_hand().max(axis=0).sum()
    assert found.low <= truth <= found.high
    assert found.estimate == pytest.approx(truth, abs=0.015)
    assert found.prior == pytest.approx(0.4)


def test_success_by_a_measure_of_ones_own_is_the_best_guess_at_each_release():
    def near(secret, guess):
        return abs(secret - guess) <= 1

    secrets = [0, 1, 2, 4]
    wins = np.array([[near(s, g) for g in secrets] for s in secrets], float)
    truth = (wins.T @ joint_by_hand()).max(axis=0).sum()
    found = attack.Inference(secrets, near).run(play(), 1e-6)
    assert found.low <= truth <= found.high
    assert found.detail["delta"] == pytest.approx(1 - truth, abs=0.015)
    assert found.prior == pytest.approx((SMALL.weights @ wins).max())


def test_guesses_may_be_listed():
    found = attack.Inference([0, 1, 2, 4], guesses=[0, 1], name="one of two").run(play(), 1e-6)
    truth = joint_by_hand()[:2].max(axis=0).sum()
    assert found.low <= truth <= found.high
    assert (found.attack, found.note) == ("one of two", "2 possible guesses")
    with pytest.raises(rpac.InputError, match="Expected a whole `guesses` of at least 1; got 0"):
        attack.Inference([0, 1], guesses=[])


def test_posterior_membership_is_the_sum_over_worlds_that_hold_the_unit():
    joint, games = joint_by_hand(), play(2_000)
    found = membership(games, games.decoder, games.all, np.arange(3))
    cells = np.rint(games.all.released[:, 0]).astype(int) + 2
    direct = (SMALL.masks.T.astype(float) @ joint / joint.sum(axis=0)).T[cells]
    assert found == pytest.approx(direct, abs=1e-12)


def test_success_on_the_most_exposed_unit_is_its_bayes_success():
    joint = joint_by_hand()
    found = attack.Membership().run(play(), 1e-6)
    success = [
        np.maximum(joint[inside].sum(axis=0), joint[~inside].sum(axis=0)).sum()
        for inside in SMALL.masks.T
    ]
    for row in found.detail["worst"]:
        assert row["low"] <= success[row["unit"]] <= row["high"]
    assert found.person
    assert found.nats <= rpac.certify(SMALL, LATTICE).bound


def test_the_informed_adversary_is_the_game_within_what_they_know():
    joint = joint_by_hand()
    found = attack.Informed([0], 1).run(play(), 1e-6)
    before = after = 0.0
    for known in (True, False):
        part = joint * (SMALL.masks[:, 0] == known)[:, None]
        inside, outside = (part[SMALL.masks[:, 1] == v].sum(axis=0) for v in (True, False))
        before += max(inside.sum(), outside.sum())
        after += np.maximum(inside, outside).sum()
    assert found.detail["before"] == pytest.approx(before)
    low, high = found.detail["after_limits"]
    assert low <= after <= high
    assert "they are right on unit 1" in found.note


def test_nats_of_the_informed_are_the_information_given_what_they_know():
    joint = joint_by_hand()
    truth = 0.0
    for known in (True, False):
        part = joint[SMALL.masks[:, 0] == known]
        mass = part.sum()
        part = part / mass
        product = np.outer(part.sum(axis=1), part.sum(axis=0))
        used = part > 0
        truth += mass * float((part[used] * np.log(part[used] / product[used])).sum())
    found = attack.Informed([0]).run(play(), 1e-6)
    assert found.low <= truth
    assert found.estimate == pytest.approx(truth, abs=0.02)
    assert truth <= rpac.certify(SMALL, LATTICE).bound


def test_who_is_always_seen_alike_cannot_be_asked_for():
    few = attack.Play(attack.Game(SMALL, LATTICE, (np.zeros(300), np.zeros(300))))
    with pytest.raises(
        rpac.InputError, match="games with and without some unit; got too few in 90 study games"
    ):
        secret_units(few)


def test_roc_thresholds_are_quantiles_of_study_scores():
    study = np.arange(1_000.0)
    curve = attack.roc(np.array([950.0, 100.0, 800.0]), [True, False, True], study, 0.1)
    assert curve.fpr[:, 0].tolist() == [float(rate >= 0.9) for rate in curve.wanted]
    assert curve.tpr[:, 0].tolist() == [
        (int(rate >= 0.05) + int(rate >= 0.2)) / 2 for rate in curve.wanted
    ]
    assert curve.confidence == 0.9
    with pytest.raises(rpac.InputError, match="got 1 members of 2, and 0 study scores"):
        attack.roc(np.zeros(2), [True, False], np.zeros(0), 0.1)
