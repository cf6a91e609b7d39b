"""Questions in SQL about tables of units, on DuckDB. Needs the extra `sql`."""

from importlib.util import find_spec

from rpac._base.checks import refuse

_MISSING = tuple(name for name in ("duckdb", "sqlglot") if find_spec(name) is None)
if _MISSING:
    raise refuse(
        "duckdb and sqlglot", f"no {' and no '.join(_MISSING)}", "pip install 'rpac[sql]'."
    )

from rpac.sql.database import Database  # noqa: E402  (kindly refused above without the extra)
from rpac.sql.query import Query  # noqa: E402

__all__ = ["Database", "Query"]
