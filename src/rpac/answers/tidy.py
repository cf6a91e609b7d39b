"""Numbers made presentable after their release: rounded, and not below what they can be.

Post-processing of what everybody may see, so it costs nothing and decides nothing; it makes an
answer better to read and its average worse: negative counts of empty groups are half of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rpac.worlds import tables


def tidied(
    value: Any,
    ends: Any,
    *,
    least: float | Literal["counts"] | None = "counts",
    whole: bool | None = None,
    counts: bool = False,
    digits: int | None = None,
) -> Any:
    """Return a released value in the same form, its numbers rounded and held at `least`.

    Args:
        value: What was released.
        ends: (low, high) in its form: where they differ there is a number, elsewhere a name. None:
            every fraction is a number.
        least: Numbers below it are put there; "counts": counts at 0; None: none are.
        whole: Whether numbers are rounded to whole ones; None: to a tenth of their error bars.
        counts: Whether integers are known to be counts.
        digits: To how many significant digits numbers without an error bar are rounded, as
            quantiles are; None: they stay.

    Returns:
        The same form. A fraction whose error bar has no ends is NaN: nothing is known of it.
    """
    how = _How(least, whole, counts, digits)
    return _tidied(value, ends, how)


@dataclass(frozen=True)
class _How:
    """How numbers are changed; the fields are arguments of `tidied`."""

    least: float | Literal["counts"] | None
    whole: bool | None
    counts: bool
    digits: int | None = None

    def number(self, value: Any, ends: Any) -> Any:
        """Return one number; integers stay integers."""
        integer = isinstance(value, int)
        found = value if integer else self.fraction(value, ends)
        if self.least == "counts":
            return max(found, 0) if integer and self.counts else found
        return found if self.least is None else type(found)(max(found, self.least))

    def fraction(self, value: float, ends: Any) -> float:
        """Return one fraction, rounded; NaN where nothing is known of it."""
        if _endless(ends):
            return math.nan
        if self.whole and math.isfinite(value):
            return round(value)
        return _near(value, ends, self.digits) if self.whole is None else value

    def array(self, value: Any, ends: Any) -> Any:
        """Return an array of the same type; only where there are numbers it is changed."""
        pairs = [] if ends is None else list(zip(*map(_flat, ends), strict=True))
        sides: list[Any] = [None] * value.size if ends is None else pairs
        found = [
            self.number(one, side) if moved else one
            for one, side, moved in zip(
                _flat(value),
                sides,
                _flat(np.broadcast_to(_moved(value, ends), value.shape)),
                strict=True,
            )
        ]
        return np.array(found, value.dtype).reshape(value.shape)


def _flat(values: Any) -> list[Any]:
    return list(np.ravel(values).tolist())


def _near(value: float, ends: Any, digits: int | None = None) -> float:
    """Return a number to the decimal place of a tenth of its error bar's half-width.

    Without an error bar it has so many significant digits.

    >>> _near(39.1349, (38.8, 39.5)), _near(35_122.4, (34_600.0, 35_600.0)), _near(0.5, None)
    (39.13, 35120.0, 0.5)
    >>> _near(37.23919548088248, (None, None), 4)
    37.24
    """
    low, high = ends or (None, None)
    if low is None or high is None or not 0 < high - low < math.inf:
        return value if digits is None else float(f"{value:.{digits}g}")
    return round(value, -math.floor(math.log10((high - low) / 20)))


def _endless(ends: Any) -> bool:
    """Whether an error bar is known to have no ends."""
    known = [end for end in ends or () if isinstance(end, float | np.floating)]
    return known == [-math.inf, math.inf]


def _tidied(value: Any, ends: Any, how: _How) -> Any:
    if isinstance(value, dict):
        return {key: _tidied(item, _sides(ends, key), how) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tidied(item, _sides(ends, i), how) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        return how.array(value, ends)
    if hasattr(value, "to_dict") and np.ndim(value) == 1:  # a series
        inside = ends and tuple(np.asarray(side) for side in ends)
        found = _tidied(np.asarray(value), inside, how)
        return type(value)(found, index=value.index, name=value.name)
    if value is not None and not isinstance(value, str) and tables.is_table(value):
        return _frame(value, ends, how)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return how.number(value, ends) if number and value == value and _moved(value, ends) else value


def _sides(ends: Any, key: Any) -> Any:
    return ends and tuple(side[key] for side in ends)


def _moved(value: Any, ends: Any) -> Any:
    """Whether (or where) there is a number with noise; a quantile has open ends."""
    if ends is None or all(end is None for end in ends):
        return np.asarray(value).dtype.kind == "f"
    return np.asarray(ends[0]) != np.asarray(ends[1])


def _frame(value: Any, ends: Any, how: _How) -> Any:
    """Return a frame of the same kind, a column at a time."""
    import narwhals as nw

    relation = hasattr(value, "to_arrow_table")
    frame, *sides = (
        nw.from_native(side.to_arrow_table() if relation else side, eager_only=True)
        for side in (value, *(ends or ()))
    )
    for name in (name for name in frame.columns if frame[name].dtype.is_numeric()):
        beside = ends and tuple(side[name].to_list() for side in sides)
        found = _tidied(frame[name].to_list(), beside, how)
        frame = frame.with_columns(nw.new_series(name, found, backend=frame.implementation))
    native = frame.to_native()
    if not relation:
        return native
    import duckdb

    return duckdb.from_arrow(native)
