"""A certificate in words: what people read of it. It decides nothing."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

from rpac.pictures.text import aligned, at_most, lines_html

PROMISES = MappingProxyType({
    "sample": "which world was drawn, from a pool that is public by declaration",
    "person": "whether a given person is in the data, for anybody, in them or not",
    "person, given the level": "whether somebody of the data is in them, given the noise level",
})  # fmt: skip
"""What each promise protects, in words."""
FACT = "a fact of the pool: not protected"
"""What is said beside a number on which all worlds agree."""
FACTS = (
    "the same in every world, so facts of the pool: released as they are, and not protected. "
    'The promise "person" would protect them, "sample" does not'
)
"""What that means."""
EVEN = "all equally likely"
"""A prior that favours no world, as certificates word it."""
MEAN = "half of all releases tell the first or more, some mislead: the bound is on the mean"
"""What these quantiles are beside the bound."""
_SHOWN = 12


class InWords:
    """The part of a certificate that speaks; `rpac.Certificate` has the numbers."""

    promise: Any
    secret: Any
    prior: Any
    adversary: Any
    not_covered: Any
    facts: Any
    noise: Any
    bound: Any
    lower: Any
    grade: Any
    confidence: Any
    charged: Any
    entropy: Any
    bounds: Any
    density_quantiles: Any
    worst_unit_success: Any
    distance: Any
    residual_entropy: Any
    success_rate: Any
    epsilon: Any

    @property
    def _of_entries(self) -> bool:
        """Whether the secret is what a person's entries are, in place of whether they are there."""
        return bool(self.promise == "person" and str(self.secret).startswith("what"))

    @property
    def protects(self) -> str:
        """What the promise protects, in words."""
        return str(self.secret) if self._of_entries else PROMISES[self.promise]

    @property
    def statement(self) -> str:
        """The first line: promise, secret, prior, adversary, bound, and what is not covered."""
        how = (
            f"with confidence {self.confidence:.9g}" if self.grade == "statistical" else self.grade
        )
        figure = "bound" if self.charged else "planning figure, not of a released law"
        return (
            f"Promise: {self.promise}, {self.protects}. Secret: {self.secret}. "
            f"Prior: {self.prior}. Adversary: {self.adversary}. "
            f"Bound: {self.bound:.6g} nats ({figure}, {how}). "
            f"Not covered: {'; '.join(self.not_covered)}."
        )

    def figures(self) -> list[tuple[str, str]]:
        """Return what is certified as label and text, in the order people read."""
        if self.promise != "sample":
            return self._person_figures()
        how = "proved" if self.grade == "proved" else f"confidence {self.confidence:.9g}"
        figure = "charged" if self.charged else "planning figure: ideal noise, not a released law"
        drawn = "mixture" in self.bounds or self.noise.get("rank", 1) > 1
        with_ = f" (confidence {self.confidence:.9g})" if drawn else ""
        guess = at_most(100 * self.success_rate(0.5), 4)
        quantiles = self.density_quantiles.items()
        density = ", ".join(f"{100 * float(q):g} % {v:.4g}" for q, v in quantiles)
        density = f"{density} (estimated quantiles, nats; {MEAN})" if density else "not drawn"
        found = [
            ("promise", f"{self.promise}: {PROMISES[self.promise]}"),
            ("secret", self.secret),
            ("prior", self.prior),
            ("adversary", self.adversary),
            ("leaks at most", f"{at_most(self.bound)} nats ({how}; {figure})"),
            *([("leaks at least", f"{self.lower:.6g} nats{with_}")] if self.bounds else []),
            ("a yes-or-no guess", f"right 50 % without this answer, at most {guess} % with it"),
            *([("information density", density)] if self.bounds else []),
            self._error,
        ]  # fmt: skip
        place = [label for label, _ in found].index("a yes-or-no guess")
        if world := self._world_itself:
            found.insert(place + 1, ("the world itself", world))
        if self.worst_unit_success is not None:
            rate = f"at most {at_most(100 * self.worst_unit_success, 4)} %"
            told = f"guessed right 50 % without this answer, {rate} with it{with_}"
            found.insert(place + 1, ("membership of one person", told))
        if self.residual_entropy is not None:
            rest = f"{self.residual_entropy:.6g} of {self.entropy:.6g} nats"
            found.insert(place, ("residual entropy", rest))
        return found + ([("not protected", self.facts_in_words)] if self.facts else [])

    @property
    def _world_itself(self) -> str:
        """How often the drawn one of listed worlds is named; empty where the prior is not even.

        Half-samples have the membership of a person in its place.
        """
        listed = "worlds was drawn" in str(self.secret)
        if not listed or self.prior != EVEN or self.entropy is None:
            return ""
        blind = math.exp(-self.entropy)
        after = at_most(100 * self.success_rate(blind), 3)
        return f"named right {100 * blind:.3g} % without this answer, at most {after} % with it"

    @property
    def _error(self) -> tuple[str, str]:
        """What the law costs, by what it is."""
        if self.noise.get("family") != "codebook":
            return "noise power", f"{self.noise['power']:.6g}"
        words = f"one of {self.noise['words']} public code words"
        power = self.noise.get("power")
        off = "not said" if power is None else f"{power:.6g}"
        return "squared error", f"{off} ({words}: guesses, drawn to the mean)"

    def _person_figures(self) -> list[tuple[str, str]]:
        distance = self.distance or 0.0
        given = self.promise != "person"
        told = f"{at_most(distance)} (two bell curves that far apart are as hard to tell apart)"
        found = [
            ("promise", f"{self.promise}: {self.protects}"),
            ("secret", self.secret),
            ("prior", self.prior),
            ("adversary", self.adversary),
            ("distance", told),
            (
                "leaks at most",
                f"{at_most(self.bound)} nats about one person ({self.grade}; charged)",
            ),
        ]
        if not given:
            guess = at_most(100 * self.success_rate(0.5), 4)
            found += [
                ("entries of one person" if self._of_entries else "presence of one person",
                 f"guessed right 50 % without this answer, at most {guess} % with it"),
                ("differential privacy", f"mu = {at_most(distance)}; epsilon "
                 f"{at_most(self.epsilon(), 3)} at delta 0.00001"),
            ]  # fmt: skip
        levels = self.noise.get("levels", {}).items()
        found += [(f"level of {name}", f"{size:.6g}") for name, size in levels]
        return found

    @property
    def facts_in_words(self) -> str:
        """The numbers on which all worlds agree, with what that means; empty if there are none."""
        shown = ", ".join(self.facts[:_SHOWN]) + (" ..." if len(self.facts) > _SHOWN else "")
        return f"{shown}: {FACTS}" if shown else ""

    def lines(self) -> list[tuple[str, str]]:
        """Return the figures, and what they do not cover."""
        rest = [("" if i else "not covered", text) for i, text in enumerate(self.not_covered)]
        return self.figures() + rest

    def __str__(self) -> str:
        return aligned(self.lines())

    def _repr_html_(self) -> str:
        return lines_html("rpac certificate", self.lines())
