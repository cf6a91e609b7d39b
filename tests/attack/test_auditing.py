"""The audit: planted faults raise the alarm, clean releases do not; refusals say what is left."""

import pickle

import numpy as np
import pytest
from benchmarks import attack as bench

import rpac
from rpac import attack
from rpac.contracts import check_attack

SEEDS = range(3)


@pytest.fixture(scope="module", params=[(0.05, 1), (0.5, 3)], ids=str)
def victim(request):
    return bench.Victim(*request.param)


@pytest.mark.parametrize("fault", bench.FAULTS)
def test_planted_faults_raise_the_alarm_and_clean_releases_do_not(victim, fault):
    reports = [victim.audit(fault, seed) for seed in SEEDS]
    assert {report.alarm for report in reports} == {fault != "clean"}
    assert all("ALARM" in str(report) for report in reports if report.alarm)


def test_low_bits_of_a_plain_float_sum():
    naive = bench.NaiveFloat()
    assert naive.audit("low_bits", 0).alarms == ["precision"]
    assert not naive.audit("clean", 0).alarm


def test_a_release_carries_what_an_audit_needs():
    people = rpac.Subsets(np.random.default_rng(0).normal(size=(60, 2)), worlds=64)
    release = rpac.privatize(lambda x: x.mean(axis=0), people, 0.5, method="auto-pac")
    report = rpac.audit(release, games=4_000)
    assert not report.alarm
    assert report.limit == release.certificate.bound
    assert {f.attack for f in report.findings} == {
        "bayes", "membership", "lira", "precision", "failure",
    }  # fmt: skip
    assert report.skipped == {}
    assert "sealed" not in repr(release)
    again = pickle.loads(pickle.dumps(release))
    assert again.certificate == release.certificate
    assert again.sealed is None
    with pytest.raises(
        rpac.InputError, match="Expected a release with its sealed worlds and noise"
    ):
        rpac.audit(again)
    same = rpac.audit(release.sealed, games=4_000, certificate=again.certificate)
    assert same.table == report.table  # equal seeds, equal games


def test_success_rates_are_held_against_success():
    people = rpac.Subsets(np.random.default_rng(0).normal(size=60), worlds=64)
    outputs = rpac.simulate(people, np.mean)
    noise = rpac.calibrate(outputs, rpac.SuccessRate(0.7))
    fine = rpac.audit((outputs, noise), ["membership"], budget=rpac.SuccessRate(0.7))
    broken = rpac.audit((outputs, noise), ["membership"], budget=rpac.SuccessRate(0.55))
    assert not fine.alarm
    assert broken.alarm
    assert "budget" not in broken.claims
    assert broken.success_claim == 0.55
    elsewhere = rpac.audit(
        (outputs, (noise.sample, noise.log_density)), ["bayes"], budget=rpac.SuccessRate(0.55)
    )
    assert elsewhere.claims == {}
    assert elsewhere.success_claim == 0.55


def test_noise_of_other_people():
    outputs = rpac.Outputs([[-1.0], [1.0]])

    def laplace(n, rng):
        return rng.laplace(0, 2.0, size=(n, 1))

    def log_density(points):
        return -np.abs(points[:, 0]) / 2.0 - np.log(4.0)

    class Theirs:
        sample = staticmethod(laplace)

    y = np.linspace(-60, 60, 1_200_001)[:, None]
    pair = np.exp([log_density(y - 1), log_density(y + 1)])
    truth = float((pair[0] * np.log(pair[0] / pair.mean(axis=0))).sum() * 1e-4)
    known = rpac.audit((outputs, (laplace, log_density)), ["bayes"], budget=0.05)
    assert known.alarm
    assert 0.8 * truth < known.lower <= truth
    assert known.claims == {"budget": 0.05}
    for unknown in (laplace, Theirs()):
        blind = rpac.audit((outputs, unknown), budget=0.02)
        assert {"bayes", "decoder"} <= set(blind.alarms)
        assert blind.lower <= truth
    quiet = rpac.audit((outputs, laplace), ["decoder"])
    assert quiet.limit is None
    assert quiet.verdict.startswith("No claim to hold against")
    assert not quiet.alarm


def test_recorded_games_are_judged_as_they_are():
    outputs = rpac.Outputs([[-1.0], [1.0]])
    rng = np.random.default_rng(0)
    worlds = rng.integers(0, 2, 20_000)
    released = outputs.values[worlds, 0] + rng.normal(size=20_000)
    report = rpac.audit((outputs, 25.0), budget=0.1, released=(worlds, released))
    assert report.alarm
    assert report.games == 20_000
    assert "fitted law" in report.findings[0].note
    assert rpac.audit((outputs, None), ["bayes"], budget=0.1, released=(worlds, released)).alarm
    for wrong in (worlds + 1, worlds + 0.5, worlds - 1):
        with pytest.raises(rpac.InputError, match="Expected indices of worlds; got others"):
            rpac.audit((outputs, 1.0), released=(wrong, released))
    with pytest.raises(rpac.InputError, match=r"Expected releases of shape \(20000, 1\); got"):
        rpac.audit((outputs, 1.0), released=(worlds, np.zeros((20_000, 2))))


