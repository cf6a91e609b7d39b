"""The verb `certify`, with this process's memory of what was judged."""

from __future__ import annotations

from typing import Any

from rpac.certificate.attempts import Attempts, Memory, Together
from rpac.certificate.certificate import Certificate
from rpac.certificate.issue import issue
from rpac.ledger.ledger import Ledger
from rpac.noise.base import Law
from rpac.worlds.outputs import Outputs

PROCESS = Memory()
"""Judgements of this process: certificates of equal outputs share their error, whoever asks."""


def remembered(ledger: Ledger | None) -> Attempts:
    """Return who remembers judgements: this process, and a ledger where there is one."""
    return PROCESS if ledger is None else Together(PROCESS, ledger)


def certify(
    outputs: Outputs,
    noise: Law,
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
        draws: Judging draws, at most. By default enough for about a second, and at least 30,000
            (60,000 beyond 16 directions), which take two to four seconds for 10,000 worlds. Against
            a budget in nats they end once the bound is at or below it, so that the bound lies
            nearer to the budget than it need; leave `budget` out for the least bound. 0 for proved
            bounds only.

    Raises:
        BudgetExceeded: If the bound lies above `budget`.
        InputError: If outputs and noise do not fit, or the judging half of draws was used before.
    """
    return issue(outputs, noise, confidence, attempts=PROCESS, budget=budget, draws=draws)
