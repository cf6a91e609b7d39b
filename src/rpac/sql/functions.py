"""Functions that a question may call: aggregates of a known degree, and nothing that may change.

What DuckDB calls an aggregate comes from its own catalogue, so that one that the parser does not
know as such (`list`, `regr_slope`) is seen as well; so does what may change between runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import duckdb
import sqlglot
from sqlglot.tokens import TokenType  # type: ignore[attr-defined,unused-ignore]

from rpac._base.checks import refuse
from rpac.sql.syntax import Node, snippet

AGGREGATES = (
    "avg", "bool_and", "bool_or", "corr", "count", "count_if", "countif", "count_star", "covar_pop",
    "covar_samp", "max", "mean", "median", "min", "quantile", "quantile_cont",
    "quantile_disc", "stddev", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp",
    "variance",
)  # fmt: skip
"""Aggregates whose growth with the sample is certain (rule D3), whatever the order of rows."""
_ROWS = ("grouping", "grouping_id", "generate_subscripts", "regexp_split_to_table")
"""Functions whose answer is not made of one row's entries alone."""
_WORDS = frozenset({
    "current_date", "current_time", "current_timestamp", "current_user", "current_role",
    "current_catalog", "localtime", "localtimestamp", "session_user",
})  # fmt: skip
"""What is called without parentheses."""
_CODE = re.compile(
    r"json_(de)?serialize_(sql|plan)|json_execute_serialized_sql|query|query_table|getenv|read_\w+"
    r"|sql_auto_complete|parse_duckdb_log_message|cast_to_type|make_type|alias|\w+_scan"
    r"|(pg|has|duckdb|pragma|sniff)_(?!any$|all$)\w+|col_description|shobj_description|glob|version"
)
"""What takes text for code, or tells of the machine, the catalogue and the session."""
_MOVE = "Use " + ", ".join(name for name in AGGREGATES if name not in {"countif", "count_star"})


def check_functions(tree: Node) -> None:
    """Refuse aggregates of no known degree, and whatever may answer otherwise on a second run."""
    aggregates, unstable = _catalogue()
    for name in _called(tree.sql("duckdb")):
        if name in aggregates:
            raise refuse("aggregates that grow with the sample in a known way", name, f"{_MOVE}.")
        if _CODE.fullmatch(name):
            got, move = f"{name} in {snippet(tree)}", "Write what it would return."
            raise refuse("functions that take no text for code", got, move)
        if name in unstable:
            got, move = f"{name} in {snippet(tree)}", "Write the value itself."
            raise refuse("functions that depend on their arguments alone", got, move)


def _called(sql: str) -> Iterator[str]:
    """Yield the names of all functions in the text that DuckDB will run."""
    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type == TokenType.STRING:
            continue
        name, bare = token.text.lower(), token.token_type != TokenType.IDENTIFIER
        called = after is not None and after.token_type == TokenType.L_PAREN
        if called or (bare and name in _WORDS):  # a name in quotes is called as well as any
            yield name


@cache
def _catalogue() -> tuple[frozenset[str], frozenset[str]]:
    """Return DuckDB's own names of aggregates that are refused, and of functions that may change.

    Macros over either count as such.
    """
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT lower(function_name), function_type, coalesce(stability, ''), "
            "coalesce(macro_definition, '') FROM duckdb_functions()"
        ).fetchall()
    every = {name for name, kind, *_ in found if kind == "aggregate"}
    unstable = {name for name, _, how, _ in found if how not in ("", "CONSISTENT")} | _WORDS
    for _ in range(3):  # macros of macros
        for name, _, _, body in found:
            calls = set(re.findall(r'(\w+)"?\(', body)) | set(re.findall(r"\w+", body)) & _WORDS
            every |= {name} if calls & every else set()
            unstable |= {name} if calls & unstable else set()
    every |= {*_ROWS, "approx_distinct"}
    return frozenset(every - {*AGGREGATES}), frozenset(unstable)
