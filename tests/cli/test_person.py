"""The command line under the promise *person*: what is printed and written, and for whom alike."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.cli import person
from rpac.report import wording
from tests.cli.conftest import call

BY_DEPT = "SELECT dept, avg(pay) AS pay, count(*) AS n FROM staff GROUP BY dept"
ASKED = {
    "mean": ("--statistic", "mean(pay)"),
    "count": ("--statistic", "count()"),
    "median": ("--statistic", "median(pay)"),
    "groups": ("--sql", BY_DEPT, "--keys", "dept=a,b"),
    "capped": ("--statistic", "sum(pay)", "--caps", "pay=0:20", "--caps", "rows=1"),
    "centred": ("--statistic", "mean(pay)", "--middle", "pay=10", "--size", "12"),
}  # fmt: skip
WRONG = {
    "caps turned": ("--statistic", "mean(pay)", "--caps", "pay=5:1"),
    "caps NaN": ("--statistic", "mean(pay)", "--caps", "pay=nan:1"),
    "caps infinite": ("--statistic", "mean(pay)", "--caps", "pay=0:inf"),
    "caps of nothing": ("--statistic", "mean(pay)", "--caps", "py=0:1"),
    "middle NaN": ("--statistic", "mean(pay)", "--middle", "pay=nan"),
    "an unknown column": ("--statistic", "mean(py)"),
    "an unknown column in SQL": ("--sql", "SELECT avg(py) AS p FROM staff"),
    "groups": ("--sql", BY_DEPT),
    "a public column": ("--sql", BY_DEPT, "--public", "dept"),
    "half-samples": ("--statistic", "mean(pay)", "--worlds", "8"),
    "a seed": ("--statistic", "mean(pay)", "--seed", "1"),
    "a method": ("--statistic", "mean(pay)", "--method", "auto-pac"),
    "no success": ("--statistic", "mean(pay)", "--success", "0.5"),
    "certain success": ("--statistic", "mean(pay)", "--success", "1"),
    "no distance": ("--statistic", "mean(pay)", "--mu", "0"),
    "two budgets": ("--statistic", "mean(pay)", "--mu", "1", "--success", "0.6"),
    "no people": ("--statistic", "mean(pay)", "--size", "0"),
    "another way": ("--statistic", "mean(pay)", "--way", "magic"),
    "one block": ("--command", "wc -l", "--middle", "answer=0", "--blocks", "1"),
    "no form": ("--command", "wc -l"),
    "another promise": ("--statistic", "mean(pay)", "--protect", "both"),
    "a window": ("--sql", "SELECT sum(avg(pay)) OVER () AS x FROM staff"),
    "a schema that is not there": ("--statistic", "mean(pay)", "--schema", "gone.csv"),
}  # fmt: skip


@pytest.fixture
def twins(tmp_path, monkeypatch):
    """Three folders whose tables differ in one person: in, not in, and with odd entries."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"id": range(40), "dept": list("ab") * 20, "pay": rng.normal(10, 2, 40)})
    folders = []
    for name, more in (("in", "40,a,9000\n"), ("out", ""), ("odd", 'x,"c,n/a\n')):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "staff.csv").write_text(rows.to_csv(index=False) + more)
        folders.append(folder)

    def told(*words):
        found = []
        for folder in folders:
            monkeypatch.chdir(folder)
            found.append(call(*words))
        return found

    return told


@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("verb", ["plan", "compare"])
@pytest.mark.parametrize("name", ASKED)
def test_plans_and_comparisons_are_the_same_bytes_for_any_rows(name, verb, json_too, twins):
    first, *others = twins(verb, "staff.csv", "--unit", "id", *ASKED[name], *json_too)
    assert (first[0], first[2]) == (0, "")
    assert all(other == first for other in others)