def test_labels_are_attacked_through_their_channel():
    outputs = rpac.Outputs(["a", "b", "c", "d"])
    channel = rpac.LabelChannel.randomized_response(4, 0.7)
    report = rpac.audit((outputs, channel))
    truth = rpac.certify(outputs, channel).bound
    assert 0.9 * truth < report.lower <= truth
    assert "precision" in report.skipped
    assert "labels have no digits" in str(report)
    certain = rpac.audit((outputs, rpac.LabelChannel(np.eye(4))), ["bayes"])
    assert certain.lower == pytest.approx(np.log(4), abs=0.02)
    deaf = rpac.audit((outputs, channel), released=lambda w, rng: np.zeros(len(w)))
    assert not deaf.alarm


def test_lattice_noise_and_exact_releases():
    outputs = rpac.Outputs([0, 1, 5])
    report = rpac.audit((outputs, rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])))
    assert 0.75 < report.lower <= report.limit
    bare = rpac.audit((outputs, rpac.LatticeNoise(1.0, [0], [1.0])), ["bayes"])
    assert bare.lower == pytest.approx(np.log(3), abs=0.02)


def test_what_is_missing_is_said_with_what_still_applies():
    outputs = rpac.Outputs([[-1.0], [1.0]])
    with pytest.raises(
        rpac.InputError, match="`membership` needs: who is in which world"
    ) as caught:
        rpac.audit((outputs, 1.0), ["membership"])
    assert "these still apply: bayes, decoder, precision, failure" in str(caught.value)
    with pytest.raises(rpac.InputError, match="Expected an attack among bayes, membership"):
        rpac.audit((outputs, 1.0), ["magic"])
    with pytest.raises(rpac.InputError, match="Expected at least one attack; got none"):
        rpac.audit((outputs, 1.0), [])
    with pytest.raises(rpac.InputError, match=r"Expected a Release or \(outputs, noise\); got str"):
        rpac.audit("release")
    with pytest.raises(
        rpac.InputError, match="Expected finite worlds in rpac.Outputs; got ndarray"
    ):
        rpac.audit((np.zeros((3, 1)), 1.0))
    with pytest.raises(
        rpac.InputError, match="Expected a noise, or a release function; got neither"
    ):
        rpac.audit((outputs, None))
    with pytest.raises(rpac.InputError, match="Expected noise that fits Outputs"):
        rpac.audit((outputs, np.eye(2)))
    with pytest.raises(rpac.InputError, match="Expected noise that fits Outputs"):
        rpac.audit((outputs, rpac.LabelChannel(np.eye(2))))
    with pytest.raises(rpac.InputError, match="Expected a whole `games` of at least 200"):
        rpac.audit((outputs, 1.0), games=10)
    draws = rpac.simulate(rpac.Draws(lambda rng: rng.normal(), clip=(-3, 3), draws=100), float)
    with pytest.raises(rpac.InputError, match=r"got draws\. List possible secrets") as caught:
        rpac.audit((draws, 1.0))
    assert "`rpac.attack.one_run`" in str(caught.value)


def test_nothing_but_failures_is_left_to_the_failure_attack():
    outputs = rpac.Outputs(np.arange(4.0))

    def broken(worlds, rng):
        return np.full(len(worlds), np.nan)

    with pytest.raises(rpac.InputError, match="Expected releases that are numbers; got failures"):
        rpac.audit((outputs, None), ["bayes"], released=broken)
    assert rpac.audit((outputs, None), ["failure"], released=broken).lower == 0.0
    with pytest.raises(rpac.InputError, match="Expected finite releases to learn from; got 0"):
        rpac.audit((outputs, None), ["decoder"], released=broken)


def test_report_and_picture():
    victim = bench.Victim(0.5, 1)
    loud = victim.audit("weak", 0)
    html = loud._repr_html_()
    assert html.startswith("<p><b>ALARM")
    assert "<td>bayes</td>" in html
    for report in (
        loud,
        victim.audit("clean", 0),
        rpac.audit((victim.outputs, victim.ideal.sample)),
    ):
        figure = report.plot()
        assert len(figure.axes[0].get_yticks()) == len(report.findings)
    legend = [t.get_text() for t in loud.plot().axes[0].get_legend().get_texts()]
    assert legend == ["certificate", "budget", "beyond the claim"]


