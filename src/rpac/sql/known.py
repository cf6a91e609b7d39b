"""What is known of an expression whatever the rows, and the guards that keep it true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sqlglot import exp

from rpac.questions.kinds import kind_of
from rpac.sql.syntax import Node

RANGE, HELD = 290.0, 100.0
"""Powers of ten that a product may reach, and that what goes beyond is held to."""
FLOATS = ("FLOAT", "REAL", "DOUBLE", "DECIMAL")
"""Types of numbers without limits of their own; DECIMAL where no digits are declared."""
UNKNOWN = "a type that is not read"


@final
@dataclass(frozen=True)
class Known:
    """What is known of an expression, whatever the rows.

    Attributes:
        kind: "number", "text", "date", "bool", or "null".
        low: Least magnitude of a number but 0, as a power of ten.
        high: Its greatest.
        raw: The SQL type of a column as it stands; "" for what was computed.
    """

    kind: str
    low: float = 0.0
    high: float = 0.0
    raw: str = ""


def column(kind: str) -> Known:
    """Return what is known of a column of an SQL type."""
    found = kind_of(kind) or UNKNOWN
    if kind in FLOATS:
        return Known(found, -HELD, HELD, kind)
    if kind.startswith("DECIMAL("):
        width, scale = map(int, kind[8:-1].split(","))
        return Known(found, -float(scale), float(max(width - scale, 0)), kind)
    return Known(found, 0.0, 39.0, kind)


def multiplied(x: Known, y: Known, *, over: bool) -> Known:
    """Return what is known of a product, or of a quotient."""
    low, high = (x.low - y.high, x.high - y.low) if over else (x.low + y.low, x.high + y.high)
    return Known("number", low, high)


def number(value: float) -> Node:
    """Return a public number, to the last bit."""
    return exp.cast(exp.Literal.string(repr(value)), "DOUBLE")


def day(text: str, raw: str) -> Node:
    """Return a public day, as a column of days or times is compared with it."""
    return exp.cast(exp.Literal.string(text), "DATE" if raw == "DATE" else "TIMESTAMP")


def below(node: Node) -> Node:
    """Return whether a number is not beyond what is held; NaN is."""
    return exp.LT(this=exp.Abs(this=node), expression=exp.Literal.number("1e100"))


def held(node: Node, read: Node) -> Node:
    """Return a number within 1e-100 and 1e100; 0 below, NULL above."""
    near = exp.GT(this=exp.Abs(this=node.copy()), expression=exp.Literal.number("1e-100"))
    inside = exp.Case().when(near, read).else_(number(0.0))
    return exp.Case().when(below(node), inside)
