"""A reader of twin runs: told all that a release prints and writes, does it know who was there?

Whatever it finds is a feature: exit code, names and sizes of files, lengths of texts, every number
(by the line it stands in, whose other words are its name), differences of numbers that follow one
another, how many characters a number has, and every word and line that some runs have and others
have not, fingerprints included. Three ways to guess are learned on one half of the runs and judged
on the other: logistic regression, a random forest, and the best threshold on one feature.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?")
MARK = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b")
"""A fingerprint: a word, not a number."""
WORD = re.compile(r"[^\s<>\"',;:()\[\]{}=]+")
FEW = 0.02
"""Words that fewer runs have, or lack, are left out: no test could use them."""
MOST_WORDS = 400
FOREST = 60
"""Trees."""


@dataclass(frozen=True)
class Seen:
    """All that an outsider sees of one run.

    Attributes:
        code: The exit code.
        texts: By name: what was printed, and the text of every public file.
        sizes: Bytes of every public file, by name.
    """

    code: int
    texts: dict[str, str]
    sizes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """Features of one run: numbers by name, and words."""

    numbers: dict[str, float]
    words: frozenset[str]


def read(seen: Seen) -> Found:
    """Return the features of one run."""
    numbers = {"exit code": float(seen.code), "files": float(len(seen.sizes))}
    numbers |= {f"bytes of {name}": float(size) for name, size in seen.sizes.items()}
    words: set[str] = {f"file {name}" for name in seen.sizes}
    for name, text in seen.texts.items():
        numbers[f"length of {name}"] = float(len(text))
        words |= {f"{name}: {word}" for word in WORD.findall(text)}
        found, lines = _numbers(name, text)
        numbers |= found
        words |= lines
    return Found(numbers, frozenset(words))


def _numbers(name: str, text: str) -> tuple[dict[str, float], set[str]]:
    """Return the numbers of a text, each named by its line without numbers; and these lines."""
    numbers: dict[str, float] = {}
    times: Counter[str] = Counter()
    before = 0.0
    for line in MARK.sub("@", text).replace("\\n", "\n").splitlines():
        rest = NUMBER.sub("#", line)
        times[rest] += 1
        place = f"{name}: {crc32(rest.encode())} {times[rest]}"
        for i, shown in enumerate(NUMBER.findall(line)):
            value = _value(shown)
            numbers[f"{place} {i}"] = value
            numbers[f"{place} {i} characters"] = float(len(shown))
            numbers[f"{place} {i} less the last"] = value - before
            before = value
    return numbers, {f"{name}: {line} x {n}" for line, n in times.items()}


def _value(shown: str) -> float:
    return float(np.clip(float(shown.replace(",", "")), -1e300, 1e300))


# --- a table of features --------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Which features are used, and how; all of it learned on the first half of the runs."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    risen: Any
    middle: Any
    scale: Any

    def scaled(self, runs: list[Found]) -> Any:
        """Return (runs, features) for a line: numbers in robust deviations from their median."""
        moved = (self._numbers(runs) - self.middle) / self.scale
        return np.hstack([np.clip(moved, -20, 20), self._there(runs) - 0.5])

    def ranked(self, runs: list[Found]) -> Any:
        """Return (runs, features) for thresholds: the place among numbers that were learned."""
        pairs = zip(self.risen.T, self._numbers(runs).T, strict=True)
        places = [np.searchsorted(r, x) + np.searchsorted(r, x, "right") for r, x in pairs]
        return np.column_stack([*places, self._there(runs)])

    def _numbers(self, runs: list[Found]) -> Any:
        """Return (runs, numbers); the median for what a run has not."""
        raw = _numbers_of(runs, self.names)
        return np.where(np.isnan(raw), self.middle, raw)

    def _there(self, runs: list[Found]) -> Any:
        there = [[word in run.words for word in self.words] for run in runs]
        return np.array(there, float).reshape(len(runs), -1)


def _numbers_of(runs: list[Found], names: Sequence[str]) -> Any:
    raw = [[run.numbers.get(name, np.nan) for name in names] for run in runs]
    return np.array(raw, float).reshape(len(runs), -1)


def table(runs: list[Found], secret: Any) -> Table:
    """Return the table that is learned on some runs: numbers that vary, words that tell most."""
    every = sorted({name for run in runs for name in run.numbers})
    raw = _numbers_of(runs, every)
    kept = (np.nanmax(raw, 0) > np.nanmin(raw, 0)) & (np.isfinite(raw).mean(axis=0) > FEW)
    names = tuple(name for name, keep in zip(every, kept, strict=True) if keep)
    raw = raw[:, kept]
    middle = np.nanmedian(raw, axis=0)
    full = np.where(np.isnan(raw), middle, raw)
    wide, spread = full.std(axis=0), 1.4826 * np.median(np.abs(full - middle), axis=0)
    scale = np.where(spread > 1e-6 * wide, spread, np.where(wide > 0, wide, 1.0))
    return Table(names, _words(runs, secret), np.sort(full, axis=0), middle, scale)


def _words(runs: list[Found], secret: Any) -> tuple[str, ...]:
    """Return the words that tell most of the secret, of those some runs have and some have not."""
    counts = Counter(word for run in runs for word in run.words)
    few = max(2.0, FEW * len(runs))
    some = {word for word, n in counts.items() if few <= n <= len(runs) - few}
    present = Counter(
        word for run, s in zip(runs, secret, strict=True) if s for word in run.words & some
    )
    share = {word: abs(2 * present[word] - counts[word]) for word in some}
    return tuple(sorted(some, key=lambda word: (-share[word], word))[:MOST_WORDS])


# --- guesses --------------------------------------------------------------------------------------


def threshold(x: Any, secret: Any) -> tuple[int, float, bool]:
    """Return the feature, place and direction whose guesses were right most often."""
    order = np.argsort(x, axis=0, kind="stable")
    risen = np.take_along_axis(x, order, axis=0)
    more = np.cumsum(np.where(secret, 1, -1)[order], axis=0)[:-1]
    below = (~secret).sum() + more  # right guesses of "present" up to here, "absent" beyond
    best = np.where(risen[1:] > risen[:-1], np.maximum(below, len(x) - below), -1)
    at, feature = np.unravel_index(np.argmax(best), best.shape)
    place = (risen[at, feature] + risen[at + 1, feature]) / 2
    return int(feature), float(place), bool(2 * below[at, feature] > len(x))


def guesses(train: list[Found], secret: Any, test: list[Found], seed: int) -> dict[str, Any]:
    """Return each way's guesses for the second half; learned on the first."""
    made = table(train, secret)
    if not made.names and not made.words:
        return {"nothing varies": np.zeros(len(test), bool)}
    line = LogisticRegression(C=0.1, max_iter=200).fit(made.scaled(train), secret)
    forest = RandomForestClassifier(FOREST, min_samples_leaf=3, random_state=seed, n_jobs=1)
    x, y = made.ranked(train), made.ranked(test)
    feature, place, below = threshold(x, secret)
    return {
        "logistic regression": line.predict(made.scaled(test)).astype(bool),
        "random forest": forest.fit(x, secret).predict(y).astype(bool),
        "one threshold": (y[:, feature] < place) == below,
    }


@dataclass(frozen=True)
class Score:
    """How often guesses were right, in how many runs."""

    right: int
    runs: int

    @property
    def rate(self) -> float:
        """The share of right guesses."""
        return self.right / self.runs

    def chance(self, success: float) -> float:
        """Return how probable so many right guesses are at most, within a certified success."""
        return float(binom.sf(self.right - 1, self.runs, success))

    def __add__(self, other: Score) -> Score:
        return Score(self.right + other.right, self.runs + other.runs)


def scores(runs: list[Found], secret: Any, seed: int = 0) -> dict[str, Score]:
    """Return how well each way does on the second half of runs; pairs of runs stay together.

    Args:
        runs: In the order in which they were made.
        secret: (runs,) whether the person was there.
        seed: Study randomness, of the forest.
    """
    half = len(runs) // 2
    secret = np.asarray(secret, bool)
    told = guesses(runs[:half], secret[:half], runs[half:], seed)
    truth = secret[half:]
    return {name: Score(int((guess == truth).sum()), len(truth)) for name, guess in told.items()}
