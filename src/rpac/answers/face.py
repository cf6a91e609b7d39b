"""An answer as a table for people: a line for each number, with its error bars beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rpac._base.types import Json
from rpac.advantage import distance_to_success
from rpac.answers import precision
from rpac.certificate.certificate import Certificate

SHOWN = 40
"""Lines that are shown of an answer; all of it is in its value."""
_INTERVALS = {"noise": "without its noise", "sampling": "mean of all worlds"}


def table(
    rows: list[Json], *, words: bool = False, sign: str = precision.SIGN
) -> tuple[list[str], list[list[str]]]:
    """Return head and body of an answer's table.

    Args:
        rows: From `answer_rows`.
        words: Whether what was released are code words, which have no noise to be without.
        sign: What stands before a relative error.
    """
    lines = [line for row in rows for line in _lines(row)]
    keys = list(dict.fromkeys(name for where, _, _ in lines for name in where))
    named = len({name for _, name, _ in lines}) > 1
    cells = [cell for _, _, cell in lines]
    kinds = [kind for kind in _INTERVALS if any(cell.get(kind) for cell in cells)]
    titles = _INTERVALS | ({"noise": "the answer itself"} if words else {})
    head = [*(key or "key" for key in keys), *(["number"] if named else []), "released"]
    head += [sign] if any(map(precision.of, cells)) else []
    head += [f"{titles[kind]} (95 %)" for kind in kinds]
    body = []
    for where, name, cell in lines:
        line = [in_digits(where.get(key)) for key in keys] + ([name or "answer"] if named else [])
        line.append(in_digits(cell["value"]) + (" (a fact of the pool)" if "fact" in cell else ""))
        line += [precision.of(cell, sign).removeprefix(sign)] if sign in head else []
        body.append(line + [_range(cell.get(kind)) for kind in kinds])
    return head, body


def numbers(rows: list[Json]) -> list[Json]:
    """Return the numbers of an answer that can be drawn: name, column, value and ends of each.

    Where an answer has several columns the name is that of the row: columns have other units, so
    each has a panel of its own.
    """
    found, lines = [], [line for row in rows for line in _lines(row)]
    named = len({name for _, name, _ in lines}) > 1
    for where, name, cell in lines:
        keys = [str(key) for key in where.values() if key is not None]
        if isinstance(cell["value"], int | float) and not isinstance(cell["value"], bool):
            ends = {kind: _known(cell.get(kind)) for kind in _INTERVALS}
            label = ", ".join(keys) or name
            panel = name if named else ""
            known = {"name": label, "column": panel, "value": cell["value"]}
            found.append(known | {"noisy": precision.too_noisy(cell)} | ends)
    return found


def drawn(rows: list[Json]) -> list[str]:
    """Return the columns that hold numbers with their ends."""
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row[name] for row in rows if isinstance(row.get(name), dict)] for name in names}
    return [name for name in names if any(_known(cell.get("noise")) for cell in cells[name])]


def guesses(made: Certificate) -> Json:
    """Return how often somebody guesses right before and after, and what, by the sharpest figure.

    Args:
        made: A certificate, as it may be published.
    """
    if made.promise != "sample":
        success = distance_to_success(made.distance or 0.0)
        return {"before": 0.5, "after": success, "what": "whether a given person is in the data"}
    if made.worst_unit_success is not None:
        found, what = made.worst_unit_success, "whether a given person is in the sample"
        return {"before": 0.5, "after": found, "what": what}
    found, what = made.success_rate(0.5), "any yes-or-no fact of the sample"
    return {"before": 0.5, "after": found, "what": what}


def _known(ends: Any) -> tuple[float, float] | None:
    plain = ends and all(isinstance(end, int | float) and math.isfinite(end) for end in ends)
    return (ends[0], ends[1]) if plain else None


def _lines(row: Json) -> list[tuple[Json, str, Json]]:
    """Return the numbers of a row, each with the row's names and its own."""
    numbers = {name: cell for name, cell in row.items() if isinstance(cell, dict)}
    where = {name: cell for name, cell in row.items() if name not in numbers}
    if not numbers and where:  # a label: its last column is the answer
        name, value = where.popitem()
        return [(where, name, {"value": value})]
    return [(where, name, cell) for name, cell in numbers.items()]


def _range(ends: Any) -> str:
    return f"{in_digits(ends[0])} to {in_digits(ends[1])}" if ends and ends[0] is not None else ""


def in_digits(value: Any) -> str:
    """Return an entry of an answer as text: fractions to six significant digits.

    >>> in_digits(32274.058469922787), in_digits(3), in_digits(None)
    ('32274.1', '3', '')
    """
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
