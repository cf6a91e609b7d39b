"""Channels to code words: logits of four datasets, sizes and speed, and laws that repeat.

Logits are those that `rpac paper` keeps in the user's cache; datasets without them are said to be
skipped. Run some of it with `python -m benchmarks.channel name ...`.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import rpac
from benchmarks.run import table
from rpac.calibrators.channel import ChannelSearch
from rpac.calibrators.rate_distortion import Book
from rpac.cli.paper import default_cache
from rpac.front.bias import bias
from rpac.release.draw import add_noise

BUDGETS = (0.5, 1.0, 2.0, 3.0, 5.0)
DATASETS = ("mnist", "cifar10", "cifar100", "ag_news")


def logits(name: str) -> tuple[rpac.Outputs, np.ndarray] | None:
    found = sorted(default_cache().glob(f"{name}-*.npz"))
    if not found:
        print(f"\n{name}: skipped, no logits (rpac paper {name} makes them)")
        return None
    with np.load(found[0]) as kept:
        return rpac.Outputs(kept["values"]), kept["labels"]


def named(law: rpac.Codebook, labels: np.ndarray) -> float:
    """Return how often the released logits name the right class, exactly."""
    right = law.matrix * (labels[:, None] == law.words.argmax(axis=1))
    return float(right.sum() / len(labels))


def noisy(outputs: rpac.Outputs, noise: rpac.Noise, labels: np.ndarray) -> float:
    rng, hits = np.random.default_rng(5), 0
    for _ in range(10):
        released = outputs.values + noise.sample(len(labels), rng)
        hits += int((released.argmax(axis=1) == labels).sum())
    return hits / (10 * len(labels))


def four_times(outputs: rpac.Outputs, law: rpac.Codebook, nats: float) -> float:
    """Return the distortion with four times as many words, started from these."""
    search = ChannelSearch(outputs, rpac.SquaredError(), None, 1)
    matrix = law.matrix[np.unique(search.place, return_index=True)[1]]
    words, mass = search.game.means(matrix), search.game.weights @ matrix
    slope = search.game.slope(matrix, mass, words)
    size = min(4 * len(words), len(search.points))
    more = search._spread_out(Book(words, mass, slope), size)
    return search._meet(nats, more).distortion


def datasets(names: tuple[str, ...] = DATASETS) -> None:
    """Point 2: errors and accuracies at five budgets, beside the best noise."""
    for name in names:
        found = logits(name)
        if found is None:
            continue
        outputs, labels = found
        variance, rows = float(outputs.spread.sum()), []
        for nats in BUDGETS:
            noise = rpac.calibrate(outputs, nats)
            start = time.process_time()
            law = rpac.calibrate(outputs, nats, "channel")
            seconds = time.process_time() - start
            sure = rpac.calibrate(outputs, nats, rpac.Equilibrium(rpac.ArgMax(), "channel"))
            limit = rpac.Equilibrium().limit(outputs, law)
            most = four_times(outputs, law, nats) / variance
            bounds = [rpac.certify(outputs, one, budget=nats).bound for one in (law, sure)]
            rows.append([
                nats, bounds[0], law.power / variance, bias(outputs, noise).shrunk / variance,
                limit.limit / variance, most, len(law.words), named(law, labels),
                noisy(outputs, noise, labels), named(sure, labels), sure.power / variance, seconds,
            ])  # fmt: skip
            print(".", end="", flush=True, file=sys.stderr)
        table(f"Channel on {name}: errors in shares of the variance of {len(labels)} logits",
              ["budget", "bound", "channel", "best noise, shrunk", "limit", "4 x words", "words",
               "accuracy", "noise", "with ArgMax", "its error", "s"], rows)  # fmt: skip


def sizes() -> None:
    """Point 3: 10,000 worlds and 256 words; time linear in worlds and in words."""
    rng = np.random.default_rng(0)
    centers = 3.0 * rng.normal(size=(400, 10))
    rows: list[list[object]] = []
    for worlds, words in ((2_500, 256), (5_000, 256), (10_000, 64), (10_000, 128), (10_000, 256)):
        outputs = rpac.Outputs(
            centers[rng.integers(0, 400, worlds)] + rng.normal(size=(worlds, 10))
        )
        solver = rpac.Equilibrium(family="channel", words=words)
        search = ChannelSearch(outputs, rpac.SquaredError(), words, 0)
        book = search._heated(3.0, search._seeds(6.0))
        start = time.process_time()
        for _ in range(5):
            search.game.step(book)
        step = (time.process_time() - start) / 5
        start = time.process_time()
        law = solver.propose(outputs, 5.0 if words == 256 else 0.9 * np.log(words))
        whole = time.process_time() - start
        start = time.process_time()
        rpac.certify(outputs, law)
        sure = time.process_time() - start
        codes = outputs.codes(law)
        start = time.process_time()
        for _ in range(200):
            add_noise(codes[7], law)
        release = (time.process_time() - start) / 200
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([worlds, words, len(law.words), step, whole, sure, 1e3 * release, peak])
    table("Sizes of channels (process seconds)",
          ["worlds", "words at most", "words", "one step", "calibration", "certificate",
           "release, ms", "peak GiB so far"], rows)  # fmt: skip
    steps = np.log([float(row[3]) for row in rows])
    by_worlds = np.polyfit(np.log([2_500, 5_000, 10_000]), steps[[0, 1, 4]], 1)[0]
    by_words = np.polyfit(np.log([64, 128, 256]), steps[[2, 3, 4]], 1)[0]
    print(f"\nExponents of a step: {by_worlds:.2f} in worlds, {by_words:.2f} in words.")


def repeats(runs: int = 50) -> None:
    """Point 5: equal laws for equal seeds, and attacks below the certificate."""
    rng = np.random.default_rng(1)
    outputs = rpac.Outputs(
        np.repeat(4 * rng.normal(size=(8, 4)), 40, 0) + rng.normal(size=(320, 4))
    )
    laws = {rpac.calibrate(outputs, 1.0, "channel").digest for _ in range(runs)}
    rows: list[list[object]] = []
    for nats in BUDGETS:
        law = rpac.calibrate(outputs, nats, "channel")
        bound = rpac.certify(outputs, law).bound
        found = rpac.audit((outputs, law), budget=nats, games=100_000)
        rows.append([nats, bound, found.lower, found.alarm])
    print(f"\n{runs} seeded runs gave {len(laws)} law(s).")
    table(
        "Attacks on channels, 100,000 games", ["budget", "bound", "shown at least", "alarm"], rows
    )


PARTS = {"sizes": sizes, "repeats": repeats, "datasets": datasets}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        datasets((part,)) if part in DATASETS else PARTS[part]()
