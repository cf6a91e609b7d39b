"""Answers of a query that is run once a world, on the rows that the world shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from sqlglot import exp

from rpac._base.progress import progress
from rpac._base.types import Floats, Ints
from rpac.errors import MechanismError
from rpac.sql.domain import Groups
from rpac.sql.measures import as_number, bounded
from rpac.sql.question import Question
from rpac.sql.tables import put_in_schema, run

Key: TypeAlias = tuple[Any, ...]


class ByWorld:
    """The answers of one question, a query a world."""

    def __init__(self, question: Question) -> None:
        self.question, self.tables = question, question.tables
        self.groups = Groups(question)
        self._sql = _numbers_in(question, self.groups)
        self._first: dict[int, Floats] = {}

    def study(self) -> tuple[list[Key], Floats]:
        """Run the pool and every world: what is needed to see how answers spread.

        Returns:
            The keys of the rows, and (worlds + 1, rows, measures) numbers, the pool's last; NaN
            for NULL.
        """
        worlds, rows = len(self.tables.source.members), self.groups.rows
        with self._inside():
            found = [self._run(None)]
            found += [self._run(i) for i in progress(range(worlds)[::-1], worlds)]
        values = np.stack(found[::-1])
        self._first = dict(enumerate(values[:-1]))
        return rows, values

    def answers(self, worlds: Ints) -> Floats:
        """Return the (k, rows, measures) numbers of these worlds; NaN for NULL.

        The run of a world that `study` needed is handed out as its first, once: whoever asks
        again gets a run of its own.
        """
        with self._inside():
            return np.stack([self._answer(int(world)) for world in worlds])

    def _answer(self, world: int) -> Floats:
        first = self._first.pop(world, None)
        return self._run(world) if first is None else first

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Let plain names mean the tables of one world, added up in one order by one thread."""
        run(self.tables, "SET schema = 'world'")
        run(self.tables, "SET threads = 1")
        try:
            yield
        finally:
            run(self.tables, "RESET threads")
            run(self.tables, "SET schema = 'main'")

    def _run(self, world: int | None) -> Floats:
        """Return the (rows, measures) numbers on the rows of a world's units; None: of all.

        A query that fails has none; nor has a key with several rows, for want of a way to choose.
        An error in either case would tell that units make it.
        """
        out = np.full((len(self.groups.rows), len(self.question.measures)), np.nan)
        self.tables.enter(world)
        try:
            found = run(self.tables, self._sql, "fetchnumpy")
        except MechanismError:
            return out
        places, times = np.unique(found["g"], return_counts=True)
        for j in range(out.shape[1]):
            out[found["g"], j] = bounded(found[f"m{j}"])
        out[places[times > 1]] = np.nan
        return out


def _numbers_in(question: Question, groups: Groups) -> str:
    """Return the query as numbers of rows, and measures as numbers."""
    inner = question.tree.copy()
    put_in_schema(inner, question.tables, "world")
    for i, item in enumerate(inner.selects):
        item.replace(exp.alias_(item.unalias().copy(), exp.to_identifier(f"__c{i}", quoted=True)))
    keys = [f'"__c{i}"' for i in question.keys]
    if groups.grouped:
        keys = [f'"__k{j}"' for j in range(len(groups.keys))]
        added = [
            exp.alias_(key.copy(), f"__k{j}", quoted=True) for j, key in enumerate(groups.keys)
        ]
        inner.set("expressions", [*inner.selects, *added])
    same = [f"c.{key} IS NOT DISTINCT FROM g.k{j}" for j, key in enumerate(keys)]
    listed = [as_number(f'c."__c{m.place}"', m.kind, "") for m in question.measures]
    shown = ", ".join(["g.g", *(f"{text} AS m{j}" for j, text in enumerate(listed))])
    return (
        f"SELECT {shown} FROM ({inner.sql('duckdb')}) AS c "
        f"JOIN {groups.table} AS g ON {' AND '.join(same) or 'true'}"
    )
