"""The game that attacks play, what they find, and the noun Attack.

A game draws a world from the prior and releases it. An attack sees the release, knows every world
and the declared noise, and is scored on what it then says. Its score is a lower bound on what the
release leaks; nothing here is ever an upper bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from rpac._base.checks import array, count, refuse
from rpac._base.types import Bools, Floats, Ints
from rpac.advantage import success_to_nats
from rpac.attack.interval import clopper_pearson, mean_limits
from rpac.attack.likelihood import DeclaredLaw, Decoder, FittedLaw, gain_range, world_gains
from rpac.noise.base import Law
from rpac.noise.channel import Channel
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import narrowed, tabulate
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.members import Members
from rpac.worlds.outputs import Outputs

STUDY = 0.3
"""Share of the games that attacks may learn from; the others judge them."""
_PICKING = 2_000
_MOST_NUMBERS = 1 << 27
_ALL_UNITS = 2_048
"""Units of a pool of which all are attacked."""
_MOST_EXPOSED = 256
MISSING = {
    "density": "the noise's log density (pass a noise, a covariance or (sampler, log_density))",
    "masks": "who is in which world (simulate a Subsets, or pass Outputs masks=, (worlds, units))",
    "numbers": "numeric outputs (labels have no digits, no scale and no spread)",
}
"""What an attack may need, and how to supply it."""


@final
@dataclass(frozen=True)
class Games:
    """Played games: (n,) drawn worlds and their (n, d) releases."""

    worlds: Ints
    released: Floats

    def __getitem__(self, rows: slice) -> Games:
        return Games(self.worlds[rows], self.released[rows])

    def __len__(self) -> int:
        return len(self.worlds)


@final
class Sampler:
    """Noise that rpac did not make: a sampler, with or without its density.

    Args:
        sample: `sample(n, rng)` returns (n, d) draws of the noise.
        log_density: Of (n, d) points; without it some attacks do not apply.
    """

    def __init__(self, sample: Callable[..., Any], log_density: Any = None) -> None:
        self.sample = sample
        if log_density is not None:
            self.log_density = log_density

    def __repr__(self) -> str:
        name = getattr(self.sample, "__name__", type(self.sample).__name__)
        known = "known" if hasattr(self, "log_density") else "unknown"
        return f"Sampler({name}, density {known})"


def as_law(noise: Any) -> Any:
    """Return a law to attack: a noise, a covariance, a sampler, or (sampler, log density)."""
    if noise is None or isinstance(noise, Law | Sampler):
        return noise
    if isinstance(noise, tuple) and len(noise) == 2 and all(map(callable, noise)):
        return Sampler(*noise)
    if callable(noise):
        return Sampler(noise)
    if hasattr(noise, "sample"):
        return Sampler(noise.sample, getattr(noise, "log_density", None))
    return GaussianNoise(noise)


@final
class Game:
    """What is attacked: worlds with their prior, and how a drawn world is released.

    Args:
        outputs: Finite worlds.
        noise: The declared law: a noise of rpac, a covariance, a sampler `sample(n, rng)`, a pair
            (sampler, log density), or None.
        released: How worlds are *really* released, if not by adding that noise: a function
            `released(worlds, rng)` of (n,) indices that returns (n, d) values, NaN where it
            failed; or games played elsewhere, a pair of (n,) worlds and (n, d) releases.
    """

    def __init__(self, outputs: Outputs, noise: Any = None, released: Any = None) -> None:
        if not isinstance(outputs, Outputs) or not outputs.exact:
            raise refuse(
                "finite worlds in rpac.Outputs",
                "draws" if isinstance(outputs, Outputs) else type(outputs).__name__,
                "List possible secrets in rpac.Worlds; without worlds only `rpac.attack.one_run` "
                "and `rpac.attack.lira` on scores of your own apply.",
            )
        law = as_law(noise)
        if released is None:
            outputs, law = narrowed(outputs, law)
        self.outputs = outputs
        table = isinstance(law, LatticeNoise | Codebook)
        self.noise = tabulate(outputs, law) if table else law
        if self.noise is None and released is None:
            raise refuse("a noise, or a release function", "None for both", "Pass `released=`.")
        dim = getattr(self.noise, "dim", outputs.dim)
        other = isinstance(law, LabelChannel) != (outputs.kind == "label")
        if dim != outputs.dim or other:
            raise refuse(f"noise that fits {outputs!r}", repr(self.noise), "Match the two.")
        self.honest = released is None
        self._released = released

    @property
    def has(self) -> frozenset[str]:
        """What this game supplies, of the keys of `MISSING`."""
        found = {
            "density": isinstance(self.noise, Channel) or hasattr(self.noise, "log_density"),
            "masks": self.outputs.members is not None,
            "numbers": self.outputs.kind != "label",
        }
        return frozenset(key for key, there in found.items() if there)

    def __repr__(self) -> str:
        return f"Game({self.outputs!r}, {self.noise!r})"

    @property
    def members(self) -> Members:
        """Who is in which world, as packed bits; attacks that need them have asked first."""
        assert self.outputs.members is not None
        return self.outputs.members

    @property
    def masks(self) -> Bools:
        """(m, units) the same as a matrix, for small pools; `Play.masks` has the exposed units."""
        assert self.outputs.masks is not None
        return self.outputs.masks

    def play(self, n: int, seed: int) -> Games:
        """Return n games; recorded ones as they are."""
        if isinstance(self._released, tuple):
            return self._recorded(*self._released)
        if n * self.outputs.dim > _MOST_NUMBERS:
            raise refuse(
                f"at most {_MOST_NUMBERS // self.outputs.dim} games of this size", n,
                "Play fewer, or audit a projection of the outputs.",
            )  # fmt: skip
        rng = np.random.default_rng(seed)
        worlds = rng.choice(len(self.outputs.weights), size=n, p=self.outputs.weights)
        return Games(worlds, self.answer(worlds, rng))

    def _recorded(self, worlds: Any, released: Any) -> Games:
        given, m = array(worlds, "worlds", 1), len(self.outputs.weights)
        whole = (given == np.rint(given)).all()
        if not whole or not 0 <= given.min() <= given.max() < m:
            got = f"{given.min():g} to {given.max():g}" + ("" if whole else ", with fractions")
            raise refuse(f"whole indices of {m} worlds", got, "Count from 0.")
        return Games(given.astype(np.int64), self._table(released, given.size))

    def _table(self, released: Any, n: int) -> Floats:
        values = np.asarray(released, np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.shape != (n, self.outputs.dim):
            raise refuse(
                f"releases of shape ({n}, {self.outputs.dim})", values.shape, "NaN where it failed."
            )
        return values

    def answer(self, worlds: Ints, rng: np.random.Generator) -> Floats:
        """Return one release of each of (n,) worlds, (n, d)."""
        return self._table(self._release(worlds, rng), len(worlds))

    def _release(self, worlds: Ints, rng: np.random.Generator) -> Any:
        if self._released is not None:
            return self._released(worlds, rng)
        law = self.noise
        if isinstance(law, Law):
            return law.applied(self.outputs, worlds, rng)
        values = self.outputs.values[worlds]
        return values + np.asarray(law.sample(len(worlds), rng)).reshape(values.shape)


@final
class Play:
    """Games of one target, shared by its attacks: some to learn from, the others to judge.

    Args:
        game: What is attacked.
        games: How many; ignored for recorded games.
        seed: Study randomness.
    """

    def __init__(self, game: Game, games: int = 20_000, seed: int = 0) -> None:
        self.game, self.seed = game, count(seed, "seed", least=0)
        self.all = game.play(count(games, "games", least=200), seed)
        cut = int(STUDY * len(self.all))
        self.study, self.judge = self.all[:cut], self.all[cut:]

    @property
    def weights(self) -> Floats:
        """(m,) prior."""
        return self.game.outputs.weights

    @cached_property
    def units(self) -> Ints:
        """The units to attack, rising: all of a small pool, the most exposed of a large one.

        An attack is a lower bound, so whom it leaves out costs it strength and nobody else.
        """
        members = self.game.members
        if members.units <= _ALL_UNITS:
            return np.arange(members.units)
        return np.sort(np.argsort(-influence(self.game.outputs), kind="stable")[:_MOST_EXPOSED])

    @cached_property
    def masks(self) -> Bools:
        """(m, k) who of `units` is in which world."""
        return self.game.members.of(self.units)

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder that does best on the study games; the declared law if nothing else is."""
        game, known = self.game, "density" in self.game.has
        found: list[Decoder] = [DeclaredLaw(game.outputs, game.noise)] if known else []
        if (game.honest and known) or "numbers" not in game.has:
            return found[0]
        plain = np.isfinite(self.study.released).all(axis=1)
        if plain.sum() > 20 * game.outputs.dim:
            seen = Games(self.study.worlds[plain], self.study.released[plain])
            for by_world in (False, True):
                found.append(FittedLaw(game.outputs, game.noise, worlds=seen.worlds,
                                       released=seen.released, by_world=by_world))  # fmt: skip
        if not found:
            got = f"too many failures in {len(self.study)} study games"
            raise refuse("releases that are numbers", got, "Run the attack `failure` alone.")
        if not plain.all():
            drawn, failed = (np.bincount(w, minlength=len(self.weights)) for w in
                             (self.study.worlds, self.study.worlds[~plain]))  # fmt: skip
            for decoder in found:
                decoder.failures = (failed + 2.0 * (~plain).mean()) / (drawn + 2.0)
        return max(found, key=lambda d: float(self.gains(d, self.study[:_PICKING]).mean()))

    def gains(self, decoder: Decoder, games: Games) -> Floats:
        """Return the log gain of a decoder on the true world of each game, (n,)."""
        return world_gains(decoder, self.weights, games.worlds, games.released)


