"""Numbers made presentable after their release: rounded, and not below what they can be.

Post-processing of what everybody may see, so it costs nothing and decides nothing; it makes an
answer better to read and its average worse: negative counts of empty groups are half of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rpac.worlds import tables


def tidied(value: Any, ends: Any, *, least: float | None, whole: bool) -> Any:
    """Return a released value in the same form, its numbers rounded and held at `least`.

    Args:
        value: What was released.
        ends: (low, high) in its form: where they differ there is a number, elsewhere a name. None:
            every fraction is a number.
        least: Numbers below it are put there; None: none are.
        whole: Whether numbers are rounded.
    """
    return _tidied(value, ends, lambda v: _number(v, least, whole=whole))


def _number(value: Any, least: float | None, *, whole: bool) -> Any:
    found = np.rint(value) if whole else value
    found = found if least is None else np.maximum(found, least)
    if np.ndim(value):
        return found
    return int(found) if isinstance(value, int) or (whole and np.isfinite(found)) else float(found)


def _tidied(value: Any, ends: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _tidied(item, _sides(ends, key), change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tidied(item, _sides(ends, i), change) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        return np.where(_moved(value, ends), change(value), value)
    if hasattr(value, "to_dict") and np.ndim(value) == 1:  # a series
        inside = ends and tuple(np.asarray(side) for side in ends)
        found = _tidied(np.asarray(value), inside, change)
        return type(value)(found, index=value.index, name=value.name)
    if value is not None and not isinstance(value, str) and tables.is_table(value):
        return _frame(value, ends, change)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return change(value) if number and value == value and _moved(value, ends) else value


def _sides(ends: Any, key: Any) -> Any:
    return ends and tuple(side[key] for side in ends)


def _moved(value: Any, ends: Any) -> Any:
    """Whether (or where) there is a number with noise."""
    if ends is None:
        return np.asarray(value).dtype.kind == "f"
    return np.asarray(ends[0]) != np.asarray(ends[1])


def _frame(value: Any, ends: Any, change: Callable[[Any], Any]) -> Any:
    """Return a frame of the same kind, a column at a time."""
    import narwhals as nw

    relation = hasattr(value, "to_arrow_table")
    frame, *sides = (
        nw.from_native(side.to_arrow_table() if relation else side, eager_only=True)
        for side in (value, *(ends or ()))
    )
    for name in (name for name in frame.columns if frame[name].dtype.is_numeric()):
        beside = ends and tuple(side[name].to_list() for side in sides)
        found = _tidied(frame[name].to_list(), beside, change)
        frame = frame.with_columns(nw.new_series(name, found, backend=frame.implementation))
    native = frame.to_native()
    if not relation:
        return native
    import duckdb

    return duckdb.from_arrow(native)
