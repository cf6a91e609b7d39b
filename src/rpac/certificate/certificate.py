"""Certificates: the upper bound on what a release leaks, in words and in the file it is kept in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Literal, final

from rpac._base.checks import in_range, refuse
from rpac._base.sealed import publish
from rpac._base.text import aligned, at_most, lines_html, rounded_up
from rpac._base.types import Json
from rpac.advantage import nats_to_success
from rpac.errors import CertificateError

SCHEMA = "rpac-certificate/3"
ADVERSARY = (
    "knows every world, the mechanism, the noise law and all earlier releases; "
    "computationally unbounded"
)
PROMISES = MappingProxyType({
    "sample": "which world was drawn, from a pool that is public by declaration",
})  # fmt: skip
"""What each promise protects, in words."""
FACT = "a fact of the pool: not protected"
"""What is said beside a number on which all worlds agree."""
FACTS = (
    "the same in every world, so facts of the pool: released as they are, and not protected. "
    'The promise "person" would protect them, "sample" does not'
)
"""What that means."""
NOT_COVERED = (
    "the pool: who is in it, and anything true of every world, such as numbers on which all worlds "
    "agree, names and shape of an answer, noise level and error bars. It was declared public",
    "success against somebody who already knows part of the drawn world (their prior is higher)",
    "rare large disclosures: the bound is an average; the owner's certificate has quantiles",
    "a hostile mechanism that talks to the outside",
)


@final
@dataclass(frozen=True, kw_only=True)
class Certificate:
    """An upper bound on what a release leaks, and what that means.

    Attributes:
        bound: Upper bound on MI(secret; release) in nats.
        lower: Lower bound in nats; the truth lies between the two.
        grade: "proved" (no sampling error) or "statistical" (holds with `confidence`).
        confidence: Probability with which all certificates of these outputs hold together.
        charged: True if it is of the law that is really released, False for a planning figure
            (ideal noise, or outputs that were not quantised).
        entropy: H(X) in nats, None for open distributions.
        bounds: Every upper bound that was computed, by name; `bound` is the least.
        density_quantiles: Estimated quantiles (0.5, 0.99, 0.999) of the information density;
            empty if nothing was drawn (`draws=0`).
        worst_unit_success: For half-samples: no attack tells the membership of any unit more
            often than this; None where it does not apply or was not computed. It is what was
            achieved, for the owner's eyes; what is written (`to_json`, `save`) says what was
            requested, or nothing.
        promise: "sample": what is protected is which world was drawn; the pool is public by
            declaration.
        requested: The budget it was held against: {"nats": ...}, or {"success": ...} on every
            unit; empty without one.
        facts: Names of the numbers on which all worlds agree. They are facts of the pool, released
            as they are: no noise protects them.

    Guarantees:
        If `charged`, a release of this law leaks at most `bound` nats about `secret` to an
        adversary as described in `adversary`, with probability `confidence` over the judging
        draws (1 if `grade` is "proved").
    """

    promise: Literal["sample"] = "sample"
    secret: str
    prior: str
    bound: float
    lower: float = 0.0
    grade: Literal["proved", "statistical"] = "proved"
    confidence: float = 1.0
    charged: bool
    entropy: float | None
    bounds: dict[str, float]
    density_quantiles: dict[str, float] = field(default_factory=dict)
    worst_unit_success: float | None = None
    noise: Json
    outputs: Json
    attempt: int = 1
    requested: dict[str, float] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    adversary: str = ADVERSARY
    not_covered: tuple[str, ...] = NOT_COVERED
    schema: str = SCHEMA

    @property
    def statement(self) -> str:
        """The first line: promise, secret, prior, adversary, bound, and what is not covered."""
        how = "proved" if self.grade == "proved" else f"with confidence {self.confidence:.9g}"
        figure = "bound" if self.charged else "planning figure, not of a released law"
        return (
            f"Promise: {self.promise}, {PROMISES[self.promise]}. Secret: {self.secret}. "
            f"Prior: {self.prior}. Adversary: {self.adversary}. "
            f"Bound: {self.bound:.6g} nats ({figure}, {how}). "
            f"Not covered: {'; '.join(self.not_covered)}."
        )

    @property
    def residual_entropy(self) -> float | None:
        """Nats of uncertainty about the secret that remain at least; None if H(X) is unknown."""
        return None if self.entropy is None else max(0.0, self.entropy - self.bound)

    def success_rate(self, prior: float = 0.5) -> float:
        """Return the highest success of any attack whose blind guess succeeds with `prior`."""
        return float(nats_to_success(self.bound, in_range(prior, "prior", 0.0, 1.0)))

    def published(self) -> Certificate:
        """Return what goes into a public record: what was requested, not what was achieved.

        A bound of the requested nats is an upper bound still, since the certificate was held
        against it. Where a success rate was requested the nats are rounded up to two digits.
        """
        nats = self.requested.get("nats")
        return replace(
            self.unexposed(),
            bound=rounded_up(self.bound, 2) if nats is None else nats,
            lower=0.0,
            bounds={},
            density_quantiles={},
        )

    def unexposed(self) -> Certificate:
        """Return the certificate with nothing about persons but what was requested."""
        return replace(self, worst_unit_success=self.requested.get("success"))

    def to_json(self) -> str:
        """Return the certificate as one line of text, sealed with a SHA-256 of its content.

        What it says of persons is what was requested: who is most exposed, and how much, is the
        owner's to know.
        """
        text = publish(self.unexposed()._body())  # the seal goes in last: one pass over it all
        return f'{text[:-1]},"sha256":"{sha256(text.encode()).hexdigest()}"}}'

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        Path(path).write_text(self._page(), encoding="utf-8")

    def _page(self) -> str:
        return publish(json.loads(self.to_json()), indent=1) + "\n"

    def _body(self) -> Json:
        return {"statement": self.statement} | {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate in `text`.

        Raises:
            CertificateError: If anything differs from what `to_json` or `save` wrote.
        """
        try:
            body = json.loads(text)
            made = cls(**{k: v for k, v in body.items() if k in _FIELDS})
            made = replace(made, not_covered=tuple(made.not_covered), facts=tuple(made.facts))
            same = made.schema == SCHEMA and text in (made.to_json(), made._page())
        except (
            ValueError,
            TypeError,
            AttributeError,
            ArithmeticError,
            LookupError,
            RecursionError,
        ):
            same = False
        if not same:
            raise refuse(
                f"an unaltered certificate of schema {SCHEMA}",
                "a text that differs",
                "Ask its issuer for the original.",
                CertificateError,
            )
        return made

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read and check a certificate file."""
        return cls.from_json(Path(path).read_bytes().decode("utf-8", errors="replace"))

    def figures(self) -> list[tuple[str, str]]:
        """Return what is certified as label and text, in the order people read."""
        how = "proved" if self.grade == "proved" else f"confidence {self.confidence:.9g}"
        figure = "charged" if self.charged else "planning figure: ideal noise, not a released law"
        drawn = "mixture" in self.bounds or self.noise.get("rank", 1) > 1
        with_ = f" (confidence {self.confidence:.9g})" if drawn else ""
        guess = at_most(100 * self.success_rate(0.5), 4)
        quantiles = self.density_quantiles.items()
        density = ", ".join(f"{100 * float(q):g} % {v:.4g}" for q, v in quantiles)
        density = f"{density} (estimated quantiles, nats)" if density else "not drawn"
        found = [
            ("promise", f"{self.promise}: {PROMISES[self.promise]}"),
            ("secret", self.secret),
            ("prior", self.prior),
            ("adversary", self.adversary),
            ("leaks at most", f"{at_most(self.bound)} nats ({how}; {figure})"),
            *([("leaks at least", f"{self.lower:.6g} nats{with_}")] if self.bounds else []),
            ("a yes-or-no guess", f"right 50 % of the time before, at most {guess} % after"),
            *([("information density", density)] if self.bounds else []),
            ("noise power", f"{self.noise['power']:.6g}"),
        ]  # fmt: skip
        place = [label for label, _ in found].index("a yes-or-no guess")
        if self.worst_unit_success is not None:
            rate = f"at most {at_most(100 * self.worst_unit_success, 4)} %"
            told = f"guessed right 50 % before, {rate} after{with_}"
            found.insert(place + 1, ("membership of one person", told))
        if self.residual_entropy is not None:
            rest = f"{self.residual_entropy:.6g} of {self.entropy:.6g} nats"
            found.insert(place, ("residual entropy", rest))
        return found + ([("not protected", self.facts_in_words)] if self.facts else [])

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


_SHOWN = 12
_UNREADABLE = (
    ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError,
)  # fmt: skip
_FIELDS = tuple(f.name for f in fields(Certificate))
