"""Entries of a table, each read by itself: no type is inferred from other people's rows.

One missing entry turns a column of integers into floats, one word turns it into text: what a
library infers tells of whoever made it so. Here a number is what reads as a number, whatever the
column's type; text is the entry's own, with numbers in one spelling (1, 1.0 and "01" are "1") and
days too. So what is read of a row is a function of that row alone, and nothing that stands in it is
refused: what its library cannot show (a date beyond all calendars, characters that are none) is
missing. Where one entry decides the type of a column (pandas, NumPy, lists) numbers are spelled by
their float64, which one missing entry would have made of them all; elsewhere as they are. An array
has one type for all of it, so its truths are the numbers 1 and 0, as words too.

A file says where its rows end: a quote that opens a CSV field and is never closed is no row of one
person, and a writer of CSV does not write it.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, final
from uuid import UUID

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.worlds import tables
from rpac.worlds.files import existing, is_csv, parquet_files, reader

_LONGEST = (1 << 31) - 1
_WHOLE = 2.0**63
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d")
_TIME = re.compile(r"\d?\d:\d\d(:\d\d(\.\d+)?)?")
_NUMBERS = (str, Real, Decimal, np.bool_, complex, np.complexfloating)
_SPELLED = (*_NUMBERS, bytes, dt.date, dt.time, np.datetime64, UUID)
_KEPT = ("Int", "UInt", "string", "boolean")
"""Columns of pandas whose type no entry decides: they keep whole numbers beside missing ones."""
_TRUTHS = MappingProxyType({"true": "1", "false": "0"})
_TYPED = ("iuf", "biuf")
_ENDLESS = MappingProxyType(
    {sign + word: end for sign, end in (("", "inf"), ("+", "inf"), ("-", "-inf"))
     for word in ("inf", "infinity")}
)  # fmt: skip
FIRST = "Write their names in its first line."


def number(entry: Any) -> float:
    """Return an entry as a number; NaN if it is none.

    A truth is one however it is kept: one odd entry makes text of a whole column of truths.

    >>> number(" 1.50 "), number("none"), number(True), number("True")
    (1.5, nan, 1.0, 1.0)
    """
    if not isinstance(entry, _NUMBERS) or isinstance(entry, np.timedelta64):
        return math.nan
    try:  # one imaginary entry makes complex numbers of all
        plain: Any = entry
        if isinstance(entry, complex | np.complexfloating) and entry.imag == 0:
            plain = entry.real
        found = float(plain)
    except Exception:
        word = str.lower(str.strip(entry)) if isinstance(entry, str) else ""
        return float(_TRUTHS.get(word, "nan"))
    return found if math.isfinite(found) else math.nan


def text(entry: Any) -> str | None:
    """Return an entry as text in its one spelling; None if it is missing.

    Lists, structs and other things with parts are missing: one person's would show in everybody's.

    >>> text(1.0), text("01"), text(" lab"), text(""), text(None)
    ('1', '1', 'lab', None, None)
    """
    try:
        odd = not isinstance(entry, _SPELLED) or isinstance(entry, np.timedelta64)
        if odd or entry != entry:  # NaN, and a missing date
            return None
        if isinstance(entry, np.datetime64):
            entry = entry.astype("datetime64[us]").item()  # in one unit, whatever the column's
        word = str(entry).strip()
    except (Exception, SystemExit):  # what can be neither compared nor spelled
        return None
    if moment := _moment(word):
        return moment
    if word.lower() in {"true", "false"}:
        return word.lower()
    value = number(word)
    if math.isnan(value):
        return _ENDLESS.get(word.lower(), word) or None
    try:
        return str(int(word))  # exactly: numbers of people may have more than 53 bits
    except ValueError:
        whole = value == math.floor(value) and abs(value) < _WHOLE
        return str(int(value)) if whole else repr(value)


def _moment(word: str) -> str | None:
    """Return the one spelling of a moment or a time of day; None of anything else.

    Whatever read it may have kept its letters, or a moment in another zone: it is told in
    universal time, to a millionth of a second, and without a time if that is midnight.
    """
    try:
        if _MOMENT.match(word):
            found = dt.datetime.fromisoformat(word)
            if found.tzinfo is not None:
                return str(found.astimezone(dt.UTC))
            return str(found.date() if found.time() == dt.time() else found)
        if _TIME.fullmatch(word):
            return str(dt.time.fromisoformat(word.zfill(len(word) + (word[1] == ":"))))
    except (ValueError, OverflowError):
        return None
    return None


@final
class Entries:
    """A table of any kind, column by column.

    Args:
        data: An array (rows first), a list (of dicts, say), any data frame that narwhals knows, a
            DuckDB relation, or the path of a CSV, a Parquet file, or a folder or glob of these.

    Attributes:
        columns: Names of its columns; those of an array are "0", "1", ...
        size: Number of rows. Sealed: never print it.
    """

    def __init__(self, data: Any) -> None:
        self.data: Any = data
        self._columns: Mapping[str, Any] | None = None
        files = parquet_files(data)
        if is_csv(data):
            self._columns = _read_csv(Path(data))
        elif len(files) > 1:
            self._columns = _read_files(files)
        elif isinstance(data, np.ndarray):
            rows = np.atleast_1d(_filled(data))
            rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
            self._columns = {str(j): rows[:, j] for j in range(rows.shape[1])}
        elif isinstance(data, list | tuple | range):
            self._columns = _read_list(data)
        else:
            self._frame = tables.table(_parquet(files[0]) if files else data)
        self.columns = list(self._frame.columns if self._columns is None else self._columns)
        found: Any = self._frame if self._columns is None else data
        if isinstance(data, str | Path) and self._columns is not None:
            found = next(iter(self._columns.values()))
        self.size = len(np.atleast_1d(found) if isinstance(data, np.ndarray) else found)

    @property
    def library(self) -> str | None:
        """The library of the table, or that which would read the file; None for an array."""
        if isinstance(self.data, str | Path):
            return reader()
        return str(self._frame.implementation.value) if self._columns is None else None

    @property
    def ragged(self) -> bool:
        """Whether rows decide what they have: then no name is refused, and most are missing."""
        return isinstance(self.data, list | tuple | range)

    def check(self, name: str) -> None:
        """Refuse a name that is no column's; no row is looked at."""
        if str(name) not in map(str, self.columns) and not self.ragged:
            known = ", ".join(map(repr, self.columns))
            raise refuse(f"a column among {known}", repr(name), "Name one of them.")

    def of(self, name: str) -> Any:
        """Return the entries of a column, each by itself; None for what cannot be shown."""
        self.check(name)
        name = name if self._columns is None else str(name)  # an array's may be given as numbers
        if self._columns is not None:
            return self._columns.get(name, [None] * self.size)
        return _listed(self._frame[name])

    def numbers(self, name: str) -> Floats:
        """Return a column as (rows,) numbers; NaN for what is missing or none."""
        self.check(name)
        plain = self._columns is None and self._frame[name].dtype.is_numeric()
        try:
            found = self._frame[name].to_numpy() if plain else self.of(name)
        except Exception:  # numbers of 128 bits
            found = self.of(name)
        if isinstance(found, np.ndarray) and found.dtype.kind in "biuf":
            values = found.astype(np.float64)
            return np.where(np.isfinite(values), values, np.nan)
        if self._array:
            found = [self.spelled(entry) if isinstance(entry, str) else entry for entry in found]
        return np.array([number(entry) for entry in found], np.float64)

    def texts(self, name: str) -> list[str | None]:
        """Return a column as text, each entry in its one spelling; None for what is missing."""
        found = self.of(name)
        if self._loose(name):
            plain = isinstance(found, np.ndarray) and found.dtype.kind in _TYPED[self._array]
            found = found.astype(np.float64).tolist() if plain else list(map(_floated, found))
        inferred = self._loose(name) and (self._columns is None or self._array)
        spelled = self._rounded if inferred else self.spelled
        known = {word: spelled(word) for word in {entry for entry in found if type(entry) is str}}
        return [known[entry] if type(entry) is str else spelled(entry) for entry in found]

    def _rounded(self, entry: Any) -> str | None:
        """Return an entry as `spelled`; of a long whole number what float64 has of it."""
        word = self.spelled(entry)
        long = word is not None and len(word) > 15 and word.lstrip("-").isdecimal()
        return text(float(word)) if word is not None and long else word

    def spelled(self, entry: Any) -> str | None:
        """Return an entry, or the name of a group, as this table's texts have it."""
        word = text(entry)
        return _TRUTHS.get(word, word) if self._array and word is not None else word

    @property
    def _array(self) -> bool:
        return isinstance(self.data, np.ndarray)

    def _loose(self, name: str) -> bool:
        """Whether one entry decides the type of a column: then numbers are what float64 has."""
        if self._columns is not None:
            return not isinstance(self.data, str | Path)
        kind = str(getattr(self._frame[name].to_native(), "dtype", ""))
        kept = kind.startswith(_KEPT) or kind.endswith("[pyarrow]")
        return self._frame.implementation.is_pandas() and not kept

    def owners(self, name: str) -> Ints:
        """Return (rows,) whose row it is, by number; -1 where no owner is named."""
        words = self.texts(name)
        numbers: dict[str, int] = {}
        return np.array(
            [-1 if w is None else numbers.setdefault(w, len(numbers)) for w in words], np.int64
        )