@pytest.mark.parametrize("verb", ["plan", "compare", "release", "audit"])
@pytest.mark.parametrize("name", WRONG)
def test_refusals_are_the_same_bytes_and_cost_nothing(name, verb, twins, tmp_path):
    books = () if verb == "release" else ("--ledger", "books.db", "--cap", "1")
    found = twins(verb, "staff.csv", "--unit", "id", *WRONG[name], *books)
    assert len({*found}) == 1
    code, out, err = found[0]
    assert (code, out) == (1, "")
    assert re.match(r"Expected .*; got .*\. [A-Z]", err), err
    assert not (tmp_path / "in" / "books.db").exists()


def test_a_plan_opens_no_more_than_the_first_line(staff, monkeypatch):
    """A table whose rows are broken in every way plans as well as any."""
    words = ("plan", staff / "staff.csv", "--unit", "id", "--statistic", "mean(pay)")
    told = call(*words)
    with (staff / "staff.csv").open("wb") as file:
        file.write(b"id,dept,pay\n" + b"\xff\x00\x80,'\"\n" * 99)
    assert call(*words) == told
    assert told[0] == 0


def test_what_a_plan_says(staff):
    books = ("--ledger", staff / "l.db", "--cap", "0.1")
    words = ("plan", staff / "staff.csv", "--unit", "id", *books)
    code, out, _ = call(*words, "--sql", BY_DEPT, "--keys", "dept=a,b", "--size", "12")
    assert code == 0
    head = re.findall(r"^(\w+) {2,}", out, re.M)
    assert head[:4] == ["question", "promise", "price", "meaning"]
    assert {"drawn", "levels", "sample", "left"} <= {*head}
    assert "Delta 0.2514, 0.00789539 nats, success 55 %, epsilon 0.932 at delta 0.00001" in out
    assert wording.on_a_person(0.55) in out
    assert re.search(r"sum of pay +[\d.]+ x level of pay +[\d.]+ x largest", out)
    assert "TOO FEW: you declared 12. Declare --caps" in out
    assert "--protect sample protects which world was drawn, from a pool that is public" in out
    assert out.endswith("left       0.1 nats now, at least 0.0921046 after\n")
    assert not (staff / "l.db").exists()
    capped = call(*words, "--statistic", "sum(pay)", "--caps", "pay=0:20", "--caps", "rows=1")[1]
    assert re.search(r"^sum of pay +79\.58 +140\.9 +79\.58$", capped, re.M)
    assert "levels" not in capped
    many = call(*words, "--statistic", "mean(pay)", "--size", "100000")[1]
    assert ("TOO FEW" in many, "a level needs about" in many) == (False, True)
    rank = call(*words, "--statistic", "median(pay)")[1]
    assert re.search(r"0\.5 quantile of pay +[\d.]+ people in rank +- +-$", rank, re.M)


def test_a_plan_for_programs(staff):
    words = ("plan", staff / "staff.csv", "--unit", "id", "--statistic", "mean(pay)", "--json")
    body = json.loads(call(*words)[1])
    assert (body["promise"], body["success"], body["remaining"]) == ("person", 0.55, None)
    assert body["nats"] == pytest.approx(0.0078954, abs=1e-7)
    assert [n["number"] for n in body["numbers"]] == ["sum of pay", "number of rows"]
    books = ("--ledger", staff / "l.db", "--cap", "0.1")
    spent = call(*words[:-1], "--budget", "0.2", *books)
    assert spent[1].endswith("does not fit: 0.1 nats are left. Ask for less with --budget.\n")


@pytest.mark.parametrize(
    ("words", "delta"),
    [((), "0.2514"), (("--success", "0.6"), "0.5067"), (("--mu", "0.5"), "0.5"),
     (("--budget", "0.02"), "0.4")],
)  # fmt: skip
def test_budgets(words, delta, staff):
    out = call("plan", staff / "staff.csv", "--unit", "id", "--statistic", "count()", *words)[1]
    assert f"Delta {delta}, " in out


