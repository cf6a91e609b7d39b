"""The verb `privatize`: a method proposes, the trusted release disposes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rpac._base.checks import refuse
from rpac.answers.release import Release
from rpac.answers.told import question_of
from rpac.calibrators.base import Calibrator
from rpac.front.certify import remembered
from rpac.front.methods import held_method, method_name, proposed
from rpac.front.presence import ask
from rpac.ledger.ledger import Ledger
from rpac.person.source import Presence
from rpac.release.presence import Inquiry, released
from rpac.release.release import Request, entropy_of, release
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Source, Subsets, Worlds

_SIMULATING = ("n_jobs", "seed", "store", "executor", "checkpoint")
"""Arguments of a simulation, which outputs have behind them."""


def privatize(
    mechanism: Callable[..., Any] | Outputs,
    source: Source,
    budget: Any,
    *,
    ledger: Ledger | None = None,
    key: str | None = None,
    secret: Any = None,
    subject: str = "",
    method: str | Calibrator = "equilibrium",
    confidence: float = 1 - 1e-6,
    n_jobs: int = 1,
    seed: int | None = None,
    allow_exact: bool = False,
    store: str | Path | None = None,
    asked: Mapping[str, Any] | None = None,
    executor: Any = None,
    checkpoint: str | Path | None = None,
) -> Release:
    """Run any function on secret data and return its answer with just enough noise.

    Args:
        mechanism: Any callable of one secret, as for `simulate`; `guarded` for what may fail. Or
            its `Outputs`, from `simulate(source, mechanism)`: several budgets, one simulation.
        source: The possible secrets, of which the library draws one. `Presence`: all data are used.
        budget: A number of nats, `Bits`, `SuccessRate`, `ResidualEntropy`; `GaussianDP` too.
        ledger: The books. The charge is checked and written before anything is revealed.
        key: Idempotency key: a retry with it is charged nothing and returns the same answer.
        secret: One of `Worlds`, or as a `Draws` sampler returns, given by who declares the prior.
        subject: Whom a given secret is about, for the books.
        method: Name of a calibrator, or a `Calibrator`.
        confidence: Of the certificate, where it is statistical.
        n_jobs: Processes for the simulation, or for functions by blocks.
        seed: Study randomness; by default 0, for `Draws` a new one each time, or one of `key`.
        allow_exact: Whether to release without noise where the budget needs none; else refused.
        store: As for `simulate`.
        asked: {"question": its text, "about": {...}} for the record; its name by default.
        executor: As for `simulate`.
        checkpoint: As for `simulate`.

    Guarantees:
        Nothing is drawn before a certificate of the very law that is released meets the budget,
        and nothing is revealed before its charge is on record.

    Raises:
        BudgetSpent: If what is asked for does not fit into what is left in the books.
        Withheld: If the function failed on some world, or none within the budget was certified.
    """
    asked = _once_simulated(mechanism, source, (n_jobs, seed, store, executor, checkpoint), asked)
    if isinstance(source, Presence):
        _no_world(secret, subject, executor, checkpoint)
        inquiry = Inquiry(mechanism, source, budget, ledger, key, asked=asked)
        return released(inquiry, partial(ask, n_jobs=n_jobs))
    proposer = held_method(source, method)  # refused before anything runs
    request = Request(
        mechanism, source, budget, method_name(method), confidence,
        ledger, key, secret, n_jobs, seed, allow_exact, subject, store, asked, executor, checkpoint,
    )  # fmt: skip
    _needs_noise(request)
    return release(request, lambda outputs: proposed(outputs, budget, proposer), remembered(ledger))


def _needs_noise(request: Request) -> None:
    """Refuse, by source and budget alone, a budget that lets everything out, unless that is said.

    Whether outputs agree on some worlds, so that less would be enough, is a fact of the data.
    """
    if request.allow_exact or not isinstance(request.source, Worlds | Subsets):
        return
    most, nats = entropy_of(request.source), request.nats
    if most is not None and nats is not None and nats >= most:
        raise refuse(
            f"a budget below the {most:.6g} nats that the drawn world has at most",
            f"{nats:.6g} nats, for which any answer goes out without noise",
            "Ask for less, or pass allow_exact=True to release it as it is.",
        )


def _once_simulated(
    outputs: Any, source: Source, said: tuple[Any, ...], asked: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return how a record words a question; with outputs refuse what only a simulation takes."""
    if isinstance(outputs, list | tuple | set | Mapping):
        move = "Ask several numbers in one SQL SELECT, or return them all from one function."
        raise refuse("one question", f"several, in a {type(outputs).__name__}", move)
    if not isinstance(outputs, Outputs):
        return asked
    if isinstance(source, Presence):
        move = "Pass the function or question itself: under *person* nothing is simulated."
        raise refuse("a question under the promise person", "outputs of a simulation", move)
    for name, given, usual in zip(_SIMULATING, said, (1, *[None] * 4), strict=True):
        if given != usual:
            move = "Say it to rpac.simulate, or pass the function in place of its outputs."
            raise refuse("outputs alone, which are simulated already", f"{name}=", move)
    of = None if outputs.made_of is None else outputs.made_of[1]
    return asked if asked is not None or of is None else question_of(of)


def _no_world(secret: Any, subject: str, executor: Any, checkpoint: Any) -> None:
    """Refuse, under the promise person, what only worlds have."""
    if secret is not None or subject:
        move = "Leave `secret` and `subject` out: the secret is anybody's presence."
        raise refuse("no given secret under the promise person", "one", move)
    if executor is not None or checkpoint is not None:
        move = "Functions run in processes of their own on this machine: say n_jobs=2."
        raise refuse("no executor or checkpoint under the promise person", "one", move)
