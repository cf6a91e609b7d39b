"""The release: draw a world, add table noise to its stored integers, reveal the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac import _show
from rpac._checks import refuse
from rpac._types import Floats
from rpac.budget import as_budget
from rpac.calibrate.base import Calibrator
from rpac.calibrate.methods import calibrate
from rpac.certificate import Certificate, certify
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs
from rpac.simulate import evaluate, simulate
from rpac.source import Draws, Source


@final
@dataclass(frozen=True)
class Release:
    """A privatized answer.

    Attributes:
        value: The answer with its noise, in the form the mechanism returns.
        certificate: What it leaks at most.
    """

    value: Any
    certificate: Certificate

    def __str__(self) -> str:
        return f"{'released':>19}  {self.value}\n{self.certificate}"

    def _repr_html_(self) -> str:
        return _show.release_html(self.value, self.certificate)


def draw_world(weights: Floats) -> int:
    """Return the index of the secret world, drawn from the prior by the operating system."""
    return int(look_up(integer_table(weights), system_uniforms(1))[0])


def add_noise(row: Floats, law: GridNoise | LabelChannel) -> Floats:
    """Return one (d,) output with noise: integers plus table noise, then public arithmetic.

    Guarantees:
        The value lies on the public grid, whatever the secret. One draw of noise from the
        operating system; no seed, no float addition before the noise.
    """
    if not law.power > 0:
        raise refuse("noise of positive power", law.power, "Lower the budget: this is bare.")
    if isinstance(law, LabelChannel):
        return law.at(row.astype(np.int64), system_uniforms(1)).astype(np.float64)
    codes = law.encode(row[None]) + law.at(system_uniforms(1, len(law.axes)))
    return np.asarray(law.decode(codes)[0])


def privatize(
    mechanism: Callable[..., Any],
    source: Source,
    budget: Any,
    *,
    method: str | Calibrator = "auto-pac",
    confidence: float = 1 - 1e-6,
    n_jobs: int = 1,
    seed: int = 0,
) -> Release:
    """Run any function on secret data and return its answer with just enough noise.

    Args:
        mechanism: Any callable of one secret; see `simulate` for what it may return.
        source: The possible secrets. The library draws the secret itself.
        budget: `Nats`, `Bits`, `SuccessRate` or `ResidualEntropy`; a bare number is nats.
        method: Name of a calibrator, or a `Calibrator`.
        confidence: Of the certificate, where it is statistical.
        n_jobs: Processes for the simulation.
        seed: Study randomness for simulation and calibration. The drawn world and the noise
            never depend on it.

    Guarantees:
        Nothing is drawn before a certificate of the very law that is released meets the budget.

    Raises:
        BudgetExceeded: If no certificate within the budget was obtained.
    """
    nats_of = as_budget(budget).nats
    outputs, fresh = _simulated(mechanism, source, n_jobs, seed)
    nats = nats_of(outputs.entropy)
    noise = calibrate(outputs, nats, method)
    law = noise if isinstance(noise, LabelChannel) else tabulate(outputs, noise)
    certificate = certify(outputs, law, confidence, budget=nats)
    row = outputs.values[draw_world(outputs.weights)] if fresh is None else fresh
    return Release(outputs.rebuild(add_noise(row, law)), certificate)


def _simulated(
    mechanism: Callable[..., Any], source: Source, n_jobs: int, seed: int
) -> tuple[Outputs, Floats | None]:
    """Return the outputs and, for an open distribution, the answer on one more, fresh draw.

    The fresh draw runs among the others, so a failure on it looks like a failure on any.
    """
    if not isinstance(source, Draws):
        return simulate(source, mechanism, n_jobs=n_jobs, seed=seed), None
    secrets = [*source.worlds(seed), source.draw()]
    both = evaluate(source, mechanism, secrets, n_jobs=n_jobs, seed=seed, fresh=1)
    fresh = both.values[-1]
    outputs = both.part(slice(0, len(both.values) - 1))
    outputs.form, outputs.statement = both.form, both.statement
    return outputs, fresh