def test_a_comparison_along_budgets(staff):
    words = ("compare", staff / "staff.csv", "--unit", "id", "--statistic", "sum(pay)")
    code, out, _ = call(*words)
    assert (code, out.count("level of pay")) == (0, 4)
    assert out.startswith("promise    person: ")
    assert "\nsample     --protect sample" in out
    assert re.search(r"^ +0\.52 +0\.1004 ", out, re.M)
    rows = json.loads(call(*words, "--budgets", "0.6,0.02", "--json")[1])
    assert [row["success"] for row in rows] == [0.6, pytest.approx(0.57926, abs=1e-5)]
    assert rows[1]["nats"] == pytest.approx(0.02)  # above 1 or below 0.5: nats
    for given, said in (
        ("a", "Expected numbers in --budgets; got 'a'. Such as 0.52,0.55."),
        ("-1", "a positive budget in nats; got -1"),
        ("", "numbers in --budgets"),
    ):
        code, _, err = call(*words, "--budgets", given)
        assert (code, said in err) == (1, True)
    assert (
        "options of --protect person; got --methods." in call(*words, "--methods", "isotropic")[2]
    )


def test_from_plan_to_verified_report(staff, tmp_path):
    record, page, books = (tmp_path / name for name in ("r.json", "r.html", "l.db"))
    words = ("release", staff / "staff.csv", "--unit", "id", "--sql", BY_DEPT, "--keys", "dept=a,b",
             "--ledger", books, "--cap", "0.1", "--out", record, "--report", page, "--key", "k")  # fmt: skip  # noqa: E501
    code, out, err = call(*words)
    assert (code, err) == (0, "")
    assert "\n[ ] holds the answer without its noise (95 %; noise only: what one person adds" in out
    assert "(  " not in out.split("\n\n")[0]
    assert wording.on_a_person(0.55) in out
    assert re.search(r"^ +booked  entry 1 of ledger [0-9a-f]{8}$", out, re.M)
    assert re.search(r"^ +left  0\.0921046 nats$", out, re.M)
    body = json.loads(record.read_text())
    assert (body["schema"], body["promise"]) == ("rpac-record/3", {"name": "person"})
    assert set(body["about"]) == {"unit", "known_bounds"}
    assert body["about"]["unit"] == "id"
    cells = [cell for row in body["answer"] for cell in row.values() if isinstance(cell, dict)]
    assert all({*cell} == {"value", "noise"} for cell in cells)
    assert [row["dept"] for row in body["answer"]] == ["a", "b"]
    assert call("verify", record, "--ledger", books)[0] == 0
    code, shown, _ = call("audit", record)
    assert (code, "DEFECT" in shown) == (0, False)
    for name in (
        "units",
        "plan",
        "audit",
        "remaining",
        "nano",
        "worlds",
        "sampling",
        "fingerprint",
    ):
        assert f'"{name}"' not in record.read_text(), name
    first = page.read_text()
    assert "<strong>Promise: person.</strong>" in first
    assert not re.search(
        r"sampl|pool|world|half", re.sub(r"<style>.*?</style>", "", first, flags=re.S)
    )
    before = record.read_bytes()
    again = call(*words)  # a retry: the same bytes but for nothing
    assert again[1] == out
    assert record.read_bytes() == before
    assert page.read_text() == first
    assert call("report", record, "--out", tmp_path / "x.html")[0] == 0
    assert (tmp_path / "x.html").read_text() == first
    ledger = call("ledger", books)[1]
    assert re.search(r"person staff +0\.007895388 nats spent: Delta squared 0\.063", ledger)
    assert rpac.Ledger(books).spent == pytest.approx(0.0078954, abs=1e-7)
    forged = json.dumps(body | {"promise": {"name": "sample", "pool": "public"}})
    record.write_text(forged)
    assert call("verify", record)[0] == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--statistic", "mean(pay)"), "people add more than the level, and were cut down to it"),
        (("--statistic", "mean(pay)", "--caps", "rows=1", "--caps", "pay=0:1", "--middle", "pay=0"),
         "people add more than the caps, and were cut down to them"),
        (("--statistic", "count()", "--caps", "rows=1"), None),
    ],
)  # fmt: skip
def test_the_sealed_report_says_whom_it_is_about(asked, said, staff, tmp_path):
    page = tmp_path / "s.html"
    words = ("release", staff / "staff.csv", "--unit", "id", *asked, "--sealed-report", page)
    assert call(*words)[0] == 0
    text = " ".join(page.read_text().split())
    assert (
        "It shows everybody's own figure as a histogram, and says what was charged"
        in text.replace("&#39;", "'")
    )
    assert "12 of them in the groups of this question (the table may have more)" in text
    assert "for the 12 people in the groups of this question;" in text
    assert ("cut down to" in text) == (said is not None)
    assert said is None or said in text


