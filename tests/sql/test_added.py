"""What is added up, row by row: exact, in no order, and by the tables that owners are read from."""

import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

import rpac
from rpac.sql.added import owned_tree
from rpac.sql.one_pass import OnePass
from rpac.sql.question import read
from tests.sql.elsewhere import here
from tests.sql.people import frame

DB = here()


def tables_of(sql, **options):
    tree, owner = owned_tree(read(DB, sql), **options)
    return {(t.db, t.name) for t in tree.find_all(exp.Table)}, owner.sql()


def test_only_tables_that_owners_are_read_from_carry_them():
    sql = (
        "SELECT count(*) AS n FROM item JOIN bill ON bill = number JOIN person ON payer = id "
        "WHERE EXISTS (SELECT 1 FROM bill b WHERE b.payer = id)"
    )
    found, owner = tables_of(sql, bare=True)
    assert found == {("raw", "item"), ("pool", "bill"), ("raw", "person"), ("raw", "bill")}
    assert owner == '"bill"."__unit"'  # it has the id itself; an item has it through its bill
    every, _ = tables_of(sql)
    assert {db for db, _ in every} == {"pool"}


def test_a_source_that_may_be_missing_gives_no_owner():
    sql = "SELECT count(*) AS n FROM item LEFT JOIN bill ON bill = number"
    assert tables_of(sql, bare=True) == ({("pool", "item"), ("raw", "bill")}, '"item"."__unit"')


def test_a_group_of_huge_numbers_does_not_coarsen_the_others():
    rng = np.random.default_rng(0)
    table = frame(id=range(40), g=["a", "b"] * 20, x=np.where(np.arange(40) % 2, 1e-9, 1e30) *
                  rng.normal(size=40))  # fmt: skip
    db = rpac.Database({"t": table}, "id", public=["g"], worlds=16)
    values = OnePass(read(db, "SELECT g, sum(x) AS s FROM t GROUP BY g")).study()[1]
    masks = db.source.masks
    for world in range(16):
        kept = table[masks[world]].groupby("g")["x"].sum()
        assert values[world, :, 0] == pytest.approx(kept.to_numpy(), rel=1e-12)


def test_the_order_of_rows_and_threads_changes_no_bit():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"id": np.arange(3_000) % 700, "x": rng.lognormal(0, 9, 3_000)})
    found = []
    for rows in (table, table[::-1], table.sample(frac=1, random_state=0)):
        db = rpac.Database({"t": rows}, "id", worlds=16)
        db.source  # noqa: B018
        db.connection.execute(f"SET threads = {1 + len(found)}")
        found.append(OnePass(read(db, "SELECT sum(x) AS s, avg(x) AS a FROM t")).study()[1])
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_sums_of_dates_are_run_by_world():
    query = DB.query("SELECT avg(born) AS b FROM person")
    query.announce(DB.source)
    assert type(query._runs).__name__ == "ByWorld"


def test_truth_values_and_repeated_arguments():
    sql = (
        "SELECT sum(count > 4) AS s, avg(count) AS a, sum(count) AS t, min(count) AS l, "
        "max(count) AS h, count(count) AS c FROM item"
    )
    runs = OnePass(read(DB, sql))
    assert len(runs.rows.parts) == 1 + 2 + 4  # n; two of the truth; sum, count, least, most
    values = runs.study()[1][-1, 0]
    item = DB.connection.execute(f"{sql.replace('FROM item', 'FROM raw.item')}").fetchall()[0]
    assert values.tolist() == pytest.approx([float(x) for x in item])
