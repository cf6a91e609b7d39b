"""From options to a question: what is merged, what is opened, what is refused and how."""

import gzip
import json
import re
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from rpac.budget import Nats, SuccessRate
from rpac.cli.options import Question
from rpac.cli.project import Project
from rpac.cli.question import known_method, open_ledger, prepare
from rpac.errors import InputError
from rpac.front.methods import METHODS
from rpac.ledger.ledger import Ledger
from rpac.worlds.run import simulate
from tests.cli.conftest import call


def asked(folder, opens="none", **given):
    """Prepare a question about the mean pay, unless it is told otherwise."""
    usual = {"data": [folder / "staff.csv"], "unit": "id", "worlds": 8, "statistic": "mean(pay)",
             "protect": "sample"}  # fmt: skip
    return prepare(Question(**usual | given), ledger=opens)


def refused(message):
    return pytest.raises(InputError, match=re.escape(message))


def test_a_statistic_a_command_and_a_query_become_mechanisms(staff):
    for given, text in [
        ({"statistic": "mean(pay)"}, "mean(pay)"),
        ({"statistic": None, "command": "wc -l < {file}"}, "wc -l < {file}"),
        ({"statistic": "", "sql": "SELECT avg(pay) AS pay FROM staff"}, "SELECT avg(pay) AS pay"),
    ]:
        ask = asked(staff, **given)
        assert ask.text.startswith(text)
        assert ask.about == {"unit": "id", "worlds": 8}
        assert simulate(ask.source, ask.mechanism).values.shape == (8, 1)
        assert (ask.ledger, ask.left, ask.cap) == (None, None, None)


def test_the_budget_is_nats_or_a_success_and_never_both(staff):
    assert asked(staff).budget == Nats(0.1)
    assert asked(staff, budget=0.5).budget == Nats(0.5)
    assert asked(staff, success=0.6).budget == SuccessRate(0.6)
    with refused("Expected --budget or --success; got --budget 1 and --success 0.6. Choose one."):
        asked(staff, budget=1.0, success=0.6)


def test_one_question_is_asked(staff):
    with refused("Expected one of --sql, --statistic and --command; got none. Such as"):
        asked(staff, statistic=None)
    with refused("one of --sql, --statistic and --command; got --sql and --command. Such as"):
        asked(staff, statistic="", sql="SELECT 1", command="wc")


def test_options_win_over_the_project_file(staff):
    given = {"data": None, "unit": None, "worlds": None, "project": staff / "project.toml"}
    sql = {"statistic": None, "sql": "SELECT avg(pay) AS pay FROM staff"}
    plain = asked(staff, **given, **sql)
    assert (plain.unit, plain.cap, plain.left) == ("staff.id", 1.0, 1.0)
    assert len(plain.source.masks) == 8
    other = asked(staff, **given | {"worlds": 16, "unit": "id", "data": [staff / "staff.csv"]},
                  statistic="mean(pay)", cap=0.25)  # fmt: skip
    assert (other.unit, other.left, len(other.source.masks)) == ("id", 0.25, 16)


