"""The source of the promise *person*: whether a given person is in the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.types import Floats, Ints
from rpac.person.contributions import Linear, Rows, Units
from rpac.person.entries import Entries
from rpac.person.mechanism import Drawn
from rpac.schema import Declared, by_column, declared, rows_cap
from rpac.worlds.flatten import Form
from rpac.worlds.source import Source

SECRET = "whether a given person is in the data, for any person, in them or not"
PRESENT = "whether a given person is in the data, for persons who are"
INSTEAD = "what a given person's entries are, for any person in the data"
Way = Literal["auto", "contributions", "blocks", "leave-one-out"]
WAYS = ("auto", "contributions", "blocks", "leave-one-out")
ROWS = "rows"
"""The name under which the number of rows of one unit is capped."""
ANSWER = "answer"
"""The name under which caps and floor of a function's own answers are declared."""


@final
@dataclass(frozen=True, eq=False)
class Asked:
    """A question as it is put to a source: its public part, and how its rows are read.

    Attributes:
        question: What is added up; public.
        rows: Reads the rows, or turns to whoever keeps them. Sealed: what it returns is the data.
        numbers: Turns a release into the (d,) numbers of the answer; public post-processing.
        form: Turns these into the answer.
        way: "contributions", "blocks" or "leave-one-out".
        notes: What a reader should know of the answer; from public things alone.
        given: Draws at a distance, *given the level*, in place of contributions; None: these.
        times: What sums are multiplied by in the answer: 1 over the number of blocks, say.
        middle: What a function's answers are counted from.
    """

    question: Linear
    rows: Callable[[], Rows | Units]
    numbers: Callable[[Drawn], Floats]
    form: Form
    way: str = "contributions"
    notes: tuple[str, ...] = ()
    given: Callable[[float], Drawn] | None = None
    times: float = 1.0
    middle: tuple[float, ...] = ()

    @property
    def promise(self) -> Literal["person", "person, given the level"]:
        """Which promise an answer has: distances of one of them alone add up."""
        return "person" if self.given is None else "person, given the level"


@final
class Presence(Source):
    """All of a table; the secret is whether a given person is in it.

    Nobody is left out: answers are about all rows. Noise covers what one person adds, which is
    found privately (a level) or declared (caps); nothing is refused because of data.

    Args:
        data: A data frame of any kind, a DuckDB relation, the path of a CSV (.gz) or Parquet file
            or of a folder or glob of Parquet files, an array (rows first; its columns are 0, 1,
            ...), a list, or one of dicts (each row brings columns of its own);
            `Database.presence` for SQL.
        unit: Column that says whose row it is. "rows": one row a person. Frames must say which.
        caps: {column: (low, high)} of what one person's entries are, public; {"rows": n}: rows of
            one person at most; {"answer": (low, high)}: what a function's answers on blocks are.
            Where they are given no level is drawn.
        middle: {column: number} that averages are counted from; found privately otherwise. For
            functions by blocks: an answer such as theirs, such as 0.0 or [0.0, 0.0].
        way: "contributions" (sums over people), "blocks" (any function), "leave-one-out" (any
            function; grade *given the level*), or "auto": the first that serves.
        blocks: Number of blocks, public.
        instead: {column: possible entries}: the secret is which of them a person has, in place of
            whether they are there.
        schema: {column: `Declared` or a dict of its fields}.
        size: About how many people there are, where that is public: for advice before spending.
    """

    def __init__(
        self,
        data: Any,
        unit: Any = None,
        *,
        caps: Mapping[str, Any] | None = None,
        middle: Any = None,
        way: Way = "auto",
        blocks: int | None = None,
        instead: Mapping[str, Any] | None = None,
        schema: Mapping[str, Any] | None = None,
        size: int | None = None,
    ) -> None:
        if way not in WAYS:
            raise refuse(f"a way among {', '.join(WAYS)}", repr(way), "Or leave it out.")
        self.database = data if hasattr(type(data), "presence") else None
        self.entries = None if self.database is not None else Entries(data)
        self.unit = self._named_unit(unit)
        self.way, self.instead = way, dict(instead or {})
        self.blocks = None if blocks is None else count(blocks, "blocks", least=2)
        self.size = None if size is None else count(size, "size", least=1)
        self.example = None if isinstance(middle, Mapping) else middle
        caps = by_column(caps, "caps")
        self.rows_cap = 1.0 if self.unit == ROWS else rows_cap(caps.pop(ROWS, None))
        self.schema = declared(caps, middle if isinstance(middle, Mapping) else {}, schema or {})
        if self.entries is not None:
            for name in ({*self.schema} | {*self.instead}) - {ANSWER}:
                self.entries.check(name)
        for name, entries in self.instead.items():
            if name == self.unit or np.ndim(entries) != 1 or len(entries) < 2:
                got = f"{name!r}: {entries!r}"[:80]
                move = 'Such as instead={"diagnosis": ["flu", "none"]}; not the unit\'s own column.'
                raise refuse("two entries or more of a column in `instead`", got, move)

    def _named_unit(self, unit: Any) -> str:
        if self.entries is None:
            return str(unit)
        listed = isinstance(self.entries.data, np.ndarray | list | tuple | range)
        if unit is None and not listed:
            move = 'Name the column that says whose row it is, or pass unit="rows".'
            raise refuse("the `unit` column of a table", "none", move)
        name = ROWS if unit is None else str(unit)
        if name != ROWS:
            self.entries.check(name)
        elif ROWS in self.entries.columns and not self.entries.ragged:
            got, move = f"a column {ROWS!r}", "Rename it: that name means one row a person."
            raise refuse(f"unit={ROWS!r} for a table without a column of that name", got, move)
        return name

    def declared(self, name: str) -> Declared:
        """Return what is declared of a column; the public defaults where nothing is."""
        return self.schema.get(name, Declared())

    @property
    def moves(self) -> int:
        """1 where the secret is presence, 2 where it is an entry."""
        return 2 if self.instead else 1

    def owners(self) -> Ints:
        """Return (rows,) whose row it is, by number; -1 for nobody's. Sealed."""
        assert self.entries is not None
        return np.arange(self.entries.size) if self.unit == ROWS else self.entries.owners(self.unit)

    @property
    def statement(self) -> str:
        """The secret, in words."""
        there = PRESENT if self.way == "leave-one-out" else SECRET
        return INSTEAD if self.instead else there

    def worlds(self, seed: int) -> Any:
        """Refuse: nothing is drawn, and there is no list of worlds."""
        move = "Use rpac.privatize or rpac.Session; rpac.Subsets draws half-samples."
        raise refuse("a source that draws a world", "rpac.Presence", move)

    @property
    def version(self) -> str:
        """One for all versions of a table: a person in two of them is exposed to both."""
        return "person"

    @property
    def secret(self) -> str:
        """One secret: presence. Books take the rest from the dataset's declared name."""
        return "person"
