"""Is this person in the data? Attacks by the likelihood ratio on all that a release publishes.

No test is better than the ratio (`duel`), so its success is the truth, and the certificate must be
above it. Games are of two kinds: many from the declared law, with study randomness, and some
through the code that really draws, with release randomness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rpac._base.types import Bools, Ints
from rpac.attack.base import Finding, success_finding
from rpac.attack.duel import Duel, Evidence, Released, somebody, stranger
from rpac.attack.everybody import Exposure, exposure
from rpac.person import mechanism
from rpac.person.mechanism import Drawn
from rpac.release.presence import Studied

DRAWS = 1_000
"""Games through the code that really draws."""
_MOST_ROWS = 8_000_000
"""Rows that these games may read in all; at least `_LEAST_DRAWS` of them are played."""
_LEAST_DRAWS = 40
_SAMPLE = 24
"""Units drawn at random for the average."""
_RESIDUES = 16


def presence(
    studied: Studied, games: int, seed: int, delta: float, released: Released | None = None
) -> tuple[tuple[Finding, ...], dict[str, str]]:
    """Attack presence in a release; return what was found, and what did not apply.

    Args:
        studied: What a release keeps sealed.
        games: Of each attack on the declared law.
        seed: Study randomness.
        delta: Probability that any limit misses.
        released: How releases are really drawn; by default as `rpac.privatize` does.
    """
    seen, question = exposure(studied), studied.question
    limit, rng = stranger(studied), np.random.default_rng([seed, 0])
    heard, best = limit.play(games, rng), limit.best(games, rng)
    parts: list[tuple[str, Bools, float | None]] = []
    parts.append(("absent person at the limit", heard.right(), best))
    if question.levels:
        parts.append(("level alone", heard.right("levels"), None))
    if question.terms:
        parts.append(("values alone", heard.right("values"), None))
    if seen.worst is not None:
        worst, average = somebody(studied, seen.worst), _average(studied, seen, games, seed)
        parts.append(("worst unit", worst.play(games, rng).right(), worst.best(games, rng)))
        parts.append(("average unit", average.right(), average.exact))
    real = _really(studied, limit, released or mechanism.draw, seed)
    each = delta / (len(parts) + len(real))
    found = [_finding(name, right, each, exact) for name, right, exact in parts]
    found += [_finding(name, right, each, note=note) for name, right, note in real]
    found[0].detail["exposure"] = seen
    lacks = {"presence: level alone": "a level"} if not question.levels else {}
    return tuple(found), lacks | ({} if seen.units else {"presence: worst unit": "people"})


def _finding(
    name: str, right: Bools, delta: float, exact: float | None = None, note: str = ""
) -> Finding:
    note = note or ("" if exact is None else f"best test of all: {exact:.4f}")
    return success_finding(
        f"presence: {name}", int(right.sum()), len(right), 0.5, delta, person=True, note=note,
        detail={} if exact is None else {"exact": exact},
    )  # fmt: skip


def _average(studied: Studied, seen: Exposure, games: int, seed: int) -> Evidence:
    """Return games about units drawn at random."""
    rng = np.random.default_rng([seed, 2])
    units = rng.choice(seen.ids, _SAMPLE)
    counts = rng.multinomial(games, np.full(len(units), 1 / len(units)))
    played = [
        somebody(studied, int(unit)).play(int(n), rng)
        for unit, n in zip(units, counts, strict=True)
    ]
    names = ("coins", "votes", "levels", "values", "spread")
    return Evidence(*(np.concatenate([getattr(one, name) for one in played]) for name in names))


def _really(
    studied: Studied, duel: Duel, released: Released, seed: int
) -> list[tuple[str, Bools, str]]:
    """Return guesses about releases that were really drawn: by the ratio, and by low bits."""
    size = max(1, len(studied.rows.units))
    games = int(min(DRAWS, max(_LEAST_DRAWS, _MOST_ROWS // size)))
    coins = np.random.default_rng([seed, 3]).integers(0, 2, games)
    drawn = duel.draw(coins, released)
    heard, told = duel.hear(coins, drawn), f"{games} releases by the code that draws"
    found = [("drawn anew", heard.right(), told), ("learned from draws", *_learned(heard))]
    if studied.question.terms:
        found.append(_low_bits(studied, drawn, coins))
    return found


def _learned(heard: Evidence) -> tuple[Bools, str]:
    """Return guesses by the part and cut that tell most in the first half: for other laws."""
    parts = {name: getattr(heard, name) for name in ("votes", "levels", "values")}
    parts["all"] = sum(parts.values(), np.zeros(1))
    half, inside = len(heard.coins) // 2, heard.coins == 1
    tried = [
        (float(((sign * score[:half] > cut) == inside[:half]).mean()), name, sign, cut)
        for name, score in parts.items()
        for sign in (1, -1)
        for cut in np.quantile(sign * score[:half], np.linspace(0.02, 0.98, 25))
    ]
    _, name, sign, cut = max(tried)
    return (sign * parts[name][half:] > cut) == inside[half:], f"a cut of {name}"


def _low_bits(studied: Studied, drawn: Sequence[Drawn], coins: Ints) -> tuple[str, Bools, str]:
    """Return guesses by what is left of released sums modulo a few of their public steps."""
    units = np.array([studied.question.step(term) for term in studied.question.terms])
    steps = np.array([one.sums / units for one in drawn]).reshape(len(drawn), -1)
    whole = steps == np.rint(steps)
    marks = np.where(whole, np.mod(steps, _RESIDUES), _RESIDUES).astype(np.int64)
    half = len(drawn) // 2
    seen = [marks[:half][coins[:half] == coin].ravel() for coin in (0, 1)]
    counts = np.array([np.bincount(mark, minlength=_RESIDUES + 1) + 1.0 for mark in seen])
    without, with_ = np.log(counts / counts.sum(axis=1, keepdims=True))
    score = (with_ - without)[marks[half:]].sum(axis=1)
    off = int((~whole).sum())
    note = f"WARNING: {off} numbers are off their public steps" if off else "all on their steps"
    return "low bits", (score > 0) == (coins[half:] == 1), note
