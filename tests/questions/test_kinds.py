"""What an entry is read as: by the text around it, and by declarations."""

import re

import pytest
import sqlglot
from sqlglot import exp

import rpac
from rpac.questions.kinds import _RULES, Reader, is_truth, kind_of, rewrite, snippet
from tests.conftest import ROOT

KINDS = {
    ("t", "x"): None, ("t", "y"): None, ("t", "num"): "number", ("t", "word"): "text",
    ("t", "day"): "date", ("p", "n"): "number", ("p", "c"): "text", ("p", "odd"): "",
}  # fmt: skip
READER = Reader(KINDS, {key for key in KINDS if key[0] == "t"})


def node(text):
    return sqlglot.parse_one(f"SELECT {text}", dialect="duckdb").selects[0]


def read(text, want=None):
    return READER.read(node(text), want).sql("duckdb")


N = "TRY_CAST({} AS DOUBLE)".format


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("t.x", "t.x"),
        ("t.num", "__NUMBER(t.num)"),
        ("t.day", "TRY_CAST(t.day AS TIMESTAMP)"),
        ("t.x + 1", f"__NUMBER(t.x) + {N(1)}"),
        ("t.x > 3", f"__NUMBER(t.x) > {N(3)}"),
        ("t.x = '01'", "__SPELLED(t.x) = '1'"),
        ("t.x = ''", "__SPELLED(t.x) = NULL"),
        ("t.x = t.num", "t.x = t.num"),
        ("t.x = p.c", "__SPELLED(t.x) = __SPELLED(p.c)"),
        ("t.x = p.n", f"__NUMBER(t.x) = {N('p.n')}"),
        ("t.x < t.num", "__NUMBER(t.x) < __NUMBER(t.num)"),
        ("t.day >= '2020-01-01'", "TRY_CAST(t.day AS TIMESTAMP) >= TRY_CAST('2020-01-01' AS TIMESTAMP)"),  # noqa: E501
        ("t.x = TRUE", "TRY_CAST(t.x AS BOOLEAN) = TRUE"),
        ("t.x IS TRUE", "TRY_CAST(t.x AS BOOLEAN) IS TRUE"),
        ("t.x IS NULL", "t.x IS NULL"),
        ("t.x // 2", f"TRUNC(__NUMBER(t.x) / {N(2)})"),
        ("t.x IN (1, 2)", f"__NUMBER(t.x) IN ({N(1)}, {N(2)})"),
        ("coalesce(t.x, t.y)", "COALESCE(t.x, t.y)"),
        ("coalesce(t.x, 0)", f"COALESCE(__NUMBER(t.x), {N(0)})"),
        ("upper(t.num)", "UPPER(__SPELLED(TRY_CAST(__NUMBER(t.num) AS TEXT)))"),
        ("substring(t.x, 2, 3)", "SUBSTRING(t.x, 2, 3)"),
        ("round(t.x, 2)", "ROUND(__NUMBER(t.x), 2)"),
        ("year(t.x)", "YEAR(TRY_CAST(t.x AS TIMESTAMP))"),
        ("CAST(t.x AS INT)", "ROUND(__NUMBER(t.x))"),
        ("CAST(t.x AS DATE)", "TRY_CAST(TRY_CAST(TRY_CAST(t.x AS TIMESTAMP) AS DATE) AS TIMESTAMP)"),  # noqa: E501
        ("CAST(t.x AS VARCHAR)", "t.x"),
        ("CASE t.x WHEN 1 THEN 'a' ELSE t.y END",
         f"CASE WHEN __NUMBER(t.x) = {N(1)} THEN 'a' ELSE t.y END"),
        ("NOT t.x", "NOT TRY_CAST(t.x AS BOOLEAN)"),
    ],
)  # fmt: skip
def test_where_an_entry_stands_says_what_it_is_read_as(text, made):
    assert read(text) == made


def test_a_kind_is_wanted_from_outside_too():
    assert read("t.x > 1", "number").startswith("__NUMBER(__SPELLED(TRY_CAST(__NUMBER(t.x) >")
    assert read("NULL", "number") == "NULL"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("random()", "one row's entries, from the list in docs/sql.md; got 'RANDOM"),
        ("t.x + (SELECT 1)", r"sub-queries in FROM or WITH alone; got '\(SELECT 1\)'. Join it in"),
        ("o.y + 1", "sub-queries that stand by themselves, .*; got 'o.y' of the query around it"),
        ("foo(t.x)", "one row's entries"),
        ("p.odd + 1", "columns of numbers, text, dates or truths; got 'p.odd'"),
        ("round(t.x, t.y)", "a plain number as decimals"),
        ("CAST(t.x AS BLOB)", "CAST to numbers, text, dates or truths"),
    ],
)
def test_what_has_no_rule_is_refused(text, message):
    with pytest.raises(rpac.InputError, match=message):
        read(text)


def test_sql_types():
    types = (
        "BIGINT",
        "DECIMAL(9,2)",
        "VARCHAR",
        "DATE",
        "TIMESTAMP",
        "BOOLEAN",
        "UUID",
        "INTEGER[]",
    )
    assert [kind_of(t) for t in types] == [
        "number",
        "number",
        "text",
        "date",
        "date",
        "bool",
        "",
        "",
    ]


