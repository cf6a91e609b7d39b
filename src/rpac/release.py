"""The release: draw a world, add table noise to its stored integers, reveal the sum."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, final

import numpy as np

from rpac import _show
from rpac._checks import refuse
from rpac._types import Floats, Ints
from rpac.budget import as_budget
from rpac.calibrate.base import Calibrator
from rpac.calibrate.methods import calibrate
from rpac.certificate import Certificate, certify
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs
from rpac.simulate import answer_on_fresh_draw, simulate
from rpac.source import Draws, Source


@final
@dataclass(frozen=True)
class Release:
    """A privatized answer.

    Attributes:
        value: The answer with its noise, in the form the mechanism returns.
        certificate: What it leaks at most.
        sealed: (outputs, law) for `rpac.audit`; never printed, compared or pickled.
    """

    value: Any
    certificate: Certificate
    sealed: tuple[Outputs, GridNoise | LabelChannel] | None = field(
        default=None, repr=False, compare=False
    )

    def __reduce__(self) -> Any:
        public = (f.name for f in fields(self) if f.name != "sealed")
        return type(self), tuple(getattr(self, name) for name in public)

    def __str__(self) -> str:
        return f"{'released':>19}  {self.value}\n{self.certificate}"

    def _repr_html_(self) -> str:
        return _show.release_html(self.value, self.certificate)


def draw_world(weights: Floats) -> int:
    """Return the index of the secret world, drawn from the prior by the operating system."""
    return int(look_up(integer_table(weights), system_uniforms(1))[0])


def add_noise(codes: Ints, law: GridNoise | LabelChannel, *, allow_exact: bool = False) -> Floats:
    """Return one output with noise: its (r,) integers plus table noise, then public arithmetic.

    Guarantees:
        The value lies on the public grid, whatever the secret. One draw of noise from the
        operating system; no seed, no float addition before the noise.
    """
    if not (law.power > 0 or allow_exact):
        raise refuse("noise of positive power", law.power, "A bare release needs allow_exact=True.")
    if isinstance(law, LabelChannel):
        return law.at(codes, system_uniforms(1)).astype(np.float64)
    noisy = codes[None] + law.at(system_uniforms(1, len(law.axes)))
    return np.asarray(law.decode(noisy)[0])


def privatize(
    mechanism: Callable[..., Any],
    source: Source,
    budget: Any,
    *,
    method: str | Calibrator = "equilibrium",
    confidence: float = 1 - 1e-6,
    n_jobs: int = 1,
    seed: int | None = None,
    allow_exact: bool = False,
) -> Release:
    """Run any function on secret data and return its answer with just enough noise.

    Args:
        mechanism: Any callable of one secret; see `simulate` for what it may return.
        source: The possible secrets. The library draws the secret itself.
        budget: `Nats`, `Bits`, `SuccessRate` or `ResidualEntropy`; a bare number is nats.
        method: Name of a calibrator, or a `Calibrator`.
        confidence: Of the certificate, where it is statistical.
        n_jobs: Processes for the simulation.
        seed: Study randomness for the simulation; by default 0, and for `Draws` a new one each
            time. The drawn world and the noise never depend on it.
        allow_exact: Whether to release without noise where the budget needs none.

    Guarantees:
        Nothing is drawn before a certificate of the very law that is released meets the budget.

    Raises:
        BudgetExceeded: If no certificate within the budget was obtained.
    """
    as_budget(budget)
    if seed is None:
        seed = secrets.randbits(63) if isinstance(source, Draws) else 0
    outputs = simulate(source, mechanism, n_jobs=n_jobs, seed=seed)
    noise = calibrate(outputs, budget, method)
    law = noise if type(noise) is LabelChannel else tabulate(outputs, noise)
    certificate = certify(outputs, law, confidence, budget=budget)
    if law.describe()["digest"] != certificate.noise["digest"]:
        raise refuse("the law that was certified", "another", "Leave the noise as it was made.")
    codes = _drawn_codes(outputs, law, source, mechanism)
    value = outputs.rebuild(add_noise(codes, law, allow_exact=allow_exact))
    return Release(value, certificate, sealed=(outputs, law))


def _drawn_codes(
    outputs: Outputs, law: GridNoise | LabelChannel, source: Source, mechanism: Callable[..., Any]
) -> Ints:
    """Return the (r,) integers of the secret: a stored row, or the answer on a fresh draw."""
    if isinstance(source, Draws) and isinstance(law, GridNoise):
        fresh = answer_on_fresh_draw(source, mechanism, outputs)
        return np.asarray(law.encode_rows(fresh[None])[0])
    world = draw_world(outputs.weights)
    if isinstance(law, LabelChannel):
        return np.asarray(outputs.values[world].astype(np.int64))
    return np.asarray(outputs.codes(law)[world])
