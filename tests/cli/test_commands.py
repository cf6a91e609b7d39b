"""What each command does: text for people, data for programs, and the order of safety."""

import json
import re
from dataclasses import fields

import numpy as np
import pytest

from rpac._base.sealed import publish
from rpac.certificate.certificate import FACT, Certificate
from rpac.cli import commands
from rpac.cli.options import Question, Releasing
from rpac.cli.question import Ask
from rpac.errors import LedgerError
from rpac.ledger.ledger import Ledger
from rpac.report import plan as planning
from rpac.report import record as records
from rpac.report import wording
from tests.cli.conftest import MEAN, SAMPLE, call

BY_DEPT = "SELECT dept, avg(pay) AS pay FROM staff GROUP BY dept"


def mean_of(folder, **given):
    """The options of a release of the mean pay."""
    usual = {"data": [folder / "staff.csv"], "unit": "id", "worlds": 8,
             "statistic": "mean(pay)", "method": "auto-pac", "protect": "sample"}  # fmt: skip
    return Releasing(**usual | given)


def test_a_plan_tells_price_errors_and_what_remains(staff):
    given = {"data": [staff / "staff.csv"], "unit": "id", "worlds": 8, "method": "auto-pac",
             "protect": "sample"}  # fmt: skip
    found = commands.plan(Question(**given, statistic="mean(pay)", budget=0.123456789))
    assert (found.code, found.finish) == (0, None)
    head = [line.split()[0] for line in found.text.splitlines()[:6]]
    assert head == ["question", "promise", "secret", "price", "meaning", "person"]
    assert "which half of 12 id is in the sample" in found.text
    assert "at most 0.123457 nats: moderate" in found.text  # rounded up
    assert found.text.endswith("No ledger: spending is not recorded; pass --ledger")
    ladder = re.findall(r"^ +([\d.]+) +[\d.]+$", found.text.split("budget  noise in")[1], re.M)
    assert tuple(map(float, ladder)) == wording.LADDER
    assert set(found.body) == {
        "nats",
        "membership",
        "meaning",
        "numbers",
        "curve",
        "chosen",
        "remaining",
        "channel",
    }
    assert found.body["remaining"] is None
    assert json.loads(publish(found.body)) == json.loads(json.dumps(found.body))


def test_a_release_with_reports_makes_one_plan_and_one_record(staff, tmp_path, monkeypatch):
    made = []

    def counted(module, name):
        function = getattr(module, name)

        def count(*given, **named):
            made.append(name)
            return function(*given, **named)

        monkeypatch.setattr(module, name, count)

    counted(planning, "plan")
    counted(records, "record")
    counted(commands, "simulate")
    files = {name: tmp_path / name for name in ("out", "report", "sealed_report")}
    found = commands.release(mean_of(staff, **files))
    assert made == ["record"]  # on the disk as soon as the charge is, before the answer is shown
    assert json.loads(files["out"].read_text()) == json.loads(publish(found.body))
    assert not files["report"].exists()
    assert not files["sealed_report"].exists()
    assert found.finish() == ""
    assert made == ["record", "plan"]  # and the worlds of the release are not run again
    assert all(file.exists() for file in files.values())
    made.clear()
    assert commands.release(mean_of(staff)).finish() == ""
    assert made == ["record"]


def test_the_plan_of_a_sealed_report_is_of_the_noise_that_was_released(staff, tmp_path, sealed):
    body = commands.release(mean_of(staff, budget=0.3, sealed_report=tmp_path / "s.html"))
    body.finish()
    made = Certificate.from_json(body.body["certificate"])
    (number,) = sealed[0].plan["numbers"]
    assert number["noise"] == pytest.approx(np.sqrt(made.noise["power"]), rel=1e-9)
    low, high = body.body["answer"][0]["answer"]["noise"]
    assert (high - low) / 2 == pytest.approx(1.959964 * number["noise"], rel=1e-9)


