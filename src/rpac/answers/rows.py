"""Any answer as rows of plain data: each number beside its error bars."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np

from rpac._base.types import Json
from rpac.pictures.words import FACT
from rpac.worlds import tables

MOST_ROWS = 10_000
"""Numbers of an array that have a row of their own, with their intervals."""


def plain(value: Any) -> Any:
    """Return a released value as plain JSON: tables as lists of rows, what is missing as None."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float | Decimal | datetime.date | datetime.time):
        return _scalar(value)
    if isinstance(value, dict):
        found = {str(key): plain(item) for key, item in value.items()}
        alike = len(found) < len(value)  # 1 and "1" are two keys
        return [[repr(k), plain(item)] for k, item in value.items()] if alike else found
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return value.tolist() if whole else plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict") and np.ndim(value) == 1:
        return {str(key): plain(item) for key, item in value.to_dict().items()}
    if tables.is_table(value):
        return [plain(row) for row in tables.table(value).rows(named=True)]
    return str(value)  # a group may be named by anything: a duration, a UUID


def _scalar(value: float | Decimal | datetime.date | datetime.time) -> float | str | None:
    if value != value:  # NaN, and what pandas has for a date that is missing
        return None
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else str(value)  # a group's name, say
    return value.isoformat()


def rows_of(value: Any, name: str) -> list[Json]:
    """Return any plain answer as rows with named columns."""
    if isinstance(value, dict):
        return [{"": str(key), name: plain(item)} for key, item in value.items()]
    found = plain(value)
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if isinstance(found, dict):  # a series
        return [{"": key, name: item} for key, item in found.items()]
    if isinstance(found, list):
        return [{"": i + 1, name: item} for i, item in enumerate(np.ravel(found).tolist())]
    return [{name: found}]


def answer_rows(release: Any, name: str, most: int = MOST_ROWS) -> list[Json]:
    """Return the answer row by row; each number with its two 95 % intervals, low and high.

    A number on which all worlds agree is named a fact of the pool instead. Of arrays of very many
    numbers the first `most` have rows; all of them are in the value.
    """
    if release.certificate.promise != "sample":
        return _noisy_rows(release, name, most)
    pairs = [release.noise_interval, release.sampling_interval, release.facts]
    sides = [
        [rows_of(_first(side, most), name) for side in pair] if pair else None for pair in pairs
    ]
    found = []
    for i, row in enumerate(rows_of(_first(release.value, most), name)):
        cells: Json = {}
        for column, value in row.items():
            ends = [
                [side[i][column] for side in both] if both is not None else None for both in sides
            ]
            cells[column] = _cell(value, *ends)
        found.append(cells)
    return found


def _first(value: Any, most: int) -> Any:
    if isinstance(value, np.ndarray) and value.size > most:
        return value.ravel()[:most]
    return value


def _noisy_rows(release: Any, name: str, most: int) -> list[Json]:
    """Return the answer about presence: numbers with the interval of their noise, if they have one.

    Which cells are numbers follows from the interval's ends; without one it is those that are
    no names: every number.
    """
    pair = release.noise_interval
    sides = None if pair is None else [rows_of(_first(side, most), name) for side in pair]
    found = []
    for i, row in enumerate(rows_of(_first(release.value, most), name)):
        cells: Json = {}
        for column, value in row.items():
            ends = None if sides is None else [side[i][column] for side in sides]
            bare = ends is None and isinstance(value, float)
            moved = ends is not None and ends[0] != ends[1]
            open_ = ends == [None, None] and value is not None  # a quantile: noise in its rank
            noise = None if open_ else ends
            cells[column] = {"value": value, "noise": noise} if bare or moved or open_ else value
        found.append(cells)
    return found


def _cell(value: Any, noise: Any, sampling: Any, fact: Any) -> Any:
    """Return one cell: a number with its intervals, a fact of the pool, or a name as it is."""
    if fact is not None and fact[0] != fact[1]:
        return {"value": value, "fact": FACT}
    moved = any(end is not None and end[0] != end[1] for end in (noise, sampling))
    return {"value": value, "noise": noise, "sampling": sampling} if moved else value
