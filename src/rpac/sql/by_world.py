"""Answers of a query that is run once a world, on the rows that the world shows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from sqlglot import exp

from rpac._base.checks import refuse
from rpac._base.progress import progress
from rpac._base.types import Bools, Floats, Ints
from rpac.sql.measures import as_number
from rpac.sql.question import Question
from rpac.sql.tables import run

Key: TypeAlias = tuple[Any, ...]
Answer: TypeAlias = dict[Key, list[float]]


class ByWorld:
    """The answers of one question, a query a world."""

    def __init__(self, question: Question) -> None:
        self.question, self.tables = question, question.tables
        self._sql = _numbers_in(question)
        self._rows: list[Key] = []
        self._first: dict[int, Floats] = {}

    def study(self) -> tuple[list[Key], Floats]:
        """Run the pool and every world: what rows there are is known only then.

        Returns:
            The keys of the rows, and (worlds + 1, rows, measures) numbers, the pool's last; NaN
            for NULL.
        """
        members = self.tables.source.members
        with self._inside():
            found = [self._run(np.ones(members.units, bool))]
            places = range(len(members))[::-1]
            found += [self._run(members.world(i)) for i in progress(places, len(places))]
        seen = {key for answer in found for key in answer}
        self._rows = _every_group(self.question, sorted(seen, key=_sortable))
        values = np.stack([self._aligned(answer) for answer in found[::-1]])
        self._first = dict(enumerate(values[:-1]))
        return self._rows, values

    def answers(self, worlds: Ints) -> Floats:
        """Return the (k, rows, measures) numbers of these worlds; NaN for NULL.

        The run of a world that `study` needed is handed out as its first, once: whoever asks
        again gets a run of its own.
        """
        with self._inside():
            return np.stack([self._answer(int(world)) for world in worlds])

    def _answer(self, world: int) -> Floats:
        first = self._first.pop(world, None)
        if first is not None:
            return first
        return self._aligned(self._run(self.tables.source.members.world(world)))

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Let plain names mean the tables of one world."""
        self.tables.connection.execute("SET schema = 'world'")
        try:
            yield
        finally:
            self.tables.connection.execute("SET schema = 'main'")

    def _run(self, members: Bools) -> Answer:
        """Return the answer on the rows of these units."""
        self.tables.enter(np.flatnonzero(members))
        k = len(self.question.keys)
        answer: Answer = {}
        for row in run(self.tables, self._sql).fetchall():
            if row[:k] in answer:
                names = [self.question.labels[i] for i in self.question.keys]
                raise refuse(
                    "keys that tell the rows of an answer apart",
                    f"several rows with equal {names}" if names else "several rows and no key",
                    "Select every column that the query groups by.",
                )
            answer[row[:k]] = [np.nan if value is None else value for value in row[k:]]
        return answer

    def _aligned(self, answer: Answer) -> Floats:
        """Return the (rows, measures) numbers of an answer, in the order of all rows."""
        blank = [np.nan] * len(self.question.measures)
        table = [answer.get(key, blank) for key in self._rows]
        return np.array(table, np.float64).reshape(len(self._rows), len(blank))


def _numbers_in(question: Question) -> str:
    """Return the query with its keys first, then its measures as numbers."""
    inner = question.tree.copy()
    for i, item in enumerate(inner.selects):
        item.replace(exp.alias_(item.unalias().copy(), exp.to_identifier(f"__c{i}", quoted=True)))
    listed = [f'"__c{i}"' for i in question.keys]
    listed += [as_number(f'"__c{m.place}"', m.kind, "") for m in question.measures]
    return f"SELECT {', '.join(listed)} FROM ({inner.sql('duckdb')})"


def _sortable(key: Key) -> list[tuple[bool, Any]]:
    """Return what puts rows in one order, whatever DuckDB's threads did: NULL comes last."""
    return [(entry is None, entry) for entry in key]


def _every_group(question: Question, rows: list[Key]) -> list[Key]:
    """Return rows for every declared group, whether it occurs or not."""
    declared = question.declared
    if not declared:
        return rows
    free = [j for j, i in enumerate(question.keys) if i not in declared]
    others = list(dict.fromkeys(tuple(row[j] for j in free) for row in rows)) if free else [()]
    sets = [declared[i] for i in question.keys if i in declared]
    made = []
    for other, chosen in itertools.product(others, itertools.product(*sets)):
        parts, picks = iter(other), iter(chosen)
        made.append(tuple(next(picks if i in declared else parts) for i in question.keys))
    return made
