"""The release: draw a world, add table noise to its stored integers, book it, reveal the sum."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from rpac import certificate
from rpac._checks import digest, refuse
from rpac._content import fingerprint
from rpac._types import Floats, Ints, Json
from rpac.books import Line
from rpac.budget import as_budget
from rpac.calibrate.base import Calibrator
from rpac.calibrate.methods import calibrate
from rpac.certificate import Certificate, certify
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs
from rpac.reveal import Release, answer, booked, retried, reveal, written
from rpac.sealed import SealedValue
from rpac.simulate import answer_on_fresh_draw, simulate
from rpac.source import Draws, Source, Subsets

if TYPE_CHECKING:
    from rpac.ledger import Ledger


def draw_world(weights: Floats) -> int:
    """Return the index of the secret world, drawn from the prior by the operating system."""
    return int(look_up(integer_table(weights), system_uniforms(1))[0])


def draw_among(weights: Floats, places: list[int] | None) -> int:
    """Return the index of a world drawn from the prior, among some places if they are given."""
    return draw_world(weights) if places is None else places[draw_world(weights[places])]


def noisy_codes(codes: Ints, law: GridNoise | LabelChannel, *, allow_exact: bool = False) -> Ints:
    """Return one output with noise, as integers: its (r,) codes plus table noise.

    Guarantees:
        The sum lies on the public grid, whatever the secret. One draw of noise from the
        operating system; no seed, no float addition.
    """
    if not (law.power > 0 or allow_exact):
        raise refuse("noise of positive power", law.power, "A bare release needs allow_exact=True.")
    if isinstance(law, LabelChannel):
        return law.at(codes, system_uniforms(1))
    return np.asarray(codes + law.at(system_uniforms(1, len(law.steps)))[0])


def decode(noisy: Ints, law: GridNoise | LabelChannel) -> Floats:
    """Return the (d,) released numbers of noisy integers: public arithmetic."""
    if isinstance(law, LabelChannel):
        return noisy.astype(np.float64)
    return law.decode(noisy)


def add_noise(codes: Ints, law: GridNoise | LabelChannel, *, allow_exact: bool = False) -> Floats:
    """Return the (d,) released numbers of one output's (r,) integers, with noise."""
    return decode(noisy_codes(codes, law, allow_exact=allow_exact), law)


def charge(made: Certificate) -> float:
    """Return the nats to book: the bound, and what its error could cost on average.

    With probability 1 - confidence a statistical bound fails, and then leakage is still at most
    H(X); for draws, at most the bound that holds for every law on the box.
    """
    if made.grade == "proved":
        return made.bound
    most = made.bounds["box"] if made.entropy is None else made.entropy
    return made.bound + (1.0 - made.confidence) * most


