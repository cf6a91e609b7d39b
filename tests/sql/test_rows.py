"""What is run on private rows: listed nodes, TRY, one owner, and no rows where DuckDB fails."""

import numpy as np
import pytest
import sqlglot

import rpac
from rpac.errors import MechanismError
from rpac.sql import rows as module
from rpac.sql.owned import Owned
from rpac.sql.rows import Contributions
from tests.sql.people import frame

TABLES = Owned(
    {
        "staff": frame(id=[1, 2, 3], dept=["a", "b", "b"], pay=[1.0, 2.0, 4.0], house=[7, 7, 8]),
        "bill": frame(house=[7, 8, 8], euro=[10, 20, "x"]),
        "codes": frame(code=["a", "b", "c"], n=[1, 2, 3]),
    },
    "staff.id",
    {"bill.house": "staff.house"},
    public=["codes"],
)


def opened(sql, keys=(), entries=()):
    return Contributions(TABLES, sqlglot.parse_one(sql, dialect="duckdb"), keys, entries)


def found(made):
    rows = made.rows()
    names = dict(TABLES.connection.execute("SELECT u, k FROM pool.__units").fetchall())
    return sorted(
        (names[u], int(g), *v)
        for u, g, v in zip(rows.units, rows.groups, rows.values.tolist(), strict=True)
    )


def test_every_row_has_its_owner_its_group_and_its_numbers():
    made = opened('SELECT "staff"."dept" AS k0, __number("staff"."pay") AS a0 FROM "staff" AS "staff"',  # noqa: E501
                  ["dept"], [["b", "a", "z"]])  # fmt: skip
    assert made.groups.rows == [("a",), ("b",), ("z",)]
    assert found(made) == [("1", 0, 1.0), ("2", 1, 2.0), ("3", 1, 4.0)]


def test_without_keys_and_numbers_there_are_rows_all_the_same():
    made = opened('SELECT NULL AS k FROM "staff" AS "staff"')
    assert found(made) == [("1", 0), ("2", 0), ("3", 0)]


def test_public_keys_are_listed_by_public_tables():
    sql = ('SELECT "c"."n" AS k0, __number("s"."pay") AS a0 FROM "staff" AS "s" JOIN "codes" AS "c" '  # noqa: E501
           'ON __spelled("s"."dept") = __spelled("c"."code")')  # fmt: skip
    made = opened(sql, ["n"], [None])
    assert made.groups.rows == [(1,), (2,), (3,)]
    assert found(made) == [("1", 0, 1.0), ("2", 1, 2.0), ("3", 1, 4.0)]
    assert "TRY(__SPELLED" not in made.tree.sql("duckdb")


JOIN = 'SELECT __number("b"."euro") AS a0 FROM "staff" AS "s" {} "bill" AS "b" {} "s"."house" = "b"."house"'  # noqa: E501


@pytest.mark.parametrize(
    ("how", "where"), [("JOIN", "ON"), ("LEFT JOIN", "ON"), ("CROSS JOIN", "WHERE")]
)
def test_joined_rows_have_one_owner(how, where):
    """House 7 belongs to two units, each of whom has the bill once: not four times."""
    rows = found(opened(JOIN.format(how, where)))
    assert [row[:2] for row in rows] == [("1", 0), ("2", 0), ("3", 0), ("3", 0)]
    assert sorted(str(row[2]) for row in rows) == ["10.0", "10.0", "20.0", "nan"]


def test_what_could_fail_is_tried_and_equal_types_are_not():
    sql = ('SELECT LN(__number("s"."pay")) AS a0 FROM "staff" AS "s" JOIN "codes" AS "c" ON '
           '__number("s"."pay") = TRY_CAST("c"."n" AS DOUBLE) AND __number("s"."pay") = "c"."n" '
           'WHERE "s"."id" = "s"."id" AND __spelled("s"."dept") = __number("s"."pay")')  # fmt: skip
    text = opened(sql).tree.sql("duckdb")
    assert "TRY(LN(" in text
    assert 'ON __NUMBER("s"."pay") = TRY_CAST("c"."n" AS DOUBLE) AND TRY(' in text
    assert 'WHERE "s"."id" = "s"."id" AND TRY(' in text


