"""From a project to a question about presence: names alone, or rows; refusals by what was typed."""

import re

import numpy as np
import pandas as pd
import pytest

from rpac.cli.presence import asked, public_tables
from rpac.cli.project import Project
from rpac.errors import InputError, Withheld
from rpac.front.presence import ask


def project(folder, **given):
    usual = {"tables": {"staff": str(folder / "staff.csv")}, "unit": "id"}
    return Project.model_validate(usual | given)


def refused(message):
    return pytest.raises(InputError, match=re.escape(message))


def test_files_that_have_no_names(staff):
    named = "none in 'staff.csv'. Write their names in its first line."
    for text, got in (("", named), ("a,a\n", "['a', 'a']. Rename them.")):
        (staff / "staff.csv").write_text(text)
        for rows in (False, True):
            with refused(f"Expected at least one column, with unique names; got {got}"):
                asked(project(staff), "statistic", "count()", rows=rows)


def test_without_a_library_of_frames_a_plan_says_so(staff, monkeypatch):
    monkeypatch.setattr("rpac.worlds.files._READERS", ())
    with refused("Expected a reader of tables; got none. pip install polars, pandas or pyarrow."):
        asked(project(staff), "statistic", "count()", rows=False)


@pytest.mark.parametrize("kind", ["statistic", "sql"])
def test_without_rows_the_question_is_the_same(kind, staff):
    text = {"statistic": "mean(pay)", "sql": "SELECT dept, avg(pay) AS p FROM staff GROUP BY dept"}
    given = project(staff, keys={"dept": ["a", "b"]}, caps={"rows": 3}, middle={"pay": 10.0},
                    schema={"pay": {"floor": 0.5}}, size=12)  # fmt: skip
    names, rows = (
        ask(mechanism, source)
        for source, mechanism in (asked(given, kind, text[kind], rows=r) for r in (False, True))
    )
    for part in ("columns", "terms", "groups", "quantiles", "rows", "touches", "moves"):
        assert getattr(names.question, part) == getattr(rows.question, part), part
    (column,) = names.question.columns
    assert (column.floor, column.middle, names.question.rows) == (0.5, 10.0, 3.0)
    assert len(names.rows().held().units) == 0
    assert len(rows.rows().held().units) == 12


def test_what_is_declared_reaches_the_source(staff):
    source, _ = asked(
        project(staff, caps={"pay": [0, 20], "rows": 2}, size=9, way="contributions",
                keys={"dept": ["a"]}, schema={"dept": {"type": "text"}}),
        "statistic", "mean(pay)", rows=True)  # fmt: skip
    assert (source.rows_cap, source.size, source.way) == (2.0, 9, "contributions")
    assert (source.declared("pay").low, source.declared("pay").high) == (0, 20)
    assert source.declared("dept").domain == ("a",)
    listed, _ = asked(
        project(staff, schema={"dept": {"domain": ["x", 1]}}), "statistic", "count()", rows=False)  # fmt: skip  # noqa: E501
    assert listed.declared("dept").domain == ("x", 1)


def test_public_are_tables_and_not_columns(staff):
    assert public_tables(project(staff, public=["staff"])) == ["staff"]
    said = "Expected public tables under the promise person; got 'dept'. Declare its groups with --"
    with refused(said):
        asked(project(staff, public=["dept"]), "sql", "SELECT 1", rows=False)


def test_public_tables_are_read_for_a_plan_too(staff):
    pd.DataFrame({"dept": ["a", "b", "c"]}).to_csv(staff / "depts.csv", index=False)
    tables = {"staff": str(staff / "staff.csv"), "depts": str(staff / "depts.csv")}
    given = project(staff, tables=tables, unit="staff.id", public=["depts"])
    sql = ("SELECT depts.dept, count(*) AS n FROM depts JOIN staff ON staff.dept = depts.dept "
           "GROUP BY depts.dept")  # fmt: skip
    for rows in (False, True):
        source, query = asked(given, "sql", sql, rows=rows)
        assert ask(query, source).question.groups == 3