@final
@dataclass(frozen=True)
class Finding:
    """What one attack achieved.

    Attributes:
        attack: Its name.
        measure: "nats", "success" or "ratio".
        estimate: What it reached.
        low: Lower limit of its mean, in the measure's unit.
        high: Upper limit of the *attack's own* mean: says nothing about better attacks.
        nats: Lower limit on the leakage in nats that follows; 0 if none does.
        prior: For success rates: of a blind guess.
        limit: The claim it is held against; None: the audit's.
        person: Whether it is about one unit's membership, as a success rate on half-samples is.
        covered: False for what no certificate covers; such findings never raise the alarm.
        note: In words.
        detail: More figures.
    """

    attack: str
    measure: str
    estimate: float
    low: float
    high: float
    nats: float = 0.0
    prior: float | None = None
    limit: float | None = None
    person: bool = False
    covered: bool = True
    note: str = ""
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> float:
        """What it reached, in nats; a success rate may understate what its log score shows."""
        nats = self.estimate if self.measure == "nats" else 0.0
        if self.prior is not None and self.prior < 1:
            nats = float(success_to_nats(self.estimate, self.prior))
        return max(nats, self.nats)


def nats_finding(
    attack: str, gains: Floats, least_prior: float, delta: float, **more: Any
) -> Finding:
    """Return the finding of (n,) log gains where no secret has a prior below `least_prior`."""
    low, high = mean_limits(gains, *gain_range(least_prior), delta)
    return Finding(attack, "nats", float(gains.mean()), low, high, max(low, 0.0), **more)


