"""Certificates: the upper bound on what a release leaks, in words and in the file it is kept in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal, final

from rpac._base.checks import in_range, refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.advantage import distance_to_epsilon, distance_to_success, nats_to_success
from rpac.errors import CertificateError
from rpac.pictures.text import rounded_up
from rpac.pictures.words import FACT as FACT
from rpac.pictures.words import FACTS as FACTS
from rpac.pictures.words import PROMISES as PROMISES
from rpac.pictures.words import InWords

SCHEMA = "rpac-certificate/4"
ADVERSARY = (
    "knows every world, the mechanism, the noise law and all earlier releases; "
    "computationally unbounded"
)
NOT_COVERED = (
    "the pool: who is in it, and anything true of every world, such as numbers on which all worlds "
    "agree, names and shape of an answer, noise level and error bars. It was declared public",
    "success against somebody who already knows part of the drawn world (their prior is higher)",
    "rare large disclosures: the bound is an average; the owner's certificate has quantiles",
    "a hostile mechanism that talks to the outside",
)
PERSON_ADVERSARY = (
    "knows every other row and all of this person's, the question and all earlier releases, and "
    "chooses the questions; computationally unbounded"
)
PERSON_NOT_COVERED = (
    "families, and groups of people who act together: the unit's id says who one person is",
    "what is true of everybody like you whether you are in the data or not",
    "running time and memory",
    "other answers about the same people: figures hold by this answer alone, and answers add up",
)
VALUE_NOT_COVERED = (
    "your value, if it is known that you are in: telling it from another is at most twice the "
    "distance",
)
FUNCTION_NOT_COVERED = (
    "a function that looks at more than the rows it is given: a file, the clock, the network, the "
    "load of the machine",
)
GIVEN: Literal["given the level"] = "given the level"
GIVEN_NOT_COVERED = (
    "what the noise's own size tells, which comes from the data, and that there was an answer: for "
    "owners who publish, not for strangers who ask",
    "persons who are not in the data",
)


@final
@dataclass(frozen=True, kw_only=True)
class Certificate(InWords):
    """An upper bound on what a release leaks, and what that means.

    Attributes:
        bound: Upper bound on MI(secret; release) in nats.
        lower: Lower bound in nats; the truth lies between the two.
        grade: "proved" (no sampling error), "statistical" (holds with `confidence`) or "given the
            level" (of what is released beside the noise's size, which comes from the data).
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
            declaration. "person": whether a given person is in the data. "person, given the
            level": the same for those who are, without what the noise level tells.
        distance: Under *person*: Delta, the distance of two unit Gaussians at which anybody's
            presence can be told, at most (Gaussian differential privacy, mu = Delta).
        requested: The budget it was held against: {"nats": ...}, or {"success": ...} on every
            unit; empty without one.
        facts: Names of the numbers on which all worlds agree, or how many they are. They are facts
            of the pool, released as they are: no noise protects them.

    Guarantees:
        If `charged`, a release of this law leaks at most `bound` nats about `secret` to an
        adversary as described in `adversary`, with probability `confidence` over the judging
        draws (1 if `grade` is "proved").
    """

    promise: Literal["sample", "person", "person, given the level"] = "sample"
    secret: str
    prior: str
    bound: float
    lower: float = 0.0
    grade: Literal["proved", "statistical", "given the level"] = "proved"
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
    distance: float | None = None
    adversary: str = ADVERSARY
    not_covered: tuple[str, ...] = NOT_COVERED
    schema: str = SCHEMA

    @property
    def residual_entropy(self) -> float | None:
        """Nats of uncertainty about the secret that remain at least; None if H(X) is unknown."""
        return None if self.entropy is None else max(0.0, self.entropy - self.bound)

    def success_rate(self, prior: float = 0.5) -> float:
        """Return the highest success of any attack whose blind guess succeeds with `prior`."""
        p = in_range(prior, "prior", 0.0, 1.0)
        if self.promise == "person" and self.distance is not None:
            return distance_to_success(self.distance, p)
        return float(nats_to_success(self.bound, p))

    def epsilon(self, delta: float = 1e-5) -> float:
        """Return the epsilon of (epsilon, delta)-differential privacy that a *person* has.

        Raises:
            CertificateError: For other promises: they do not imply differential privacy.
        """
        if self.promise != "person" or self.distance is None:
            move = "Protect the person; rpac.advantage.nats_to_epsilon matches at equal success."
            raise refuse('the promise "person"', repr(self.promise), move, CertificateError)
        return distance_to_epsilon(self.distance, delta)

    def published(self) -> Certificate:
        """Return what goes into a public record: what was requested, not what was achieved.

        A bound of the requested nats is an upper bound still, since the certificate was held
        against it. Where a success rate was requested the nats are rounded up to two digits.
        """
        if self.promise != "sample":
            return self  # nothing in it was achieved on the data
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
        if self.promise != "sample":
            return self
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
        except _UNREADABLE:
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


_UNREADABLE = (
    ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError,
)  # fmt: skip
_FIELDS = tuple(f.name for f in fields(Certificate))