def privatize(
    mechanism: Callable[..., Any],
    source: Source,
    budget: Any,
    *,
    ledger: Ledger | None = None,
    key: str | None = None,
    secret: Any = None,
    method: str | Calibrator = "equilibrium",
    confidence: float = 1 - 1e-6,
    n_jobs: int = 1,
    seed: int | None = None,
    allow_exact: bool = False,
) -> Release:
    """Run any function on secret data and return its answer with just enough noise.

    Args:
        mechanism: Any callable of one secret; see `simulate` for what it may return, and
            `guarded` for functions that may fail.
        source: The possible secrets. The library draws the secret itself.
        budget: `Nats`, `Bits`, `SuccessRate` or `ResidualEntropy`; a bare number is nats.
        ledger: The books. The charge is checked and written before anything is revealed.
        key: Idempotency key: a retry with it is charged nothing and returns the same answer.
        secret: The secret itself, where it is given rather than drawn: one of `Worlds`, or of
            the kind that a `Draws` sampler returns. The prior is then what its owner declares,
            and books take one such release; `Session(secret=...)` takes many.
        method: Name of a calibrator, or a `Calibrator`.
        confidence: Of the certificate, where it is statistical.
        n_jobs: Processes for the simulation.
        seed: Study randomness for the simulation; by default 0, and for `Draws` a new one each
            time (with `key` one that follows from it). Drawn world and noise never depend on it.
        allow_exact: Whether to release without noise where the budget needs none.

    Guarantees:
        Nothing is drawn before a certificate of the very law that is released meets the budget,
        and nothing is revealed before its charge is on record.

    Raises:
        BudgetExceeded: If no certificate within the budget was obtained.
        BudgetSpent: If the charge does not fit into what is left in the books.
    """
    as_budget(budget)
    if key is not None and ledger is None:
        raise refuse("a ledger that keeps the key", "none", "Pass ledger=rpac.Ledger(...).")
    if seed is None:
        seed = _seed(key) if isinstance(source, Draws) else 0
    outputs = simulate(source, mechanism, n_jobs=n_jobs, seed=seed)
    worlds = None if secret is None else given_worlds(source, secret)
    if secret is not None:
        outputs.statement += " (given by its owner, who declares the prior)"
    name = method if isinstance(method, str) else type(method).__qualname__
    asked = [outputs.digest, repr(budget), name, str(secret is None)]
    request = digest(*asked, *(() if ledger is None else (ledger.dataset, ledger.analyst)))
    if ledger is not None and (known := ledger.find(key, request)):
        return retried(outputs, known)
    law = _law(outputs, budget, method)
    if ledger is not None and outputs.exact and type(law) is GridNoise and len(law.steps) > 1:
        earlier = certificate._ATTEMPTS.get(outputs.digest, 0)
        certificate._ATTEMPTS[outputs.digest] = max(earlier, ledger.attempt(outputs.digest) - 1)
    made = certify(outputs, law, confidence, budget=budget)
    if law.describe()["digest"] != made.noise["digest"]:
        raise refuse("the law that was certified", "another", "Leave the noise as it was made.")
    line = Line()
    if ledger is not None:
        owned = source.secret if secret is None else digest(source.secret, secrets.token_hex(16))
        line = Line(source.version, owned)
        ledger.check(charge(made), line)
    fresh = _fresh(outputs, law, source, mechanism, secret)

    def draw() -> tuple[Json, bytes]:
        codes = fresh.open() if fresh is not None else _drawn(outputs, law, worlds)
        numbers = add_noise(codes, law, allow_exact=allow_exact)
        return written(answer(law, numbers), made), b""

    if ledger is None:
        return reveal(outputs, draw()[0], made, None, law)
    receipt = ledger.spend(charge(made), key=key, request=request, line=line, draw=draw)
    return booked(outputs, made, receipt, law)


def _law(outputs: Outputs, budget: Any, method: str | Calibrator) -> GridNoise | LabelChannel:
    noise = calibrate(outputs, budget, method)
    return noise if type(noise) is LabelChannel else tabulate(outputs, noise)


def _seed(key: str | None) -> int:
    if key is None:
        return secrets.randbits(63)
    return int.from_bytes(sha256(key.encode()).digest()[:7], "little")


def given_worlds(source: Source, secret: Any) -> list[int] | None:
    """Return the worlds that equal a given secret; None for an open distribution."""
    if isinstance(source, Draws):
        return None
    if isinstance(source, Subsets):
        raise refuse("a drawn half-sample", "a given one", "List the secrets in rpac.Worlds.")
    mark = fingerprint(secret)
    found = [i for i, world in enumerate(source.worlds(0)) if fingerprint(world) == mark]
    if not found:
        raise refuse("a secret among the worlds", "another", "The prior must know it: list it.")
    return found


def _fresh(
    outputs: Outputs,
    law: GridNoise | LabelChannel,
    source: Source,
    mechanism: Callable[..., Any],
    secret: Any,
) -> SealedValue[Ints] | None:
    """Return the sealed integers of a draw from an open distribution; None for finite worlds."""
    if not isinstance(source, Draws) or not isinstance(law, GridNoise):
        return None
    found = answer_on_fresh_draw(source, mechanism, outputs, secret)
    return SealedValue(np.asarray(law.encode_rows(found[None])[0]))


def _drawn(outputs: Outputs, law: GridNoise | LabelChannel, given: list[int] | None) -> Ints:
    """Return the (r,) integers of the drawn world, or of one that equals the given secret."""
    world = draw_among(outputs.weights, given)
    if isinstance(law, LabelChannel):
        return np.asarray(outputs.values[world].astype(np.int64))
    return np.asarray(outputs.codes(law)[world])
