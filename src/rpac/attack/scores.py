"""Membership from scores: likelihood ratios (LiRA), thresholds, and the audit of a single run.

`lira` and `one_run` take scores of any origin (losses, confidences, similarities), so they apply
to models and releases of which no world was simulated here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import array, count, in_range, probabilities, refuse
from rpac._base.types import Bools, Floats
from rpac.advantage import success_to_nats
from rpac.attack.base import Attack, Finding, Play, success_finding
from rpac.attack.bayes import roc, secret_units
from rpac.numerics import log_binomial_tail

_LEAST_VARIANCE = 1e-12


def lira(scores: Any, masks: Any, *, online: bool = True, pooled: bool = False) -> Floats:
    """Return the likelihood-ratio statistic of every world and target, (m, targets).

    World i is the one under attack; all others are its shadows. Scores of a target are taken as
    normal with it and without it.

    Args:
        scores: (m, targets) a score of each target in each world, such as the model's confidence.
        masks: (m, targets) True where the world holds the target.
        online: True: log N(score; in) - log N(score; out). False: only shadows without the target
            are used, and the statistic is (score - mean) / spread: the larger, the likelier in.
        pooled: One spread for all targets (two, in and out, online): for few shadows.

    Raises:
        InputError: If some target has fewer than 2 shadows on a side that is used.
    """
    s = array(scores, "scores", 2)
    inside = np.asarray(masks, bool)
    if inside.shape != s.shape:
        raise refuse(f"masks of shape {s.shape}", inside.shape, "One entry for each score.")
    s = s - s.mean(axis=0)  # sums of squares keep their digits
    out_mean, out_variance = _shadow_moments(s, ~inside)
    if pooled:
        out_variance = np.broadcast_to(out_variance.mean(axis=1, keepdims=True), s.shape)
    if not online:
        return np.asarray((s - out_mean) / np.sqrt(out_variance))
    in_mean, in_variance = _shadow_moments(s, inside)
    if pooled:
        in_variance = np.broadcast_to(in_variance.mean(axis=1, keepdims=True), s.shape)
    return np.asarray(_log_normal(s, in_mean, in_variance) - _log_normal(s, out_mean, out_variance))


def _shadow_moments(s: Floats, chosen: Bools) -> tuple[Floats, Floats]:
    """Return mean and variance over the chosen worlds other than each one, (m, targets)."""
    n = chosen.sum(axis=0) - chosen
    if n.min() < 2:
        raise refuse(
            "2 shadows of every target, in and out", n.min(), "Simulate more worlds, or drop it."
        )
    kept = np.where(chosen, s, 0.0)
    mean = (kept.sum(axis=0) - kept) / n
    square = (np.square(kept).sum(axis=0) - np.square(kept)) / n
    return mean, np.maximum(square - np.square(mean), _LEAST_VARIANCE)


def _log_normal(x: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (np.square(x - mean) / variance + np.log(variance)))


@final
class LiRA(Attack):
    """Likelihood-ratio attack on a released vector: needs shadows, but no density.

    Each unit's score is the release along the direction in which worlds with it differ from
    worlds without it. Study games are the shadows.

    Args:
        online: Whether worlds with the unit are among the shadows.
    """

    needs = frozenset({"masks", "numbers"})

    def __init__(self, *, online: bool = True) -> None:
        self.online, self.name = online, "lira" if online else "lira offline"

    def run(self, play: Play, delta: float) -> Finding:
        """Return success on the unit that study games show as most exposed."""
        early, late, inside = _unit_scores(play)
        outside = ~inside
        out_mean, out_sd = _moments(early, outside)
        in_mean, in_sd = _moments(early, inside)
        if self.online:
            parts = (in_mean, in_sd**2), (out_mean, out_sd**2)
            first, second = (
                _log_normal(x, *parts[0]) - _log_normal(x, *parts[1]) for x in (early, late)
            )
        else:
            first, second = ((x - out_mean) / out_sd for x in (early, late))
        return _judged(self.name, play, first, second, delta)


@final
class Threshold(Attack):
    """The plainest test: is the release far along a unit's direction?"""

    name = "threshold"
    needs = frozenset({"masks", "numbers"})

    def run(self, play: Play, delta: float) -> Finding:
        """Return success on the unit that study games show as most exposed."""
        early, late, _ = _unit_scores(play)
        return _judged(self.name, play, early, late, delta)


def _unit_scores(play: Play) -> tuple[Floats, Floats, Bools]:
    """Return (study scores, judging scores, study membership), each (n, units)."""
    inside = play.game.members.of(secret_units(play))[play.study.worlds]
    y, new = (np.nan_to_num(g.released, posinf=0.0, neginf=0.0) for g in (play.study, play.judge))
    share = inside.mean(axis=0)
    center = y.mean(axis=0)
    cov = np.atleast_2d(np.cov(y.T))
    gap = (inside - share).T @ (y - center) / (len(y) * (share * (1 - share))[:, None])
    ridge = 1e-9 * max(float(np.trace(cov)), 1e-300) * np.eye(len(cov))
    directions = np.linalg.solve(cov + ridge, gap.T)
    directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-300)
    return (y - center) @ directions, (new - center) @ directions, inside


