"""What a release shows: the answer in the mechanism's form, and its intervals. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, final

import numpy as np

from rpac import _show
from rpac._types import Floats, Json
from rpac.books import Receipt
from rpac.certificate import Certificate
from rpac.noise.grid import GridNoise
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs

_NORMAL, _ANY = 1.959964, 4.472136
"""Half-widths in standard deviations that hold 95 %: of a Gaussian; of any law (Chebyshev)."""

_USUAL = {f.name: f.default for f in fields(Certificate) if f.name != "schema"}
"""What certificates of this schema say unless they are told otherwise."""


@final
@dataclass(frozen=True)
class Release:
    """A privatized answer.

    Attributes:
        value: The answer with its noise, in the form the mechanism returns.
        certificate: What it leaks at most.
        receipt: The entry in the books; None without a ledger.
        noise_interval: (low, high), each in the form of `value`: holds the answer on the drawn
            world, without noise, in 95 % of releases. None for labels.
        sampling_interval: The same for the mean answer over all worlds: noise, and which world
            was drawn, together.
        sealed: (outputs, law) for `rpac.audit`; never printed, compared or pickled.
    """

    value: Any
    certificate: Certificate
    receipt: Receipt | None = None
    noise_interval: tuple[Any, Any] | None = None
    sampling_interval: tuple[Any, Any] | None = None
    sealed: tuple[Outputs, GridNoise | LabelChannel] | None = field(
        default=None, repr=False, compare=False
    )

    def __reduce__(self) -> Any:
        public = (f.name for f in fields(self) if f.name != "sealed")
        return type(self), tuple(getattr(self, name) for name in public)

    def __str__(self) -> str:
        return _show.release_text(self)

    def _repr_html_(self) -> str:
        return _show.release_html(self)


def answer(law: GridNoise | LabelChannel, numbers: Floats) -> Json:
    """Return what is revealed: the released numbers, and the noise's deviations; (d,) arrays."""
    stored: Json = {"numbers": numbers}
    if isinstance(law, GridNoise):
        stored["noise"] = np.sqrt(np.square(law.basis) @ law.axis_variances)
        if not law.gaussian:  # Gaussians are even: no bias
            stored["bias"] = law.mean
    return stored


def written(revealed: Json, made: Certificate) -> Json:
    """Return an answer in plain JSON, with its certificate: what the books keep."""
    plain = {name: numbers.tolist() for name, numbers in revealed.items()}
    return plain | {"certificate": said(made)}


def said(made: Certificate) -> Json:
    """Return what a certificate says beyond the usual of its schema; the books' hashes seal it."""
    return {k: v for k, v in vars(made).items() if v != _USUAL.get(k, ...)}


def reveal(
    outputs: Outputs,
    stored: Json,
    made: Certificate,
    receipt: Receipt | None,
    law: GridNoise | LabelChannel | None = None,
) -> Release:
    """Return the release that is stored: the same for the first call and for every retry.

    The law, where it is known, is kept beside it, sealed, for audits.
    """
    numbers = np.asarray(stored["numbers"])
    intervals: list[Any] = [None, None]
    if "noise" in stored:
        middle, wide = numbers - stored.get("bias", 0.0), _ANY if "bias" in stored else _NORMAL
        noise = np.asarray(stored["noise"])
        both = noise, np.sqrt(np.square(noise) + outputs.spread)
        intervals = [_around(outputs, middle, wide * half, numbers) for half in both]
    sealed = None if law is None else (outputs, law)
    return Release(outputs.rebuild(numbers), made, receipt, intervals[0], intervals[1], sealed)


def _around(outputs: Outputs, middle: Floats, half: Any, numbers: Floats) -> tuple[Any, Any]:
    low, high = middle - half, middle + half
    if outputs.form is not None and outputs.form.whole:
        low, high = np.floor(low), np.ceil(high)
    return outputs.rebuild(low, beside=numbers), outputs.rebuild(high, beside=numbers)


def retried(outputs: Outputs, receipt: Receipt) -> Release:
    """Return the release that a receipt stores."""
    made = Certificate(**receipt.answer["certificate"])
    return reveal(outputs, receipt.answer, made, receipt)


def booked(
    outputs: Outputs, made: Certificate, receipt: Receipt, law: GridNoise | LabelChannel
) -> Release:
    """Return the release on a receipt: another's, where that one was first with the key."""
    if receipt.answer["certificate"] != said(made):
        return retried(outputs, receipt)
    return reveal(outputs, receipt.answer, made, receipt, law)