@pytest.fixture
def sealed(monkeypatch):
    """What sealed pages are rendered from, as it comes."""
    found, render = [], commands.render

    def kept(body, certificate, sealed=None, *imprint):
        found.extend([] if sealed is None else [sealed])
        return render(body, certificate, sealed, *imprint)

    monkeypatch.setattr(commands, "render", kept)
    return found


def test_an_audit_refuses_a_record_that_was_changed(staff, tmp_path):
    file = tmp_path / "r.json"
    assert call("release", staff / "staff.csv", *MEAN, "--success", "0.6", "--out", file)[0] == 0
    code, out, _ = call("audit", file)
    assert (code, "0.6 for the most exposed person: what was requested" in out) == (0, True)
    file.write_text(file.read_text().replace("mean(pay)", "mean(age)"))
    code, out, err = call("audit", file)
    assert (code, err, out.startswith("DEFECT: it was changed after it was written")) == (
        1,
        "",
        True,
    )
    assert (out.count("DEFECT:"), "No defect" in out) == (1, False)
    assert json.loads(call("audit", file, "--json")[1])["verdict"].startswith("DEFECT: it was")


def test_an_audit_of_a_page_asks_for_the_record_beside_it(tmp_path):
    page = tmp_path / "report.html"
    page.write_text("<!doctype html>\n<title>rpac report</title>")
    told = "Expected a record (JSON) as `rpac release --out` writes it; got an HTML page. Pass the"
    code, out, err = call("audit", page)
    assert (code, out, told in err) == (1, "", True)


def test_what_the_owner_alone_may_see_is_in_the_sealed_report(staff, tmp_path, sealed):
    files = {name: tmp_path / name for name in ("out", "report", "sealed_report")}
    files["sealed_report"].write_text("older")
    files["sealed_report"].chmod(0o644)
    found = commands.release(mean_of(staff, ledger=str(tmp_path / "l.db"), cap=1.0, **files))
    found.finish()
    assert files["sealed_report"].stat().st_mode & 0o777 == 0o600
    assert "older" not in files["sealed_report"].read_text()
    (told,) = sealed
    assert (told.units, told.audit["alarm"]) == (12, False)
    assert told.certificate.worst_unit_success > 0.5
    assert told.certificate.bound < 0.1
    assert told.charged == pytest.approx(0.1, abs=1e-3)
    record, page = files["out"].read_text(), files["report"].read_text()
    for name in ("units", "plan", "audit", "remaining", "nano", "digest"):
        assert f'"{name}"' not in record, name
    for text in (record, page):  # nothing that was achieved: only what was requested
        for figure in (told.certificate.bound, told.certificate.worst_unit_success, told.charged):
            assert f"{figure:.5g}" not in text
    public = Certificate.from_json(found.body["certificate"])
    assert (public.bound, public.worst_unit_success, public.lower) == (0.1, None, 0.0)
    assert (public.bounds, public.density_quantiles) == ({}, {})
    assert "Who is most exposed" not in page
    assert "Promise: sample" in page.split("<h2")[0]


def test_what_a_release_prints(staff):
    found = commands.release(mean_of(staff))
    answer, below = found.text.split("\n\n")[0], found.text.splitlines()
    value, share, *ends = map(float, re.findall(r"(?<!\+)-?[\d.]+", answer.replace("+-", "")))
    low, high, wide_low, wide_high = ends
    assert share == pytest.approx(100 * max(value - low, high - value) / value, rel=0.1)
    assert wide_low <= low < value < high <= wide_high
    assert below[-1] == "no ledger: spending was not recorded"
    assert found.body["meaning"] in below
    labels = {line[:17].strip() for line in below if line[17:19] == "  "}
    assert {"promise", "residual entropy", "leaks at most"} <= labels
    assert "leaks at most  0.1 nats" in found.text  # what was requested
    assert "membership of one person" not in found.text
    assert "booked" not in labels


