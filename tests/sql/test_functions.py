"""Which functions a question may call: by DuckDB's own catalogue."""

import pytest

import rpac
from rpac.sql.functions import AGGREGATES, check_functions
from rpac.sql.parsing import parsed
from tests.sql.people import database, frame

DB = database()

UNKNOWN = (
    "list_sum(list(age))", "array_agg(age)", "string_agg(dept)", "group_concat(dept)",
    "regr_slope(age, salary)", "approx_quantile(age, 0.5)", "approx_count_distinct(age)",
    "arg_max(age, salary)", "max_by(age, salary)", "first(age)", "last(age)", "any_value(age)",
    "histogram(age)", "product(age)", "bit_xor(age)", "entropy(age)", "kurtosis(age)", "mode(age)",
    "geomean(age)", "wavg(age, salary)", "fsum(age)", "sem(age)", "grouping(dept)",
    "json_group_array(age)", "reservoir_quantile(age, 0.5)", "mad(age)",
)  # fmt: skip


@pytest.mark.parametrize("call", UNKNOWN)
def test_aggregates_of_no_known_growth_are_refused(call):
    tree = parsed(DB, f"SELECT {call} AS x FROM staff GROUP BY dept")
    with pytest.raises(
        rpac.InputError, match="grow with the sample in a known way; got .*Use avg, b"
    ):
        check_functions(tree)
    inside = parsed(DB, f"SELECT max(x) FROM (SELECT {call} AS x FROM staff GROUP BY dept)")
    with pytest.raises(rpac.InputError, match="in a known way"):
        check_functions(inside)


UNSTABLE = (
    "random()", "uuid()", "gen_random_uuid()", "now()", "today()", "current_date",
    "current_timestamp", "current_schema()", "getvariable('x')", "current_setting('threads')",
    "nextval('s')", "error('x')", "current_user", "txid_current()", "setseed(0.5)",
)  # fmt: skip


@pytest.mark.parametrize("call", UNSTABLE)
def test_what_may_change_between_runs_is_refused(call):
    tree = parsed(DB, f"SELECT avg(age) AS a FROM staff WHERE {call} IS NOT NULL")
    with pytest.raises(
        rpac.InputError, match="that depend on their arguments alone; got .* Write the"
    ):
        check_functions(tree)


def test_the_others_may_be_called():
    two = {"corr", "covar_pop", "covar_samp"}
    for name in AGGREGATES:
        inside = {"count_star": "", "count_if": "age > 3", "countif": "age > 3",
                  "bool_and": "age > 3",
                  "bool_or": "age > 3"}.get(name, "age")  # fmt: skip
        inside += ", salary" if name in two else ", 0.5" if name.startswith("quantile") else ""
        check_functions(parsed(DB, f"SELECT {name}({inside}) AS x FROM staff"))
    for items in ('max("first") AS "list"', "percentile_cont(0.5) WITHIN GROUP (ORDER BY first)"):
        db = rpac.Database({"t": frame(id=[1, 2, 3, 4], first=[1, 2, 3, 4])}, "id", worlds=4)
        check_functions(parsed(db, f"SELECT {items} FROM t"))
    check_functions(parsed(DB, "SELECT avg(list_sum([age, 1])) AS random, 'now()' AS x FROM staff"))


CODE = (
    "json_deserialize_sql(dept)", "json_serialize_sql(dept)", "json_serialize_plan(dept)",
    "getenv('HOME')", "pg_typeof(age)", "version()", "json_execute_serialized_sql(dept)",
    '"json_deserialize_sql"(dept)', "dept.json_deserialize_sql()", "read_text('x')",
)  # fmt: skip


@pytest.mark.parametrize("call", CODE)
def test_what_takes_text_for_code_is_refused(call):
    tree = parsed(DB, f"SELECT avg(length({call})) AS x FROM staff")
    with pytest.raises(rpac.InputError, match="that take no text for code; got .* Write what it"):
        check_functions(tree)


def test_a_name_in_quotes_is_called_as_well():
    tree = parsed(DB, 'SELECT avg(age) FROM staff WHERE main."random"() > 0.5')
    with pytest.raises(rpac.InputError, match="that depend on their arguments alone; got random"):
        check_functions(tree)
