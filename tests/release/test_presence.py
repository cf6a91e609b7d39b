"""A release under the promise person, in order: price, books, rows, noise, charge, reveal."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import rpac
from rpac.answers.release import unusual
from rpac.front.presence import ask
from rpac.front.spending import spending
from rpac.release import presence
from rpac.release.presence import Inquiry, released, spelled

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame({"id": np.arange(500), "pay": RNG.lognormal(3, 0.6, 500)})
SOURCE = rpac.Presence(TABLE, unit="id", caps={"rows": 1})
MEAN = rpac.statistics.mean("pay")
CAREFUL = rpac.SuccessRate(0.55)


def book(folder, **options):
    return rpac.Ledger(f"{folder}/l.db", budget=0.1, dataset="staff", **options)


def test_the_certificate_says_what_was_requested_and_nothing_that_was_achieved():
    made = rpac.privatize(MEAN, SOURCE, CAREFUL).certificate
    assert (made.promise, made.grade, made.worst_unit_success) == ("person", "proved", 0.55)
    assert made.distance == pytest.approx(2 * norm.ppf(0.55))
    assert made.bound == pytest.approx(made.distance**2 / 8, abs=1e-15)
    assert made.success_rate() <= 0.55
    assert made.success_rate(0.9) == pytest.approx(0.9, abs=1e-3)
    assert made.epsilon(1e-5) == pytest.approx(0.9317, abs=2e-4)
    assert made.published() == made == made.unexposed()
    assert rpac.Certificate.from_json(made.to_json()) == made
    assert {*made.noise} == {"family", "power", "scales", "levels", "middles"}
    assert made.requested == {"distance": made.distance, "success": 0.55}
    by_nats = rpac.privatize(MEAN, SOURCE, 0.02).certificate
    assert by_nats.bound == pytest.approx(0.02)
    assert by_nats.worst_unit_success == pytest.approx(norm.cdf(0.4 / 2), abs=1e-9)


def test_other_promises_have_no_epsilon():
    made = rpac.privatize(MEAN, rpac.Subsets(TABLE, unit="id", worlds=16), 0.5).certificate
    with pytest.raises(rpac.CertificateError, match="the promise \"person\"; got 'sample'"):
        made.epsilon()


def test_the_charge_is_the_requested_distance_whatever_the_data(folder):
    with book(folder) as ledger:
        first = rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger)
        other = rpac.Presence(TABLE.assign(pay=0.0).iloc[:3], unit="rows")
        second = rpac.privatize(MEAN, other, CAREFUL, ledger=ledger)
        assert first.receipt.nano == second.receipt.nano == 7_895_388
        (line,) = [a for a in ledger.accounts() if a["kind"] == "person"]
        assert (line["name"], line["spent"]) == ("staff", pytest.approx(2 * 0.007895388))
        assert not [a for a in ledger.accounts() if a["kind"] == "version"]
        assert ledger.verify() == 2


def test_a_retry_returns_the_stored_answer_for_nothing(folder):
    with book(folder) as ledger:
        first = rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k")
        changed = rpac.Presence(TABLE.iloc[1:], unit="id", caps={"rows": 1})
        again = rpac.privatize(MEAN, changed, CAREFUL, ledger=ledger, key="k")
        assert again.value == first.value
        assert again.noise_interval == first.noise_interval
        assert again.certificate == first.certificate
        assert again.sealed is None
        assert first.sealed is not None
        assert ledger.spent == pytest.approx(0.007895388)
        with pytest.raises(rpac.InputError, match="key"):
            rpac.privatize(rpac.statistics.sum("pay"), SOURCE, CAREFUL, ledger=ledger, key="k")


def test_functions_of_one_name_are_one_question_to_a_key():
    asked = MEAN.asked(SOURCE)
    with_grid = rpac.statistics.median("pay").asked(SOURCE)
    assert "pay" in spelled(asked)
    assert "array" not in spelled(with_grid)  # thousands of public points say nothing more


def test_what_does_not_fit_is_refused_before_a_row_is_read(folder, monkeypatch):
    with book(folder) as ledger:
        read = []
        monkeypatch.setattr(rpac.Presence, "owners", lambda self: read.append(1))
        with pytest.raises(rpac.BudgetSpent, match=r"at most 0\.100000000 nats"):
            rpac.privatize(MEAN, SOURCE, 0.2, ledger=ledger)
        assert (ledger.spent, read) == (0, [])


def test_what_fails_all_the_same_has_one_text_and_its_full_price(folder, monkeypatch):
    monkeypatch.setattr(rpac.Presence, "owners", lambda self: 1 / 0)
    with pytest.raises(rpac.Withheld) as bare:
        rpac.privatize(MEAN, SOURCE, CAREFUL)
    assert "ZeroDivision" not in str(bare.value)
    with book(folder) as ledger:
        with pytest.raises(rpac.Withheld):
            rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k")
        assert ledger.spent == pytest.approx(0.007895388)
        with pytest.raises(rpac.Withheld):  # and for the same key the same
            rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k")
        assert ledger.spent == pytest.approx(0.007895388)


def test_what_is_stored_is_plain_and_holds_no_count_of_people(folder):
    with book(folder) as ledger:
        rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger)
        entry = list(ledger.entries())[-1]
        assert entry["promise"] == "person"
        assert {*entry["answer"]} == {"drawn", "certificate", "told"}
        assert {*entry["answer"]["told"]} == {"question", "about", "answer", "value"}
        assert {*entry["answer"]["drawn"]} == {
            "middles", "levels", "scales", "sums", "quantiles"}  # fmt: skip
        assert "500" not in json.dumps(entry["answer"]["certificate"]).replace("0.500", "")


def test_who_comes_second_with_a_key_gets_the_first_ones_release(folder, monkeypatch):
    """Another call writes under the key while this one draws: what it drew is never shown."""
    whole, firsts = presence.split, []

    def overtaken(*asked):
        monkeypatch.setattr(presence, "split", whole)
        firsts.append(rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k"))
        return whole(*asked)

    with book(folder) as ledger:
        monkeypatch.setattr(presence, "split", overtaken)
        second = rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k")
        assert (second.value, second.receipt.hash) == (firsts[0].value, firsts[0].receipt.hash)
        assert second.sealed is None
        assert ledger.spent == pytest.approx(0.007895388)


def test_the_sealed_part_does_not_travel():
    made = rpac.privatize(MEAN, SOURCE, CAREFUL)
    assert made.sealed.rows.values.shape == (500, 1)
    assert pickle.loads(pickle.dumps(made)).sealed is None
    assert "sealed" not in repr(made)


def test_a_key_needs_a_ledger_and_nothing_is_given_or_drawn():
    with pytest.raises(rpac.InputError, match="a ledger for the key; got 'k'"):
        rpac.privatize(MEAN, SOURCE, CAREFUL, key="k")
    with pytest.raises(rpac.InputError, match="no given secret under the promise person"):
        rpac.privatize(MEAN, SOURCE, CAREFUL, secret=TABLE)
    with pytest.raises(rpac.InputError, match="no given secret under the promise person"):
        rpac.privatize(MEAN, SOURCE, CAREFUL, subject="ann")
    with pytest.raises(rpac.InputError, match="about a person's presence"):
        rpac.privatize(MEAN, SOURCE, rpac.ResidualEntropy(1.0))


def test_intervals_hold_the_answer_without_noise():
    """Twenty-fold repeated, with caps so that nothing is clipped: 95 % of 400, about."""
    source = rpac.Presence(TABLE, unit="rows", caps={"pay": (0, 500)})
    made = [rpac.privatize(MEAN, source, 2.0) for _ in range(400)]
    truth = TABLE.pay.mean()
    inside = sum(r.noise_interval[0] <= truth <= r.noise_interval[1] for r in made)
    assert 350 <= inside <= 396


def test_a_table_of_whoever_is_answered():
    """One person, nobody, all alike, one who owns all rows: an answer with its noise."""
    for frame in (TABLE.iloc[:1], TABLE.iloc[:0], TABLE.assign(pay=3.0), TABLE.assign(id=1)):
        for statistic in (MEAN, rpac.statistics.median("pay"), rpac.statistics.variance("pay")):
            made = rpac.privatize(statistic, rpac.Presence(frame, unit="id"), CAREFUL)
            assert np.isfinite(made.value)


def test_an_inquiry_is_what_privatize_makes_of_its_arguments():
    made = released(Inquiry(MEAN, SOURCE, CAREFUL), ask)
    assert made.certificate.outputs == {"kind": "contributions", "groups": 1, "notes": []}
    assert unusual(made.certificate)["promise"] == "person"


# --- given the level ------------------------------------------------------------------------------


def left_out(frame=None, **declared):
    rows = pd.DataFrame({"id": range(20), "x": np.arange(20.0)}) if frame is None else frame
    return rpac.Presence(rows, "id", way="leave-one-out", middle=0.0, **declared)


def mean_of_x(rows):
    return float(rows["x"].mean())


def test_leaving_one_out_promises_less_and_says_so(folder):
    ledger = rpac.Ledger(f"{folder}/given.db", 1.0, dataset="d")
    made = rpac.privatize(mean_of_x, left_out(), rpac.SuccessRate(0.6), ledger=ledger, key="k")
    said = made.certificate
    assert (said.promise, said.grade) == ("person, given the level", "given the level")
    assert (said.worst_unit_success, made.sealed) == (None, None)
    assert "persons who are not in the data" in said.not_covered
    assert "for persons who are" in said.secret
    with pytest.raises(rpac.errors.CertificateError, match='the promise "person"; got'):
        said.epsilon()
    low, high = made.noise_interval
    assert low < made.value < high
    spent = {account["kind"]: account["spent"] for account in ledger.accounts()}
    assert spent["person, given the level"] == pytest.approx(0.0321, abs=1e-4)
    assert "person" not in spent  # its distances neither add to others nor are they exported
    assert spending(ledger, "d")["answers"] == 0
    again = rpac.privatize(mean_of_x, left_out(), rpac.SuccessRate(0.6), ledger=ledger, key="k")
    assert again.value == made.value
    ledger.close()


@pytest.mark.parametrize("people", [0, 1])
def test_leaving_one_out_answers_a_table_of_whoever(people):
    frame = pd.DataFrame({"id": range(people), "x": [5.0] * people})
    made = rpac.privatize(mean_of_x, left_out(frame), rpac.SuccessRate(0.6))
    assert np.isfinite(made.value)


def test_where_an_entry_is_the_secret_the_certificate_speaks_of_entries():
    source = rpac.Presence(TABLE, unit="id", instead={"pay": [0, 100]})
    said = rpac.privatize(MEAN, source, CAREFUL).certificate
    assert "entries of one person" in str(said)
    assert "presence of one person" not in str(said)
    assert said.statement.startswith("Promise: person, what a given person's entries are")
    assert not any(text.startswith("your value") for text in said.not_covered)
    plain = rpac.privatize(MEAN, SOURCE, CAREFUL).certificate
    assert any(text.startswith("your value") for text in plain.not_covered)


def test_what_a_function_looks_at_beside_its_rows_is_not_covered():
    source = rpac.Presence(TABLE, unit="id", way="blocks", blocks=4, middle=0.0)
    said = rpac.privatize(len, source, CAREFUL).certificate
    assert any("the clock" in text for text in said.not_covered)
    assert not any(
        "the clock" in t for t in rpac.privatize(MEAN, SOURCE, CAREFUL).certificate.not_covered
    )


def test_sealed_parts_are_not_printed():
    made = rpac.privatize(MEAN, SOURCE, CAREFUL)
    for part in (made.sealed, made.sealed.rows):
        assert "array" not in repr(part)
        with pytest.raises(rpac.InputError, match="stay in this process"):
            pickle.dumps(part)


@pytest.mark.parametrize("way", ["blocks", "leave-one-out"])
def test_a_key_stands_for_the_middle_too(folder, way):
    """It is added to what is stored: one key would have had two answers."""
    frame = pd.DataFrame({"id": range(6), "x": np.arange(6.0)})
    with book(folder) as ledger:
        for middle, same in ((0.0, True), (0.0, True), (100.0, False)):
            source = rpac.Presence(frame, "id", way=way, middle=middle, blocks=2)
            if same:
                rpac.privatize(mean_of_x, source, CAREFUL, ledger=ledger, key="k")
                continue
            with pytest.raises(rpac.InputError, match="the request that key 'k' was first used"):
                rpac.privatize(mean_of_x, source, CAREFUL, ledger=ledger, key="k")


HALF = "\ud800"
"""Half of a character: no file can hold it, and `encode` fails with all that was to be written."""


def test_an_answer_that_cannot_be_told_is_charged_in_full(tmp_path, monkeypatch):
    """Else everybody could ask again, for nothing, until the noise is averaged away."""
    monkeypatch.setattr(presence, "told", lambda *_: {"told": object()})
    with book(tmp_path) as ledger:
        for asked in range(1, 4):
            with pytest.raises(rpac.Withheld):
                rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger)
            assert ledger.spent == pytest.approx(asked * 0.0078954, abs=1e-6)
        assert ledger.verify() == 3


def test_half_characters_are_refused_where_they_are_typed_and_written_where_they_are_not(tmp_path):
    ill = rpac.statistics.count()
    with pytest.raises(rpac.InputError, match=r"whole characters in `keys`; got '.ud800'. Spell"):
        rpac.statistics.group_by("id", ill, keys=["a", HALF])
    with book(tmp_path) as ledger:
        asked = {"question": HALF, "about": {}}
        first = rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k", asked=asked)
        again = rpac.privatize(MEAN, SOURCE, CAREFUL, ledger=ledger, key="k", asked=asked)
        assert again.value == first.value
        assert ledger.spent == pytest.approx(0.0078954, abs=1e-6)
        assert ledger.verify() == 1