def test_the_seed_chooses_the_half_samples(staff):
    first, again, other = (asked(staff, seed=seed).source.masks for seed in (0, None, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_where_a_function_runs_is_an_option(staff, tmp_path):
    given = {"statistic": None, "command": "wc -l < {file}"}
    plain = asked(staff, **given)
    assert plain.runs == {"n_jobs": 1, "executor": None, "checkpoint": None}
    kept = asked(staff, **given, executor="serial", checkpoint=tmp_path / "kept")
    found = simulate(kept.source, kept.mechanism, **kept.runs)
    assert found.digest == simulate(plain.source, plain.mechanism).digest
    assert any((tmp_path / "kept").iterdir())
    for name in ("executor", "checkpoint"):
        with refused(f"options of --protect person; got --{name}. It is of --protect sample."):
            asked(staff, protect="person", worlds=None, **{name: "serial"})


def test_what_is_missing_or_wrong_is_named(staff):
    for given, message in [
        ({"data": None}, "Expected tables of the data; got no file. Name a .csv or .parquet file."),
        ({"unit": None}, "Expected unit of the data; got no --unit. Pass --unit COLUMN, or --unit"),
        ({"worlds": 1}, "Expected a valid --worlds; got 1 (Input should be greater than or equal"),
        (
            {"cap": 0.0},
            "Expected a valid --cap; got 0.0 (Input should be greater than 0). See rpac",
        ),
        ({"seed": -1}, "Expected a valid --seed; got -1 (Input should be greater than or equal to"),
        ({"link": ["a"]}, "Expected NAME=VALUE after --link; got 'a'. Join them with =."),
        ({"link": ["=b"]}, "Expected NAME=VALUE after --link; got '=b'"),
        ({"keys": ["dept="]}, "Expected NAME=VALUE after --keys; got 'dept='"),
        ({"data": [Path("gone.csv")]}, "Expected a file that exists; got 'gone.csv'"),
        (
            {"method": "magic"},
            "Expected a known --method; got 'magic'. Known: auto-pac, channel, conf",
        ),
    ]:
        with refused(message):
            asked(staff, **given)
    both = [staff / "staff.csv", staff / "bonus.csv"]
    with refused("Expected one table for --statistic; got staff, bonus. Join them with --sql."):
        asked(staff, data=both)
    with refused("Expected one table for --command; got staff, bonus."):
        asked(staff, data=both, statistic=None, command="wc -l < {file}")


def test_what_was_mistyped_is_said_before_rows_are_read(staff, monkeypatch):
    monkeypatch.setattr("rpac.cli.question.Subsets", None)
    monkeypatch.setattr("rpac.person.entries._read_csv", None)
    every = "Expected a column among 'id', 'dept', 'pay'; got"
    for given, message in [
        ({"statistic": "mean(pya)"}, f"{every} 'pya'. Name one of them."),
        ({"statistic": "group_by(dpt, mean(pay), a, b)"}, f"{every} 'dpt'."),
        ({"unit": "idd"}, f"{every} 'idd'."),
        ({"statistic": None, "sql": "SELECT avg(pya) FROM staff"}, "Column 'pya' could not be"),
    ]:
        for protect in ({"protect": "sample"}, {"protect": "person", "worlds": None}):
            with refused(message):
                asked(staff, **protect | given)
    person = {"protect": "person", "worlds": None}
    for given in ({"caps": ["pya=0:1"]}, {"middle": ["pya=1"]}):
        with refused(f"{every} 'pya'."):
            asked(staff, **person | given)
        sql = {"statistic": None, "sql": "SELECT avg(pay) FROM staff"}
        with refused("in caps, middle and schema; got 'pya'. Columns: id, dept, pay."):
            asked(staff, **person | given | sql)


def test_tables_are_named_after_files_folders_globs_and_what_a_warehouse_holds(staff):
    frame = pl.read_csv(staff / "staff.csv")
    (staff / "stays").mkdir()
    frame.write_parquet(staff / "stays" / "a.parquet")
    frame.with_columns(id=pl.col("id") + 100).write_parquet(staff / "stays" / "b.parquet")
    with duckdb.connect(str(staff / "shop.duckdb")) as made:
        made.register("rows", frame)
        made.execute("CREATE TABLE person AS FROM rows; CREATE TABLE nation AS SELECT 1 AS n")
    with gzip.open(staff / "zipped.csv.gz", "wb") as file:
        file.write((staff / "staff.csv").read_bytes())
    more = {"public": ["nation"], "unit": "person.id"}
    for at, table, given in [
        ("stays", "stays", {}), ("stays/*.parquet", "stays", {}), ("zipped.csv.gz", "zipped", {}),
        ("shop.duckdb", "person", more),
    ]:  # fmt: skip
        usual = {"data": [staff / at], "statistic": None, "sql": f"SELECT avg(pay) FROM {table}"}
        sample = asked(staff, **usual | given)
        assert simulate(sample.source, sample.mechanism).values.shape == (8, 1)
        person = {"protect": "person", "worlds": None}
        for rows in (True, False):
            ask = prepare(
                Question(**{"unit": "id"} | usual | given | person), ledger="none", rows=rows
            )
            assert ask.person
        words = ["--unit", given.get("unit", "id"), "--sql", usual["sql"]]
        words += ["--public", "nation"] if given else []
        code, _, err = call("plan", staff / at, *words)
        assert (code, err) == (0, "")


def test_groups_are_declared_by_columns_that_exist(staff):
    sql = "SELECT dept, avg(pay) AS pay FROM staff GROUP BY dept"
    given = {"statistic": None, "sql": sql}
    found = asked(staff, **given, keys=["dept=a,b"])
    assert simulate(found.source, found.mechanism).values.shape == (8, 3)  # a, b and other
    with refused("before = in --keys; got 'dpt'. Columns: id, dept, pay."):
        asked(staff, **given, public=["dept"], keys=["dpt=a,b"])
    with refused("in `public`; got 'dpt'"):
        asked(staff, **given, public=["dpt"])


def test_every_method_is_known_and_nothing_else():
    for name in METHODS:
        known_method(name, "a method")
    with refused(f"Expected a method; got ''. Known: {', '.join(METHODS)}."):
        known_method("", "a method")


def test_exposed_units_get_their_own_names(staff):
    text = (staff / "staff.csv").read_text()
    for i in range(12):
        text = text.replace(f"\n{i},", f"\np{i:02d},")
    (staff / "staff.csv").write_text(text)
    worst = [{"unit": 3, "success": 0.6}, {"unit": 11, "success": 0.5}]
    for given in ({}, {"statistic": None, "sql": "SELECT avg(pay) AS pay FROM staff"}):
        named = asked(staff, **given).named(worst)
        assert [row["unit"] for row in named] == ["p03", "p11"]
        assert [row["success"] for row in named] == [0.6, 0.5]


def test_a_ledger_is_opened_made_or_left_alone(staff):
    where = staff / "l.db"
    given = {"ledger": str(where), "cap": 0.5}
    project = Project(tables={"staff": "staff.csv"}, unit="id", **given)
    for found in (asked(staff, **given), asked(staff, "old", **given)):
        assert (found.ledger, found.left) == (None, 0.5)  # a plan knows the cap of a new ledger
    assert open_ledger(project, new=False) is None
    assert not where.exists()
    ask = asked(staff, "any", **given)
    assert where.exists()
    assert (ask.ledger.remaining, ask.left, ask.ledger.dataset) == (0.5, 0.5, "staff")
    ask.ledger.spend(0.2)
    again = asked(staff, "old", ledger=str(where), dataset="people", analyst="ann")
    assert again.left == pytest.approx(0.3)
    assert (again.ledger.dataset, again.ledger.analyst) == ("people", "ann")
    assert open_ledger(Project(tables={"a": "a.csv"}, unit="id"), new=True) is None


def test_caps_are_those_on_record(staff):
    where = str(staff / "l.db")
    with refused("Expected a cap for a new ledger; got 'l.db' without one. Say what all releases"):
        asked(staff, "any", ledger=where)
    Ledger(where, 0.5)
    assert asked(staff, "old", ledger=where, cap=0.5 + 1e-9).left == 0.5
    with refused("Expected the cap of this ledger, 0.5 nats, or no --cap; got 0.500000002. `rpac "):
        asked(staff, "old", ledger=where, cap=0.5 + 2e-9)
    with refused("got 2. `rpac ledger l.db --cap 2` changes it, on the record."):
        asked(staff, "old", ledger=where, cap=2.0)


@pytest.mark.parametrize("promise", ["person", "sample"])
def test_success_is_refused_by_the_name_it_was_typed_under(promise, staff):
    words = ("plan", staff / "staff.csv", "--statistic", "mean(pay)", "--unit", "id",
             "--protect", promise, "--success")  # fmt: skip
    expected = "Expected --success above 0.5 and below 1; got"
    for given, move in (("0.5", "Such as 0.55: 0.5 is a blind guess."), ("55", "55 % is 0.55.")):
        assert call(*words, given)[2] == f"{expected} {given}. {move}\n"


@pytest.mark.parametrize("promise", ["person", "sample"])
def test_groups_of_a_statistic_may_be_declared(promise, staff):
    words = ("release", staff / "staff.csv", "--unit", "id", "--protect", promise, "--json")
    words += () if promise == "person" else ("--worlds", "8", "--method", "auto-pac")
    grouped = (*words, "--statistic", "group_by(dept, mean(pay))")
    for keys in (("a", "b"), ("b",)):
        body = json.loads(call(*grouped, "--keys", f"dept={','.join(keys)}")[1])
        assert [row[""] for row in body["answer"]] == [*keys, "other"]
    bare = [word for word in grouped if word != "--json"]
    assert "Expected keys of 'dept'; got none. List the public groups" in call(*bare)[2]
    beside = call(*words, "--statistic", "mean(pay)", "--keys", "dept=a")
    assert beside[0] == 0


def test_groups_are_declared_once(staff):
    words = ("plan", staff / "staff.csv", "--unit", "id", "--statistic", "mean(pay)", "--keys")
    said = "Expected groups of dept that differ; got '1' twice. List it once."
    assert said in call(*words, "dept=1,2,01")[2]
    said = "Expected each column once in --keys; got 'dept' twice. Such as dept=a,b,c."
    assert said in call(*words, "dept=a", "--keys", "dept=b")[2]
