"""Days that a query computes from its own text: `date '1998-12-01' - interval '90' day`."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

from sqlglot import exp

_DAYS = {"DAY": 1, "WEEK": 7}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def folded(node: Any) -> Any:
    """Return a day that is written as another one and an interval; other nodes as they are."""
    if not isinstance(node, exp.Add | exp.Sub):
        return node
    day, away = _day(folded(node.left.unnest())), node.right.unnest()
    if day is None or not isinstance(away, exp.Interval) or away.this is None:
        return node
    try:
        found = _moved(day, int(away.this.name) * (-1 if isinstance(node, exp.Sub) else 1), away)
    except (ValueError, OverflowError, KeyError):  # no day, no whole number or no unit of days
        return node
    return exp.cast(exp.Literal.string(found.isoformat()), "DATE")


def _day(node: Any) -> dt.date | None:
    plain = isinstance(node, exp.Cast) and node.to.is_type("date")
    if not plain or not isinstance(node.this, exp.Literal):
        return None
    try:
        return dt.date.fromisoformat(node.this.name)
    except ValueError:
        return None


def _moved(day: dt.date, many: int, away: Any) -> dt.date:
    """Return a day so many units later; the last of a month if it would be beyond."""
    unit = away.text("unit").upper().removesuffix("S")
    if unit in _DAYS:
        return day + dt.timedelta(days=many * _DAYS[unit])
    months = day.year * 12 + day.month - 1 + many * _MONTHS[unit]
    year, month = divmod(months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return dt.date(year, month + 1, min(day.day, last))
