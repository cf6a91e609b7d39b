"""The audit: planted faults raise the alarm, clean releases do not; refusals say what is left."""

import pickle

import numpy as np
import pytest
from benchmarks import attack as bench

import rpac
from rpac import attack
from rpac.attack.auditing import USUAL
from rpac.attack.base import MISSING

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
        rpac.InputError, match="sealed worlds and noise law; got Release with sealed=None"
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
    assert "got Game(Outputs(worlds=2" in str(caught.value)
    with pytest.raises(rpac.InputError, match="Expected an attack among bayes, membership"):
        rpac.audit((outputs, 1.0), ["magic"])
    with pytest.raises(rpac.InputError, match=r"Expected at least one attack; got \[\]"):
        rpac.audit((outputs, 1.0), [])
    with pytest.raises(rpac.InputError, match=r"Expected a Release or \(outputs, noise\); got int"):
        rpac.audit(3)
    with pytest.raises(rpac.InputError, match="Expected `confidence` between 0.0 and 1.0; got 1"):
        rpac.audit((outputs, 1.0), confidence=1.0)


def test_nothing_but_failures_is_left_to_the_failure_attack():
    outputs = rpac.Outputs(np.arange(4.0))

    def broken(worlds, rng):
        return np.full(len(worlds), np.nan)

    with pytest.raises(rpac.InputError, match="numbers; got too many failures in 6000 study"):
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


def test_outputs_that_say_nothing():
    flat = rpac.Outputs(np.ones((8, 2)))
    names = ["bayes", "decoder", "precision", "failure"]
    report = rpac.audit((flat, np.eye(2).tolist()), names, games=1_000)
    assert report.lower == 0.0
    sure = rpac.audit((flat, np.eye(2)), [attack.Inference([1] * 8), *names], games=1_000)
    assert len(sure.plot().axes[0].get_yticks()) == 5


def finding(name, **more):
    return attack.Finding(name, "nats", more.get("nats", 0.0), 0.0, 1.0, **more)


def report_of(findings, claims=None, success=None):
    return attack.Audit(tuple(findings), {}, claims or {}, success, 0.999, 100, 0)


def test_an_alarm_is_a_lower_limit_above_the_least_claim():
    loud, quiet = finding("loud", nats=0.3), finding("quiet", nats=0.1)
    report = report_of([loud, quiet], {"certificate": 0.4, "budget": 0.2})
    assert report.limit == 0.2
    assert report.lower == 0.3
    assert report.alarms == ["loud"]
    assert report.verdict.startswith("ALARM: loud shows more leakage than is claimed (at least 0.3")
    assert [row["alarm"] for row in report.table] == ["ALARM", "-"]
    fine = report_of([loud, quiet], {"budget": 0.3})
    assert not fine.alarm  # equal is not above
    assert fine.verdict.endswith("Others may be better")


def test_claims_of_a_findings_own_and_of_a_person():
    own = finding("own", nats=0.3, limit=0.25)
    report = report_of([own], {"budget": 0.1})
    assert report.alarms == ["own"]
    assert report.lower == 0.0  # of another release than the one audited
    assert report.table[0]["claim"] == 0.25
    person = attack.Finding("m", "success", 0.7, 0.65, 0.75, 0.01, 0.5, person=True)
    assert report_of([person], success=0.6).alarms == ["m"]
    assert not report_of([person], success=0.65).alarm
    assert report_of([person]).verdict == "No claim to hold against; leaks at least 0.01 nats"


def test_what_is_not_covered_never_raises_the_alarm():
    beside = finding("pool", nats=9.0, covered=False, note="WARNING: loud")
    report = report_of([beside], {"budget": 0.1}, 0.5)
    assert not report.alarm
    assert report.lower == 0.0
    assert report.table[0]["alarm"] == "not covered"
    assert report.table[0]["claim"] == "-"
    assert report.warnings == ["WARNING: loud"]
    assert report.roc is None
    assert report.worst_units == []


@pytest.mark.parametrize("declared", [1.5, 3.0, 9.0])
def test_noise_that_is_weaker_than_declared_raises_the_alarm(declared):
    """The declared law keeps the claim; what is really added is of variance 1."""
    outputs = rpac.Outputs(np.linspace(-2, 2, 16))
    noise = rpac.GaussianNoise(declared)

    def released(worlds, rng):
        return outputs.values[worlds, 0] + rng.standard_normal(len(worlds))

    assert not rpac.audit((outputs, noise)).alarm
    report = rpac.audit((outputs, noise), released=released)
    assert "bayes" in report.alarms
    assert report.lower <= rpac.certify(outputs, rpac.GaussianNoise(1.0), draws=0).bound


def test_noise_that_is_stronger_than_declared_does_not():
    outputs = rpac.Outputs(np.linspace(-2, 2, 16))

    def released(worlds, rng):
        return outputs.values[worlds, 0] + 3.0 * rng.standard_normal(len(worlds))

    assert not rpac.audit((outputs, 4.0), released=released).alarm


def test_a_channel_that_changes_labels_less_often_than_declared_raises_the_alarm():
    outputs = rpac.Outputs(["a", "b", "c", "d"])
    declared, real = (rpac.LabelChannel.randomized_response(4, keep) for keep in (0.5, 0.8))

    def released(worlds, rng):
        return real.applied(outputs, worlds, rng)

    assert not rpac.audit((outputs, declared)).alarm
    assert rpac.audit((outputs, declared), ["bayes"], released=released).alarm


def test_every_attack_has_its_name_and_asks_for_what_exists():
    for name, make in attack.ATTACKS.items():
        assert make().name == name
        assert make().needs <= set(MISSING)
    assert set(USUAL) <= set(attack.ATTACKS)


def test_the_confidence_is_shared_by_the_attacks_that_run():
    outputs = rpac.Outputs([[-1.0], [1.0]])
    alone = rpac.audit((outputs, 1.0), ["bayes"], confidence=0.75)
    among = rpac.audit((outputs, 1.0), ["bayes", "failure"], confidence=0.5)
    assert among.findings[0] == alone.findings[0]
    assert among.confidence == 0.5


def test_equal_seeds_give_equal_audits():
    outputs = rpac.Outputs([[-1.0], [1.0]])
    first, again, other = (rpac.audit((outputs, 1.0), ["bayes"], seed=s) for s in (4, 4, 5))
    assert first == again
    assert first.table != other.table


def test_each_row_compares_like_with_like():
    people = rpac.Subsets(np.random.default_rng(0).normal(size=60), worlds=64)
    outputs = rpac.simulate(people, np.mean)
    noise = rpac.calibrate(outputs, 0.5, method="auto-pac")
    found = rpac.audit((outputs, noise), ["bayes", "membership"], budget=0.5, games=2_000)
    bits, member = found.table
    assert bits["allowed"] == bits["claim"] == found.limit
    assert member["measure"] == "success"
    assert member["low"] <= member["estimate"] <= member["allowed"]
    assert member["allowed"] <= rpac.advantage.nats_to_success(found.limit)
    assert member["claim"] == found.limit
    head = str(found).splitlines()[1].split("  ")
    named = [name.strip() for name in head if name.strip()]
    assert named[3:9] == ["estimate", "low", "high", "allowed", "nats at least", "nats claimed"]
    assert "nats claimed</th>" in found._repr_html_()
    by_rate = rpac.audit((outputs, noise), ["membership"], budget=rpac.SuccessRate(0.7), games=500)
    assert by_rate.table[0]["allowed"] <= 0.7
