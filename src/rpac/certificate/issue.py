"""The one place where a number becomes a guarantee: evidence for a law, held against a budget."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rpac._base.checks import count, in_range, refuse
from rpac._base.entropy import entropy
from rpac._base.hashing import digest
from rpac._base.types import Json
from rpac.budget import Budget, SuccessRate, as_budget
from rpac.certificate.attempts import Attempts
from rpac.certificate.certificate import Certificate
from rpac.certificate.evidence import (
    Evidence,
    Limit,
    ideal_leakage,
    law_leakage,
    open_leakage,
)
from rpac.certificate.open import code_box, fit_reference
from rpac.certificate.person import on_a_person, worst_unit
from rpac.certificate.sampled import NEVER
from rpac.errors import BudgetExceeded
from rpac.noise.base import Law
from rpac.noise.channel import Channel
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.flatten import UNSCALED
from rpac.worlds.outputs import Outputs

MOST_FACTS = 1_000
"""Numbers on which all worlds agree that are named one by one."""


def issue(
    outputs: Outputs,
    noise: Law,
    confidence: float,
    *,
    attempts: Attempts,
    budget: Any = None,
    draws: int | None = None,
) -> Certificate:
    """Return a certificate of what releasing `outputs` under `noise` leaks.

    Args:
        outputs: Finite worlds, or draws of an open distribution.
        noise: The law; `tabulate` makes those that can be released.
        confidence: For statistical bounds.
        attempts: Who remembers earlier judgements of the same outputs.
        budget: If given, a bound above it raises.
        draws: Judging draws, at most: against a budget in nats they end once the bound is at or
            below it, by a rule that keeps the confidence. 0 for proved bounds only.

    Guarantees:
        The bound is the least of all proved bounds and of at most one statistical bound, whose
        error (with that of the units' success) is this attempt's share of 1 - confidence.

    Raises:
        BudgetExceeded: If the bound lies above `budget`.
        InputError: If outputs and noise do not fit, or the judging half of draws was used before.
    """
    error = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    if draws is not None and draws != 0:
        count(draws, "draws", least=100)
    limit = None if budget is None else as_budget(budget)
    if limit is not None:
        limit.nats(outputs.entropy)  # refuses a budget that these outputs cannot have
    law = tabulate(outputs, noise)  # refuses whatever is not one of the known laws
    if type(noise) in (LatticeNoise, Codebook):
        noise = law
    k = _attempt(outputs, noise, draws, attempts)
    delta = error / (k * (k + 1)) if k else error
    if outputs.members is not None:
        delta /= 2  # one half for the nats, one for the units' success
    if _agree(outputs, noise):  # nothing differs, so nothing can be told
        evidence, worst = Evidence({"constant": 0.0}), None if outputs.members is None else 0.5
    elif outputs.exact:
        nats = _requested(outputs, limit).get("nats", NEVER)
        stop = Limit(nats, nats - error * entropy(outputs.weights))
        evidence = _finite_evidence(outputs, noise, delta, draws, stop)
        worst = worst_unit(outputs, noise, delta, draws)
    else:
        evidence, worst = _open_evidence(outputs, law, delta, attempts, k), None
    made = _written(
        outputs, noise, evidence, confidence, worst=worst, attempt=max(k, 1),
        requested=_requested(outputs, limit),
    )  # fmt: skip
    made = replace(made, noise=marked(made.noise, attempts), outputs=marked(made.outputs, attempts))
    if limit is not None:
        _hold_against(outputs, made, limit)
    return made


def marked(described: Json, attempts: Attempts) -> Json:
    """Return a description as it may be shown: a keyed fingerprint in place of its digest."""
    shown = {name: part for name, part in described.items() if name != "digest"}
    return shown | {"fingerprint": attempts.fingerprint(described["digest"])}


def _attempt(outputs: Outputs, noise: Law, draws: int | None, attempts: Attempts) -> int:
    """Return the number of this certificate among those that share its error; 0 if none do."""
    if not outputs.exact:
        return attempts.attempt_on_draws(outputs.digest)
    return attempts.attempt(outputs.digest) if _left_to_chance(outputs, noise, draws) else 1


def _left_to_chance(outputs: Outputs, noise: Law, draws: int | None) -> bool:
    """Whether a certificate of finite worlds draws: not for channels, nor tables on one axis."""
    if draws == 0 or isinstance(noise, Channel) or _agree(outputs, noise):
        return False
    return not (isinstance(noise, GridNoise) and noise.rank == 1)


def _finite_evidence(
    outputs: Outputs, noise: Law, delta: float, draws: int | None, limit: Limit
) -> Evidence:
    if isinstance(noise, GaussianNoise):
        points = noise.whiten(outputs.values, outputs.center)
        return ideal_leakage(points, outputs.weights, noise, delta=delta, draws=draws, limit=limit)
    law = tabulate(outputs, noise)
    codes = outputs.codes(law)
    return law_leakage(codes, outputs.weights, law, delta=delta, draws=draws, limit=limit)


def _open_evidence(
    outputs: Outputs, law: Law, delta: float, attempts: Attempts, k: int
) -> Evidence:
    """Fit a reference on the first half of the draws, judge it on the second, once."""
    if not (isinstance(law, GridNoise) and law.gaussian):
        raise refuse("Gaussian noise for draws", repr(law), "Other tables need finite worlds.")
    # The error picks the reference, so another one would be a second judgement.
    if not attempts.judge(outputs.digest, digest(law.digest, delta), k):
        raise refuse(
            "draws that judged no other noise",
            f"a second one, {law!r}",
            "Simulate again with another seed.",
        )
    box = code_box(outputs, law)
    reference = fit_reference(law.encode_rows(outputs.planning.values), law, box, delta)
    return open_leakage(law.encode_rows(outputs.judging), law, reference, box, delta)


def _written(
    outputs: Outputs,
    noise: Law,
    evidence: Evidence,
    confidence: float,
    *,
    worst: float | None,
    attempt: int,
    requested: dict[str, float],
) -> Certificate:
    """Return the certificate of some evidence: the least bound, and all that goes with it."""
    bounds = evidence.proved | evidence.statistical
    name = min(bounds, key=lambda key: bounds[key])
    least = max(float(bounds[name]), 0.0)
    return Certificate(
        secret=outputs.statement,
        prior=outputs.prior,
        bound=least,
        lower=min(float(evidence.lower), least),
        grade="statistical" if name in evidence.statistical else "proved",
        confidence=float(confidence),
        charged=not isinstance(noise, GaussianNoise),
        entropy=outputs.entropy,
        bounds={key: float(value) for key, value in bounds.items() if math.isfinite(value)},
        density_quantiles=_quantiles(evidence),
        worst_unit_success=worst,
        noise=described(outputs, noise),
        outputs=outputs.describe(),
        attempt=attempt,
        requested=requested,
        facts=facts(outputs, noise),
    )


def _agree(outputs: Outputs, noise: Law) -> bool:
    """Whether all worlds agree on everything, to the last bit, under a law of what they say.

    A code book is a law of the worlds: its rows may differ where outputs do not.
    """
    low, high = outputs.extremes
    return outputs.exact and not isinstance(noise, Codebook) and bool((low == high).all())


def _requested(outputs: Outputs, limit: Budget | None) -> dict[str, float]:
    """Return what was asked for: nats, or success on every unit."""
    if limit is None:
        return {}
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        return {"success": float(limit.rate)}
    return {"nats": limit.nats(outputs.entropy)}


def facts(outputs: Outputs, law: Law) -> tuple[str, ...]:
    """Return the names of the numbers on which all worlds agree; a code word shows none."""
    agreed = np.flatnonzero(outputs.constant & (not isinstance(law, Codebook)))
    if agreed.size > MOST_FACTS:  # names would be longer than the answer
        return (f"{agreed.size} of {outputs.dim} numbers",)
    names = outputs.names if agreed.size else []
    return tuple(names[i] for i in agreed)


def described(outputs: Outputs, noise: Law) -> Json:
    """Return what a certificate says of a law: its power in the answer's own units.

    Not of code words for half-samples: how far words that are given lie from the worlds tells, word
    by word, what the answer on the whole pool is.
    """
    found = noise.describe()
    if outputs.halves and isinstance(noise, Codebook):
        return {name: part for name, part in found.items() if name != "power"}
    if outputs.kind == "label" or outputs.form is None or outputs.form.scale is UNSCALED:
        return found
    assert isinstance(noise, GaussianNoise | GridNoise | Codebook)
    return found | {"power": noise.power_in(outputs.scale)}


def _hold_against(outputs: Outputs, made: Certificate, limit: Budget) -> None:
    """Refuse a certificate above the budget: of nats, or of the success on every unit."""
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        if made.worst_unit_success is None:
            raise refuse(
                "a law that can be released, for a success rate",
                made.noise["family"],
                "Pass it through rpac.tabulate.",
            )
        if not made.worst_unit_success <= limit.rate:
            raise BudgetExceeded(made.worst_unit_success, limit.rate, "success on every unit", "")
        return
    nats = limit.nats(outputs.entropy)
    if not made.bound <= nats:
        raise BudgetExceeded(made.bound, nats)


def _quantiles(evidence: Evidence) -> dict[str, float]:
    """Return estimated quantiles of the information density; none where nothing was drawn."""
    levels = (0.5, 0.99, 0.999) if evidence.densities.size else ()
    return {str(level): float(np.quantile(evidence.densities, level)) for level in levels}