def test_a_wide_answer_is_stacked_on_a_phone(staff, tmp_path):
    page = tmp_path / "r.html"
    sql = "SELECT dept, avg(pay) AS p, count(*) AS n, sum(pay) AS s FROM staff GROUP BY dept"
    words = ("release", staff / "staff.csv", "--unit", "id", "--keys", "dept=a,b", "--sql", sql)
    assert call(*words, "--report", page)[0] == 0
    text = page.read_text()
    assert '<table class="stack">' in text
    assert '<td class="text" data-label="dept">a</td>' in text
    assert '<span class="soft">without its noise: ' in text


def test_json_of_a_release_is_its_record(staff, tmp_path):
    words = ("release", staff / "staff.csv", "--unit", "id", "--statistic", "mean(pay)", "--json")
    code, out, err = call(*words, "--out", tmp_path / "r.json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads((tmp_path / "r.json").read_text())
    assert list(json.loads(out)["answer"][0]["answer"]) == ["value", "noise"]


def test_a_quantile_has_no_interval(staff, tmp_path):
    words = ("release", staff / "staff.csv", "--unit", "id", "--statistic", "median(pay)")
    code, out, _ = call(*words, "--out", tmp_path / "r.json", "--report", tmp_path / "r.html")
    assert (code, "[ ] holds" in out) == (0, False)
    note = (
        "A quantile of pay is a point of a public grid, about 1 % apart. Its noise is in its rank"
    )
    assert f"\nnote: {note}" in out
    assert f'<p class="soft">{note}' in (tmp_path / "r.html").read_text()
    (row,) = json.loads((tmp_path / "r.json").read_text())["answer"]
    assert row["answer"]["noise"] is None
    assert call("audit", tmp_path / "r.json")[0] == 0


def test_caps_are_books_of_this_promise(staff):
    books = ("--ledger", staff / "l.db", "--cap", "0.016")
    words = ("release", staff / "staff.csv", "--unit", "id", "--statistic", "count()", *books)
    assert [call(*words)[0] for _ in range(3)] == [0, 0, 1]
    code, _, err = call(*words)
    assert (code, "what is left" in err) == (1, True)
    (cap,) = (a["cap"] for a in rpac.Ledger(staff / "l.db").accounts() if a["kind"] == "ledger")
    assert cap == 0.016


def test_options_of_this_promise_are_refused_for_the_other(staff):
    for words in (("--caps", "pay=0:1"), ("--middle", "pay=1"), ("--blocks", "4"), ("--mu", "1"),
                  ("--way", "auto"), ("--size", "5"), ("--schema", staff / "staff.csv")):  # fmt: skip  # noqa: E501
        code, _, err = call("plan", staff / "staff.csv", "--unit", "id", "--protect", "sample",
                            "--statistic", "mean(pay)", *words)  # fmt: skip
        assert code == 1
        if words[0] != "--schema":
            assert err == (f"Expected options of --protect sample; got {words[0]}. "
                           "It is of --protect person.\n")  # fmt: skip


def test_a_project_file_of_this_promise(staff, tmp_path):
    (staff / "people.toml").write_text(
        'unit = "id"\nprotect = "person"\nledger = "b.db"\ncap = 0.1\nsize = 12\n'
        'caps = {rows = 1, bonus = [0, 5]}\n[tables]\nbonus = "bonus.csv"\n'
        "[schema.id]\ntype = 'text'\n[middle]\nbonus = 1.5\n")  # fmt: skip
    words = ("--project", staff / "people.toml", "--statistic", "mean(bonus)")
    assert "level" not in call("plan", *words)[1].split("sample  ")[0]
    assert call("release", *words)[0] == 0
    (staff / "people.toml").write_text('unit = "id"\nworlds = 8\n[tables]\nstaff = "staff.csv"\n')
    said = "Expected options of --protect person; got --worlds. It is of --protect sample."
    assert said in call("plan", *words)[2]
    project = ("--project", staff / "project.toml", "--protect", "person")
    code, _, err = call("plan", *project, "--statistic", "mean(pay)")
    assert (code, said in err) == (1, True)


def test_a_schema_declares_groups_and_floors(staff):
    (staff / "s.csv").write_text("column,type,floor,low,high,domain\npay,number,0.5,,,\n"
                                 "dept,text,,,,a|b\n")  # fmt: skip
    words = (staff / "staff.csv", "--unit", "id", "--schema", staff / "s.csv", "--sql", BY_DEPT)
    assert call("plan", *words)[0] == 0
    code, out, _ = call("release", *words)
    assert (code, [line.split()[0] for line in out.splitlines()[1:3]]) == (0, ["a", "b"])


def test_the_other_promise_is_named_beside_a_sample(staff):
    words = ("plan", staff / "staff.csv", "--unit", "id", "--protect", "sample", "--worlds", "8",
             "--method", "auto-pac", "--statistic", "mean(pay)")  # fmt: skip
    out = call(*words, "--success", "0.55")[1]
    assert "--protect person protects whether a given person is in the data" in out
    assert "a count of people would have noise +- 3.979, a sum with caps that times" in out
    assert person.beside_a_sample(1.0).endswith("whether somebody is in the data at all")


def test_given_the_level_is_said_in_plan_record_and_report(tmp_path):
    frame = pd.DataFrame({"id": range(12), "pay": np.arange(12.0)})
    frame.to_csv(tmp_path / "staff.csv", index=False)
    words = (tmp_path / "staff.csv", "--unit", "id", "--statistic", "mean(pay)",
             "--way", "leave-one-out")  # fmt: skip
    code, out, err = call("plan", *words)
    assert (code, err) == (0, "")
    assert "promise    person, given the level: whether somebody of the data is in them" in out
    assert "given the noise level, on an account of its own" in out
    assert "The noise comes from the data" in out
    files = ("--out", tmp_path / "r.json", "--report", tmp_path / "r.html")
    code, out, err = call("release", *words, *files)
    assert (code, err) == (0, "")
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["promise"] == {"name": "person, given the level"}
    assert "but for what the noise level tells" in record["meaning"]
    assert "Promise: person, given the level" in (tmp_path / "r.html").read_text()
    code, out, _ = call("audit", tmp_path / "r.json")
    assert (code, "given, not protected" in out) == (0, True)
    assert call("verify", tmp_path / "r.json")[0] == 0


def test_a_release_warns_of_too_few_as_its_plan_does_whatever_the_rows(twins):
    words = ("staff.csv", "--unit", "id", "--statistic", "mean(pay)", "--size", "12")
    ((_, planned, _), *_) = twins("plan", *words)
    (warning,) = re.findall(r"TOO FEW: .*", planned)
    for code, out, _ in twins("release", *words):
        assert (code, out.count(f"note: {warning}\n")) == (0, 1)
    for other in (words[:-2], (*words[:-1], "100000"), (*words, "--caps", "pay=0:9", "--caps",
                                                       "rows=1")):  # fmt: skip
        assert not any("TOO FEW" in out for _, out, _ in twins("release", *other))
