"""Faults that twin runs must find: each is planted in the source of a running program.

Most are leaks in text; a reader finds them in a few dozen runs. Too little noise is a question of
figures, and takes hundreds, with the person who weighs most and a success at which halved noise
stands out: 70 % becomes 85 %.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.twin_reader import Score
from benchmarks.twins import ALARM, Cell, judged
from rpac._base.checks import refuse
from rpac.advantage import distance_to_success
from rpac.answers import presence as shown
from rpac.front import privatize as front
from rpac.person import entries, mechanism
from rpac.person.contributions import added
from rpac.person.mechanism import bound_of
from rpac.release import presence

ALL, MANY = 60, 600
"""Runs with the person, and as many without: for leaks in text, and for too little noise."""

Fault = Callable[[], contextlib.AbstractContextManager[Any]]


# --- in the noise ---------------------------------------------------------------------------------


def noise_halved() -> Any:
    true = mechanism.rounded_gaussian
    return mock.patch.object(mechanism, "rounded_gaussian", lambda s: true((s[0], 2 * s[1])))


def level_without_noise() -> Any:
    def bare(exact: int, size: int, c_m: float) -> int:
        return min(max(exact, 0), size - 1)

    return mock.patch.object(mechanism, "draw_level", bare)


@contextlib.contextmanager
def no_joint_clip() -> Iterator[None]:
    """Scales are cap / c, and each number is clipped at its cap by itself."""

    def scales(question: Any, levels: Any, c: float) -> Any:
        return np.array([bound_of(question, term, levels) / c for term in question.terms])

    def alone(question: Any, found: Any, scales: Any, c: float) -> Any:
        most = scales * c / [question.step(term) for term in question.terms]
        return np.trunc(np.clip(found.steps, -most, most)).astype(np.int64)

    with (
        mock.patch.object(mechanism, "scales_of", scales),
        mock.patch.object(mechanism, "clipped", alone),
    ):
        yield


# --- beside the numbers ---------------------------------------------------------------------------


def _asked(change: Callable[[Any, Any], Any]) -> Any:
    """Change what is asked, after the rows were looked at."""
    true = front.ask

    def wrong(what: Any, source: Any, **more: Any) -> Any:
        return change(true(what, source, **more), source)

    return mock.patch.object(front, "ask", wrong)


def groups_that_occur() -> Any:
    def change(asked: Any, source: Any) -> Any:
        there = np.unique(asked.rows().held().groups)

        def rebuild(values: Any) -> Any:
            found = asked.form.rebuild(values)
            return {key: found[key] for i, key in enumerate(found) if i in there}

        return dataclasses.replace(asked, form=dataclasses.replace(asked.form, rebuild=rebuild))

    return _asked(change)


def _noted(note: Callable[[Any], str]) -> Any:
    """Add a sentence about the rows to the notes of a certificate."""
    return _asked(
        lambda asked, source: dataclasses.replace(
            asked, notes=(*asked.notes, note(asked.rows().held()))
        )
    )


def rows_printed() -> Any:
    return _noted(lambda rows: f"from {len(rows.units)} rows")


def table_hashed() -> Any:
    return _noted(lambda rows: "table " + hashlib.sha256(rows.values.tobytes()).hexdigest())


def type_inferred() -> Any:
    """A column is one of numbers only if every entry is."""
    true = entries.Entries.numbers

    def inferred(self: Any, name: str) -> Any:
        found = true(self, name)
        words = [entry for entry in self.of(name) if entry is not None]
        text = any(np.isnan(entries.number(word)) for word in words)
        return np.full_like(found, np.nan) if text else found

    return mock.patch.object(entries.Entries, "numbers", inferred)


def null_id_refused() -> Any:
    def change(asked: Any, source: Any) -> Any:
        if (source.owners() < 0).any():
            raise refuse("an owner of every row", "rows without", "Fill them in.")
        return asked

    return _asked(change)


def success_achieved() -> Any:
    true = presence._certificate

    def wrong(inquiry: Any, asked: Any, drawn: Any) -> Any:
        found = added(asked.question, asked.rows().held(), drawn.middles)
        steps = np.array([asked.question.step(term) for term in asked.question.terms])
        norms = np.linalg.norm(found.steps * (steps / drawn.scales), axis=1)
        reached = distance_to_success(min(float(norms.max()), inquiry.distance))
        return dataclasses.replace(true(inquiry, asked, drawn), worst_unit_success=reached)

    return mock.patch.object(presence, "_certificate", wrong)


def spread_as_interval() -> Any:
    """Error bars are those of the data, not of the noise."""

    def wrong(asked: Any, drawn: Any, numbers: Any, *_: Any) -> Any:
        half = 1.96 * np.nanstd(asked.rows().held().values)
        return asked.form.rebuild(numbers - half), asked.form.rebuild(numbers + half)

    return mock.patch.object(shown, "_interval", wrong)


FAULTS: dict[str, tuple[Fault, Cell]] = {
    "noise halved": (noise_halved, Cell(0, "capped sum", MANY, success=0.7)),
    "scales cap / c a number, no joint clip": (no_joint_clip, Cell(16, "days", MANY // 2)),
    "level without noise": (level_without_noise, Cell(0, "sum", ALL)),
    "groups only where they occur": (groups_that_occur, Cell(7, "regions", ALL)),
    "number of rows printed": (rows_printed, Cell(1978, "mean", ALL)),
    "type inferred from data": (type_inferred, Cell(25, "bonuses", ALL)),
    "hash of the table in the record": (table_hashed, Cell(1978, "mean", ALL)),
    "achieved success certified": (success_achieved, Cell(0, "capped sum", ALL)),
    "intervals from the data's spread": (spread_as_interval, Cell(0, "sum", ALL)),
    "refused because of a NULL id": (null_id_refused, Cell(29, "mean", ALL)),
}
"""Name, fault, and whom it gives away by which question."""


def with_fault(name: str, cell: Cell | None = None) -> dict[str, Score]:
    """Judge twin runs of the program with a fault planted in it."""
    fault, usual = FAULTS[name]
    with fault():
        return judged(usual if cell is None else cell)


def _both(name: str) -> tuple[str, dict[str, Score], dict[str, Score]]:
    return name, with_fault(name), judged(FAULTS[name][1])


def least(found: dict[str, Score], success: float) -> float:
    """Return the least chance over ways of guessing, times their number."""
    return min(score.chance(success) for score in found.values()) * len(found)


def caught(jobs: int = 1) -> bool:
    """Print who finds which fault, beside the same runs without it; return whether all are."""
    alarm = ALARM / len(FAULTS)
    print("\n| fault | person, question | certified | test runs | success | guesser | chance "
          "| success without the fault |\n|" + " --- |" * 8)  # fmt: skip
    good = True
    with ProcessPoolExecutor(jobs) as pool:
        for name, faulty, honest in pool.map(_both, FAULTS):
            cell = FAULTS[name][1]
            way = max(faulty, key=lambda w: faulty[w].rate)
            plain = max(score.rate for score in honest.values())
            chance = least(faulty, cell.success)
            good &= chance < alarm <= least(honest, cell.success)
            print(f"| {name} | {cell.person}, {cell.question} | {cell.success:g} "
                  f"| {faulty[way].runs} | {faulty[way].rate:.3f} | {way} | {chance:.2g} "
                  f"| {plain:.3f} |", flush=True)  # fmt: skip
    print(f"all caught at {alarm:g}, none without a fault: {good}")
    return good