def test_inner_aggregates_are_of_one_unit():
    sql = ('SELECT "t"."s" AS a0, "t"."n" AS a1 FROM (SELECT "b"."house" AS "house", TRY_CAST(SUM(TRY_CAST('  # noqa: E501
           '__number("b"."euro") AS DECIMAL(28, 8))) AS DOUBLE) AS "s", COUNT(*) AS "n" '
           'FROM "bill" AS "b" GROUP BY "b"."house") AS "t"')  # fmt: skip
    assert found(opened(sql)) == [("1", 0, 10.0, 1.0), ("2", 0, 10.0, 1.0), ("3", 0, 20.0, 2.0)]


UNLISTED = [
    'SELECT RANDOM() AS a0 FROM "staff" AS "staff"',
    'SELECT ROW_NUMBER() OVER () AS a0 FROM "staff" AS "staff"',
    'SELECT HASH("staff"."pay") AS a0 FROM "staff" AS "staff"',
    'SELECT CAST("staff"."pay" AS DOUBLE) AS a0 FROM "staff" AS "staff"',
    'SELECT (SELECT "codes"."n" FROM "codes" AS "codes") AS a0 FROM "staff" AS "staff"',
    'SELECT DISTINCT "staff"."pay" AS a0 FROM "staff" AS "staff"',
    'SELECT "staff"."pay" AS a0 FROM "staff" AS "staff" LIMIT 1',
    'SELECT "t"."s" AS a0 FROM (SELECT "b"."house" AS "h", SUM(__number("b"."euro")) AS "s" FROM "bill" '  # noqa: E501
    'AS "b" GROUP BY "b"."house") AS "t"',
    'SELECT "t"."s" AS a0 FROM (SELECT "b"."house" AS "h", LN("b"."house") / COUNT(*) AS "s" FROM "bill" '  # noqa: E501
    'AS "b" GROUP BY "b"."house") AS "t"',
    'SELECT "t"."s" AS a0 FROM (SELECT "b"."house" AS "h", AVG("b"."euro") AS "s" FROM "bill" '
    'AS "b" GROUP BY "b"."house") AS "t"',
    'SELECT "staff"."pay" AS a0 FROM "staff" AS "staff" NATURAL JOIN "bill" AS "bill"',
]  # fmt: skip


@pytest.mark.parametrize("sql", UNLISTED)
def test_what_is_not_listed_is_not_run(sql):
    with pytest.raises(rpac.InputError, match="plain SELECTs, and functions of one row; got"):
        opened(sql)


@pytest.mark.parametrize("sql", [
    'SELECT __number("c"."n") AS a0 FROM "codes" AS "c"',
    'SELECT __number("a"."pay") AS a0 FROM "staff" AS "a", "staff" AS "b"',
    'SELECT COUNT(*) AS a0 FROM "staff" AS "staff"',
    'SELECT "t"."n" AS a0 FROM (SELECT "s"."dept" AS "d", COUNT(*) AS "n" FROM "staff" AS "s", "staff" AS "q" '  # noqa: E501
    'GROUP BY "s"."dept") AS "t" WHERE "t"."n" > 5',
    'WITH "u" AS (SELECT "a"."id" AS "i" FROM "staff" AS "a" WHERE 1 = 1) SELECT "c"."n" AS a0 FROM "codes" AS "c"',  # noqa: E501
])  # fmt: skip
def test_rows_that_are_not_of_single_people_are_refused(sql):
    with pytest.raises(
        rpac.InputError, match="rows of single people, joined by the unit's id; got"
    ) as said:
        opened(sql)
    assert "__" not in str(said.value).lower()  # as its author wrote it


def test_groups_must_be_declared_or_public():
    with pytest.raises(rpac.InputError, match=r"declared groups in 'dept'; .* keys=.'dept': "):
        opened('SELECT "staff"."dept" AS k0 FROM "staff" AS "staff"', ["dept"], [None])