def _floated(entry: Any) -> Any:
    if isinstance(entry, str | bool | np.bool_) or not isinstance(entry, _NUMBERS):
        return entry
    found = number(entry)
    return entry if math.isnan(found) else found


def _filled(data: Any) -> Any:
    """Return an array without a mask: what it hides is missing; and with text in place of bytes."""
    if np.ma.isMaskedArray(data):
        return np.ma.filled(data.astype(object), None)
    return np.char.decode(data, "utf-8", "replace") if data.dtype.kind == "S" else data


def _parquet(file: str) -> Any:
    """Return a Parquet file as Arrow has it, which looks at no entry, where it is installed."""
    try:
        from pyarrow.parquet import read_table

        return read_table(file, partitioning=None)
    except Exception:  # not installed, or no Parquet: as others find
        return file


def _read_files(files: list[str]) -> dict[str, list[Any]]:
    """Return the columns of several Parquet files; what types they have there does not matter."""
    parts = [Entries(file) for file in files]
    if any(part.columns != parts[0].columns for part in parts):
        got, move = "others in some", "Write them with the same columns."
        raise refuse("the same columns in all files of a table", got, move)
    return {name: [e for part in parts for e in part.of(name)] for name in parts[0].columns}


def _listed(column: Any) -> Any:
    """Return the entries of a column of a frame; what its library cannot show is None."""
    native = column.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype) and native.dtype.kind in "biuf":
        return native.to_numpy()
    try:
        if column.implementation.is_polars():  # whose own list may panic, and say so
            native = native.to_arrow()
        shown = getattr(native, "to_pylist", None) or native.to_list
        return shown()
    except Exception:
        one = getattr(native, "iloc", native)
        return [_shown(one, i) for i in range(len(native))]