def success_finding(
    attack: str, hits: int, games: int, prior: float, delta: float, **more: Any
) -> Finding:
    """Return the finding of so many hits, where a blind guess is right with `prior` at most."""
    low, high = (float(limit) for limit in clopper_pearson(hits, games, delta))
    nats = float(success_to_nats(low, prior)) if 0 < prior < 1 else 0.0
    return Finding(attack, "success", hits / games, low, high, nats, prior, **more)


class Attack(ABC):
    """A way to learn about the secret.

    Attributes:
        name: As `audit` calls it.
        needs: What the game must supply, of the keys of `MISSING`.
    """

    name: str
    needs: frozenset[str] = frozenset()

    @abstractmethod
    def run(self, play: Play, delta: float) -> Finding:
        """Attack, learning from `play.study` and judged on `play.judge`.

        Guarantees:
            The limits of the finding miss with probability at most `delta` together.
        """


def influence(outputs: Outputs) -> Floats:
    """Return how far each unit's presence moves the output, in units of its spread, (units,)."""
    assert outputs.members is not None
    spread = outputs.values.std(axis=0)
    moves = (outputs.values - outputs.center) / np.where(spread > 0, spread, 1.0)
    moves *= outputs.weights[:, None]
    parts = [
        np.linalg.norm(outputs.members.sums(moves, block) - 0.5 * moves.sum(axis=0), axis=1)
        for block in outputs.members.blocks()
    ]
    return np.concatenate(parts)