def test_receipt_and_rest_stand_in_line_with_the_certificate(staff):
    books = str(staff / "l.db")
    text = commands.release(mean_of(staff, ledger=books, cap=1.0)).text
    assert re.search(r"^ {11}booked  entry \d of ledger [0-9a-f]{8}$", text, re.M)
    assert re.search(r"^ {13}left  0\.9\d* nats$", text, re.M)
    assert "no ledger" not in text


def test_the_json_of_a_release_is_its_record(staff, tmp_path):
    words = ("release", staff / "staff.csv", *MEAN, "--ledger", staff / "l.db", "--cap", "1")
    code, out, err = call(*words, "--json", "--audit")
    assert (code, err) == (0, "")
    body = json.loads(out)
    parts = "schema promise question about meaning answer value certificate receipt sha256"
    assert list(body) == parts.split()
    assert body["sha256"] == records.content_hash(body)
    assert body["about"] == {"unit": "id", "worlds": 8}
    assert list(body["receipt"]) == ["ledger", "seq", "hash", "dataset", "date"]
    (tmp_path / "r.json").write_text(out)
    assert call("verify", tmp_path / "r.json", "--ledger", staff / "l.db")[0] == 0


STAGES = {
    "the record": "rpac.report.record.record",
    "the seal": "rpac.report.record.seal",
    "the file": "rpac.report.record.save",
    "the report": "rpac.cli.commands.render",
}


