"""Tables with owners: who owns which row, what a world shows, what declarations are refused."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

import rpac
from rpac.sql.parsing import parsed
from rpac.sql.tables import UNIT, Tables, described, put_in_schema, run
from tests.sql.people import CODES, STAFF, VISITS, N, database, frame, members, tables_of

CHAIN = {
    "person": frame(name=["ann", "bob", "cy"]),
    "account": frame(number=[10, 11, 12, 13], holder=["cy", "ann", "ann", "bob"]),
    "payment": frame(account=[10, 10, 11, 13, 13, 12], sum=[1, 2, 3, 4, 5, 6]),
}
LINKS = {"account.holder": "person.name", "payment.account": "account.number"}


def test_owners_spread_along_the_links():
    tables = Tables(CHAIN, "person.name", LINKS)
    assert tables.unit_names() == ["ann", "bob", "cy"]
    assert list(tables.private) == ["person", "account", "payment"]
    found = run(tables, f"SELECT account, {UNIT} FROM pool.payment")
    holder = dict(zip(CHAIN["account"].number, CHAIN["account"].holder, strict=True))
    assert all(unit == holder[account] for account, unit in found)
    assert tables.entities == {
        ("person", "name"): "person.name",
        ("account", "holder"): "person.name",
        ("account", "number"): "account.number",
        ("payment", "account"): "account.number",
    }


def test_the_order_of_links_and_tables_does_not_matter():
    first = Tables(CHAIN, "person.name", LINKS)
    turned = Tables(dict(reversed(CHAIN.items())), "person.name", dict(reversed(LINKS.items())))
    assert first.entities == turned.entities
    assert {*first.private} == {*turned.private}
    assert first.version() == turned.version()


def test_a_world_shows_the_rows_of_its_units_and_the_public_ones():
    db = database()
    for world in (0, 7, 31):
        db.enter(world)
        for name, expected in tables_of(members(db, world)).items():
            found = run(db, f"FROM world.{name}")
            assert sorted(map(str, found)) == sorted(
                str(tuple(x.date() if hasattr(x, "date") else x for x in row))
                for row in expected.itertuples(index=False, name=None)
            )
    for name, data in (("staff", STAFF), ("visit", VISITS), ("codes", CODES)):
        shown = run(db, f"SELECT * FROM {name}", "fetchnumpy")
        assert list(shown) == list(data)
        assert len(shown[list(data)[0]]) == len(pd.DataFrame(data))


def test_each_row_may_be_a_unit_of_its_own():
    tables = Tables({"staff": pd.DataFrame(STAFF)}, "rows", worlds=16)
    assert tables.source.units.size == N
    assert "rows" not in tables.columns["staff"]
    assert [row[0] for row in run(tables, "DESCRIBE staff")] == list(STAFF)
    tables.enter(5)
    found = run(tables, "SELECT age FROM world.staff ORDER BY age")
    assert found == [(int(a),) for a in sorted(STAFF["age"][tables.source.masks[5]])]
    tables.enter([3, 5])
    found = run(tables, "SELECT age FROM world.staff ORDER BY age")
    assert found == [(int(a),) for a in sorted(STAFF["age"][[3, 5]])]
    tables.enter([])
    assert run(tables, "SELECT age FROM world.staff") == []


def test_the_version_is_of_the_rows_not_of_their_order():
    data = pd.DataFrame(STAFF)
    versions = [Tables({"staff": d}, "id").version() for d in (data, data[::-1], data[1:])]
    assert versions[0] == versions[1] != versions[2]
    assert Tables({"people": data}, "id").version() != versions[0]
    assert Tables({"staff": data}, "id").source.version == versions[0]


def test_columns_are_public_by_their_bare_name_where_one_private_table_has_them():
    db = database(public=("codes", "Dept", "code"))
    assert db.public == ("codes", "staff.dept", "visit.code")
    assert database(public=["codes"]).public == ("codes",)
    lone = Tables({"a": frame(x=[1, 2], y=[1, 2])}, "x", public="y")
    assert lone.public == ("a.y",)
    both = Tables({"a": frame(x=[1, 2]), "b": frame(y=[1])}, "a.x", public=["b", "y"])
    assert both.public == ("b", "b.y")


def test_links_between_public_tables_lead_to_nobody():
    tables = Tables(
        {"a": frame(x=[1, 2]), "b": frame(y=[1]), "c": frame(z=[1])},
        "a.x",
        {"b.y": "c.z"},
        public=["b", "c"],
    )
    assert tables.entities == {("a", "x"): "a.x"}
    assert list(tables.private) == ["a"]


def test_after_loading_no_file_is_read(tmp_path):
    db = database()
    path = tmp_path / "other.csv"
    path.write_text("x\n1\n")
    with pytest.raises(rpac.MechanismError, match="on every world; got a PermissionException"):
        run(db, f"FROM '{path}'")
    with pytest.raises(rpac.InputError, match="a query that DuckDB can run; got Permission"):
        described(db, f"FROM '{path}'")


def test_a_variable_of_python_is_no_table():
    secret = frame(x=[1, 2])
    assert len(secret) == 2
    with pytest.raises(rpac.InputError, match="a query that DuckDB can run; got Catalog"):
        described(database(), "SELECT x FROM secret")


def test_every_known_table_is_put_in_a_schema_and_names_in_with_are_not():
    db = database()
    tree = parsed(db, "WITH w AS (SELECT age FROM staff) SELECT avg(age) FROM w, codes")
    put_in_schema(tree, db, "pool")
    found = {(table.db, table.name) for table in tree.find_all(exp.Table)}
    assert found == {("pool", "staff"), ("pool", "codes"), ("", "w")}


BAD = {
    "no tables": (lambda: Tables({}, "a.b"), "Expected tables by name; got an empty dict"),
    "a frame": (lambda: Tables(frame(x=[1]), "x"), "Expected tables by name; got DataFrame"),
    "unlinked": (
        lambda: database(links={}),
        r"a link from table 'visit' to the unit, or its name in `public`; "
        r"got links from \[\] and public \['codes', 'staff.dept'\]",
    ),
    "both": (
        lambda: database(public=("codes", "visit")),
        "table 'visit' public or linked; got both: a link from visit.visitor. Choose one",
    ),
    "a public unit": (
        lambda: database(public=("codes", "staff")),
        "table 'staff' public or linked; got both: the unit",
    ),
    "public": (lambda: database(public=("codes", "dpt")), "in `public`; got 'dpt'"),
    "public column": (lambda: database(public=("codes", "staff.dpt")), "in `public`; got 'dpt'"),
    "public table": (lambda: database(public=("codes", "stuff.dept")), "`public`; got 'stuff'"),
    "public of two": (
        lambda: Tables({"a": frame(x=[1]), "b": frame(x=[1])}, "a.x", {"b.x": "a.x"}, public="x"),
        "Expected one of a.x, b.x in `public`; got 'x'",
    ),
    "public of many": (
        lambda: Tables({"a": frame(**{f"c{i}": [1] for i in range(15)})}, "c0", public="z"),
        r"Expected one of a, a.c0, .*a.c10, .*a.c14 in `public`; got 'z'",
    ),
    "unit table": (
        lambda: Tables({"a": frame(x=[1]), "b": frame(x=[1])}, "c.x"),
        r"a table among \['a', 'b'\] in `unit`; got 'c'",
    ),
    "unit column": (
        lambda: Tables({"a": frame(x=[1])}, "y"), r"a column among \['x'\] in `unit`; got 'y'"
    ),
    "rows of one of two": (
        lambda: Tables({"a": frame(x=[1]), "b": frame(x=[1])}, "a.rows", public=["b"]),
        r"a column among \['x'\] in `unit`; got 'rows'",
    ),
    "a column called rows": (
        lambda: Tables({"a": frame(rows=[1, 2])}, "rows"),
        "unit=\"rows\" for a table without a column of that name; got one in 'a'",
    ),
    "no dot": (lambda: database(links={"visitor": "staff.id"}), "\"table.column\"; got 'visitor'"),
    "no table": (lambda: database(links={".visitor": "staff.id"}), "got '.visitor'. Join them"),
    "link": (lambda: database(links={"visit.who": "staff.id"}), "in `links`; got 'who'"),
    "missing unit": (
        lambda: Tables({"a": frame(x=[1.0, None, 2.0])}, "x"),
        "Expected a unit in every row of a.x; got missing ones",
    ),
    "orphans": (
        lambda: Tables({"a": frame(x=[1, 2]), "b": frame(y=[1, 3])}, "a.x", {"b.y": "a.x"}),
        "an owner for every row of 'b'; got rows without",
    ),
    "shared key": (
        lambda: Tables(
            {"a": frame(x=[1, 2], k=[7, 7]), "b": frame(y=[7])}, "a.x", {"b.y": "a.k"}
        ),
        "keys a.k that belong to one unit each; got some with several",
    ),
    "hidden name": (
        lambda: Tables({"a": frame(x=[1, 2], __Unit=[1, 2])}, "x"),
        "Expected no column __unit; got one in 'a'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refused_declarations(name):
    call, message = BAD[name]
    with pytest.raises(rpac.InputError, match=message):
        _ = call().source  # a database is read when it is asked


def test_no_refusal_of_a_declaration_quotes_an_entry():
    secret = frame(x=["somebody", None], k=["hidden", "hidden"])
    for call in (
        lambda: Tables({"a": secret}, "x"),
        lambda: Tables({"a": secret, "b": frame(y=["hidden"])}, "a.k", {"b.y": "a.x"}),
        lambda: Tables({"a": secret.dropna(), "b": frame(y=["hidden"])}, "a.x", {"b.y": "a.x"}),
    ):
        with pytest.raises(rpac.InputError) as caught:
            call()
        assert "somebody" not in str(caught.value)
        assert "hidden" not in str(caught.value)


def test_a_second_link_of_a_table_ties_nobody():
    """It names somebody else: a row is owned by the first."""
    rng = np.random.default_rng(2)
    users = frame(id=range(12), boss=rng.integers(0, 12, 12))
    msg = frame(sender=rng.integers(0, 12, 60), receiver=rng.integers(0, 12, 60))
    links = {"msg.sender": "users.id", "msg.receiver": "users.id"}
    db = rpac.Database({"users": users, "msg": msg}, "users.id", links, worlds=16)
    assert ("msg", "receiver") not in db.entities
    sql = "SELECT avg(u.boss) AS a FROM users u JOIN msg m ON u.id = m.receiver"
    assert not db.query(sql).one_pass
    assert db.query(sql.replace("receiver", "sender")).one_pass


def test_more_worlds_than_a_query_can_name_are_refused_before_anything_is_read():
    with pytest.raises(
        rpac.errors.TooLarge, match=r"at most 8192 worlds in SQL; got 1000000\. Use"
    ):
        Tables({"t": "nowhere.parquet"}, "id", worlds=10**6)


def test_entries_of_an_enum_are_no_part_of_a_refusal(tmp_path):
    path = tmp_path / "staff.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT 'SECRET BOB'::ENUM('ann', 'SECRET BOB') AS id")
        made.execute("CREATE TABLE c AS SELECT 'q'::ENUM('q', 'ann') AS id")
    with pytest.raises(rpac.InputError, match=r"ids of one kind; got c.id ENUM and t.id ENUM. Lin"):
        _ = rpac.Database({"t": path, "c": path}, "t.id", {"c.id": "t.id"}).presence
