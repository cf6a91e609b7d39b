"""From the answers of all worlds to one table of numbers: large ones are held once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rpac._base.checks import finite
from rpac.worlds.flatten import Form, common_form, flatten
from rpac.worlds.stored import room_for

_LARGE = 1 << 14
"""Numbers of an answer from which each is put in its place as it comes."""


def collected(answers: Iterable[Any], worlds: int, store: Path | None = None) -> tuple[Form, Any]:
    """Return the one form of all answers, and their labels (m,) or numbers (m, d), read-only.

    Args:
        answers: One for each world, as they come; or an array of them.
        worlds: How many there will be, m.
        store: A folder, for large answers that are kept on the disk.

    Raises:
        MechanismError: If an answer is not numbers, or their forms differ.
        TooLarge: If m answers of the first one's size have no room. No other was asked for.
    """
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "iuf":
        found = flatten(answers[0])[0], _table(answers)
    else:
        rest = iter(answers)
        first = next(rest)
        form, row = flatten(first)
        if form.name == "label" or row.size < _LARGE:
            found = _small([first, *rest])
        else:
            found = _large(chain([first], rest), form, room_for(worlds, row.size, store))
    found[1].setflags(write=False)
    return found


def _large(answers: Iterator[Any], form: Form, table: Any) -> tuple[Form, Any]:
    """Put each answer in its place, and let it go."""
    for i, answer in enumerate(answers):
        own, row = flatten(answer)
        form, table[i] = common_form([form, own]), row
    return form, table


def _small(answers: list[Any]) -> tuple[Form, Any]:
    kinds = {(type(a), a.shape, a.dtype) for a in answers if isinstance(a, np.ndarray | np.generic)}
    if len(kinds) == 1 and all(isinstance(a, np.ndarray | np.generic) for a in answers):
        form = flatten(answers[0])[0]  # arrays of one shape and type: check them all at once
        if form.name == "label":
            return form, np.array(answers)
        return form, _table(np.stack(answers))
    pairs = [flatten(answer) for answer in answers]
    form = common_form([form for form, _ in pairs])
    rows = [row for _, row in pairs]
    return form, np.array(rows) if form.name == "label" else np.stack(rows)


def _table(answers: Any) -> Any:
    """Return an array of answers, of our own, as (m, d) finite numbers."""
    if answers.dtype != np.float64 or not finite(answers):
        return flatten(answers)[1].reshape(len(answers), -1)
    answers.setflags(write=False)
    return answers.reshape(len(answers), -1)
