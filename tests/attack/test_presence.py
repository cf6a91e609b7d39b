"""Presence under attack: the sandwich holds, and planted faults raise the alarm."""

import pickle

import numpy as np
import pytest

import rpac
from rpac.attack import audit_presence
from rpac.attack.presence import presence
from rpac.person import mechanism
from tests.attack.presences import CASES, VISITS, released

SURE = 1 - 1e-7


@pytest.mark.parametrize("name", CASES)
def test_the_sandwich_holds(name):
    release = released(name)
    found = rpac.audit(release, games=4_000, confidence=SURE)
    assert not found.alarm
    assert found.promise == "person"
    assert "do not publish them" in str(found)
    assert "do not publish them" in found._repr_html_()
    assert found.success_claim == release.certificate.worst_unit_success == 0.7
    rows = {f.attack: f for f in found.findings}
    for who in ("worst unit", "average unit", "absent person at the limit"):
        one = rows[f"presence: {who}"]
        assert one.low <= one.detail["exact"] <= found.success_claim + 1e-4
        assert one.estimate == pytest.approx(one.detail["exact"], abs=0.045)
    worst, limit = (rows[f"presence: {n}"] for n in ("worst unit", "absent person at the limit"))
    assert rows["presence: average unit"].detail["exact"] <= worst.detail["exact"] + 0.02
    for part in ("level", "values"):
        alone = rows.get(f"presence: {part} alone")
        assert alone is None or alone.estimate <= limit.detail["exact"] + 0.045
    if "presence: low bits" in rows:
        assert rows["presence: low bits"].note == "all on their steps"
    assert found.verdict.startswith("No alarm: presence guessed right")


def test_the_table_has_a_row_for_each_attack():
    found = rpac.audit(released("mean"), games=1_000)
    assert [row["attack"] for row in found.table] == [
        "presence: absent person at the limit", "presence: level alone", "presence: values alone",
        "presence: worst unit", "presence: average unit", "presence: drawn anew",
        "presence: learned from draws", "presence: low bits",
    ]  # fmt: skip
    assert found.skipped == {}
    assert found.findings[0].detail["exposure"].units == len(VISITS)
    assert "presence: level alone" in rpac.audit(released("caps"), games=1_000).skipped
    nobody = rpac.audit(released("mean", frame=VISITS.head(0)), games=1_000)
    assert "presence: worst unit" in nobody.skipped
    assert "sealed" not in repr(released("mean"))


def test_equal_seeds_equal_games():
    release = released("sum")
    first, again, other = (rpac.audit(release, games=1_000, seed=s).table[:5] for s in (1, 1, 2))
    assert first == again
    assert first != other


# --- planted faults -----------------------------------------------------------------------------


def halved(monkeypatch):
    true = mechanism.rounded_gaussian
    monkeypatch.setattr(mechanism, "rounded_gaussian", lambda s: true((s[0], 2 * s[1])))


def no_joint_clip(monkeypatch):
    """Each number is clipped by itself, at its own scale: many numbers together are far away."""

    def alone(question, found, scales, c):
        steps = np.array([question.step(term) for term in question.terms])
        most = np.floor(c / question.moves * scales / steps)
        return np.clip(found.steps, -most, most).astype(np.int64)

    monkeypatch.setattr(mechanism, "clipped", alone)


def no_clip(monkeypatch):
    monkeypatch.setattr(mechanism, "clipped", lambda question, found, scales, c: found.steps)


def level_without_noise(monkeypatch):
    """The level is the largest of all, as it is."""

    def largest(reach, entries):
        return int(np.searchsorted(entries[:-1], reach.max(initial=0)))

    monkeypatch.setattr(mechanism, "place", largest)
    monkeypatch.setattr(mechanism, "draw_level", lambda exact, size, c_m: min(exact, size - 1))


@pytest.mark.parametrize("name", ["mean", "many groups", "sum"])
@pytest.mark.parametrize("fault", [halved, no_clip, level_without_noise])
def test_planted_faults_raise_the_alarm(monkeypatch, name, fault):
    release = released(name, rate=0.8)  # far from what a fault reaches: about 0.93
    fault(monkeypatch)
    found = rpac.audit(release, games=2_000, confidence=SURE)
    assert found.alarm
    assert {"presence: drawn anew", "presence: learned from draws"} & {*found.alarms}
    assert found.verdict.startswith("ALARM: ")
    assert "breaks the claim" in found.verdict


def test_scales_for_each_number_alone_raise_the_alarm(monkeypatch):
    """Caps over c for every number, as if a unit could touch only one: 32 of them add up."""
    frame = VISITS.assign(**{f"x{i}": 1.0 for i in range(2)})
    question = rpac.statistics.group_by(
        "ward", rpac.statistics.count(), [f"w{i}" for i in range(32)]
    )
    frame = frame.loc[frame.index.repeat(32)].assign(ward=[f"w{i}" for i in range(32)] * len(frame))
    source = rpac.Presence(frame, unit="id", caps={"rows": 1})
    release = rpac.privatize(question, source, rpac.SuccessRate(0.7))
    assert not rpac.audit(release, games=2_000, confidence=SURE).alarm
    no_joint_clip(monkeypatch)
    found = rpac.audit(release, games=2_000, confidence=SURE)
    assert "presence: worst unit" in found.alarms


def test_another_way_to_draw_is_held_against_the_claim():
    release = released("mean")

    def off_the_steps(question, rows, shares):
        drawn = mechanism.draw(question, rows, shares)
        moved = drawn.sums + 1e-3 * (len(rows.units) % 2) * question.step(question.terms[0])
        return mechanism.Drawn(drawn.middles, drawn.levels, drawn.scales, moved, drawn.quantiles)

    found = rpac.audit(release, games=1_000, confidence=SURE, released=off_the_steps)
    assert found.alarms == ["presence: low bits"]
    assert found.warnings[0].startswith("WARNING:")


def test_a_lower_claim_is_broken():
    release = released("mean", 0.8)
    lower = released("mean", 0.6).certificate
    assert audit_presence(release.sealed, lower, 4_000).alarm
    assert rpac.audit(release, certificate=lower, games=4_000).alarm


def test_what_does_not_apply_is_named():
    capped = released("caps").sealed
    found, lacks = presence(capped, 400, 0, 1e-3)
    assert lacks == {"presence: level alone": "a level"}
    assert "presence: level alone" not in [f.attack for f in found]
    nobody = released("mean", frame=VISITS.head(0)).sealed
    assert presence(nobody, 400, 0, 1e-3)[1] == {"presence: worst unit": "people"}


# --- refusals -----------------------------------------------------------------------------------


def test_refusals(tmp_path):
    release = released("mean")
    with pytest.raises(rpac.InputError, match="Expected a release alone, under person"):
        rpac.audit(release, ["bayes"])
    with pytest.raises(rpac.InputError, match="Expected a release alone, under person"):
        rpac.audit(release, budget=0.1)
    with pytest.raises(rpac.InputError, match="games"):
        rpac.audit(release, games=3)
    with pytest.raises(rpac.InputError, match="sealed rows; got 'person' without it"):
        rpac.audit(pickle.loads(pickle.dumps(release)))
