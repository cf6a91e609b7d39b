"""Questions in SQL about tables of units, on DuckDB. Needs the extra `sql`."""

from rpac.sql.database import Database
from rpac.sql.query import Query

__all__ = ["Database", "Query"]