def _shown(column: Any, i: int) -> Any:
    try:
        entry = column[i]
        return entry.as_py() if hasattr(entry, "as_py") else entry
    except Exception:
        return None


def _read_list(data: Any) -> dict[str, list[Any]]:
    """Return the columns of a list of rows, all that some row has, each entry as it is."""
    rows = [_read_row(row) for row in data]
    names = sorted({name for row in rows for name in row}, key=lambda name: (len(name), name))
    return {name: [row.get(name) for row in rows] for name in names or ["0"]}


def _read_row(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): entry for name, entry in row.items()}
    many = isinstance(row, list | tuple | np.ndarray) and int(getattr(row, "ndim", 1)) > 0
    return {str(j): entry for j, entry in enumerate(row if many else [row])}


def _read_csv(file: Path) -> dict[str, list[str | None]]:
    """Return the columns of a CSV file as they are written; short rows are filled up, long cut."""
    existing(file)
    csv.field_size_limit(_LONGEST)  # one long entry must not stop the reading of all others
    opened: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        rows = csv.reader(lines)
        names = [name.strip() for name in next(rows, [])]
        if not names or len(set(names)) != len(names):
            got, move = (names[:12], "Rename them.") if names else (f"none in {file.name!r}", FIRST)
            raise refuse("at least one column, with unique names", got, move)
        width = len(names)
        full = [(row + [""] * width)[:width] for row in rows if row]
    return {name: [row[j] or None for row in full] for j, name in enumerate(names)}
