"""Tables of any kind: pandas, polars, pyarrow, DuckDB relations, CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.limits import fit
from rpac._base.types import Floats
from rpac.worlds.files import existing, is_csv, is_warehouse, parquet_files, reader

if TYPE_CHECKING:
    import narwhals as nw

_MOVE = "Pass a pandas, polars or pyarrow frame, a DuckDB relation, or a CSV or Parquet path."
_LAZY = "Compute it before: what may fail on a row (a cast), it is to try (TRY_CAST)."
_OUT_OF_CORE = "Ask in SQL (rpac.Database): DuckDB reads what memory cannot hold."


def is_table(data: Any) -> bool:
    """Whether `data` is a data frame, a relation or the path of a file of rows."""
    if isinstance(data, str | Path) or hasattr(data, "collect_schema"):
        return True
    return hasattr(data, "columns") or hasattr(data, "column_names")


def read(path: str | Path) -> Any:
    """Return the rows of a CSV, of a Parquet file, or of a folder or glob of Parquet files.

    As polars, pandas or pyarrow: what is installed.

    Raises:
        TooLarge: If the files alone are larger than what their rows may take in memory.
    """
    import narwhals as nw

    file = Path(path)
    if is_warehouse(file):
        raise refuse("a .csv or .parquet file", repr(file.name), "Ask it in SQL: rpac.Database.")
    files = [str(existing(file))] if is_csv(file) else parquet_files(file)
    fit(sum(Path(f).stat().st_size for f in files), f"the rows of {file.name!r}", _OUT_OF_CORE)
    reads: Any = nw.read_csv if is_csv(file) else nw.read_parquet
    backend = reader()
    try:
        parts = [reads(one, backend=backend) for one in files]
        return (parts[0] if len(parts) == 1 else nw.concat(parts)).to_native()
    except Exception as error:  # each backend has errors of its own, and they may quote rows
        raise refuse(
            f"rows in {file.name!r}", f"a {type(error).__name__}", "Check the file's format."
        ) from None


def table(data: Any) -> nw.DataFrame[Any]:
    """Return any table as an eager narwhals frame; relations and lazy frames are collected."""
    import narwhals as nw

    native = read(data) if isinstance(data, str | Path) else data
    try:
        frame: Any = nw.from_native(native)
        found = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    except Exception:  # a lazy one is computed here, and its errors tell of rows
        kind = type(data).__name__
        lazy = hasattr(data, "collect_schema") or kind == "DuckDBPyRelation"
        got, move = (f"a {kind} that fails", _LAZY) if lazy else (kind, _MOVE)
        raise refuse("a table", got, move) from None
    names = list(found.columns)
    if len(set(names)) != len(names) or not names:
        raise refuse("at least one column, with unique names", names[:12], "Rename them.")
    return found


def alike(frame: nw.DataFrame[Any], kind: str) -> Any:
    """Return the frame as a table of the named type; files come back as what read them."""
    if kind == "DuckDBPyRelation":
        import duckdb

        return duckdb.from_arrow(frame.to_arrow())
    return frame.lazy().to_native() if kind == "LazyFrame" else frame.to_native()


def picked(frame: nw.DataFrame[Any], rows: Any, kind: str) -> Any:
    """Return the rows of these numbers, as a table of the named type."""
    if kind in {"DuckDBPyRelation", "LazyFrame"}:
        return alike(frame[rows], kind)
    native = frame.to_native()
    return native.take(rows) if hasattr(native, "take") else native[rows]  # polars has none


def require_columns(frame: nw.DataFrame[Any], names: tuple[str, ...]) -> None:
    """Refuse unless all these columns are there."""
    known_columns(frame.columns, names)


def known_columns(columns: Sequence[str], names: Sequence[Any]) -> None:
    """Refuse unless all these names are among the columns of a table."""
    missing = [name for name in names if name not in columns]
    if missing:
        known = ", ".join(map(repr, columns))
        raise refuse(f"a column among {known}", repr(missing[0]), "Name one of them.")


def keys(frame: nw.DataFrame[Any], name: str) -> Any:
    """Return a column that tells units apart, as a NumPy array; missing entries are refused."""
    require_columns(frame, (name,))
    column = frame[name]
    values = column.to_numpy()
    hollow = bool(column.is_null().any())
    if values.dtype.kind == "f":
        hollow = hollow or bool(np.isnan(values).any())
    if values.dtype.kind == "O":
        hollow = hollow or any(v is None or v != v for v in values)  # NaN differs from itself
    if hollow:
        move = "Say whose rows they are: fill them in, or drop those rows."
        raise refuse("an entry in every row of the `unit` column", "missing ones", move)
    return values


def numbers(frame: nw.DataFrame[Any], name: str) -> Floats:
    """Return a column of numbers, (rows,) float64; missing entries are NaN."""
    import narwhals as nw

    require_columns(frame, (name,))
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise refuse(
            f"numbers in column {name!r}", type(column.dtype).__name__, "Convert it to numbers."
        )
    values = column.to_numpy()
    if values.dtype.kind not in "biuf":  # decimals, and integers beside missing entries
        values = column.cast(nw.Float64).to_numpy()
    return np.array(values, dtype=np.float64)
