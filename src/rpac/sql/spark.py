"""Tables of a Spark session (a cluster's, or Spark Connect), asked in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, final

from rpac.sql.elsewhere import Elsewhere

_ANSI = "spark.sql.ansi.enabled"


@final
class Spark(Elsewhere):
    """Tables and views that a Spark session knows by name."""

    dialect = "spark"
    double = "DOUBLE"
    types = MappingProxyType({
        "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
        "float": "FLOAT", "double": "DOUBLE", "decimal": "DECIMAL", "boolean": "BOOLEAN",
        "date": "DATE", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP",
        "string": "VARCHAR",
    })  # fmt: skip

    def __init__(self, session: Any) -> None:
        super().__init__()
        self._session = session

    def describe(self, table: str) -> list[tuple[str, str]]:
        """Return names and types of the columns of a table or view."""
        return [(f.name, f.dataType.simpleString()) for f in self._session.table(table).schema]

    def md5(self, salt: str) -> str:
        """Return SQL for the hash of a text and the id k."""
        return f"md5(concat('{salt}', CAST(k AS STRING)))"

    def byte(self, text: str) -> str:
        """Return SQL for the number of two hexadecimal digits."""
        return f"CAST(conv({text}, 16, 10) AS INT)"

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._lenient():
            return [tuple(row) for row in self._session.sql(sql).collect()]

    @contextmanager
    def _lenient(self) -> Iterator[None]:
        """Let what fails on a row be NULL there, as TRY does, and nowhere else."""
        before = self._session.conf.get(_ANSI)
        self._session.conf.set(_ANSI, "false")
        try:
            yield
        finally:
            self._session.conf.set(_ANSI, before)
