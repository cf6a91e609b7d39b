"""From the rows of all chunks to one table of numbers: large ones are held once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rpac.worlds.chunks import Numbers, Rows, black_box
from rpac.worlds.flatten import Form, common_form
from rpac.worlds.stored import room_for

_LARGE = 1 << 14
"""Numbers of an answer from which each is put in its place as it comes."""


def collected(
    parts: Iterable[tuple[Numbers, Rows]], worlds: int, store: Path | None = None
) -> tuple[Form, Any]:
    """Return the one form of all answers, and their labels (m,) or numbers (m, d), read-only.

    Args:
        parts: Rows of chunks of worlds, as they come, in whatever order.
        worlds: How many worlds there will be, m.
        store: A folder, for large answers that are kept on the disk.

    Raises:
        MechanismError: If forms differ.
        TooLarge: If m answers of the first ones' size have no room. No other was asked for.
    """
    rest = iter(parts)
    first = next(rest)
    form, rows = first[1]
    if form.name == "label" or rows.shape[1] < _LARGE:
        found = _small([first, *rest])
    else:
        found = _large(chain([first], rest), form, room_for(worlds, rows.shape[1], store))
    found[1].setflags(write=False)
    return found


def _large(parts: Iterator[tuple[Numbers, Rows]], form: Form, table: Any) -> tuple[Form, Any]:
    """Put the rows of each chunk in their places, and let them go."""
    for numbers, (own, rows) in parts:
        form = _common([form, own])
        table[numbers[0] : numbers[0] + len(numbers)] = rows
    return form, table


def _common(forms: list[Form]) -> Form:
    """Return the one form of all; names in it may be objects that raise when they are compared."""
    with black_box():
        return common_form(forms)


def _small(parts: list[tuple[Numbers, Rows]]) -> tuple[Form, Any]:
    ordered = [rows for _, rows in sorted(parts, key=lambda part: part[0][0])]
    form = _common([form for form, _ in ordered])
    values = [values for _, values in ordered]
    return form, values[0] if len(values) == 1 else np.concatenate(values)