@pytest.mark.parametrize("stage", STAGES)
def test_an_answer_that_was_paid_for_is_shown_whatever_fails_after_it(stage, staff, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    words = ("release", staff / "staff.csv", *MEAN, "--ledger", staff / "l.db", "--cap", "1",
             "--key", "a", "--out", staff / "r.json", "--report", staff / "r.html")  # fmt: skip
    with monkeypatch.context() as broken:
        broken.setattr(STAGES[stage], full)
        code, shown, err = call(*words)
        assert code == 1
        assert "leaks at most" in shown
        assert err == ("The answer stands, but its record and reports are not complete: No space "
                       "left on device - with the same --key a retry is free.\n")  # fmt: skip
        code, out, err = call(*words, "--json")
    assert (code, "No space" in err) == (1, True)
    said = json.loads(out)  # what can be said of the answer; a record only if it was written
    assert ("schema" in said) == (stage == "the report")
    assert {"question", "meaning", "answer", "value", "certificate", "receipt"} <= {*said}
    assert f"{said['value']:.6g}" in shown
    assert Ledger(staff / "l.db").spent == pytest.approx(0.1, abs=1e-3)  # once
    assert call(*words)[0] == 0  # a retry completes it
    body = json.loads((staff / "r.json").read_text())
    assert body["value"] == said["value"]
    assert call("verify", staff / "r.json", "--ledger", staff / "l.db")[0] == 0


def test_an_interrupt_or_a_failure_that_may_quote_data_is_told_by_its_kind(staff, monkeypatch):
    for error in (KeyboardInterrupt("salary 4711"), ZeroDivisionError("salary 4711")):

        def fails(*_, error=error, **__):
            raise error

        monkeypatch.setattr("rpac.report.record.record", fails)
        code, out, err = call("release", staff / "staff.csv", *MEAN)
        assert (code, "leaks at most" in out) == (1, True)
        assert f"not complete: {type(error).__name__} - with" in err
        assert "4711" not in out + err


def test_a_ledger_that_cannot_tell_what_is_left_hides_no_answer(staff, monkeypatch):
    def locked(_):
        raise LedgerError("Expected a ledger; got a locked one. Try again.")

    monkeypatch.setattr(Ask, "left", property(locked))
    found = commands.release(mean_of(staff, ledger=str(staff / "l.db"), cap=1.0))
    assert "leaks at most" in found.text
    assert "booked" in found.text
    assert "left  " not in found.text
    assert found.finish() == ""


@pytest.mark.parametrize("option", ["--out", "--report", "--sealed-report"])
def test_what_cannot_be_written_is_refused_before_it_is_charged(option, staff):
    words = ("release", staff / "staff.csv", *MEAN, "--ledger", staff / "l.db", "--cap", "1")
    code, out, err = call(*words, option, staff / "no" / "x.html")
    assert (code, out) == (1, "")
    assert err == ("Expected a path that can be written; got 'x.html': No such file or directory. "
                   "Nothing was charged.\n")  # fmt: skip
    assert "got 'staff': Is a directory" in call(*words, option, staff)[2]
    assert not (staff / "l.db").exists()


def test_trying_a_path_leaves_it_as_it_was(staff):
    old = staff / "old.html"
    old.write_text("what was there")
    for words in (("--out", old), ("--report", staff / "new.html")):
        code, _, err = call("release", staff / "staff.csv", *MEAN, "--budget", "-1", *words)
        assert (code, "Expected a positive budget in nats; got -1.0" in err) == (1, True)
    assert old.read_text() == "what was there"
    assert not (staff / "new.html").exists()


def test_a_retry_has_nothing_left_to_attack(staff):
    words = ("release", staff / "staff.csv", *MEAN, "--ledger", staff / "l.db", "--cap", "1",
             "--key", "a", "--audit", "--sealed-report", staff / "s.html")  # fmt: skip
    first, again = (call(*words)[1] for _ in range(2))
    assert ("No alarm" in first, "No alarm" in again) == (True, False)
    assert first.splitlines()[:9] == again.splitlines()[:9]
    assert "Nobody was attacked for this release" in (staff / "s.html").read_text()


def test_a_number_on_which_all_worlds_agree_is_named_so(staff):
    """A ward whose people all have a diagnosis came out as 1.000000, as if it were protected."""
    sql = "SELECT dept, avg(pay) AS pay, min(1) AS sick FROM staff GROUP BY dept"
    words = ("release", staff / "staff.csv", "--unit", "id", "--worlds", "8", "--public", "dept",
             *SAMPLE,
             "--method", "auto-pac", "--budget", "0.01", "--out", staff / "r.json")  # fmt: skip
    code, out, _ = call(*words, "--sql", sql, "--report", staff / "r.html")
    assert (code, out.count("1  *"), "* the same in every world, so facts" in out) == (0, 2, True)
    body = json.loads((staff / "r.json").read_text())
    assert [row["sick"] for row in body["answer"]] == [{"value": 1, "fact": FACT}] * 2
    assert "noise" in body["answer"][0]["pay"]
    assert json.loads(body["certificate"])["facts"] == ["a: sick", "b: sick"]
    assert (staff / "r.html").read_text().count(FACT) == 2
    code, out, _ = call(*words, "--statistic", "quantile(same, 0.5)")
    assert code == 1
    text = (staff / "staff.csv").read_text().replace("\n", ",1\n").replace("pay,1", "pay,sick", 1)
    (staff / "staff.csv").write_text(text)
    code, out, _ = call(*words, "--statistic", "mean(sick)")  # alone: released, and named so
    assert (code, "* the same in every world, so facts" in out) == (0, True)
    assert 'promise "person" would protect them' in out
    assert json.loads((staff / "r.json").read_text())["answer"] == [
        {"answer": {"value": 1.0, "fact": FACT}}]  # fmt: skip


def test_groups_of_any_kind_are_shown(staff):
    text = (staff / "staff.csv").read_text().replace(",b,", ",,")  # a department without a name
    (staff / "staff.csv").write_text(text)
    sql = BY_DEPT.replace("dept,", "dept, dept IS NULL AS none, DATE '2020-02-02' AS day,", 1)
    sql += ", none, day"
    code, out, err = call("release", staff / "staff.csv", "--unit", "id", "--worlds", "8", *SAMPLE,
                          "--sql", sql, "--public", "dept", "--json",
                          "--report", staff / "r.html", "--method", "auto-pac")  # fmt: skip
    assert (code, err) == (0, "")
    groups = [(row["dept"], row["none"], row["day"]) for row in json.loads(out)["answer"]]
    assert sorted(groups, key=str) == [("a", False, "2020-02-02"), (None, True, "2020-02-02")]


def edited(body, **changes):
    """Return a record as a forger writes it: changed, and its hash made to fit again."""
    body = body | changes
    return publish(body | {"sha256": records.content_hash(body)}, indent=1) + "\n"


def test_an_edited_record_is_not_what_the_ledger_says(staff, tmp_path):
    books, file = tmp_path / "l.db", tmp_path / "r.json"
    words = ("release", staff / "staff.csv", *MEAN, "--ledger", books, "--cap", "1")
    assert call(*words, "--out", file)[0] == 0
    text = file.read_text()
    body = json.loads(text)
    code, out, _ = call("verify", file, "--ledger", books)
    assert (code, "this very record" in out) == (0, True)
    answer = [{"answer": body["answer"][0]["answer"] | {"value": 1e6}}]
    changes = {"answer": answer, "value": 1e6, "question": "SELECT 1", "promise": "none",
               "about": {"unit": "id", "worlds": 9}}  # fmt: skip
    for name, value in changes.items():
        file.write_text(publish(body | {name: value}, indent=1))  # by accident
        for words in (("verify", file), ("report", file, "--out", tmp_path / "r.html")):
            code, _, err = call(*words)
            assert (code, "got 'r.json', which was changed" in err) == (1, True), name
        file.write_text(edited(body, **{name: value}))  # by somebody who knows the format
        code, out, err = call("verify", file)
        if name == "promise":  # the certificate has it too
            assert (code, "got 'r.json', which was changed" in err) == (1, True)
            continue
        assert (code, "which anybody can recompute\nnot compared with" in out) == (0, True)
        code, _, err = call("verify", file, "--ledger", books)
        assert (code, "Expected a record sealed in this ledger" in err) == (1, True), name
    file.write_text(edited(body, receipt="paid"))
    assert "this certificate; got the hash None" in call("verify", file, "--ledger", books)[2]
    file.write_text(edited(body, meaning="Nobody learns anything."))
    assert call("verify", file)[0] == 1
    file.write_text(text)
    assert call("verify", file, "--ledger", books)[0] == 0


def test_verify_says_what_it_compared(staff, tmp_path):
    record = tmp_path / "r.json"
    assert call("release", staff / "staff.csv", *MEAN, "--out", record)[0] == 0
    code, out, _ = call("verify", record, "--json")
    assert (code, json.loads(out)["checked"][1]) == (
        0, "no ledger: spending was not recorded, nothing else to compare it with")  # fmt: skip
    certificate = tmp_path / "c.json"
    certificate.write_text(json.loads(record.read_text())["certificate"])
    code, out, _ = call("verify", certificate)
    assert (code, out.startswith("The certificate is unaltered.\n\n")) == (0, True)
    assert json.loads(call("verify", certificate, "--json")[1]) == {"certificate": "unaltered"}
    certificate.write_text(certificate.read_text().replace("proved", "proven"))
    assert "Expected an unaltered certificate" in call("verify", certificate)[2]
    books = tmp_path / "l.db"
    Ledger(books, 1.0)
    assert json.loads(call("verify", books, "--json")[1]) == {"entries": 1, "ledger": "whole"}
    assert "Expected a file that exists; got 'gone.json'" in call("verify", "gone.json")[2]
    assert "Expected a file that exists; got 'staff'" in call("verify", staff)[2]


def test_a_ledger_that_has_moved_is_trusted_on_the_record(tmp_path, monkeypatch):
    books = tmp_path / "l.db"
    Ledger(books, 1.0).close()
    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/another machine")
    code, _, err = call("ledger", books)
    assert (code, "no anchor (`rpac ledger LEDGER --trust-head`" in err) == (1, True)
    assert call("ledger", books, "--trust-head")[0] == 0
    assert call("ledger", books)[0] == 0
    assert [entry["kind"] for entry in Ledger(books).entries()] == ["open", "anchor"]


def test_ledgers_are_made_capped_and_refused(staff, tmp_path):
    books = tmp_path / "l.db"
    code, _, err = call("ledger", books)
    assert (code, "Expected a ledger that exists; got 'l.db'. Make it with --cap 1." in err) == (
        1,
        1,
    )
    assert "got 'l.db'" in call("ledger", books, "--cap", "1", "--dataset", "staff")[2]
    assert not books.exists()
    assert call("ledger", books, "--cap", "1")[0] == 0
    assert call("ledger", books, "--cap", "0.2", "--dataset", "staff")[0] == 0
    assert call("ledger", books, "--cap", "0.7", "--analyst", "ann")[0] == 0
    shown = json.loads(call("ledger", books, "--json")[1])
    assert {"kind": "dataset", "name": "staff", "spent": 0.0, "cap": 0.2} in shown["accounts"]
    assert {"kind": "analyst", "name": "ann", "spent": 0.0, "cap": 0.7} in shown["accounts"]
    assert (shown["spent"], shown["remaining"]) == (0.0, 1.0)
    code, _, err = call("release", staff / "staff.csv", *MEAN, "--budget", 0.5, "--ledger", books)
    assert (code, "0.2" in err) == (1, True)
    code, out, _ = call("release", staff / "staff.csv", *MEAN, "--ledger", books, "--json")
    assert code == 0
    other = tmp_path / "other.db"
    call("ledger", other, "--cap", "1")
    (tmp_path / "r.json").write_text(out)
    assert call("verify", tmp_path / "r.json", "--ledger", books)[0] == 0
    code, _, err = call("verify", tmp_path / "r.json", "--ledger", other)
    assert (code, "the receipt of a charge in this ledger" in err) == (1, True)
    code, _, err = call("ledger", books, "--export", tmp_path / "no" / "x.jsonl")
    assert (code, "got 'x.jsonl': No such file or directory. Nothing was done." in err) == (1, True)
    words = ("plan", staff / "staff.csv", *MEAN, "--ledger", books, "--cap")
    assert call(*words, "1")[0] == 0
    assert call("ledger", books, "--cap", "5")[0] == 0
    assert call(*words, "5")[0] == 0


def test_compare_puts_methods_and_budgets_side_by_side(staff):
    words = ("compare", staff / "staff.csv", *MEAN, "--methods", " auto-pac, isotropic,", "--json")
    code, out, _ = call(*words, "--budgets", "0.1, 0.4")
    rows = json.loads(out)
    assert code == 0
    assert [(r["method"], r["budget"]) for r in rows] == [
        ("auto-pac", 0.1), ("auto-pac", 0.4), ("isotropic", 0.1), ("isotropic", 0.4)]  # fmt: skip
    for r in rows:
        assert set(r) == {"method", "budget", "power", "bound", "lower", "grade",
                          "gaussianity_gap", "coherent"}  # fmt: skip
        assert r["lower"] <= r["bound"] <= r["budget"]
    assert rows[0]["power"] == pytest.approx(rows[2]["power"])  # one number: one direction
    text = call(*words[:-1], "--budgets", "0.1")[1]
    assert text.split()[:3] == ["method", "budget", "power"]
    for option, value, message in [
        ("--methods", "auto-pac,magic", "Expected known --methods; got 'magic'. Known: auto-pac"),
        ("--budgets", "0.1,a", "Expected numbers in --budgets; got '0.1,a'. Such as 0.1,0.3."),
        ("--budgets", "", "Expected numbers in --budgets; got ''"),
        ("--methods", ",", "Expected known --methods; got ','. Known: auto-pac"),
    ]:
        code, _, err = call(*words[:-1], option, value)
        assert (code, message in err) == (1, True), err


def test_an_audit_has_a_verdict_and_an_exit_code(staff, monkeypatch):
    words = ("audit", staff / "staff.csv", *MEAN, "--games", "2000")
    code, out, _ = call(*words)
    assert code == 0
    assert out.startswith("No alarm")
    assert out.endswith("For the owner of the data: an audit looks at the data.\n")
    body = json.loads(call(*words, "--json")[1])
    assert set(body) == {"verdict", "alarm", "lower", "confidence", "games", "rows"}
    assert body["games"] >= 2000
    whole = commands.calibrate
    monkeypatch.setattr(commands, "calibrate", lambda *given: whole(*given).scaled(0.02))
    code, out, _ = call(*words, "--success", "0.55")
    assert (code, "ALARM" in out.splitlines()[0]) == (1, True)


def test_programs_are_asked_too(staff):
    code, out, _ = call("release", staff / "staff.csv", "--unit", "rows", "--worlds", "8", *SAMPLE,
                        "--command", "wc -c < {file}", "--method", "auto-pac")  # fmt: skip
    assert (code, "no ledger: spending was not recorded" in out) == (0, True)


def test_a_program_may_print_more_about_the_whole_table(staff):
    given = {"statistic": None, "command": "tail -n +2 {file} | cut -d, -f3", "budget": 0.5}
    asked = mean_of(staff, **given, unit="rows")
    found = commands.plan(Question(**{f.name: getattr(asked, f.name) for f in fields(Question)}))
    assert [row["number"] for row in found.body["numbers"]] == [f"number {i}" for i in range(1, 7)]
    assert all(row["sampling"] > 0 for row in found.body["numbers"])  # against the mean of worlds


def test_an_answer_without_numbers_explains_no_intervals():
    assert commands.answer_text([{"answer": "yes"}]) == "answer\n   yes"
    assert commands.answer_text([{"": "a", "x": None}]).split() == ["key", "x", "a", "None"]


def test_a_success_is_promised_to_one_person(staff):
    body = json.loads(call("release", staff / "staff.csv", *MEAN, "--success", "0.6", "--json")[1])
    made = Certificate.from_json(body["certificate"])
    assert made.worst_unit_success == 0.6  # what was requested, not what was reached
    assert made.requested == {"success": 0.6}
    assert body["meaning"] == wording.before_and_after(made.worst_unit_success)


def test_a_report_is_rendered_from_its_record_alone(staff, tmp_path):
    record = tmp_path / "r.json"
    words = ("--out", record, "--report", tmp_path / "first.html")
    assert call("release", staff / "staff.csv", *MEAN, *words)[0] == 0
    (staff / "staff.csv").unlink()
    code, out, _ = call("report", record, "--out", tmp_path / "again.html", "--json")
    assert (code, json.loads(out)) == (0, {"report": str(tmp_path / "again.html")})
    assert (tmp_path / "again.html").read_text() == (tmp_path / "first.html").read_text()
    code, _, err = call("report", record, "--out", tmp_path / "no" / "x.html")
    assert (code, "got 'x.html': No such file" in err) == (1, True)
    assert "Expected a record of schema rpac-record/3; got 'project.toml' of schema None" in call(
        "report", staff / "project.toml")[2]  # fmt: skip


def test_an_audit_of_a_record_reads_it_as_an_outsider(staff, tmp_path):
    """No unit, no data: a single record is enough, and its defects are the exit code."""
    words = ("release", staff / "staff.csv", *MEAN, "--ledger", staff / "l.db", "--cap", "1")
    assert call(*words, "--out", tmp_path / "r.json")[0] == 0
    body = json.loads((tmp_path / "r.json").read_text())
    (tmp_path / "r.json").write_text(json.dumps(body | {"plan": {"numbers": [1.0]}}))
    code, out, err = call("audit", tmp_path / "r.json", "--ledger", staff / "l.db", "--json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert "plan" in {row["part"] for row in found["rows"] if row["heading"] == "DEFECT"}
    assert found["rows"][-1]["tells"].startswith("0 withheld")
    code, out, err = call("audit", tmp_path / "r.json")
    assert out.startswith("DEFECT: ")
    assert "fact of the public pool" in out
