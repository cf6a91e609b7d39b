"""The rules 1 to 6, each as a function of its own."""

import pytest
import sqlglot

import rpac
from rpac.sql.roles import (
    Column,
    Facts,
    facts_of_table,
    facts_of_union,
    grouped_by_unit,
    growth,
    keeps_owners,
    worst,
)
from rpac.sql.syntax import group_keys
from tests.sql.people import database

DB = database()


def select(sql):
    return sqlglot.parse_one(sql, dialect="duckdb")


def test_rule_1_a_private_table_is_its_owners_own_but_for_what_was_declared():
    staff, codes = facts_of_table(DB, "staff"), facts_of_table(DB, "codes")
    assert (staff.private, staff.owned, staff.local, staff.rows, staff.grows) == (
        True, True, True, 1, 1,
    )  # fmt: skip
    assert {name: c.role for name, c in staff.columns} == {
        "id": "private", "dept": "public", "salary": "private", "age": "private",
        "since": "private",
    }  # fmt: skip
    assert [name for name, c in staff.columns if c.entity] == ["id"]
    assert facts_of_table(DB, "visit").column("visitor").entity == "staff.id"
    assert (codes.private, codes.owned, codes.rows, codes.grows) == (False, False, 0, 0)
    assert {c.role for c in codes.listed} == {"public"}


@pytest.mark.parametrize("name", ["nobody's", "STAFF", "__members"])
def test_a_table_that_is_not_known_is_not_taken_for_nobodys(name):
    with pytest.raises(rpac.InputError, match="Expected tables among .*; got .* Name one of them"):
        facts_of_table(DB, name)


def test_what_is_not_known_of_a_column_is_that_it_is_private():
    assert facts_of_table(DB, "codes").column("nope") == Column("private", 0, None)
    assert Facts().column("x").role == "private"


def test_rule_2_the_most_private_part_decides():
    assert worst([]) == worst(["public", "public"]) == "public"
    assert worst(["public", "measure"]) == "measure"
    assert worst(["measure", "private", "public"]) == "private"


@pytest.mark.parametrize(
    ("rest", "kept"),
    [
        ("staff", True),
        ("staff, visit", True),
        ("staff JOIN codes ON true", True),
        ("staff CROSS JOIN codes", True),
        ("staff LEFT JOIN visit ON true", True),
        ("codes JOIN staff ON true LEFT JOIN visit ON true", True),
        ("codes LEFT JOIN staff ON true", False),
        ("staff RIGHT JOIN codes ON true", False),
        ("staff FULL JOIN codes ON true", False),
        ("staff SEMI JOIN codes ON true", False),
        ("staff ANTI JOIN codes ON true", False),
        ("staff ASOF JOIN visit ON staff.age >= visit.cost", False),
        ("staff POSITIONAL JOIN visit", False),
        ("staff LIMIT 3", False),
        ("staff LIMIT 3 OFFSET 1", False),
        ("staff QUALIFY row_number() OVER () = 1", False),
    ],
)
def test_rule_3_rows_keep_their_owner_unless_merged_cut_off_or_filled_up(rest, kept):
    assert keeps_owners(select(f"SELECT age FROM {rest}"), ["staff", "visit"]) is kept
    assert not keeps_owners(select(f"SELECT DISTINCT age FROM {rest}"), ["staff", "visit"])


@pytest.mark.parametrize(
    ("sql", "entities", "owned"),
    [
        ("SELECT 1 FROM staff s GROUP BY s.id", ["staff.id"], True),
        ("SELECT 1 FROM staff s GROUP BY s.dept, s.id", [None, "staff.id"], True),
        ("SELECT 1 FROM staff s GROUP BY s.dept", [None], False),
        ("SELECT 1 FROM staff s", [], False),
        ("SELECT 1 FROM staff s LEFT JOIN visit v ON true GROUP BY v.visitor", ["staff.id"], False),
        ("SELECT 1 FROM staff s JOIN visit v ON true GROUP BY v.visitor", ["staff.id"], True),
    ],
)
def test_rule_4_groups_are_owned_by_a_key_that_is_never_missing(sql, entities, owned):
    tree = select(sql)
    assert grouped_by_unit(tree, entities, group_keys(tree)) is owned


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("merged", [True, False])
def test_rule_5_how_rows_grow(private, owned, merged):
    table = {
        (True, True, True): 1, (True, True, False): 1,
        (True, False, True): 0, (True, False, False): None,
    }  # fmt: skip
    expected = table.get((private, owned, merged), 0)
    assert growth(private=private, owned=owned, merged=merged) == expected


def test_rule_6_a_union_is_nobodys_and_as_private_as_any_part():
    total = Facts(
        private=True, grows=0, columns=(("k", Column("public")), ("n", Column("measure", 1)))
    )
    rows = Facts(
        private=True, owned=True, local=True, rows=1, grows=1,
        columns=(("id", Column("private", 0, "staff.id")), ("n", Column("measure", 1))),
    )  # fmt: skip
    both = facts_of_union([total, rows])
    assert (both.private, both.owned, both.local, both.rows, both.grows) == (
        True, False, False, None, None,
    )  # fmt: skip
    assert both.columns == (("k", Column("private")), ("n", Column("measure", 1)))
    assert facts_of_union([total, total]).grows == 0
    assert facts_of_union([]).columns == ()
    assert not facts_of_union([Facts(), Facts()]).private
