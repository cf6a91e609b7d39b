"""A published record, read by an outsider: what is told, and under which heading."""

import json

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.advantage import distance_to_success
from rpac.answers.rows import answer_rows
from rpac.attack.published import CERTIFIED, DECLARED, DEFECT, FACT, GIVEN, UNBOOKED, outsider
from rpac.report import record as records

HASH = "0123456789abcdef" * 4
MADE = {
    "bound": 0.1,
    "noise": {"family": "grid", "power": 12.5, "gaussian": True, "fingerprint": HASH},
    "outputs": {"kind": "real", "fingerprint": HASH},
    "sha256": HASH,
}
RECORD = {
    "schema": "rpac-record/2",
    "question": f"SELECT sum(pay) AS pay FROM staff WHERE key = '{HASH}' -- of the 12 units",
    "promise": "sample: which half of the pool was drawn; the pool is public",
    "about": {"unit": "id", "worlds": 512},
    "answer": [
        {"dept": "lab", "pay": {"value": 5.0, "noise": [1.0, 9.0], "sampling": [0.0, 10.0]}},
        {"dept": "ops", "pay": {"value": 0.0, "fact": "all samples agree"}},
    ],
    "certificate": json.dumps(MADE),
    "receipt": {"ledger": HASH[:32], "hash": HASH, "version": HASH, "seq": 2},
    "sha256": HASH,
}


def read(**changed):
    return outsider(RECORD | changed)


def told(reading, part):
    return [row for row in reading.rows if row.part == part]


def made(**changed):
    return json.dumps(MADE | changed)


# --- a person's value ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def staff():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"id": range(60), "pay": rng.lognormal(10, 0.5, 60).round(2)})
    return rpac.Database({"staff": frame}, unit="id", worlds=64), frame


@pytest.mark.parametrize("who", [3, 17, 59])
def test_error_bars_tell_the_value_of_who_carries_a_number(staff, who):
    """The attack itself, on a release: this is why the pool must be declared public."""
    db, frame = staff
    query = f"SELECT sum(CASE WHEN id = {who} THEN pay ELSE 0 END) AS pay FROM staff"
    release = rpac.privatize(db.query(query), db.source, 0.001)
    record = RECORD | {"answer": answer_rows(release, "answer")}
    (row,) = told(outsider(record), "intervals")
    assert row.heading == FACT
    said = float(row.tells.split("their value is ")[1])
    assert said == pytest.approx(frame["pay"][who], rel=0.08)  # samples differ in size


def test_counts_are_known_up_to_the_rounding_of_their_ends():
    cell = {"value": 3, "noise": [-7, 13], "sampling": [-8, 14]}
    (row,) = told(read(answer=[{"n": cell}]), "intervals")
    assert row.tells.count("about 2.338") == 2


def test_other_noise_than_gaussian_tells_it_about():
    noise = MADE["noise"] | {"gaussian": False}
    (row,) = told(read(certificate=made(noise=noise)), "intervals")
    assert row.tells.count("about 1.53064") == 2


@pytest.mark.parametrize("sampling", [None, [1.0], [None, None], [2.0, 8.0], ["a", "b"]])
def test_intervals_that_are_none_tell_nothing(sampling):
    cell = RECORD["answer"][0]["pay"] | {"sampling": sampling}
    assert told(read(answer=[{"pay": cell}]), "intervals") == []


# --- headings -----------------------------------------------------------------------------------


def test_a_record_as_it_should_be_has_no_defect():
    found = read()
    assert found.defects == []
    assert {row.part for row in found.rows} == {
        "promise", "numbers", "intervals", "level", "origin", "names", "hashes", "refusals",
    }  # fmt: skip
    assert told(found, "numbers")[0].tells.startswith("1 with noise: together at most 0.1 nats")
    exact = told(found, "numbers")[1]
    assert (exact.where, exact.heading) == ("answer[1].pay", FACT)
    assert "exactly 0.0" in exact.tells
    assert told(found, "names")[0].tells.startswith("lab, ops: must come from declared")
    assert "12.5" in told(found, "level")[0].tells
    assert told(found, "hashes")[0].tells.startswith("7 of what")
    assert found.verdict.startswith("No defect. 5 facts of the public pool")


@pytest.mark.parametrize(
    ("changed", "part", "where"),
    [
        ({"plan": {"numbers": [{"sampling": 3.0}]}}, "plan", "plan"),
        ({"audit": {"alarm": False, "units": 3}}, "audit", "audit"),
        ({"about": {"unit": "id", "units": 400}}, "units", "about.units"),
        ({"remaining": 0.9}, "remaining", "remaining"),
        ({"exposure": [3]}, "exposure", "exposure"),
        ({"receipt": {"nano": 99_994_626}}, "nano", "receipt.nano"),
        ({"receipt": {"nats": 0.1}}, "nats", "receipt.nats"),
        ({"certificate": made(secret="half-samples of the 1,400 units")}, "units",
         "certificate.secret"),
        ({"certificate": made(outputs={"digest": HASH})}, "hashes", "certificate.outputs.digest"),
        ({"note": f"data {HASH[:32]}"}, "hashes", "note"),
        ({"answer": [{"name": HASH, "n": 1}]}, "hashes", "answer[0].name"),
    ],
)  # fmt: skip
def test_what_should_not_be_there(changed, part, where):
    (row,) = read(**changed).defects
    assert (row.part, row.where) == (part, where)


