"""Refusals on the command line name its options, and in Python its arguments."""

import re

import pandas as pd
import pytest

import rpac
from rpac.cli.hints import on_the_command_line
from tests.cli.conftest import call

PYTHON = re.compile(r"rpac\.[A-Z]|\b[a-z_]+=[\[({'\"\d.]|\bdb\.|Ledger\(|`(unit|keys|public|caps)`")
GROUPS = "SELECT dept, avg(pay) AS p FROM staff GROUP BY dept"
TYPED = {
    "groups of a statistic": (
        ("--statistic", "group_by(dept, mean(pay))"),
        "got none. List the public groups: --keys 'dept=a,b'."),
    "groups by two columns": (
        ("--statistic", "group_by((dept, id), mean(pay))", "--keys", "dept=a"),
        "Expected keys of 'id'; got none. List them for each: --keys 'id=a,b'."),
    "groups in SQL": (
        ("--sql", GROUPS), "Say which there are: --keys 'dept=a,b', or join a public table"),
    "groups in SQL of a sample": (
        ("--sql", GROUPS, "--protect", "sample"),
        "Say which groups there are (--keys), or that their names are public (--public)."),
    "rows across people": (
        ("--sql", "SELECT sum(pay) OVER () AS s FROM staff"), ""),
    "people beside people": (
        ("--sql", "SELECT count(*) AS n FROM staff a, staff b"),
        "by blocks (--command, --way blocks), or of half-samples (--protect sample)."),
    "a column that is not there": (
        ("--sql", "SELECT avg(pay) AS p FROM staff", "--caps", "pya=0:1"),
        "Expected known columns in --caps, --middle and --schema; got 'pya'. Columns: id, dept,"),
    "a public column that is not there": (
        ("--sql", GROUPS, "--protect", "sample", "--public", "dpt"), "in --public; got 'dpt'"),
    "a link to nowhere": (
        ("--sql", GROUPS, "--link", "staff.boss=staff.id"), "in --link; got 'boss'"),
    "a key without books": (("--statistic", "count()", "--key", "k"), "got 'k'. Pass --ledger."),
    "both jobs and an executor": (
        ("--statistic", "count()", "--protect", "sample", "--jobs", "2", "--executor", "joblib"),
        "Expected --jobs or --executor; got both. Leave one of --jobs and --executor out."),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPED)
def test_what_is_typed_wrongly_is_told_by_options(name, staff):
    words, message = TYPED[name]
    code, _, err = call("release", staff / "staff.csv", "--unit", "id", *words)
    assert (code, message in err) == (1, True), err
    assert not PYTHON.search(err), err


@pytest.mark.parametrize(("said", "told"), [
    ("Declare one: rpac.Presence(..., middle=0.0), or a list or array of its shape.",
     "Declare one: --middle answer=0, or answer=0,0 for two numbers."),
    ("Ask in SQL (rpac.Database): DuckDB reads.", "Ask in SQL (--sql): DuckDB reads."),
    ("Ask it in SQL: rpac.Database.", "Ask it in SQL (--sql)."),
    ("Audit a smaller pool, or use db.presence.", "Audit a smaller pool, or --protect person."),
    ('Such as caps={"rows": 5}.', "Such as --caps rows=5."),
    ('Such as caps={"age": (0, 120)}, or schema={"age": {"floor": 1}}.',
     "Such as --caps age=0:120, or --schema schema.csv."),
    ('Such as {"age": (0, 120)}.', "Such as --caps age=0:120."),
    ('Name the column that says whose row it is, or pass unit="rows".',
     "Name the column that says whose row it is, or pass --unit rows."),
    ("Expected unit='rows' for a table", "Expected --unit rows for a table"),
    ("an entry in every row of the `unit` column", "an entry in every row of the --unit column"),
    ("Ledger(\"ledger.db\", budget=1.0).", "Say what all may leak: --cap 1."),
    ("no anchor (`rpac ledger LEDGER --trust-head`, or trust_head=True, makes a new one)",
     "no anchor (`rpac ledger LEDGER --trust-head` makes a new one)"),
    ("find out by whom, then trust_head=True.",
     "find out by whom, then `rpac ledger LEDGER --trust-head`."),
    ("Pass method=rpac.Equilibrium(family='channel', words=...), or use noise.",
     "Take another --method, such as equilibrium."),
    ("Give fewer words: rpac.Equilibrium(family='channel', words=16).",
     "Take another --method, such as equilibrium."),
    ('Use method="equilibrium", made for labels too.',
     "Use --method equilibrium, made for labels too."),
    ("say n_jobs=2.", "say --jobs 2."),
    ("Expected a column among 'a', 'b'; got 'c'. Name one of them.",
     "Expected a column among 'a', 'b'; got 'c'. Name one of them."),
])  # fmt: skip
def test_words_of_the_library_and_of_the_command_line(said, told):
    assert on_the_command_line(said) == told


def test_in_python_no_option_is_named():
    frame = pd.DataFrame({"id": range(4), "dept": list("abab"), "pay": [1.0, 2.0, 3.0, 4.0]})
    db = rpac.Database({"staff": frame}, "id", worlds=4)
    with pytest.raises(rpac.InputError, match=r"keys=\['a', 'b'\]\.$") as first:
        rpac.statistics.group_by("dept", rpac.statistics.count())
    with pytest.raises(rpac.InputError, match=r"keys=\{'dept': \[\.\.\.\]\}, or join") as second:
        rpac.privatize(db.query(GROUPS), db.presence, 0.1)
    with pytest.raises(rpac.InputError, match=r"or of half-samples \(db\.source\)\.$") as third:
        rpac.privatize(db.query("SELECT count(*) AS n FROM staff a, staff b"), db.presence, 0.1)
    for caught in (first, second, third):
        assert "--" not in str(caught.value)