def _moments(scores: Floats, chosen: Bools) -> tuple[Floats, Floats]:
    n = chosen.sum(axis=0)
    mean = np.where(chosen, scores, 0.0).sum(axis=0) / n
    square = np.where(chosen, np.square(scores - mean), 0.0).sum(axis=0) / n
    return mean, np.sqrt(np.maximum(square, _LEAST_VARIANCE))


def _judged(name: str, play: Play, first: Floats, second: Floats, delta: float) -> Finding:
    """Pick unit and threshold on study statistics, and count hits on judging ones."""
    units = secret_units(play)
    masks = play.game.members.of(units)
    inside, prior = masks[play.study.worlds], play.weights @ masks
    cuts = np.quantile(first, np.linspace(0.02, 0.98, 25), axis=0)
    rates = np.stack([((first > cut) == inside).mean(axis=0) for cut in cuts])
    at, u = np.unravel_index(int((rates - np.maximum(prior, 1 - prior)).argmax()), rates.shape)
    truth = masks[play.judge.worlds, u]
    hits = int(((second[:, u] > cuts[at, u]) == truth).sum())
    blind = float(max(prior[u], 1 - prior[u]))
    curve = roc(second[:, u], truth, first[~inside[:, u], u], delta)
    return success_finding(
        name, hits, len(truth), blind, delta, person=True, note=f"unit {units[u]}",
        detail={"roc": curve},
    )  # fmt: skip


@final
@dataclass(frozen=True)
class OneRun:
    """What a single run shows.

    Attributes:
        correct: Right guesses.
        guesses: All guesses; on the other targets the attack abstained.
        tail: Probability that blind guesses do as well.
        nats: With the stated confidence the run leaks at least this.
        epsilon: With that confidence it is not epsilon'-differentially private for any epsilon'
            below this; None where targets were not included independently.
        confidence: Of either statement.
    """

    correct: int
    guesses: int
    tail: float
    nats: float
    epsilon: float | None
    confidence: float


def one_run(
    scores: Any,
    members: Any,
    *,
    guesses: int | None = None,
    masks: Any = None,
    weights: Any = None,
    confidence: float = 0.95,
) -> OneRun:
    """Audit one run with many targets: guess the boldest scores, and count.

    If the run leaks at most b nats, an event of blind probability t has probability at most
    `nats_to_success(b, t)`. Blind guesses do as well as these with probability `tail`, which
    is a p-value where nothing leaks; so b is at least `success_to_nats(1 - confidence, tail)`.

    Args:
        scores: (targets,) larger for likelier members; 0 is undecided.
        members: (targets,) bool, who really is one.
        guesses: How many of the boldest scores to guess on; all by default. Fix it in advance.
        masks: (m, targets) if membership follows one of m worlds; else it is taken as
            independent with probability 1/2 each.
        weights: (m,) prior on those worlds; equal by default.
        confidence: Of what is concluded.
    """
    s, truth = array(scores, "scores", 1), np.asarray(members, bool)
    if truth.shape != s.shape:
        raise refuse(f"{s.size} members", truth.shape, "One for each score.")
    k = s.size if guesses is None else count(guesses, "guesses", least=1)
    if k > s.size:
        raise refuse(f"at most {s.size} guesses", k, "One for each target.")
    alpha = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    bold = np.argsort(-np.abs(s), kind="stable")[:k]
    right = int(((s[bold] > 0) == truth[bold]).sum())
    epsilon = None
    if masks is None:
        tail = _binomial_tail(right, k, 0.5)
        epsilon = _least_epsilon(right, k, alpha)
    else:
        table = np.asarray(masks, bool)
        if table.ndim != 2 or table.shape[1] != s.size:
            raise refuse(f"masks of {s.size} targets", table.shape, "One column for each.")
        equal = np.full(len(table), 1 / len(table))
        p = equal if weights is None else probabilities(weights, "weights", size=len(table))
        tail = float(p @ ((table[:, bold] == (s[bold] > 0)).sum(axis=1) >= right))
    nats = float(success_to_nats(alpha, max(tail, 1e-300))) if tail < alpha else 0.0
    return OneRun(right, k, tail, nats, epsilon, 1.0 - alpha)


def _binomial_tail(hits: int, trials: int, rate: float) -> float:
    return 1.0 if hits == 0 else float(np.exp(log_binomial_tail(hits, trials, rate)))


def _least_epsilon(hits: int, trials: int, alpha: float) -> float:
    """Return the least epsilon whose best guesser does as well with probability alpha."""
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        likely = _binomial_tail(hits, trials, 1.0 / (1.0 + math.exp(-middle))) > alpha
        low, high = (low, middle) if likely else (middle, high)
    return low
