"""Files of rows: a CSV, plain or compressed; one Parquet file, a folder or a glob of them.

What a folder or a file between is called is no column: `zip=1/part.parquet` has those inside it,
and no refusal names it. A glob means no CSV, whose types would be inferred from rows.
"""

from __future__ import annotations

import csv
import glob
import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rpac._base.checks import refuse

CSV = (".csv", ".csv.gz")
WAREHOUSES = (".duckdb", ".ddb")
_READERS = ("polars", "pandas", "pyarrow")


def is_csv(data: Any) -> bool:
    """Whether a path is that of a CSV file."""
    return isinstance(data, str | Path) and str(data).lower().endswith(CSV)


def is_warehouse(data: Any) -> bool:
    """Whether a path is that of a DuckDB file, which has tables of its own."""
    return isinstance(data, str | Path) and str(data).lower().endswith(WAREHOUSES)


def existing(file: Path) -> Path:
    """Return a file that is there."""
    if not file.is_file():
        raise refuse("a file that exists", repr(file.name), "Check the path.")
    return file


def parquet_files(path: Any) -> list[str]:
    """Return the Parquet files that a path, a folder or a glob means now; none if it is no path."""
    if not isinstance(path, str | Path) or is_csv(path) or is_warehouse(path):
        return []
    file = Path(path)
    if file.is_dir():
        found = sorted(str(one) for one in file.rglob("*.parquet"))
    elif glob.has_magic(str(file)) and not file.is_file():
        found = sorted(one for one in glob.glob(str(file), recursive=True) if not is_csv(one))
    elif file.name.lower().endswith(".parquet"):
        found = [str(existing(file))]
    else:
        raise refuse("a .csv, .parquet or .duckdb file", repr(file.name), "Convert it first.")
    if not found:
        raise refuse("Parquet files", f"none in {file.name!r}", "Check the path.")
    return [str(Path(one).resolve()) for one in found]


def table_name(path: str | Path) -> str:
    """Return what a table is called after its file, its folder, or the folder of its glob.

    >>> table_name("staff.csv.gz"), table_name("stays/"), table_name("stays/*.parquet")
    ('staff', 'stays', 'stays')
    """
    plain = [part for part in Path(path).parts if not glob.has_magic(part)]
    return Path(plain[-1] if plain else path).name.partition(".")[0]


def reader() -> str:
    """Return the library that reads files: the first that is installed."""
    backend = next((name for name in _READERS if find_spec(name)), None)
    if backend is None:
        raise refuse("a reader of tables", "none", "pip install polars, pandas or pyarrow.")
    return backend


def column_names(data: Any) -> list[str] | None:
    """Return the names of a table's columns; None where nothing but reading it would tell.

    Of a CSV its first line is read, of Parquet what the first file declares, and no row.
    """
    if is_csv(data):
        file = existing(Path(data))
        opened: Any = gzip.open if file.suffix.lower() == ".gz" else open
        with opened(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
            return [name.strip() for name in next(csv.reader(lines), [])]
    if isinstance(data, str | Path):
        return _declared(parquet_files(data), Path(data)) if not is_warehouse(data) else None
    if hasattr(data, "collect"):  # a lazy frame would have to be worked out
        return None
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return None if names is None else list(map(str, names))


def _declared(files: list[str], path: Path) -> list[str]:
    """Return the columns that the first of some Parquet files, those of a path, declares."""
    import narwhals as nw

    backend: Any = reader()
    try:
        return list(nw.scan_parquet(files[0], backend=backend).collect_schema().names())
    except Exception as error:  # each backend has errors of its own
        got = f"a {type(error).__name__}"
        raise refuse(f"rows in {path.name!r}", got, "Check the format of its files.") from None
