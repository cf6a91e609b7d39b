"""An answer as a table for people: a line for each number, with its error bars beside it."""

from __future__ import annotations

import math
from typing import Any

from rpac._base.types import Json
from rpac.advantage import distance_to_success
from rpac.answers import precision
from rpac.certificate.certificate import Certificate

SHOWN = 40
"""Lines that are shown of an answer; all of it is in its value."""
_INTERVALS = {"noise": "without its noise", "sampling": "mean of all worlds"}


def table(rows: list[Json], *, words: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return head and body of an answer's table.

    Args:
        rows: From `answer_rows`.
        words: Whether what was released are code words, which have no noise to be without.
    """
    lines = [line for row in rows for line in _lines(row)]
    keys = list(dict.fromkeys(name for where, _, _ in lines for name in where))
    named = len({name for _, name, _ in lines}) > 1
    cells = [cell for _, _, cell in lines]
    kinds = [kind for kind in _INTERVALS if any(cell.get(kind) for cell in cells)]
    titles = _INTERVALS | ({"noise": "the answer itself"} if words else {})
    head = [*(key or "key" for key in keys), *(["number"] if named else []), "released"]
    head += ["+-"] if any(map(precision.of, cells)) else []
    head += [f"{titles[kind]} (95 %)" for kind in kinds]
    body = []
    for where, name, cell in lines:
        line = [_text(where.get(key)) for key in keys] + ([name or "answer"] if named else [])
        line.append(_text(cell["value"]) + (" (a fact of the pool)" if "fact" in cell else ""))
        line += [_bare(precision.of(cell))] if "+-" in head else []
        body.append(line + [_range(cell.get(kind)) for kind in kinds])
    return head, body


def numbers(rows: list[Json]) -> list[Json]:
    """Return the numbers of an answer that can be drawn, each with its name and its ends."""
    found, lines = [], [line for row in rows for line in _lines(row)]
    named = len({name for _, name, _ in lines}) > 1
    for where, name, cell in lines:
        keys = [str(key) for key in where.values() if key is not None]
        if isinstance(cell["value"], int | float) and not isinstance(cell["value"], bool):
            ends = {kind: _known(cell.get(kind)) for kind in _INTERVALS}
            own = [name] if named or not keys else []
            share = precision.relative(cell["value"], cell.get("noise"))
            noisy = share is not None and share > precision.TOO_NOISY
            label = ", ".join([*keys, *own])
            found.append({"name": label, "value": cell["value"], "noisy": noisy} | ends)
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


def _bare(said: str) -> str:
    return said.removeprefix("+-")


def _range(ends: Any) -> str:
    return f"{_text(ends[0])} to {_text(ends[1])}" if ends and ends[0] is not None else ""


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
