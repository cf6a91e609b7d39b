"""The adaptive analyst: chooses every question by what the answers so far have told.

Noise calibrated to the prior does not hold against them: where their posterior spreads wider than
the prior did, the same noise tells more than was booked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.types import Bools, Floats, Ints
from rpac.attack.base import Attack, Finding, Game, Play, nats_finding
from rpac.attack.likelihood import DeclaredLaw, log_gain, noise_axes, released_points
from rpac.worlds.outputs import Outputs

Strategy = Literal["greedy", "top-2", "random"]


@final
class AdaptiveAnalyst(Attack):
    """Asks the most telling of many questions, again and again, about one drawn world.

    Args:
        questions: (outputs, noise) of each question, on the same worlds with the same prior.
        budget: What the books say all answers leak together, in nats: the claim under attack.
        rounds: How many questions are asked.
        strategy: "greedy" asks where their posterior spreads widest against the noise, "top-2"
            for what best tells the two likeliest worlds apart, "random" any.
        games: Transcripts.
    """

    name = "adaptive"

    def __init__(
        self,
        questions: Sequence[tuple[Outputs, Any]],
        budget: float,
        *,
        rounds: int,
        strategy: Strategy = "greedy",
        games: int = 4_000,
    ) -> None:
        if not len(questions) or strategy not in ("greedy", "top-2", "random"):
            raise refuse(
                "questions, and a strategy greedy, top-2 or random",
                f"{len(questions)} questions and {strategy!r}",
                "Give both.",
            )
        self._games = [Game(outputs, noise) for outputs, noise in questions]
        self.weights = questions[0][0].weights
        for game in self._games:
            same = np.array_equal(game.outputs.weights, self.weights)
            if not same or not {"density", "numbers"} <= game.has:
                raise refuse(
                    "numeric questions on one prior, with noise of known density",
                    f"{game.outputs!r} with {game.noise!r}",
                    "Leave it out.",
                )
        self.budget, self.strategy = float(budget), strategy
        self.rounds = count(rounds, "rounds", least=1)
        self.games = count(games, "games", least=100)

    def run(self, play: Play, delta: float) -> Finding:
        """Return a lower limit on what whole transcripts tell about the world."""
        rng = np.random.default_rng([play.seed, 1])
        worlds = rng.choice(self.weights.size, size=self.games, p=self.weights)
        log_post = np.tile(np.log(self.weights), (self.games, 1))
        points = [_in_noise(game) for game in self._games]
        asked = np.zeros((self.games, len(points)), bool)
        for _ in range(self.rounds):
            self._ask(self._choose(log_post, points, asked, rng), worlds, log_post, rng)
        post = np.exp(log_post[np.arange(self.games), worlds])
        gains = log_gain(post, self.weights[worlds])
        note = f"{self.strategy}, {self.rounds} of {len(points)} questions a transcript"
        return nats_finding(
            self.name, gains, float(self.weights.min()), delta, limit=self.budget, note=note
        )

    def _choose(
        self, log_post: Floats, points: list[Floats], asked: Bools, rng: np.random.Generator
    ) -> Ints:
        """Return the next question of each transcript, and mark it as asked."""
        if asked.all(axis=1).any():
            asked[:] = False  # every question once, then again
        if self.strategy == "random":
            value = rng.random(asked.shape)
        elif self.strategy == "top-2":
            first, second = np.argsort(-log_post, axis=1)[:, :2].T
            value = np.stack([np.square(z[first] - z[second]).sum(axis=1) for z in points], axis=1)
        else:
            post = np.exp(log_post)
            value = np.stack(
                [post @ np.square(z).sum(axis=1) - np.square(post @ z).sum(axis=1) for z in points],
                axis=1,
            )
        # Symmetric questions tie, and the last bit, which is the machine's, must not choose.
        top = np.maximum(value.max(axis=1, keepdims=True), 1e-300)
        chosen = np.where(asked, -np.inf, np.round(value / top, 9)).argmax(axis=1)
        asked[np.arange(len(asked)), chosen] = True
        return np.asarray(chosen)

    def _ask(self, chosen: Ints, worlds: Ints, log_post: Floats, rng: np.random.Generator) -> None:
        """Answer each transcript's question, and update its posterior in place."""
        for q in np.unique(chosen):
            here, game = np.flatnonzero(chosen == q), self._games[q]
            released = game.answer(worlds[here], rng)
            log_post[here] += DeclaredLaw(game.outputs, game.noise).logits(released)
        top = log_post.max(axis=1, keepdims=True)
        log_post -= top + np.log(np.exp(log_post - top).sum(axis=1, keepdims=True))


def _in_noise(game: Game) -> Floats:
    """Return the (m, r) worlds of a question in units of its noise."""
    center, matrix = noise_axes(game.outputs, game.noise)
    return np.asarray((released_points(game.outputs, game.noise) - center) @ matrix)