def test_what_is_empty_is_no_defect():
    assert not read(plan=None, audit=None, remaining=None, exposure=[]).defects


def test_a_record_must_name_its_promise():
    nameless = {name: part for name, part in RECORD.items() if name != "promise"}
    assert [row.part for row in outsider(nameless).defects] == ["promise"]


def test_success_is_certified_if_it_was_requested():
    for asked, heading in (({}, DEFECT), ({"success": 0.61}, CERTIFIED)):  # achieved, requested
        level = read(certificate=made(worst_unit_success=0.61, requested=asked))
        assert told(level, "success")[0].heading == heading


# --- about presence -----------------------------------------------------------------------------

PERSON = {"promise": {"name": "person"}}
CELL = {"value": 5.0, "noise": [1.0, 9.0]}
DRAWN = {
    "bound": 0.0079, "promise": "person", "distance": 0.25, "worst_unit_success": 0.55,
    "requested": {"distance": 0.25, "success": 0.55}, "lower": 0.0, "bounds": {}, "facts": [],
    "noise": {"family": "rounded gaussian", "power": 9.5, "levels": {"pay": 3.5},
              "scales": {"sum of pay": 3.0}, "middles": {"pay": 40.0}},
    "outputs": {"kind": "contributions", "groups": 2},
}  # fmt: skip


def presence(cell=CELL, **changed):
    rows = [{"dept": "lab", "pay": cell}]
    return read(**PERSON, answer=rows, certificate=json.dumps(DRAWN | changed))


def test_a_record_about_presence_has_no_public_pool():
    found = presence()
    assert found.defects == []
    assert {row.heading for row in found.rows if row.part != "names"} == {CERTIFIED}
    assert {row.where: row.tells for row in told(found, "level")} == {
        "certificate.noise.levels": "pay 3.5: drawn privately",
        "certificate.noise.middles": "pay 40.0: drawn privately or declared",
        "certificate.noise.scales": "sum of pay 3.0: drawn privately or declared",
        "certificate.noise.power": "9.5: drawn privately or declared",
    }
    assert told(found, "origin")[0].tells == "sums lie on a public grid around 0"
    assert told(found, "intervals") == []
    said = "No defect: all of it is certified; names must have been declared, which cannot be seen"
    assert found.verdict == f"{said} here"
    assert [row.heading for row in told(found, "names")] == [DECLARED]
    assert "pool" not in str(found)


@pytest.mark.parametrize("promise", ["person", {"name": "person", "success": 0.55}])
def test_what_is_a_fact_of_a_public_pool_is_a_defect_where_no_pool_is_public(promise):
    found = read(promise=promise, certificate=made(worst_unit_success=0.61))
    assert [row.part for row in found.defects] == ["intervals", "numbers", "success"]
    assert {row.heading for row in told(found, "level") + told(found, "origin")} == {CERTIFIED}


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"cell": CELL | {"sampling": [0.0, 10.0]}}, "intervals"),
        ({"cell": CELL | {"sampling": [9.0, 1.0]}}, "intervals"),
        ({"cell": {"value": 7.0}}, "numbers"),
        ({"worst_unit_success": 0.5312}, "success"),
        ({"distance": 0.21}, "distance"),
        ({"lower": 1e-6}, "lower"),
        ({"bounds": {"exact": 0.007}}, "bounds"),
        ({"density_quantiles": {"0.5": 0.01}}, "density_quantiles"),
        ({"facts": ["n"]}, "facts"),
        ({"outputs": {"kind": "contributions", "units": 48_842}}, "units"),
        ({"outputs": {"digest": HASH}}, "hashes"),
    ],
)  # fmt: skip
def test_defects_of_a_record_about_presence(changed, part):
    assert [row.part for row in presence(**changed).defects] == [part]


@pytest.mark.parametrize("name", ["plan", "audit", "exposure", "units", "remaining"])
def test_what_is_the_owners_is_a_defect_about_presence_too(name):
    record = RECORD | PERSON | {"answer": [{"pay": CELL}], "certificate": json.dumps(DRAWN)}
    assert [row.part for row in outsider(record | {name: {"n": 1}}).defects] == [name]


def test_a_distance_that_was_requested_gives_the_success():
    asked = {"distance": 0.25}
    rate = distance_to_success(0.25)
    assert presence(requested=asked, worst_unit_success=rate).defects == []
    assert presence(requested=asked, worst_unit_success=0.54).defects != []
    assert presence(worst_unit_success=None).defects == []


def test_a_level_that_is_given_is_named_so():
    found = presence(promise="person, given the level", worst_unit_success=None)
    assert {row.heading for row in told(found, "level")} == {GIVEN}
    assert found.defects == []
    long = presence(noise=DRAWN["noise"] | {"scales": {f"sum {i}": 1.0 for i in range(40)}})
    assert any(
        row.tells.endswith("...: drawn privately or declared") for row in told(long, "level")
    )


