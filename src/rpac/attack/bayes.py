"""The exact posterior over worlds, over each unit's membership, and over whatever follows from it.

Exact under the declared law; where releases come from elsewhere, under the decoder that explains
the study games best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.types import Floats, Ints
from rpac.attack.base import Attack, Finding, Games, Play, nats_finding, success_finding
from rpac.attack.interval import clopper_pearson, mean_limits
from rpac.attack.likelihood import Decoder, gain_range, log_gain, posteriors

_SHOWN = 5
_RANKING = 4_000
RATES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""False-positive rates at which thresholds are set, on study games."""


@final
class Bayes(Attack):
    """Which world was drawn: the log score of the posterior, in nats."""

    name = "bayes"

    def run(self, play: Play, delta: float) -> Finding:
        """Return a lower limit on MI(world; release)."""
        fixed = play.game.honest and "density" in play.game.has
        gains = play.gains(play.decoder, play.all if fixed else play.judge)
        return nats_finding(
            self.name, gains, float(play.weights.min()), delta, note=f"by {play.decoder.name}",
            detail={"games": len(gains)},
        )  # fmt: skip


@final
@dataclass(frozen=True)
class Roc:
    """Operating points of a test for membership, with exact binomial bands.

    Attributes:
        wanted: (k,) false-positive rates that the thresholds aim at.
        fpr: (k, 3) rate, lower and upper limit.
        tpr: (k, 3) likewise, for true positives.
        confidence: Of each band by itself.
    """

    wanted: Floats
    fpr: Floats
    tpr: Floats
    confidence: float


def roc(scores: Floats, inside: Any, study: Floats, delta: float) -> Roc:
    """Return operating points of `score > threshold`.

    Args:
        scores: (n,) of independent judging games, larger for members.
        inside: (n,) bool, who is a member.
        study: Scores of non-members in other games; their quantiles are the thresholds.
        delta: Probability that a band misses, for each by itself.
    """
    inside = np.asarray(inside, bool)
    if not inside.any() or inside.all() or not len(study):
        got = f"{inside.sum()} members of {inside.size}, and {len(study)} study scores"
        raise refuse("members, non-members and study scores", got, "Play more games.")
    cuts = np.quantile(study, 1.0 - np.array(RATES))
    parts = []
    for chosen in (scores[~inside], scores[inside]):
        hits = (chosen[:, None] > cuts).sum(axis=0)
        low, high = clopper_pearson(hits, chosen.size, delta)
        parts.append(np.stack([hits / chosen.size, low, high], axis=1))
    return Roc(np.array(RATES), parts[0], parts[1], 1.0 - delta)


def membership(play: Play, decoder: Decoder, games: Games, units: Ints) -> Floats:
    """Return P(unit in the drawn world | release), (n, units)."""
    columns = play.game.members.of(units).astype(np.float64)
    out = np.empty((len(games), units.size))
    for rows, post in posteriors(decoder, play.weights, games.released):
        out[rows] = post @ columns
    return np.clip(out, 0.0, 1.0)


@final
class Membership(Attack):
    """Who is in the drawn world: success and nats on the most exposed unit, found on study games.

    Detail: `worst` (the units that study games show as most exposed, with success, its limits and
    estimated nats on judging games), `roc` of the first of them, and `leakage`, the estimated nats
    on every unit, from study games (0 for those that a large pool leaves out).
    """

    name = "membership"
    needs = frozenset({"masks"})

    def run(self, play: Play, delta: float) -> Finding:
        """Return success on the worst unit, and the nats that follow."""
        members, open_units = play.game.members, secret_units(play)
        masks = members.of(open_units)
        prior = play.weights @ masks
        study = play.study[:_RANKING]
        early = membership(play, play.decoder, study, open_units)
        seen = masks[study.worlds]
        leakage = np.zeros(members.units)
        leakage[open_units] = _unit_gains(early, seen, prior).mean(axis=0)
        order = np.argsort(-leakage[open_units])[:_SHOWN]
        units = open_units[order]
        late = membership(play, play.decoder, play.judge, units)
        truth = masks[:, order][play.judge.worlds]
        hits = ((late > 0.5) == truth).sum(axis=0)
        gains = _unit_gains(late, truth, prior[order])
        u = int(units[0])
        blind = float(max(prior[order[0]], 1 - prior[order[0]]))
        found = success_finding(self.name, int(hits[0]), len(late), blind, delta / 2)
        least = gain_range(1.0 - blind)
        nats = max(found.nats, mean_limits(gains[:, 0], *least, delta / 2)[0])
        bands = clopper_pearson(hits, len(late), delta)
        worst = [
            {"unit": int(unit), "success": float(hits[i] / len(late)), "low": float(bands[0][i]),
             "high": float(bands[1][i]), "nats": float(gains[:, i].mean())}
            for i, unit in enumerate(units)
        ]  # fmt: skip
        curve = roc(late[:, 0], truth[:, 0], early[~seen[:, order[0]], order[0]], delta)
        note = f"unit {u}, most exposed of {members.units} on study games"
        return Finding(
            self.name, "success", found.estimate, found.low, found.high, max(nats, 0.0), blind,
            person=True, note=note, detail={"worst": worst, "roc": curve, "leakage": leakage},
        )  # fmt: skip


