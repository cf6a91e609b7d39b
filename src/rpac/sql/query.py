"""A question in SQL as a mechanism: the form of its answer, and the answers on worlds."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.answers.table import Table
from rpac.errors import MechanismError
from rpac.person.source import Asked, Presence
from rpac.questions.selected import Selected
from rpac.sql.by_world import ByWorld
from rpac.sql.measures import Measure
from rpac.sql.one_pass import OnePass, serves
from rpac.sql.owned import Owned
from rpac.sql.parsing import parsed, take_order
from rpac.sql.question import Question, read
from rpac.sql.rows import Contributions
from rpac.worlds.flatten import Form
from rpac.worlds.keyed import scaled
from rpac.worlds.source import Source

_READ = ("labels", "declared", "lost_keys", "keys", "measures", "order", "limit")
_WHOLE = 2.0**53
"""Whole numbers beyond it are not all floats, and are cut off there."""


@final
class Query:
    """One SELECT over the tables of a database; made by `Database.query`.

    Sums and counts are scaled to all units by the public inclusion rate. What is NULL in a world
    counts 0 there, so that a missing group does not show, and noise covers whoever makes it up.

    Attributes:
        one_pass: Whether one aggregation a (group, unit) serves all worlds; else a query a world.
        measures: The numbers it returns a row; all other columns are public keys.
        lost_keys: Names in the database's `keys` that are neither a column nor in this query.
        full: (rows, measures) answers on the whole table, after `announce`. Sealed: never print it.
    """

    takes_stack = True

    def __init__(self, database: Any, sql: str) -> None:
        self.database, self.sql = database, sql
        self.full: Floats = np.zeros((0, 0))
        self._units: Floats = np.zeros(0)

    @cached_property
    def _question(self) -> Question:
        return read(self.database, self.sql)

    @cached_property
    def one_pass(self) -> bool:
        """Whether one aggregation serves all worlds."""
        return serves(self._question)

    @cached_property
    def _runs(self) -> OnePass | ByWorld:
        if not self.one_pass and self.database.engine is not None:
            move = "Count, sum and average rows of one unit each, or load the tables into DuckDB."
            raise refuse("a query that one pass serves, elsewhere", repr(self.sql), move)
        return OnePass(self._question) if self.one_pass else ByWorld(self._question)

    def __getattr__(self, name: str) -> Any:
        if name not in _READ:
            raise AttributeError(name)
        return getattr(self._question, name)

    def asked(self, source: Presence) -> Asked:
        """Return the query as a question about presence: by its shape, whatever the rows."""
        if source.database is not self.database:
            raise refuse("the presence of the query's own database", "another", "Use db.presence.")
        tables: Owned = source.database.owned
        tree = parsed(tables, self.sql)
        order, limit = take_order(tree)
        found = Selected.of(tree, tables.said(source.schema))
        rows = Contributions(tables, found.rows, found.keys, found.entries)
        measures = [Measure(i, kind, 0, counts=kind == "BIGINT") for i, kind in found.kinds.items()]
        shown = replace(rows.question, labels=found.labels, keys=list(found.places),
                        measures=measures, order=order, limit=limit)  # fmt: skip
        table = Table(shown, found.lines(rows.groups.rows), cut=found.finish.having is not None)
        table.check()
        return found.asked(source, table, rows.units, len(table.rows))

    @property
    def _whole(self) -> bool:
        return all(measure.counts for measure in self.measures)

    def announce(self, source: Source) -> Form:
        """Return the form of the answers: rows, names and scale are facts of the pool."""
        if source is not self.database.source:
            raise refuse("the source of the query's own database", repr(source), "Use db.source.")
        rows = self._runs.groups.rows
        if not rows:
            got = f"none of {self.labels}"
            raise refuse("at least one row in the answer", got, "Ask for groups that there may be.")
        table = Table(self._question, rows)
        table.check()
        values = self._studied()
        self.full = _filled(values[-1])
        scaled = self._scaled(values[:-1], np.arange(len(values) - 1))
        filled = _filled(np.concatenate([scaled, values[-1:]]))
        self._units = np.ones(len(self.measures)) if self._whole else self._spread_units(filled)
        degrees = np.array([measure.degree for measure in self.measures])
        scale = np.tile(self._units * 2.0**degrees, len(rows))
        return Form(
            "table",
            (tuple(self.labels), tuple(rows)),
            whole=self._whole,
            rebuild=lambda v: table.build(v * scale),
            scale=scale,
            labels=table.names,
            settle=lambda v: table.ordered(v * scale, scale),
        )

    def __call__(self, worlds: Any) -> Any:
        """Return the answers on these worlds, (k, d), by their numbers: computed at every call."""
        if not self._units.size:
            self.announce(self.database.source)
        values = self._scaled(self._runs.answers(np.asarray(worlds)), np.asarray(worlds))
        answers = (_filled(values) / self._units).reshape(len(values), -1)
        return np.rint(answers.clip(-_WHOLE, _WHOLE)).astype(np.int64) if self._whole else answers

    def _scaled(self, values: Floats, worlds: Ints) -> Floats:
        """Return totals of worlds as if each held just half of all units."""
        people = self.database.people
        degrees = np.array([measure.degree for measure in self.measures])
        return scaled(values, degrees, people.sizes[worlds], people.units)

    def _studied(self) -> Floats:
        """Return the answers that show how they spread; what fails at once is run by world."""
        try:
            return self._runs.study()[1]
        except MechanismError:
            if self.database.engine is not None:
                raise
            self._runs = ByWorld(self._question)
            return self._runs.study()[1]

    def _spread_units(self, filled: Floats) -> Floats:
        """Return a power of two near the spread of each measure: no sum drowns an average.

        Args:
            filled: (k + 1, rows, measures) answers on k worlds and on the pool. They stand for
                all worlds, beside which the pool counts as one more.
        """
        m, k = len(self.database.source.members), len(filled) - 1
        weights = np.append(np.full(k, m / k), 1.0) / (m + 1)
        center = np.tensordot(weights, filled, 1)
        power = np.tensordot(weights, np.square(filled - center), 1)
        moving = power > 0  # rows that nobody is in say nothing of the spread of others
        spread = np.sqrt(power.sum(axis=0) / np.maximum(moving.sum(axis=0), 1))
        seen = spread > 1e-9 * np.abs(filled).max(axis=(0, 1))
        return np.asarray(np.exp2(np.rint(np.log2(np.where(seen, spread, 1.0)))))

    def __repr__(self) -> str:
        return self.sql


def _filled(values: Floats) -> Floats:
    """Return answers without gaps: a public number in them, never one of the pool."""
    return np.where(np.isnan(values), 0.0, values)
