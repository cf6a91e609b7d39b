"""Releases that are killed at every named point, on either promise; tests check what is left.

`python -m benchmarks.recovery LEDGER FOLDER [point ...]` runs `rpac release` on the folder's table
once for each promise and point, in a process of its own that dies there by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sys

import rpac
from benchmarks.ledger import fork
from rpac.cli import program
from rpac.ledger.chain import Chain
from rpac.noise.grid import GridNoise
from rpac.release import presence
from rpac.report import record as records

BEFORE = ("before the transaction", "at the draw", "before the commit")
"""Points at which nothing is charged yet, and nothing was revealed."""
AFTER = ("after the commit", "before the record", "in the record's write", "before the seal")
"""Points at which the charge has no record."""
QUESTIONS = {
    "person": ("--statistic", "group_by(dept, mean(pay), a, b)"),
    "sample": ("--statistic", "mean(pay)", "--protect", "sample", "--worlds", "8"),
}


def words(folder, books, promise, *more):
    """Return the words of a release."""
    asked = QUESTIONS[promise]
    return ["release", f"{folder}/staff.csv", "--unit", "id", *asked, "--ledger", books, *more]


def out_of(folder, promise, point):
    """Return where a release that dies at a point would write its record."""
    return f"{folder}/{promise} {point}.json"


def die(*_, **__):
    """Be killed, as by the machine's owner: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


def _before_the_transaction(store):
    store.begin = die


def _at_the_draw(store):
    GridNoise.noisy = presence.draw = die


def _before_the_commit(store):
    rows, writes = store.rows, []

    def watched(self, sql, *values):
        writes.append("rpac_entries" in sql and '"kind":"spend"' in str(values))
        return die() if sql == "COMMIT" and any(writes) else rows(self, sql, *values)

    store.rows = watched


def _after_the_commit(store):
    record = Chain.record

    def unconfirmed(self, kind, *rest):
        self.confirm = die if kind == "spend" else self.confirm
        return record(self, kind, *rest)

    Chain.record = unconfirmed


def _in_the_write(store):
    records.publish = lambda body, **how: "{" * 9_000  # a part of it is in the file by then
    os.fsync = die


FAILS = {
    "before the transaction": _before_the_transaction,
    "at the draw": _at_the_draw,
    "before the commit": _before_the_commit,
    "after the commit": _after_the_commit,
    "before the record": lambda store: setattr(records, "save", die),
    "in the record's write": _in_the_write,
    "before the seal": lambda store: setattr(records, "seal", die),
    "before the answer": lambda store: setattr(program, "_show", die),
}


def _dies(point, typed):
    """Run a command line, and die at a named point."""
    FAILS[point](type(rpac.Ledger(typed[typed.index("--ledger") + 1])._store))
    program.main(typed)


def killed(point, typed):
    """Run a command line that dies at a point; tell whether it did."""
    return os.waitpid(fork(_dies, point, typed), 0)[1] == signal.SIGKILL


def main(books, folder, points):
    """Kill a release at each point; keys and files are named by promise and point."""
    for promise in QUESTIONS:
        for point in points:
            more = "--key", f"{promise} {point}", "--out", out_of(folder, promise, point)
            if not killed(point, words(folder, books, promise, *more)):
                raise SystemExit(f"not killed {point} under {promise}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] or [*FAILS])