def test_truths_are_seen_by_shape():
    assert is_truth(node("(t.x > 1)"))
    assert is_truth(node("t.x IS NULL"))
    assert not is_truth(node("t.x + 1"))


COLUMNS = {"t": (False, {"x": "VARCHAR", "u": "VARCHAR"}), "p": (True, {"n": "BIGINT"})}


def rewritten(sql):
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    return rewrite(tree, COLUMNS, lambda table, column: None).sql("duckdb")


def test_scopes_are_read_from_the_inside():
    text = rewritten(
        "SELECT s.y AS k0, s.a + s.m AS a0, s.n AS a1 FROM (SELECT t.u AS y, sum(t.x) AS a, avg(t.x) AS m, "  # noqa: E501
        "max(t.x) AS b, count(t.x) AS n FROM t WHERE t.x > 1 AND t.u = 'a' GROUP BY t.u) AS s"
    )
    exact = "TRY_CAST(__NUMBER(t.x) AS DECIMAL(28, 8))"
    assert f'TRY_CAST(SUM({exact}) AS DOUBLE) AS "a"' in text
    assert f'TRY_CAST(SUM({exact}) AS DOUBLE) / TRY_CAST(COUNT({exact}) AS DOUBLE) AS "m"' in text
    assert 'MAX(__NUMBER(t.x)) AS "b"' in text
    assert 'TRY_CAST(COUNT(t.x) AS DOUBLE) AS "n"' in text
    assert (
        "WHERE __NUMBER(t.x) > TRY_CAST(1 AS DOUBLE) AND __SPELLED(t.u) = 'a' GROUP BY t.u" in text
    )
    assert text.startswith('SELECT s.y AS "k0", s.a + s.m AS "a0"')


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "SELECT 1 AS a0 FROM (SELECT t.x AS x FROM t UNION SELECT t.u AS x FROM t) AS s",
            "plain SELECTs",
        ),
        (
            "SELECT 1 AS a0 FROM (SELECT t.u AS u, median(t.x) AS m FROM t GROUP BY t.u) AS s",
            "count, sum, avg",
        ),
        (
            "SELECT 1 AS a0 FROM (SELECT t.u + 1 AS u, sum(t.x) AS m FROM t GROUP BY t.u) AS s",
            "grouped sub-query",
        ),
    ],
)
def test_scopes_of_other_shapes_are_refused(sql, message):
    with pytest.raises(rpac.InputError, match=message):
        rewritten(sql)


def test_every_rule_is_of_a_node_that_is_listed_as_safe_to_run():
    from rpac.questions.kinds import _RULES
    from rpac.sql.rows import _ROWWISE

    certain = {exp.IntDiv, exp.Concat, exp.DPipe, exp.Replace, exp.Substring}
    assert set(_RULES) - certain <= _ROWWISE


def test_messages_show_what_the_author_wrote():
    made = READER.read(node("t.x + 1 > upper(t.num)"))
    assert "__NUMBER" in made.sql("duckdb")
    assert snippet(made) == "t.x + 1 > UPPER(t.num)"
    tree = sqlglot.parse_one(
        "SELECT s.m AS a0 FROM (SELECT TRY_CAST(SUM(TRY_CAST(__number(t.x) AS DECIMAL)) AS DOUBLE) "
        "/ TRY_CAST(COUNT(TRY_CAST(__number(t.x) AS DECIMAL)) AS DOUBLE) AS m FROM t AS t) AS s",
        dialect="duckdb",
    )
    assert snippet(tree) == "SELECT s.m FROM (SELECT AVG(t.x) AS m FROM t) AS s"
    assert snippet(node("t.x / 2 + sum(t.x) / count(t.y)")) == "t.x / 2 + SUM(t.x) / COUNT(t.y)"
    assert snippet(node("upper('" + "a" * 90 + "')")).endswith("a...")


def test_the_docs_list_functions_that_are_read():
    """Each name in docs/sql.md has a rule, and each function with a rule is listed there."""
    text = (ROOT / "docs" / "sql.md").read_text()
    part = text[
        text.index("**Functions and operators of one row**") : text.index("Entries of priv")
    ]
    names = {name for name in re.findall(r"`(\w+)`", part)} - {"LIKE", "ILIKE"}
    calls = {"substring": "(t.x, 1)", "replace": "(t.x, 'a', 'b')", "extract": "(year FROM t.x)",
             "datediff": "('day', t.x, t.y)", "date_trunc": "('year', t.x)"}  # fmt: skip
    two = {"concat", "starts_with", "contains", "pow", "coalesce", "nullif", "greatest", "least"}
    seen = set()
    for name in names:
        made = node(name + calls.get(name, "(t.x, t.y)" if name in two else "(t.x)"))
        READER.read(made)
        seen.add(type(made))
    spelled = (exp.Binary, exp.Unary, exp.Paren, exp.Between, exp.In)
    assert {rule for rule in _RULES if not issubclass(rule, spelled)} == seen - {exp.Pow}
