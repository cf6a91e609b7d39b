"""Sessions: one drawn world, adaptive questions, each charged under the exact posterior.

After every answer the adversary's posterior over the worlds is known. The next answer is charged
its deterministic bound under it; if the charges of every transcript sum to at most the cap, so
does the leakage of the whole conversation.

Proof: by the chain rule MI(X; Y_1..Y_t) = sum_k E[MI(X; Y_k | Y_1..Y_(k-1) = y)], and each term is
the leakage of one answer under the posterior given y, which the charge bounds in every transcript.
The posterior p is floored to (1 - e) p + e u before a bound is computed: MI is concave in the
prior, so I(p) <= I((1 - e) p + e u) / (1 - e).

A question that must be refused because of data is `Withheld`, charged and written as an answer is;
the posterior stays, since that refusal is a function of the pool and of the posterior, which the
adversary knows both, and not of the drawn world.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rpac._base.checks import plain_text, refuse
from rpac._base.entropy import entropy
from rpac._base.hashing import digest, fingerprint
from rpac._base.sealed import SealedValue
from rpac._base.types import Floats, Ints, Json
from rpac.answers.release import Release, answered, shown, stored
from rpac.answers.told import question_of, told
from rpac.budget import as_budget
from rpac.certificate.attempts import Attempts, Memory
from rpac.certificate.certificate import Certificate
from rpac.certificate.evidence import proved_leakage
from rpac.certificate.issue import described, facts, marked
from rpac.errors import BudgetExceeded, InputError, LedgerError, Withheld
from rpac.ledger.anchor import Position
from rpac.ledger.entries import NANO, Line, Receipt, exact_nano, nats_text, overspent
from rpac.ledger.ledger import Ledger
from rpac.noise.base import Releasable
from rpac.noise.codebook import Codebook
from rpac.noise.grid import agreed_law, tabulate
from rpac.release.draw import draw_among, given_worlds, noisy_codes
from rpac.release.refusal import MARK, refusal_in, told_or_marked, was_withheld, withheld
from rpac.release.release import again, given_line
from rpac.release.sealed_store import SealedStore
from rpac.release.state import packed, state_hash, unpacked, updated
from rpac.worlds.batch import stacked
from rpac.worlds.executor import Executor
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import evaluate
from rpac.worlds.source import Draws, Source, Worlds

FLOOR = 1e-6
"""Share of the prior mixed into the posterior."""


class Conversation(ABC):
    """Questions about one drawn world; `rpac.Session` says who proposes the noise.

    Guarantees:
        The questions may depend on all earlier answers. In every transcript the charges sum to
        at most the budget, and so does the mutual information between world and transcript.
    """

    def __init__(
        self,
        source: Source,
        budget: Any,
        ledger: Ledger | None,
        store: str | Path | None,
        secret: Any,
        subject: str = "",
        executor: Any = None,
    ) -> None:
        if not isinstance(source, Source) or isinstance(source, Draws):
            raise refuse("Worlds or Subsets", type(source).__name__, "Its worlds must be finite.")
        if store is not None and ledger is None:
            raise refuse("a ledger beside a sealed store", None, "Books outlive the process.")
        if store is not None and ledger is not None and not ledger.anchored:
            move = "Else a restored copy would answer again: Ledger(..., anchor=PATH)."
            raise refuse("an anchored ledger beside a sealed store", "one without", move)
        self._source, self._worlds, self._ledger = source, source.worlds(0), ledger
        m = len(self._worlds)
        self._prior = np.full(m, 1 / m) if source.weights is None else source.weights
        self._store = None if store is None else SealedStore(store)
        self._entropy = entropy(self._prior)
        self._cap = math.floor(exact_nano(as_budget(budget).nats(self._entropy)))
        self._spent, self._charges, self._questions = 0, 0, 0
        self._log_posterior: Floats = np.log(self._prior)
        self._line = Line()
        self._marks: Attempts = ledger or Memory()
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._subject = plain_text(subject, "subject")
        self._executor = None if executor is None else Executor.of(executor)
        self._version = ("", "")
        if ledger is not None or self._store is not None:
            with withheld(refusal_in(ledger), static=(InputError,)):  # reads rows: a cell may fail
                self._version = source.version, source.secret
        if self._store is not None and self._store.exists():
            self._resume(self._store, secret)
        else:
            self._open(secret)

    @abstractmethod
    def _propose(self, outputs: Outputs, weights: Floats, nats: float) -> tuple[Releasable, Ints]:
        """Return a law for outputs under a posterior, and the integers of all worlds."""

    @abstractmethod
    def _first_aim(self, weights: Floats, nats: float) -> float:
        """Return the nats to propose for at first."""

    @property
    @abstractmethod
    def _method(self) -> str:
        """Who proposes, in a word: part of what a key stands for."""

    @property
    def spent(self) -> float:
        """Nats charged so far."""
        return self._spent / NANO

    @property
    def remaining(self) -> float:
        """Nats left."""
        return (self._cap - self._spent) / NANO

    def ask(
        self,
        question: Callable[..., Any] | Outputs | Sequence[Callable[..., Any]],
        budget: Any,
        *,
        key: str | None = None,
    ) -> Release:
        """Return the answer on the drawn world, with noise for the posterior of this moment.

        Args:
            question: A mechanism; or its outputs on all worlds of the source; or a list of
                mechanisms, declared together: one release, calibrated jointly, whose value is
                the list of their answers.
            budget: What this answer may leak, in nats given all earlier answers.
            key: Idempotency key, with a ledger.

        Raises:
            BudgetSpent: If what is asked for does not fit into what is left.
            Withheld: If the data do not allow an answer; `Withheld.NATS` are charged.
        """
        self._ready()
        if key is not None and self._ledger is None:
            raise refuse("a ledger for the key", repr(key), "Pass ledger=rpac.Ledger(...).")
        nats, request = as_budget(budget).nats(self._entropy), self._request(budget)
        known = None if self._ledger is None else self._ledger.find(key, request)
        if known is not None and was_withheld(known.answer):
            raise Withheld
        if known is None:
            self._afford(nats)
        book = partial(self._withhold, None if known else key, request)
        asked = question_of(question)  # before it runs, and could tell
        with withheld(book, static=(InputError,)):
            outputs = self._outputs(question)
        with self._lock:
            self._ready()
            return self._turn(outputs, nats, known, (key, request, book, asked))

    def _ready(self) -> None:
        if self._world.open() < 0 or self._pid != os.getpid():
            raise refuse("an open session", "one closed or forked", "Open one here.", LedgerError)

    def _request(self, budget: Any) -> str:
        """Return a hash of all that a key stands for, but the outputs."""
        who = ("", "") if self._ledger is None else (self._ledger.dataset, self._ledger.analyst)
        return digest(repr(budget), self._method, self.id, *who)

    def _afford(self, nats: float) -> None:
        """Refuse what does not fit, by public numbers alone: neither an answer nor a refusal."""
        most = max(nats, Withheld.NATS)
        nano = math.ceil(exact_nano(most))
        if self._spent + nano > self._cap:
            raise overspent(nano, self._cap - self._spent, "the session")
        if self._ledger is not None:
            self._ledger.check(most, replace(self._line, session="", state=""))

    def _turn(
        self,
        outputs: Outputs,
        nats: float,
        known: Receipt | None,
        call: tuple[str | None, str, Callable[[], object], Json],
    ) -> Release:
        """Answer one question: a retry as before; else certify, charge, draw, store, reveal."""
        key, request, book, asked = call
        if known is None:
            self._afford(nats)
        with withheld(book):
            if known is not None and self._ledger is not None:
                return again(outputs, known, self._ledger)
            outputs.rebuild(outputs.center)  # what cannot be shown is refused before the charge
            law, codes, made = self._certified(outputs, nats)

        def draw() -> tuple[Json, bytes]:
            bare, now = bool(outputs.constant.all()), outputs.under(self._floored())
            released = noisy_codes(codes[self._world.open()], law, allow_exact=bare)
            posterior = updated(self._log_posterior, law.log_likelihood(codes, released))
            after = packed(posterior, self._charges + 1, self._questions + 1)
            if self._ledger is None:
                return answered(now, law, released), after

            def drawn() -> Json:
                kept = stored(now, law, released, made)
                return kept | told(shown(outputs, kept, made=made), asked, outputs.dim)

            return told_or_marked(drawn), after

        kept, receipt = self._charge(made.bound, key, request, draw)
        if was_withheld(kept):
            raise Withheld
        return shown(outputs, kept, receipt, made=made if receipt is None else None)

    def _charge(
        self, nats: float, key: str | None, request: str, draw: Callable[[], tuple[Json, bytes]]
    ) -> tuple[Json, Receipt | None]:
        """Charge the session and the books; return what was drawn, or was drawn first under a key.

        The sealed store knows of the charge before the books are committed, and again after.
        """
        nano = math.ceil(exact_nano(nats))
        if self._ledger is None:
            kept, state = draw()
            self._advance(state, nano)
            return kept, None

        def drawn() -> tuple[Json, bytes]:
            kept, state = draw()
            if self._store is not None:
                now = self._at(self._charges, self._line.state)
                self._store.anchor.intend(now, self._at(self._charges + 1, state_hash(state)))
            return kept, state

        receipt, after = self._ledger.charge(
            nats, key=key, request=request, line=self._line, draw=drawn
        )
        if after is not None:  # else another process was first with this key: its answer stands
            self._advance(after, nano)
        return receipt.answer, receipt

    def _withhold(self, key: str | None, request: str) -> None:
        """Charge for a refusal; the posterior stays as it is."""
        with self._lock:
            state = packed(self._log_posterior, self._charges + 1, self._questions)
            self._charge(Withheld.NATS, key, request, lambda: (dict(MARK), state))

    def _certified(self, outputs: Outputs, nats: float) -> tuple[Releasable, Ints, Certificate]:
        """Return a law whose bound under the floored posterior meets the budget; and its codes."""
        weights = self._floored()
        aim, h = self._first_aim(weights, nats), entropy(weights)
        if outputs.constant.all():
            law = agreed_law(outputs)
            return law, law.encode(outputs.values), self._certificate(outputs, law, 0.0, h, nats)
        for _ in range(20):  # rounding to the grid moves the bound a little, either way
            law, codes = self._held(outputs, *self._propose(outputs, weights, aim))
            bound = proved_leakage(codes, weights, law, h) / (1 - FLOOR)
            if bound <= nats:
                return law, codes, self._certificate(outputs, law, bound, h, nats)
            aim *= 0.99 * nats / bound
        raise BudgetExceeded(bound, nats)

    def _held(self, outputs: Outputs, law: Releasable, codes: Ints) -> tuple[Releasable, Ints]:
        """Refuse a proposal that is not one of the known laws, with integers for every world."""
        known = tabulate(outputs, law)
        shape = len(self._prior), known.rank
        fits = codes.dtype == np.int64 and codes.shape == shape and law.power > 0
        # A code book has its errors under the posterior, and is the same law.
        same = known is law or (type(law) is Codebook and known.digest == law.digest)
        if not same or not fits:
            expected = f"a law that can be released, and its integers of shape {shape}"
            raise refuse(expected, f"{law!r} and {codes.dtype} {codes.shape}", "Use rpac.tabulate.")
        return law, codes

    def _advance(self, state: bytes, nano: int) -> None:
        """Take in an answer: the posterior it leaves, and what it cost."""
        self._log_posterior, self._charges, self._questions = unpacked(state)
        self._spent += nano
        self._stand(state)
        if self._store is not None:
            self._store.confirm(self._at(self._charges, self._line.state))

    def close(self) -> None:
        """Erase the drawn world; the session cannot be resumed."""
        with self._lock:
            self._world = SealedValue(-1)
        if self._store is not None:
            self._store.erase()
        if self._ledger is not None:
            self._ledger.sessions.close(self.id)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise refuse("one session for one drawn world", "a copy", "Resume it from its store.")

    def __repr__(self) -> str:
        spent, cap = nats_text(self._spent), nats_text(self._cap)
        return f"Session({self._questions} answers, {spent} of {cap} nats spent)"

    def _open(self, secret: Any) -> None:
        given = None if secret is None else given_worlds(self._source, secret)
        if given is None and self._subject:
            raise refuse("a given secret for the subject", repr(self._subject), "Pass secret=.")
        self.id, self._given = secrets.token_hex(16), given is not None
        self._world = SealedValue(draw_among(self._prior, given))
        if self._ledger is not None:
            state = packed(self._log_posterior, 0, 0)
            self._ledger.sessions.open(self.id, self._cap, state)
            self._stand(state)
        if self._store is not None:
            self._store.write(
                {"session": self.id, "world": self._world.open(), "given": self._secret(secret),
                 "subject": self._subject, "source": self._mark()},
                self._at(0, self._line.state),
            )  # fmt: skip

    def _resume(self, store: SealedStore, secret: Any) -> None:
        assert self._ledger is not None
        kept = store.read()
        if kept["source"] != self._mark():
            raise refuse("the source of this session", "another", "Open it with the same data.")
        other = secret is not None and kept["given"] != self._secret(secret)
        if other or self._subject not in ("", kept["subject"]):
            raise refuse(
                "the secret of this session", "another", "Leave it out, or open a new one."
            )
        self._ledger.verify()  # the state is what a charge is computed from
        self.id, self._world = kept["session"], SealedValue(int(kept["world"]))
        self._given, self._subject = bool(kept["given"]), kept["subject"]
        state, self._spent, self._cap, mark = self._ledger.sessions.load(self.id)
        self._log_posterior, self._charges, self._questions = unpacked(state)
        store.hold(Position(self._charges, mark))
        self._stand(state)

    def _mark(self) -> str:
        """Return the mark of the worlds in their order, which posterior and draw follow."""
        source = self._source
        order = fingerprint(source.secrets) if isinstance(source, Worlds) else ""
        return self._marks.fingerprint(digest(*self._version, order, self._prior))

    def _secret(self, secret: Any) -> str:
        """Return the mark of a given secret; nothing for a drawn one."""
        return "" if secret is None else self._marks.fingerprint(fingerprint(secret))

    def _at(self, charges: int, state: str) -> Position:
        """Return where the session stands after so many charges, in a state of that hash."""
        return Position(charges, self._marks.fingerprint(state))

    def _stand(self, state: bytes) -> None:
        """Write down the line of the books that the next charge falls on."""
        if self._ledger is None:
            return
        drawn = Line(*self._version)
        line = given_line(self._subject, self.id) if self._given else drawn
        self._line = replace(line, session=self.id, state=state_hash(state))

    def _outputs(self, question: Any) -> Outputs:
        if isinstance(question, Outputs):
            if not (question.exact and question.weights.tobytes() == self._prior.tobytes()):
                raise refuse("outputs on the worlds of the session", repr(question), "Simulate.")
            return question if question.made_of is None else question.of(self._source)
        if isinstance(question, list | tuple):
            return stacked([self._outputs(one) for one in question])
        return evaluate(self._source, question, self._worlds, executor=self._executor)

    def _floored(self) -> Floats:
        weights = (1 - FLOOR) * np.exp(self._log_posterior) + FLOOR * self._prior
        weights /= np.add.reduce(weights)  # `sum` without its wrapper
        return weights

    def _certificate(
        self, outputs: Outputs, law: Releasable, bound: float, h: float, nats: float
    ) -> Certificate:
        return Certificate(
            secret=outputs.statement, bound=bound, charged=True, entropy=h,
            prior=f"the posterior after {self._questions} answers of a session",
            bounds={"under the posterior": bound},
            noise=marked(described(outputs, law), self._marks),
            outputs=marked(outputs.describe(), self._marks),
            requested={"nats": nats}, facts=facts(outputs, law),
        )  # fmt: skip
