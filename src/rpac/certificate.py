"""Certificates: the one place where a number becomes a guarantee, and the file it is kept in."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from rpac import _show
from rpac._checks import count, in_range, refuse
from rpac._types import Ints, Json
from rpac.advantage import nats_to_success
from rpac.budget import SuccessRate, as_budget
from rpac.errors import BudgetExceeded, CertificateError
from rpac.leakage import Evidence, grid_leakage, ideal_leakage, label_leakage, open_leakage
from rpac.membership import on_a_person, worst_unit
from rpac.noise.base import Noise
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise
from rpac.outputs import Outputs
from rpac.reference.fit import fit_reference
from rpac.sealed import publish

SCHEMA = "rpac-certificate/1"
_ATTEMPTS: dict[str, int] = {}
"""Statistical certificates of finite outputs so far, by digest: each gets less of the error."""
_JUDGED: dict[str, str] = {}
"""The one noise that the judging half of some draws has judged, by digest."""
ADVERSARY = (
    "knows every world, the mechanism, the noise law and all earlier releases; "
    "computationally unbounded"
)
NOT_COVERED = (
    "anything true of every world, such as membership in the public pool, and the noise level",
    "success against somebody who already knows part of the drawn world (his prior is higher)",
    "rare large disclosures: the bound is an average; see the information-density quantiles",
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
            often than this; None where it does not apply or was not computed.

    Guarantees:
        If `charged`, a release of this law leaks at most `bound` nats about `secret` to an
        adversary as described in `adversary`, with probability `confidence` over the judging
        draws (1 if `grade` is "proved").
    """

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
    adversary: str = ADVERSARY
    not_covered: tuple[str, ...] = NOT_COVERED
    schema: str = SCHEMA

    @property
    def statement(self) -> str:
        """The first line: secret, prior, adversary, bound, and what is not covered."""
        how = "proved" if self.grade == "proved" else f"with confidence {self.confidence:.9g}"
        figure = "bound" if self.charged else "planning figure, not of a released law"
        return (
            f"Secret: {self.secret}. Prior: {self.prior}. Adversary: {self.adversary}. "
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

    def to_json(self) -> str:
        """Return the certificate as one line of text, sealed with a SHA-256 of its content."""
        text = publish(self._body())  # the seal goes in at the end: one pass over the content
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
            made = replace(made, not_covered=tuple(made.not_covered))
            same = made.schema == SCHEMA and text in (made.to_json(), made._page())
        except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
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

    def __str__(self) -> str:
        return _show.text(self)

    def _repr_html_(self) -> str:
        return _show.html_table(self)


_FIELDS = [f.name for f in fields(Certificate)]


def certify(
    outputs: Outputs,
    noise: Noise | LabelChannel,
    confidence: float = 1 - 1e-6,
    *,
    budget: Any = None,
    draws: int | None = None,
) -> Certificate:
    """Return a certificate of what releasing `outputs` under `noise` leaks.

    Args:
        outputs: Finite worlds, or draws of an open distribution.
        noise: `GaussianNoise` gives a planning figure for the ideal law. `LatticeNoise`,
            `LabelChannel` and what `tabulate` returns are laws that can be released: charged.
        confidence: For statistical bounds. The k-th certificate of the same finite outputs uses
            1 / (k (k + 1)) of the error, so retrying until one passes gains nothing.
        budget: If given, a bound above it raises. On half-samples `SuccessRate(rate)` is held
            against the success on the most exposed unit, not against the nats.
        draws: Judging draws; by default enough for about a second, and at least 60,000, which take
            ten to twenty seconds for 10,000 worlds. 0 for proved bounds only.

    Raises:
        BudgetExceeded: If the bound lies above `budget`.
        InputError: If outputs and noise do not fit, or the judging half of draws was used before.
    """
    delta = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    if draws is not None and draws != 0:
        count(draws, "draws", least=100)
    limit = None if budget is None else as_budget(budget)
    nats = None if limit is None else limit.nats(outputs.entropy)
    if type(noise) is LatticeNoise:
        noise = tabulate(outputs, noise)
    if outputs.exact and draws != 0:
        k = _ATTEMPTS[outputs.digest] = _ATTEMPTS.get(outputs.digest, 0) + 1
        delta /= k * (k + 1)
    if outputs.masks is not None:
        delta /= 2  # one half for the nats, one for the units' success
    evidence, charged = _evidence(outputs, noise, delta, draws)
    worst = worst_unit(outputs, noise, delta, draws, asked=on_a_person(outputs, limit))
    bounds = evidence.proved | evidence.statistical
    name = min(bounds, key=lambda key: bounds[key])
    certificate = Certificate(
        secret=outputs.statement,
        prior=outputs.prior,
        bound=max(float(bounds[name]), 0.0),
        lower=min(float(evidence.lower), max(float(bounds[name]), 0.0)),
        grade="statistical" if name in evidence.statistical else "proved",
        confidence=float(confidence),
        charged=charged,
        entropy=outputs.entropy,
        bounds={key: float(value) for key, value in bounds.items() if math.isfinite(value)},
        density_quantiles=_quantiles(evidence),
        worst_unit_success=worst,
        noise=noise.describe(),
        outputs=outputs.describe(),
        attempt=max(1, _ATTEMPTS.get(outputs.digest, 1)),
    )
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        if worst is None:
            raise refuse(
                "a law that can be released, for a success rate",
                repr(noise),
                "Pass it through rpac.tabulate.",
            )
        if not worst <= limit.rate:
            raise BudgetExceeded(worst, limit.rate, "success on every unit", "")
    elif nats is not None and not certificate.bound <= nats:
        raise BudgetExceeded(certificate.bound, nats)
    return certificate


def _quantiles(evidence: Evidence) -> dict[str, float]:
    """Return estimated quantiles of the information density; none where nothing was drawn."""
    levels = (0.5, 0.99, 0.999) if evidence.densities.size else ()
    return {str(level): float(np.quantile(evidence.densities, level)) for level in levels}


def _evidence(
    outputs: Outputs, noise: Noise | LabelChannel, delta: float, draws: int | None
) -> tuple[Evidence, bool]:
    """Return the evidence, and whether it is of a law that can be released."""
    if type(noise) is LabelChannel or outputs.kind == "label":
        return _label_evidence(outputs, noise), True
    ideal = isinstance(noise, GaussianNoise)
    law = tabulate(outputs, noise)  # refuses whatever is not one of the known laws
    if not outputs.exact:
        return _open_evidence(outputs, law, delta), not ideal
    if isinstance(noise, GaussianNoise):
        points = noise.whiten(outputs.values, outputs.center)
        return ideal_leakage(points, outputs.weights, noise, delta=delta, draws=draws), False
    return grid_leakage(outputs.codes(law), outputs.weights, law, delta=delta, draws=draws), True


def _label_evidence(outputs: Outputs, noise: Noise | LabelChannel) -> Evidence:
    k = len(outputs.labels)
    if type(noise) is not LabelChannel or outputs.kind != "label" or len(noise.tables) != k:
        raise refuse(
            "labels with a LabelChannel of as many rows",
            f"{outputs!r} with {noise!r}",
            "Match the two.",
        )
    prior = np.bincount(outputs.values[:, 0].astype(int), outputs.weights)
    return label_leakage(np.asarray(prior, np.float64), noise)


def _open_evidence(outputs: Outputs, law: GridNoise, delta: float) -> Evidence:
    """Fit a reference on the first half of the draws, judge it on the second, once."""
    if not law.gaussian:
        raise refuse("Gaussian noise for draws", repr(law), "Other tables need finite worlds.")
    key = law.describe()["digest"]
    if _JUDGED.setdefault(outputs.digest, key) != key:
        raise refuse(
            "draws that judged no other noise",
            "a second noise on the same draws",
            "Simulate again with another seed.",
        )
    box = code_box(outputs, law)
    reference = fit_reference(law.encode_rows(outputs.planning.values), law, box, delta)
    return open_leakage(law.encode_rows(outputs.judging), law, reference, box, delta)


def code_box(outputs: Outputs, law: GridNoise) -> tuple[Ints, Ints]:
    """Return the least and largest integers the clipped outputs can have on each axis."""
    assert outputs.clip is not None
    middle = ((outputs.clip[0] + outputs.clip[1]) / 2 - law.center) @ law.basis / law.steps
    half = (outputs.clip[1] - outputs.clip[0]) / 2 @ np.abs(law.basis) / law.steps
    low, high = np.floor(middle - half - 1e-6), np.ceil(middle + half + 1e-6)
    if max(np.abs(low).max(), np.abs(high).max()) > 2**50:
        raise refuse("a box within 2**50 grid steps", "a wider one", "Clip more tightly.")
    return low.astype(np.int64), high.astype(np.int64)
