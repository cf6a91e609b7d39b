"""Adaptive analysts against a session, and how fast sessions answer.

Run it with `python -m benchmarks.session [adaptive | speed ...]`.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

import numpy as np

import rpac
from rpac.front.session import Session

WORLDS, QUESTIONS, NATS = 64, 24, 0.05
SOURCE = rpac.Worlds(list(range(WORLDS)))


def greedy(posterior, rng):
    """Tell the likeliest world from all others."""
    return (np.arange(WORLDS) == posterior.argmax()).astype(float)


def top_two(posterior, rng):
    """Tell the two likeliest worlds apart; all others answer alike."""
    first, second = np.argsort(posterior)[-2:]
    question = np.zeros(WORLDS)
    question[first], question[second] = 1.0, -1.0
    return question


def random_split(posterior, rng):
    """Ask something arbitrary."""
    return rng.normal(size=WORLDS)


ANALYSTS = {"greedy": greedy, "random": random_split, "top-2": top_two}


def conversation(analyst, rng):
    """Return (log posterior / prior of the drawn world, sum of the charges)."""
    with Session(SOURCE, 100.0) as session:
        world = session._world.open()
        for _ in range(QUESTIONS):
            first = analyst(np.exp(session._log_posterior), rng)
            session.ask(rpac.Outputs(np.stack([first, rng.permutation(first)], axis=1)), NATS)
        return session._log_posterior[world] + np.log(WORLDS), session.spent


def conversations(name, runs, seed=0):
    """Return (lower 99.9 % limit of the mean information, its mean, the mean charge)."""
    rng = np.random.default_rng(seed)
    told, charged = np.array([conversation(ANALYSTS[name], rng) for _ in range(runs)]).T
    return told.mean() - 3.09 * told.std() / np.sqrt(runs), told.mean(), charged.mean()


class PriorOnly:
    """The fault that must show: every question calibrated for the prior, as if it were first."""

    def __enter__(self):
        self._real = Session._floored
        Session._floored = lambda session: session._prior

    def __exit__(self, *exc):
        Session._floored = self._real


def speed(ledger=None, asks=2_000, worlds=128, dim=10):
    """Return answers a second (by the median time, by the mean): outputs precomputed, log-det."""
    rng = np.random.default_rng(0)
    source = rpac.Worlds(list(range(worlds)))
    outputs = [rpac.Outputs(rng.normal(size=(worlds, dim))) for _ in range(20)]
    with Session(source, 1e3, ledger) as session:
        for one in outputs:
            session.ask(one, 0.001)
        times = []
        for i in range(asks):
            start = time.perf_counter()
            session.ask(outputs[i % 20], 0.001)
            times.append(time.perf_counter() - start)
    return 1 / statistics.median(times), asks / sum(times)


def durable(asks=200, rounds=9):
    """Return (answers a second with durable books, bare synchronised appends a second, ratio).

    By medians of rounds, in which both take turns: disks are not the same from second to second,
    so the ratio is that of neighbours.
    """
    from benchmarks.ledger import bare_fsyncs

    with tempfile.TemporaryDirectory(dir=os.environ.get("RPAC_DISK")) as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"  # not the user's own
        found = []
        with rpac.Ledger(f"{folder}/l.db", budget=1e6) as ledger:
            speed(ledger, 1)
            size = len(ledger._store.entry(21)[1])
            for _ in range(rounds):
                rate, bare = speed(ledger, asks)[1], bare_fsyncs(folder, 0.25, size)
                found.append((rate, bare, rate / bare))
        return np.median(found, axis=0)


def main() -> None:
    """Print all."""
    parts = set(sys.argv[1:])
    print("\n## Sessions\n")
    if not parts or "speed" in parts:
        print("- answers a second at 128 worlds, d = 10, books off (median, mean): "
              "{:.0f}, {:.0f}".format(*speed()))  # fmt: skip
        print("- with durable books {:.0f}/s; bare synchronised appends {:.0f}/s; ratio {:.2f}"
              .format(*durable()))  # fmt: skip
    if not parts or "adaptive" in parts:
        print("\n| analyst | calibrated for | lower limit | mean information | mean charge |\n"
              "| --- | --- | --- | --- | --- |")  # fmt: skip
        for name in ANALYSTS:
            row = conversations(name, 2_000)
            print(f"| {name} | posterior | " + " | ".join(f"{v:.4f}" for v in row) + " |")
            with PriorOnly():
                row = conversations(name, 2_000)
            print(f"| {name} | prior | " + " | ".join(f"{v:.4f}" for v in row) + " |", flush=True)


if __name__ == "__main__":
    main()
