"""What is declared of columns, once and in public: never inferred from rows.

No guarantee rests on a declaration being right: caps, floors and middles decide how much noise an
answer has and how much of a contribution is kept, not how well anybody is protected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import number, refuse

LEAST, MOST, FINEST = 1e-30, 1e30, 2.0**-24
"""What floors, steps and caps may be, so that their products are ordinary numbers."""
FINE = 14
"""Steps are 2^-FINE of the floor, about: noise is never below 2^FINE / c steps."""


@final
@dataclass(frozen=True)
class Column:
    """A column of numbers that a question adds up. All of it is public.

    Attributes:
        name: As people call it.
        floor: Its resolution, positive: noise never gets below what covers it.
        middle: What entries are counted from; None: found privately.
        cap: What one unit adds to one number at most, around the middle; None: a private level.
        step: What entries are rounded to at most; None: a small part of the floor.
    """

    name: str
    floor: float = 1.0
    middle: float | None = 0.0
    cap: float | None = None
    step: float | None = None

    @property
    def exponent(self) -> int:
        """The power of two whose 2^-FINE is the step: at most floor and cap, and a given step's."""
        sizes = self.floor, self.cap, self.step and self.step * 2**FINE
        return math.frexp(min(size for size in sizes if size is not None))[1] - 1


@final
@dataclass(frozen=True)
class Declared:
    """What is declared of a column: public, and never inferred from rows.

    Attributes:
        floor: Its resolution: noise never gets below what covers it.
        low: Least of what one unit's entries are taken to be; None: a private level.
        high: The most.
        middle: What averages are counted from; None: found privately, or half-way of low and high.
        domain: Its entries, where they are groups.
        type: "number", "text" or "date", where SQL needs to know; None: as the query uses it.
        step: What entries are rounded to at most; None: 2^-14 of the floor.
    """

    floor: float = 1.0
    low: float | None = None
    high: float | None = None
    middle: float | None = None
    domain: tuple[Any, ...] | None = None
    type: Literal["number", "text", "date"] | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        least = LEAST
        for name, size in ("floor", self.floor), ("step", self.step):
            if size is not None and not least <= number(size, name) <= MOST:
                expected = f"a positive {name} from {least:g} to {MOST:g}"
                raise refuse(expected, size, "The column's resolution, such as 1.")
            least = self.floor * FINEST
        if (self.low is None) != (self.high is None):
            raise refuse("both caps", f"{self.low}:{self.high}", "Write low:high.")
        if self.low is not None and self.high is not None:
            low, high = number(self.low, "caps"), number(self.high, "caps")
            if high - low < LEAST or max(-low, high) > MOST:
                expected = f"caps low:high with low below high, within {MOST:g}"
                raise refuse(expected, f"{low:g}:{high:g}", "Turn them, or use other units.")
        if self.middle is not None and abs(number(self.middle, "middle")) > MOST:
            raise refuse(f"a middle within {MOST:g}", self.middle, "Use other units.")

    def around_zero(self, name: str) -> Column:
        """Return the column for sums: counted from 0."""
        cap = None if self.low is None or self.high is None else max(-self.low, self.high)
        return Column(name, self.floor, 0.0, cap, self.step)

    def around_middle(self, name: str) -> Column:
        """Return the column for averages: counted from the middle, given, half-way or found."""
        if self.low is None or self.high is None:
            return Column(name, self.floor, self.middle, None, self.step)
        middle = (self.low + self.high) / 2 if self.middle is None else self.middle
        cap = max(self.high - middle, middle - self.low)
        return Column(name, self.floor, middle, cap, self.step)


def by_column(given: Any, name: str) -> dict[str, Any]:
    """Return declarations by column, as they were given; whatever names no column is refused."""
    if given is not None and not isinstance(given, Mapping):
        move = 'Such as caps={"age": (0, 120)}, or schema={"age": {"floor": 1}}.'
        raise refuse(f"`{name}` by column", repr(given)[:80], move)
    return dict(given or {})


def rows_cap(given: Any) -> float | None:
    """Return how many rows one person has at most, as it was declared; None if it was not."""
    if given is None:
        return None
    most = given[1] if np.ndim(given) == 1 and len(given) == 2 else given
    if not number(most, "caps of rows") >= 1:
        raise refuse("at least one row a person in caps", most, 'Such as caps={"rows": 5}.')
    return float(most)


def declared(
    caps: Mapping[str, Any], middle: Mapping[str, Any], schema: Mapping[str, Any]
) -> dict[str, Declared]:
    """Return what is declared of every column, caps and middles put into the schema."""
    try:
        found: dict[str, dict[str, Any]] = {
            name: {**(vars(given) if isinstance(given, Declared) else given)}
            for name, given in by_column(schema, "schema").items()
        }
        for name, pair in caps.items():
            if np.ndim(pair) != 1 or len(pair) != 2:
                move = 'Such as {"age": (0, 120)}.'
                raise refuse(f"caps (low, high) of {name!r}", repr(pair), move)
            found.setdefault(name, {}).update(low=pair[0], high=pair[1])
        for name, value in middle.items():
            found.setdefault(name, {}).update(middle=value)
        return {name: Declared(**given) for name, given in found.items()}
    except TypeError:
        fields = ", ".join(vars(Declared()))
        raise refuse(f"fields {fields} in a schema", "others", "Fix its names.") from None