def test_outputs_that_say_nothing_and_outputs_too_large_to_play():
    flat = rpac.Outputs(np.ones((8, 2)))
    names = ["bayes", "decoder", "precision", "failure"]
    report = rpac.audit((flat, np.eye(2).tolist()), names, games=1_000)
    assert report.lower == 0.0
    sure = rpac.audit((flat, np.eye(2)), [attack.Inference([1] * 8), *names], games=1_000)
    assert len(sure.plot().axes[0].get_yticks()) == 5
    wide = rpac.Outputs(np.zeros((2, 10_000)))
    with pytest.raises(rpac.InputError, match="Expected at most 13421 games of this size; got"):
        rpac.audit((wide, lambda n, rng: np.zeros((n, 10_000))))


def test_pool_membership_is_shown_and_never_alarms():
    data = np.append(np.random.default_rng(0).normal(size=59), 60.0)
    people = rpac.Subsets(data, worlds=128)
    outputs = rpac.simulate(people, np.mean)
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    pool = attack.PoolMembership(people, np.mean, 0.5, candidates=2)
    report = rpac.audit((outputs, noise), [pool, "bayes"])
    assert not report.alarm
    assert report.findings[0].estimate > 3
    assert report.findings[0].detail["ratios"].keys() >= {59}
    assert len(report.warnings) == 1
    assert "WARNING: noise with / without unit 59" in str(report)
    assert "not covered" in str(report)
    assert len(report.plot().axes[0].get_yticks()) == 1
    even = attack.PoolMembership(rpac.Subsets(np.arange(60.0), worlds=512), np.mean, 0.5)
    assert rpac.audit((outputs, noise), [even]).warnings == []
    with pytest.raises(rpac.InputError, match="Expected half-samples of a pool; got Worlds"):
        attack.PoolMembership(rpac.Worlds([1, 2]), np.mean, 0.5)
    rich = attack.PoolMembership(people, np.mean, 10.0)
    with (
        pytest.warns(rpac.errors.ExactRelease),
        pytest.raises(rpac.InputError, match="Expected noise of positive power; got 0"),
    ):
        rpac.audit((outputs, noise), [rich])


def test_a_pool_without_a_unit():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": [1, 1, 2, 3, 3], "x": range(5)})
    rest = rpac.Subsets(frame, unit="who").without(0)
    assert rest.units.tolist() == [2, 3]
    assert rpac.Subsets(np.arange(4)).without(3).units.size == 3
    with pytest.raises(rpac.InputError, match="Expected a unit below 4; got 4"):
        rpac.Subsets(np.arange(4)).without(4)


def test_an_adaptive_analyst_overspends_noise_of_the_prior():
    rng = np.random.default_rng(0)
    questions = []
    for _ in range(150):  # is it one of these four of 64 worlds?
        outputs = rpac.Outputs((rng.permutation(64) < 4)[:, None].astype(float))
        questions.append((outputs, rpac.calibrate(outputs, 0.15, "auto-pac")))

    def found(strategy):
        analyst = attack.AdaptiveAnalyst(questions, 1.8, rounds=12, strategy=strategy, games=1_500)
        return rpac.audit(questions[0], [analyst], games=200)

    greedy, blind, second = (found(strategy) for strategy in ("greedy", "random", "top-2"))
    assert greedy.alarm
    assert greedy.findings[0].low > 1.15 * greedy.findings[0].limit
    assert not blind.alarm
    assert second.findings[0].estimate > 0
    assert greedy.lower == 0.0  # of another release than the one audited
    again = attack.AdaptiveAnalyst(questions[:2], 1.0, rounds=5, games=100)
    assert rpac.audit(questions[0], [again]).findings[0].estimate > 0  # asks them again
    with pytest.raises(rpac.InputError, match="Expected questions, and a strategy greedy"):
        attack.AdaptiveAnalyst(questions, 1.0, rounds=2, strategy="clever")
    with pytest.raises(rpac.InputError, match="Expected numeric questions on one prior"):
        attack.AdaptiveAnalyst([*questions, (rpac.Outputs([[0.0], [1.0]]), 1.0)], 1.0, rounds=2)


@pytest.mark.parametrize("name", [n for n in attack.ATTACKS])
def test_every_attack_keeps_the_contract(name):
    check_attack(attack.ATTACKS[name]())


def test_an_attack_that_boasts_breaks_the_contract():
    class Boast(attack.Attack):
        name = "boast"

        def run(self, play, delta):
            return attack.Finding("boast", "nats", 2.0, 2.0, 2.0, 2.0)

    with pytest.raises(rpac.ContractError, match="at most the true"):
        check_attack(Boast())


@pytest.mark.parametrize("interval", bench.INTERVALS)
def test_intervals_cover(interval):
    held = sum(bench.INTERVALS[interval](seed) for seed in range(150))
    assert bench.binomtest(held, 150, bench.NOMINAL, alternative="less").pvalue >= 1e-3
