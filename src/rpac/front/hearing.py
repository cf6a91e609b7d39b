"""Many questions under the promise *person*: squares of distances add, under one cap."""

from __future__ import annotations

import math
import secrets
import threading
from dataclasses import replace
from typing import Any

from rpac._base.checks import plain_text, refuse
from rpac._base.types import Json
from rpac.advantage import distance_to_nats
from rpac.answers.release import Release
from rpac.answers.rows import plain
from rpac.answers.told import question_of
from rpac.budget import as_distance
from rpac.errors import LedgerError, Withheld
from rpac.ledger.entries import NANO, Line, cap_nano, exact_nano, nats_text, overspent
from rpac.ledger.ledger import Ledger
from rpac.person.source import Presence
from rpac.pictures.history import History, asked
from rpac.release.presence import STATE, Ask, Inquiry, released
from rpac.release.state import state_hash


def heard(question: Any, made: Release, nats: float) -> Json:
    """Return the row of an answer that no ledger keeps."""
    promise = made.certificate.promise
    return asked(question_of(question)["question"], plain(made.value), nats, promise=promise)


def answers_of(session: str, ledger: Ledger | None, here: list[Json]) -> History:
    """Return the answers of a session: from the books where they are kept, else from `here`."""
    if ledger is None:
        return History(here)
    rows = History.of(ledger.entries(), session)
    return History(row for row in rows if row["what"] == "answer")


class Hearing:
    """Adaptive questions about anybody's presence, under one cap; `rpac.Session` makes it.

    Squares of distances add, whatever is asked next and however it depends on earlier answers
    (Smith and Thakurta 2022): no posterior is kept, and nothing is drawn for the session itself.
    """

    def __init__(self, source: Presence, budget: Any, ledger: Ledger | None, ask: Ask) -> None:
        self._source, self._ledger, self._ask = source, ledger, ask
        self._cap = cap_nano(budget, distance_to_nats(as_distance(budget)))
        self._spent, self._answers, self._open = 0, 0, True
        self._lock, self._heard = threading.RLock(), list[Json]()
        self.id = secrets.token_hex(16)
        if ledger is not None:
            ledger.sessions.open(self.id, self._cap, STATE)

    @property
    def spent(self) -> float:
        """Nats charged so far; the distance of all answers together is sqrt(8 spent)."""
        return self._spent / NANO

    @property
    def remaining(self) -> float:
        """Nats left."""
        return (self._cap - self._spent) / NANO

    def ask(self, question: Any, budget: Any, *, key: str | None = None) -> Release:
        """Return the answer to a question, at a distance of its own.

        Raises:
            BudgetSpent: If what is asked for does not fit into what is left.
        """
        line = Line(promise="person")
        if self._ledger is not None:
            line = replace(line, session=self.id, state=state_hash(STATE))
        inquiry = Inquiry(question, self._source, budget, self._ledger, key, line)
        nano = math.ceil(exact_nano(distance_to_nats(inquiry.distance)))
        with self._lock:
            if not self._open:
                raise refuse("an open session", "one closed", "Open one here.", LedgerError)
            before = None if self._ledger is None else self._known(key)
            if not before and self._spent + nano > self._cap:
                raise overspent(nano, self._cap - self._spent, "the session")
            try:
                made = released(inquiry, self._ask)
            except Withheld:  # which is paid for like an answer
                self._spent += 0 if before else nano
                raise
            if not before:
                self._spent, self._answers = self._spent + nano, self._answers + 1
            self._heard.append(heard(question, made, 0.0 if before else nano / NANO))
        return made

    @property
    def answers(self) -> History:
        """What was asked and answered so far."""
        return answers_of(self.id, self._ledger, self._heard)

    def _known(self, key: str | None) -> bool:
        """Whether a key has an answer already, which costs nothing."""
        assert self._ledger is not None
        return key is not None and self._ledger.find(plain_text(key, "key")) is not None

    def close(self) -> None:
        """End the session: nothing more can be charged to it."""
        self._open = False
        if self._ledger is not None:
            self._ledger.sessions.close(self.id)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        spent, cap = nats_text(self._spent), nats_text(self._cap)
        return f"Session({self._answers} answers, {spent} of {cap} nats spent)"
