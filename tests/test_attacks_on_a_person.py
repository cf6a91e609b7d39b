"""The attacks of `test_attacks` through the default command line: the promise *person*.

Each worked on what stood beside a certified value under *sample*, or on facts of its pool. Here the
question is asked with no option but what it needs, on tables that differ in one person, and nothing
but released numbers may differ.
"""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.report import record as records
from tests.cli.conftest import call
from tests.test_attacks import VICTIM, staff

USUAL = ("--unit", "id", "--keys", "dept=lab,ops", "--keys", "city=x,y")
TABLES = {
    "here": staff(),
    "other": staff(60_000.0, 0, "x", "9999-99-99"),
    "odd": staff(float("nan"), None, None, ""),
    "gone": staff().drop(index=VICTIM),
}
"""The same people; one of them as usual, with other entries, with none, and not there."""


def released(folder, frame, *words):
    """Release by default options; return the exit code, errors, record and all that is shown."""
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "staff.csv", index=False)
    books = ("--ledger", folder / "l.db", "--cap", "0.1")
    files = ("--out", folder / "r.json", "--report", folder / "r.html")
    code, out, err = call("release", folder / "staff.csv", *USUAL, *words, *books, *files)
    record = json.loads((folder / "r.json").read_text()) if code == 0 else None
    page = (folder / "r.html").read_text() if code == 0 else ""
    return code, err, record, out + page


def bare(text):
    """Return a text without numbers, hashes and drawings: what is left may not depend on rows."""
    text = re.sub(r"<svg.*?</svg>", "", text, flags=re.S)
    text = re.sub(r"\b(?=\d*[a-f])[0-9a-f]{8,64}\b", "#", text)
    word = r"(:\s+(use\s+with\s+caution|too\s+noisy\s+to\s+publish))"  # of a released number
    text = re.sub(rf"(beyond\s+)?(\+-|±)\s*[\d.]+(e[+-]?\d+)?\s+%{word}?", "#", text)
    return re.sub(r"[\s#,\[\]]+", " ", re.sub(r"-?\d[-\d.]*(e[+-]?\d+)?", "#", text))