def test_what_duckdb_cannot_read_is_refused_before_rows_are():
    with pytest.raises(rpac.InputError, match="that DuckDB can run|numbers where"):
        opened('SELECT YEAR("staff"."pay") AS a0 FROM "staff" AS "staff"')


RUN = module.run


def fails_to_read(tables, sql, form="fetchall"):
    if sql.startswith("INSERT"):
        raise MechanismError("no memory")
    return RUN(tables, sql, form)


def test_a_failure_tells_nothing(monkeypatch):
    made = opened('SELECT "staff"."dept" AS k0, __number("staff"."pay") AS a0 FROM "staff" AS "staff"',  # noqa: E501
                  ["dept"], [["a"]])  # fmt: skip

    monkeypatch.setattr(module, "run", fails_to_read)
    rows = made.rows()
    assert rows.units.shape == rows.groups.shape == (0,)
    assert rows.values.shape == (0, 1)
    assert rows.values.dtype == np.float64


def test_who_fails_takes_nobody_else_along(monkeypatch):
    """TRY does not catch all: the unit whose own rows fail has none, and all others keep theirs."""
    made = opened('SELECT __number("staff"."pay") AS a0 FROM "staff" AS "staff"')
    true, asked = module.run, []

    def fails(tables, sql, form="fetchall"):
        asked.append(sql)
        at = next((schema for schema in ("part", "pool") if f"{schema}." in sql), "raw")
        here = f"SELECT 1 FROM {at}.staff WHERE id = '2'"
        if at != "raw" and tables.connection.execute(here).fetchall():
            raise MechanismError("no memory")
        return true(tables, sql, form)

    assert found(made) == [("1", 0, 1.0), ("2", 0, 2.0), ("3", 0, 4.0)]
    monkeypatch.setattr(module, "run", fails)
    assert found(made) == [("1", 0, 1.0), ("3", 0, 4.0)]
    assert len(asked) > 3


def test_what_occurs_twice_stays_within_try():
    """An optimizer took it out, where one row's error was everybody's."""
    twice = "DATE_DIFF('MICROSECOND', TRY_CAST('5000-01-01 (BC)' AS TIMESTAMP), TRY_CAST({} AS TIMESTAMP))"  # noqa: E501
    tables = Owned({"t": frame(id=[1, 2], born=["2000-01-01", "294246-01-01"])}, "id")
    term = twice.format('"born"')
    sql = f"SELECT TRY({term}) AS a, TRY(1 + {term}) AS b FROM pool.t"
    assert len(tables.connection.execute(sql).fetchall()) == 2


def test_text_that_a_query_makes_is_cut_off():
    sql = 'SELECT LENGTH(LEFT(REPLACE(LEFT("staff"."dept", 9), LEFT(\'a\', 9), LEFT(\'bbbb\', 32)), 1024)) AS a0 FROM "staff" AS "staff"'  # noqa: E501
    assert [row[2] for row in found(opened(sql))] == [4.0, 1.0, 1.0]
    left = 'LEFT("staff"."dept", 9)'
    for bare in ('REPLACE("staff"."dept", \'a\', \'b\')', '"staff"."dept" || "staff"."dept"',
                 f"LEFT({left} || LEFT('a', 9), 99999)", f"LEFT({left} || \"staff\".\"dept\", 9)",
                 f"LEFT(REPLACE({left}, {left}, LEFT('b', 33)), 9)"):  # fmt: skip
        with pytest.raises(rpac.InputError, match="functions of one row; got"):
            opened(f'SELECT LENGTH({bare}) AS a0 FROM "staff" AS "staff"')


def test_nobody_at_all_can_fail_too(monkeypatch):
    tables = Owned({"t": frame(id=[1], x=[1]).head(0)}, "id")
    tree = sqlglot.parse_one('SELECT __number("t"."x") AS a0 FROM "t" AS "t"', dialect="duckdb")
    made = Contributions(tables, tree, (), ())

    monkeypatch.setattr(module, "run", fails_to_read)
    assert made.rows().values.shape == (0, 1)
