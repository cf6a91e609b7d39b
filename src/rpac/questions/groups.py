"""Public groups by the entries of one column or of several, and the table that several make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from rpac._base.checks import refuse, whole_characters
from rpac._base.types import Floats
from rpac.person.source import Presence
from rpac.worlds import tables as frames
from rpac.worlds.source import Source, Subsets

OTHER = "other"
MOST = 100_000
"""Groups that a question may have."""
Grouping = str | tuple[str, ...] | None
"""The column that names groups; several, whose entries name them together."""


def columns_of(group: Grouping) -> tuple[str, ...]:
    """Return the columns that name groups."""
    return () if group is None else (group,) if isinstance(group, str) else group


def listed(group: Grouping, keys: Any) -> list[list[Any]]:
    """Return the groups that are listed for each column; what is no such list is refused.

    Args:
        group: One column or several.
        keys: The groups of one column; for several a list for each, by name or in their order.
    """
    each = _of_each(columns_of(group), {group: keys} if _plain(group, keys) else keys)
    for name, one in zip(columns_of(group), each, strict=True):
        if one is None or isinstance(one, str):
            move = "List the public groups: keys=['a', 'b']."
            if not isinstance(group, str):
                move = f"List them for each: keys={{{name!r}: ['a', 'b'], ...}}."
            raise refuse(f"keys of {name!r}", "none" if one is None else repr(one), move)
        names = [str(key) for key in one]
        whole_characters(names, "keys")
        if not names or len({*names}) != len(names) or OTHER in names:
            got = list(one)
            raise refuse("keys that differ, without 'other'", got, "List the public groups.")
    many = math.prod(map(len, each))
    if many > MOST:
        raise refuse(f"at most {MOST} groups", many, "List fewer keys, or group by less.")
    return [list(one) for one in each]


def _plain(group: Grouping, keys: Any) -> bool:
    """Whether keys are those of one column, by themselves; several columns have to differ."""
    if isinstance(group, str):
        return not isinstance(keys, Mapping)
    columns = columns_of(group)
    if len(columns) < 2 or len({*columns}) < len(columns):
        raise refuse("several columns that differ", columns, "Name one column as it is.")
    return False


def _of_each(columns: tuple[str, ...], keys: Any) -> list[Any]:
    """Return what is listed for each of the columns, by name or in their order."""
    known = keys if isinstance(keys, Mapping) else dict(zip(columns, keys or (), strict=False))
    lost = [name for name in known if name not in columns]
    if lost or (not isinstance(keys, Mapping) and keys is not None and len(keys) > len(columns)):
        got = repr(lost[0]) if lost else f"{len(keys)} lists"
        raise refuse(f"keys of {', '.join(columns)} alone", got, "List groups of these columns.")
    return [known.get(name) for name in columns]


def labels(group: Grouping, keys: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Return the names of all groups, and last that of all other rows."""
    if isinstance(group, str):
        return (*map(str, keys[0]), OTHER)
    every = product(*([str(key) for key in one] for one in keys))
    return (*every, (OTHER,) * len(keys))


def entries(frame: Any, group: Any) -> list[Any]:
    """Return the group that each row names, as text, so that keys compare alike in every table."""
    if not isinstance(group, str):
        return list(zip(*(entries(frame, name) for name in group), strict=True))
    frames.require_columns(frame, (group,))
    return [OTHER if value is None else str(value) for value in frame[group].to_list()]


def places(found: Sequence[Any], names: Sequence[Any]) -> Any:
    """Return the place of every entry among the names, and that after the last for others."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(entry, len(names)) for entry in found], dtype=np.int64)


def in_words(name: str, label: Any) -> str:
    """Return what a number is called: by its question and its group."""
    return f"{name}: {label if isinstance(label, str) else ', '.join(label)}"


def table(
    group: tuple[str, ...], rows: Sequence[Any], name: str, source: Source, *, whole: bool
) -> Callable[[Floats], Any]:
    """Return what makes a table of numbers: a column for each key, one for the number.

    Of the library that the source is of; without one, rows of dicts.
    """
    library: Any = None
    if isinstance(source, Subsets) and source.frame is not None:
        library = str(source.frame.implementation.value)
    if isinstance(source, Presence) and source.entries is not None:
        library = source.entries.library
    named = {column: [row[j] for row in rows] for j, column in enumerate(group)}

    def build(values: Floats) -> Any:
        numbers = np.asarray(values, np.float64)
        whole_ones = whole and bool(np.isfinite(numbers).all())
        shown = np.rint(numbers).astype(np.int64) if whole_ones else numbers
        columns = named | {name: shown.tolist()}
        if library is None:
            lines = zip(*columns.values(), strict=True)
            return [dict(zip(columns, line, strict=True)) for line in lines]
        import narwhals as nw

        return nw.from_dict(columns, backend=library).to_native()

    return build