WRONG = {
    "one table": (
        {"tables": {"a": "a.csv", "b": "a.csv"}}, "statistic", "count()",
        "Expected one table for --statistic; got a, b. Join them with --sql."),
    "a column of caps": (
        {"caps": {"py": [0, 1]}}, "statistic", "mean(pay)",
        "Expected a column among 'id', 'dept', 'pay'; got 'py'."),
    "a column of keys": (
        {"keys": {"dpt": ["a"]}}, "statistic", "mean(pay)", "'pay'; got 'dpt'. Name one of them."),
    "a column of keys in SQL": (
        {"keys": {"dpt": ["a"]}}, "sql", "SELECT count(*) AS n FROM staff",
        "before = in --keys; got 'dpt'. Columns: id, dept, pay."),
    "caps that are turned": (
        {"caps": {"pay": [2, 1]}}, "statistic", "mean(pay)",
        "within 1e+30; got 2:1. Turn them, or use other units."),
    "one cap": (
        {"caps": {"pay": 5}}, "statistic", "mean(pay)", "caps (low, high) of 'pay'; got 5. Such"),
    "no rows": (
        {"caps": {"rows": 0}}, "statistic", "count()", "one row a person in caps; got 0. Such as"),
    "a floor of 0": (
        {"schema": {"pay": {"floor": 0}}}, "statistic", "mean(pay)", "Expected a positive floor"),
    "half a cap": (
        {"schema": {"pay": {"low": 1}}}, "sql", "SELECT avg(pay) FROM staff", "both caps; got 1"),
    "no form": (
        {}, "command", "wc -l", "Expected --middle answer=... for --command; got none. Say what"),
    "another form": (
        {"middle": {"pay": 1}}, "command", "wc -l", "answer=... for --command; got pay. Say what"),
    "blocks in SQL": (
        {"way": "blocks"}, "sql", "SELECT avg(pay) FROM staff",
        "Expected --sql without blocks; got --way blocks. Leave --way and --blocks out"),
    "a column of the question": (
        {}, "sql", "SELECT avg(py) FROM staff", "Column 'py' could not be resolved"),
    "groups": (
        {}, "sql", "SELECT dept, count(*) FROM staff GROUP BY dept",
        "Expected declared groups in 'dept'; got entries of single people. Say which there are"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_alike_with_rows_and_without(name, staff):
    given, kind, text, message = WRONG[name]
    made = project(staff, **given)
    made.tables = {t: str(staff / "staff.csv") for t in made.tables}
    for rows in (False, True):
        with refused(message):
            source, mechanism = asked(made, kind, text, rows=rows)
            ask(mechanism, source)


def test_a_command_has_the_form_of_its_answer(staff):
    for middle, form in ((0.0, 0.0), ([0.0, 1.0], [0.0, 1.0])):
        given = project(staff, middle={"answer": middle}, blocks=4)
        source, mechanism = asked(given, "command", "wc -l {file}", rows=False)
        assert (source.example, source.blocks, mechanism.text) == (form, 4, "wc -l {file}")


def test_what_fails_while_rows_are_read_is_withheld(staff, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("salary 4711")

    monkeypatch.setattr("rpac.cli.presence.Presence", broken)
    with pytest.raises(Withheld) as said:
        asked(project(staff), "statistic", "mean(pay)", rows=True)
    assert "4711" not in str(said.value)


def test_odd_rows_change_nothing_that_is_typed(staff):
    text = (staff / "staff.csv").read_text()
    for odd in ("", ",,,\n", "x,\x00,∞\n", '"a\n', "1,2,3,4,5,6\n", "nan,nan,nan\n"):
        (staff / "staff.csv").write_text(text + odd)
        source, mechanism = asked(project(staff), "statistic", "mean(pay)", rows=True)
        values = ask(mechanism, source).rows().held().values
        assert np.isfinite(values[:12]).all()