def shape(value):
    """Return plain data without its numbers."""
    if isinstance(value, dict):
        return {key: shape(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value]
    return "#" if isinstance(value, float | int) or value is None else value


def opened(record):
    """Return a record as data, random marks taken out."""
    if record is None:
        return None
    kept = {k: v for k, v in record.items() if k not in ("sha256", "receipt")}
    certificate = json.loads(record["certificate"])
    for name in ("sha256", "statement"):
        certificate.pop(name)
    return shape(kept | {"certificate": certificate})


QUESTIONS = {
    "one person's salary": ("--sql", "SELECT sum(salary) AS s FROM staff WHERE name = 'p17'"),
    "groups": ("--sql", "SELECT dept, count(*) AS n, avg(salary) AS s FROM staff GROUP BY dept"),
    "a rare group": ("--sql", "SELECT dept, count(*) AS n FROM staff WHERE salary > 55000"
                     " GROUP BY dept"),
    "casts that fail": ("--sql", "SELECT sum(CAST(note AS INT)) AS s FROM staff"),
    "a failure for one": (
        "--sql", "SELECT avg(CASE WHEN name = 'p17' AND salary > 55000 THEN CAST('x' || note AS INT)"  # noqa: E501
        " ELSE 1 END) AS s FROM staff"),
    "a division by one's salary": ("--sql", "SELECT dept, sum(1 / (salary - 60000)) AS s FROM staff"
                                   " GROUP BY dept"),
    "labels of a CASE": (
        "--sql", "SELECT CASE WHEN salary > 55000 THEN 'rich' WHEN salary < 0 THEN 'debt' END AS k,"
        " count(*) AS n FROM staff GROUP BY k HAVING count(*) > -1000"),
    "groups by two columns": ("--statistic", "group_by((dept, city), mean(salary))"),
    "bins": ("--statistic", "histogram(salary, 0, 45000, 55000, 90000)"),
    "a constant": ("--sql", "SELECT dept, avg(1) AS o FROM staff GROUP BY dept"),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_but_released_numbers_depends_on_a_person(name, tmp_path):
    """Plans, error bars, types, names, failures: none of them tells who is there, or what."""
    found = [released(tmp_path / at, frame, *QUESTIONS[name]) for at, frame in TABLES.items()]
    first = found[0]
    assert first[0] == 0, first[1]
    for code, err, record, shown in found:
        assert (code, err) == (0, "")
        assert opened(record) == opened(first[2])
        assert bare(shown) == bare(first[3])
    booked = {rpac.Ledger(tmp_path / at / "l.db").spent for at in TABLES}
    assert len(booked) == 1


SHAPES = {
    "names by EXISTS": (
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM staff WHERE name = 'p17' AND salary > 55000) THEN"
        " 'rich' ELSE 'poor' END AS g, count(*) AS n FROM staff GROUP BY 1"),
    "names by a union": (
        "SELECT g, count(*) AS n FROM (SELECT 'rich' AS g FROM staff WHERE salary > 55000"
        " UNION ALL SELECT 'any' FROM staff) AS t GROUP BY g"),
    "names that people make": (
        "SELECT n, count(*) AS k FROM (SELECT id, count(*) FILTER (salary > 55000) AS n"
        " FROM staff GROUP BY id) AS t GROUP BY n"),
    "groups that were not declared": "SELECT note, count(*) AS n FROM staff GROUP BY note",
    "a largest value": "SELECT dept, max(salary) AS m FROM staff GROUP BY dept HAVING max(name) > 'x'",  # noqa: E501
    "a window": "SELECT sum(salary) OVER (ORDER BY id) AS s FROM staff",
    "a row's place": "SELECT sum(rowid) AS s FROM staff",
    "the first row": "SELECT first(salary) AS s FROM staff",
    "a file": "SELECT count(*) AS n FROM read_csv('staff.csv')",
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_questions_that_look_across_people_are_refused_by_their_shape(name, tmp_path):
    found = {
        released(tmp_path / at, frame, "--sql", SHAPES[name])[:2] for at, frame in TABLES.items()
    }
    ((code, err),) = found
    assert (code, bool(re.match(r"Expected .*; got .*\. [A-Z]", err))) == (1, True), err
    assert not any((tmp_path / at / "l.db").exists() for at in TABLES)


def test_a_salary_alone_gets_a_level_at_the_floor(tmp_path):
    """Its noise and sampling interval told the exact value; now it is cut to the floor."""
    frame, levels = staff(50_000.0), []
    for i in range(4):
        words = QUESTIONS["one person's salary"]
        record = released(tmp_path / str(i), frame, *words)[2]
        noise = json.loads(record["certificate"])["noise"]
        levels.append(noise["levels"]["salary"])
        (cell,) = record["answer"][0].values()
        assert {*cell} == {"value", "noise"}
        assert abs(cell["value"]) < 50 * levels[-1] + 100
    assert max(levels) < 100  # of 50,000: the floor is 1, and a level alone is at most e^beta of it


def test_a_diagnosis_that_all_have_is_noisy(tmp_path):
    """A group of people who all have it came out as 1.000000; now nobody can tell it from 0.9."""
    frame = staff()
    frame["sick"] = 1
    sql = "SELECT dept, avg(sick) AS sick, count(*) AS n FROM staff GROUP BY dept"
    record = released(tmp_path / "a", frame, "--sql", sql)[2]
    for row in record["answer"]:
        for cell in (row["sick"], row["n"]):
            low, high = cell["noise"]
            assert float(high) - float(low) > 0.2  # of few people they are infinite
    assert "facts" not in record["answer"][0]
    assert json.loads(record["certificate"])["facts"] == []


def test_no_refusal_can_be_bisected(tmp_path):
    """A salary was read off refusals; here no threshold makes one."""
    codes = set()
    for i, limit in enumerate(np.linspace(10_000, 90_000, 8)):
        sql = (f"SELECT sum(CASE WHEN name = 'p17' AND salary > {limit} THEN CAST('x' AS INT) ELSE"
               " 1 END) AS s FROM staff")  # fmt: skip
        codes.add(released(tmp_path / str(i), staff(), "--sql", sql)[:2])
    assert codes == {(0, "")}


def test_no_mark_can_be_recomputed_from_a_guess(tmp_path):
    """Nothing of data or outputs is hashed: the only marks are those of the record and the books."""  # noqa: E501
    _, _, record, _ = released(tmp_path / "a", staff(), *QUESTIONS["groups"])
    certificate = json.loads(record["certificate"])
    own = {record["sha256"], certificate["sha256"], record["receipt"]["hash"],
           record["receipt"]["ledger"]}  # fmt: skip
    marks = set(re.findall(r"\b[0-9a-f]{32,64}\b", json.dumps(record)))
    assert marks <= own
    assert record["sha256"] == records.content_hash(record)
    entries = list(rpac.Ledger(tmp_path / "a" / "l.db").entries())
    assert "fingerprint" not in json.dumps(entries)
    assert [e["version"] for e in entries if e["kind"] == "spend"] == [""]


def test_no_plan_and_no_figure_of_the_owners_is_in_a_record(tmp_path):
    """`plan.numbers[].sampling` told a person's exact value."""
    _, _, record, shown = released(tmp_path / "a", staff(), *QUESTIONS["groups"])
    words = set(re.findall(r'\\?"(\w+)\\?":', json.dumps(record)))
    assert not words & {"plan", "units", "audit", "nano", "remaining", "digest", "sampling"}
    code, out, _ = call("audit", tmp_path / "a" / "r.json")
    assert (code, "DEFECT" in out) == (0, False)
    assert "40 " not in bare(shown)


def test_numbers_lie_on_a_grid_around_zero(tmp_path):
    """The origin of the grid told the pool's mean; here it is 0, and its step a power of two."""
    sql = "SELECT sum(salary) AS s FROM staff"
    _, _, record, _ = released(tmp_path / "a", staff(), "--sql", sql)
    value = record["value"][0]["s"]
    assert (value * 2.0**14) == round(value * 2.0**14)


def test_the_noise_level_is_drawn_and_not_computed(tmp_path):
    """Sixteen digits of the noise power told whether a person is in the pool."""
    menus = []
    for i in range(6):
        _, _, record, _ = released(tmp_path / str(i), staff(), *QUESTIONS["groups"])
        menus.append(json.loads(record["certificate"])["noise"]["levels"]["salary"])
    assert len({*menus}) > 1  # the same rows, and another level each time


def test_a_plan_for_a_success_rate_is_what_is_charged(tmp_path):
    """0.005 nats were planned, 0.13 to 0.15 charged."""
    staff().to_csv(tmp_path / "staff.csv", index=False)
    words = (tmp_path / "staff.csv", *USUAL, *QUESTIONS["groups"], "--ledger", tmp_path / "l.db",
             "--cap", "5")  # fmt: skip
    planned = json.loads(call("plan", *words, "--json")[1])
    assert call("release", *words)[0] == 0
    assert rpac.Ledger(tmp_path / "l.db").spent == planned["nats"]


def test_a_restored_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert released(tmp_path / "a", staff(), *QUESTIONS["groups"])[0] == 0
    shutil.copytree(tmp_path / "a", tmp_path / "saved")
    assert released(tmp_path / "a", staff(), *QUESTIONS["groups"])[0] == 0
    shutil.rmtree(tmp_path / "a")
    shutil.copytree(tmp_path / "saved", tmp_path / "a")
    code, err, _, _ = released(tmp_path / "a", staff(), *QUESTIONS["groups"])
    assert (code, "ledger" in err.lower()) == (1, True)


def test_all_versions_of_a_table_are_one_line_in_the_books(tmp_path):
    """Another order of worlds, another clip: overspending. A person in two tables is one secret."""
    for frame in TABLES.values():
        frame.to_csv(tmp_path / "staff.csv", index=False)
        words = ("release", tmp_path / "staff.csv", *USUAL, *QUESTIONS["bins"])
        assert call(*words, "--ledger", tmp_path / "l.db", "--cap", "1")[0] == 0
    found = [a for a in rpac.Ledger(tmp_path / "l.db").accounts() if a["kind"] == "person"]
    assert len(found) == 1
    assert found[0]["spent"] == pytest.approx(4 * 0.0078954, abs=1e-6)


@pytest.mark.parametrize("verb", ["plan", "compare"])
def test_looking_before_spending_looks_at_nobody(verb, tmp_path):
    said = set()
    for at, frame in TABLES.items():
        (tmp_path / at).mkdir()
        frame.to_csv(tmp_path / at / "staff.csv", index=False)
        said.add(call(verb, tmp_path / at / "staff.csv", *USUAL, *QUESTIONS["groups"]))
    assert len(said) == 1


def test_a_command_prints_to_nobody(tmp_path):
    """What a function prints on the owner's rows goes nowhere, and its failures are the middle."""
    program = "awk -F, 'NR > 1 && $5 > 55000 {x = 1} END {print 4700 + 11 > \"/dev/stderr\"; if (x) exit 3; print 1}' {file}"  # noqa: E501
    found = []
    for at, frame in TABLES.items():
        words = (
            "--command",
            program,
            "--middle",
            "answer=0",
            "--caps",
            "answer=0:2",
            "--blocks",
            "4",
        )
        code, err, record, shown = released(tmp_path / at, frame, *words)
        assert "4711" not in err + shown
        found.append((code, err, opened(record)))
    assert all(other == found[0] for other in found)
    assert found[0][0] == 0


def test_people_as_they_are_in_frames(tmp_path):
    """One missing entry turned a column of whole numbers into floats, and its answer with it."""
    found = []
    for entries in ([1, 2, 3, None], [1, 2, 3, 4], ["1", "2", "three", "4"]):
        frame = pd.DataFrame({"id": range(4), "x": entries})
        made = rpac.privatize(rpac.statistics.sum("x"), rpac.Presence(frame, "id"), 0.01)
        found.append(type(made.value))
    assert len({*found}) == 1


def test_an_alias_cannot_be_code():
    """The tie of joined rows was written as text, and a quote in an alias ended its name."""
    people = pd.DataFrame({"id": range(40), "x": [10.0 * i for i in range(40)]})
    bills = pd.DataFrame({"who": range(40), "y": 1.0})
    db = rpac.Database({"t": people, "b": bills}, "t.id", {"b.who": "t.id"})
    found = []
    for least in (300, 390):
        code = f"(SELECT count(*) FROM pool.t AS z WHERE z.id = '38' AND z.x > {least}) > 0"
        name = f't1".__unit AND {code} AND "t1".__unit = "t1'.replace('"', '""')
        sql = f'SELECT count(*) AS n FROM t AS t1 JOIN b AS "{name}" ON t1.id = "{name}".who'
        try:
            rpac.privatize(db.query(sql), db.presence, rpac.SuccessRate(0.99))
            found.append("answered")
        except rpac.InputError as error:
            found.append(str(error).replace(str(least), ""))
    assert found[0] == found[1]