def _unit_gains(inside: Floats, truth: Any, prior: Floats) -> Floats:
    """Return log gains on each unit's membership, (n, units)."""
    return np.where(truth, log_gain(inside, prior), log_gain(1 - inside, 1 - prior))


def secret_units(play: Play) -> Ints:
    """Return the units that study games show in and out: whose membership is a secret."""
    drawn = np.bincount(play.study.worlds, minlength=len(play.weights))
    times = drawn @ play.masks
    found = play.units[(times > 2) & (times < len(play.study) - 2)]
    if not found.size:
        got = f"too few in {len(play.study)} study games"
        raise refuse("games with and without some unit", got, "Play more games.")
    return found


@final
class Informed(Attack):
    """Membership to somebody who already knows who else is in the drawn world.

    The nats hold against them too: given what they know, the release tells no more of the world
    than the bound. Their *success* is not bounded by it: their blind guess is better than 1/2.

    Args:
        known: How many units they know (the first ones), or which.
        unit: Whose membership they ask for; by default the first that they do not know.
    """

    name = "informed"
    needs = frozenset({"masks"})

    def __init__(self, known: int | Sequence[int] = 3, unit: int | None = None) -> None:
        self.known = list(range(known)) if isinstance(known, int) else list(known)
        self.unit = unit

    def run(self, play: Play, delta: float) -> Finding:
        """Return the nats on the world given what they know, and their success before and after."""
        members, p, games = play.game.members, play.weights, play.judge
        every = range(members.units)
        free = (u for u in every if u not in self.known)
        unit = self.unit if self.unit is not None else next(free, None)
        if unit is None or unit in self.known or not {unit, *self.known} <= {*every}:
            raise refuse(
                f"known units below {members.units}, and another to ask for",
                f"{self.known} and unit={self.unit}",
                "Let them know fewer.",
            )
        known = members.of(np.array(self.known, np.int64))
        own_bits = members.of(np.array([unit]))[:, 0]
        groups = np.unique(known, axis=0, return_inverse=True)[1].ravel()
        mass = np.bincount(groups, p)
        before = np.bincount(groups, p * own_bits) / mass
        gains, right = np.empty(len(games)), np.empty(len(games), bool)
        for rows, post in posteriors(play.decoder, p, games.released):
            own = games.worlds[rows]
            post = post * (groups == groups[own][:, None])
            post /= np.maximum(post.sum(axis=1, keepdims=True), 1e-300)
            gains[rows] = log_gain(post[np.arange(len(own)), own], p[own] / mass[groups[own]])
            right[rows] = (post @ own_bits > 0.5) == own_bits[own]
        blind = float(mass @ np.maximum(before, 1 - before))
        after = clopper_pearson(right.sum(), len(right), delta)
        least = float((p / mass[groups]).min())
        return nats_finding(
            self.name, gains, min(least, 0.5), delta,
            note=f"knowing {len(self.known)} units they are right on unit {unit} {blind:.1%} of "
            f"the time before, {right.mean():.1%} after (their prior is not covered)",
            detail={"before": blind, "after": float(right.mean()), "worlds_left": 1 / least,
                    "after_limits": tuple(map(float, after))},
        )  # fmt: skip


@final
class Inference(Attack):
    """An attribute or a reconstruction: success by a measure of your own.

    Args:
        secrets: (m,) what is to be guessed, one for each world.
        rho: `rho(secret, guess)` says whether a guess succeeds; equality by default.
        guesses: What may be guessed; the distinct secrets by default.
        name: As the table shows it.

    The finding's `prior` is the paper's 1 - delta_o, the best blind success; `estimate` is
    1 - delta, the success of the best guess under the posterior.
    """

    def __init__(
        self,
        secrets: Sequence[Any],
        rho: Callable[[Any, Any], Any] | None = None,
        *,
        guesses: Sequence[Any] | None = None,
        name: str = "inference",
    ) -> None:
        self.name = name
        self.secrets = list(secrets)
        options = list(guesses) if guesses is not None else _distinct(self.secrets)
        count(len(options), "guesses", least=1)
        same = rho or (lambda secret, guess: secret == guess)
        self.succeeds = np.array([[bool(same(s, g)) for g in options] for s in self.secrets])

    def run(self, play: Play, delta: float) -> Finding:
        """Return prior and posterior success, and the nats that follow."""
        if len(self.secrets) != len(play.weights):
            raise refuse(
                f"{len(play.weights)} secrets", len(self.secrets), "Give one for each world."
            )
        blind = float((play.weights @ self.succeeds).max())
        right = np.empty(len(play.judge), bool)
        for rows, post in posteriors(play.decoder, play.weights, play.judge.released):
            best = (post @ self.succeeds).argmax(axis=1)
            right[rows] = self.succeeds[play.judge.worlds[rows], best]
        return success_finding(
            self.name, int(right.sum()), right.size, blind, delta,
            note=f"{self.succeeds.shape[1]} possible guesses",
            detail={"delta_prior": 1 - blind, "delta": 1 - float(right.mean())},
        )  # fmt: skip


def _distinct(secrets: list[Any]) -> list[Any]:
    found: list[Any] = []
    for secret in secrets:
        if not any(secret == other for other in found):
            found.append(secret)
    return found
