"""What all answers about presence in a ledger tell together, here and for other accountants.

Squares of distances add, whatever is asked next (Smith and Thakurta 2022): one Gaussian at the
square root of their sum stands for all answers on a person's line. Answers *given the level* are no
differential privacy, and are neither added nor exported.
"""

from __future__ import annotations

import math
from typing import Any

from rpac._base.checks import number, refuse
from rpac._base.types import Json
from rpac.advantage import distance_to_epsilon, distance_to_success, nats_to_distance
from rpac.ledger.entries import NANO
from rpac.ledger.ledger import Ledger

DELTA = 1e-5
"""At which epsilon is stated where nothing else is asked for."""
_MODULE = "dp_accounting.dp_event"


def spending(ledger: Ledger, dataset: str | None = None, delta: float = DELTA) -> Json:
    """Return what all answers about presence in a dataset tell together.

    Args:
        ledger: The books.
        dataset: Its name; the ledger's own by default.
        delta: At which epsilon is stated.

    Returns:
        `answers`, `delta_squared` (the sum of squared distances), `mu` (its root: Gaussian
        differential privacy), `nats`, `success` (anybody's presence guessed right, at even odds)
        and `epsilon` at `delta`: each an upper bound for anybody, in the data or not.
    """
    if not 0 < number(delta, "delta") < 1:
        raise refuse("a delta between 0 and 1", delta, "Such as 1e-5.")
    spent = _spent(ledger, dataset)
    nats = sum(spent) / NANO
    mu = nats_to_distance(nats)
    return {
        "dataset": _named(ledger, dataset), "answers": len(spent), "nats": nats,
        "delta_squared": mu * mu, "mu": mu, "success": distance_to_success(mu),
        "delta": delta, "epsilon": distance_to_epsilon(mu, delta),
    }  # fmt: skip


def dp_events(ledger: Ledger, dataset: str | None = None) -> Json:
    """Return what was spent on presence as events of the package dp_accounting.

    Each answer is a Gaussian mechanism of noise multiplier 1 / Delta, for adding or removing a
    person; together they are composed. With `event = json.loads(text, object_hook=lambda d:
    collections.namedtuple("Event", d)(**d))` the package reads it by
    `dp_accounting.DpEvent.from_named_tuple(event)`.
    """
    paid = [nano for nano in _spent(ledger, dataset) if nano]
    events = [_event("GaussianDpEvent", noise_multiplier=_multiplier(nano)) for nano in paid]
    return _event("ComposedDpEvent", events=events)


def _event(name: str, **fields: Any) -> Json:
    return {"module_name": _MODULE, "class_name": name} | fields


def _multiplier(nano: int) -> float:
    """Return noise in units of what one person moves, rounded down: never less than was spent."""
    return math.nextafter(1 / nats_to_distance(nano / NANO), 0.0)


def _named(ledger: Ledger, dataset: str | None) -> str:
    return ledger.dataset if dataset is None else dataset


def _spent(ledger: Ledger, dataset: str | None) -> list[int]:
    """Return nano-nats of every answer on a person's line, oldest first; withheld ones too."""
    name = _named(ledger, dataset)
    return [
        int(entry["nano"])
        for entry in ledger.entries()
        if entry["kind"] == "spend" and entry["promise"] == "person" and entry["dataset"] == name
    ]