def test_a_release_about_presence_reads_as_certified():
    frame = pd.DataFrame({"pay": np.arange(50.0), "ward": ["a", "b"] * 25})
    question = rpac.statistics.group_by("ward", rpac.statistics.mean("pay"), ["a", "b"])
    for budget in (rpac.SuccessRate(0.55), rpac.GaussianDP(0.3), rpac.Nats(0.01)):
        release = rpac.privatize(question, rpac.Presence(frame, unit="rows"), budget)
        body = records.record(records.said(release), "mean", about={"unit": "rows"})
        assert rpac.audit(body).defects == []


# --- labels, names, refusals --------------------------------------------------------------------


def test_labels_are_certified_and_have_no_grid():
    noise, outputs = {"family": "label", "power": 0.2}, {"kind": "label"}
    found = read(answer=[{"answer": "yes"}], certificate=made(noise=noise, outputs=outputs))
    assert [row.tells[:12] for row in told(found, "numbers")] == ["1 with noise"]
    assert not told(found, "origin") + told(found, "names") + told(found, "intervals")
    assert told(read(certificate=made(noise={})), "level") == []


def test_a_plain_number_among_noisy_ones_is_exact():
    rows = [RECORD["answer"][0], {"dept": "ops", "pay": 7.0}]
    assert "exactly 7.0" in told(read(answer=rows), "numbers")[1].tells
    names = [{"dept": f"d{i}"} for i in range(20)]
    assert "d11 and 8 more" in told(read(answer=names), "names")[0].tells


def test_refusals_are_read_from_the_books():
    withheld = {"kind": "spend", "nano": 10_000_000, "answer": {"withheld": True}}
    entries = [{"kind": "open"}, withheld, withheld, {"kind": "spend", "nano": 5, "answer": {}}]
    row = outsider(RECORD, entries).rows[-1]
    assert row.tells.startswith("2 withheld for 0.02 nats")
    assert row.heading == CERTIFIED
    assert outsider(RECORD, [withheld | {"nano": 0}]).rows[-1].heading == DEFECT


def test_nothing_is_said_of_samples_about_presence():
    assert presence().rows[-1].tells == "none: nothing is refused because of data"
    withheld = {"kind": "spend", "nano": 10_000_000, "answer": {"withheld": True}}
    about = RECORD | PERSON | {"answer": [{"pay": CELL}], "certificate": json.dumps(DRAWN)}
    told = outsider(about, [withheld]).rows[-1].tells
    assert told == "1 withheld for 0.01 nats: one text for all reasons"


@pytest.mark.parametrize("about", [{}, PERSON | {"answer": [], "certificate": json.dumps(DRAWN)}])
def test_a_record_without_a_receipt_is_not_booked(about):
    found = read(**about, receipt=None)
    (row,) = told(found, "booking")
    assert (row.where, row.heading) == ("receipt", UNBOOKED)
    assert row.tells.startswith("not booked: nobody adds it up")
    assert found.defects == []
    assert found.verdict.endswith("; not booked: nobody adds it up")
    assert "booked" not in read(**about).verdict


def test_a_record_that_was_changed_has_one_verdict():
    found = read().changed()
    assert found.verdict.startswith("DEFECT: it was changed after it was written")
    assert [row.part for row in found.defects] == ["change"]
    both = read(plan={"nats": 0.1}).changed().verdict
    assert both.startswith("DEFECT: it was changed")
    assert both.endswith("; and plan should not be in a public record")


# --- how it is shown and called -----------------------------------------------------------------


def test_faces():
    found = read(plan={"nats": 0.1}, note="<b>")
    lines = str(found).splitlines()
    assert lines[0] == "DEFECT: plan should not be in a public record"
    assert len(lines) == len(found.rows) + 2
    assert any(line.startswith("DEFECT                   plan       plan") for line in lines)
    assert found.to_dict()["defects"] == 1
    assert json.loads(json.dumps(found.to_dict()))["rows"][-1]["part"] == "refusals"
    assert "<b>DEFECT: plan" in found._repr_html_()
    assert "<td>plan</td>" in found._repr_html_()


def test_an_audit_of_a_record_is_this_reading(tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORD))
    assert rpac.audit(path) == rpac.audit(str(path)) == rpac.audit(RECORD) == read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "Expected a file that exists; got 'record.json'"),
        ("{", "Expected a record of a release, in JSON; got 'record.json'"),
        ("[]", "Expected a record of a release, in JSON"),
        (" <!doctype html>", "got an HTML page. Pass the record.json beside it."),
        ('{"schema": "other"}', "Expected a record of a release; got one of schema 'other'"),
        ('{"schema": "rpac-record/2"}', "got one of schema 'rpac-record/2'"),
        ('{"schema": "rpac-record/2", "certificate": "{"}', "Expected a certificate in the record"),
        ('{"schema": "rpac-record/2", "certificate": 3}', "got a text that is none"),
    ],
)
def test_refusals(tmp_path, text, message):
    path = tmp_path / "record.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(rpac.InputError, match=message):
        outsider(path)
