"""The class `Session`: a conversation whose noise is proposed for the posterior."""

from __future__ import annotations

from pathlib import Path
from typing import Any, final

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints, Json
from rpac.answers.release import Release
from rpac.calibrators.base import Calibrator
from rpac.calibrators.equilibrium import Equilibrium
from rpac.front.hearing import Hearing, answers_of, heard
from rpac.front.methods import held_method, method_name, of_words
from rpac.front.posterior import first_aim, noise_under
from rpac.front.presence import ask_adding
from rpac.ledger.ledger import Ledger
from rpac.noise.base import Releasable
from rpac.person.source import Presence
from rpac.pictures.history import History
from rpac.release.conversation import Conversation
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Source


@final
class Session(Conversation):
    """A conversation about one drawn world.

    Args:
        source: `Worlds` or `Subsets`. The world is drawn here, once, by the operating system.
            With `Presence` nothing is drawn: squares of distances add, and no posterior is kept.
        budget: What all answers together may leak.
        ledger: The books; every answer is charged and written before it is revealed.
        store: File that keeps the drawn world, sealed, so that the session survives a restart:
            opened again with the same source, ledger and store it goes on. Needs a ledger that
            is anchored.
        method: Calibrator for single numbers. Several numbers get Auto-PAC noise, whose bound has
            no sampling error, unless it is "channel"; labels the equilibrium. A name, or
            `Equilibrium(family="channel", ...)` with words or a loss of its own.
        secret: The secret itself, one of `Worlds`, where it is given rather than drawn.
        subject: Whom a given secret is about. Books take one session or release for a dataset
            and subject, however its possible values are listed.
        executor: Where questions run on the worlds: an `Executor`, its name or address. It is
            not ended with the session.

    Guarantees:
        The questions may depend on all earlier answers. In every transcript the charges sum to
        at most the budget, and so does the mutual information between world and transcript.

    >>> import rpac
    >>> with Session(rpac.Worlds([1.0, 2.0, 4.0]), budget=0.3) as session:
    ...     first = session.ask(lambda x: x, budget=0.1)
    ...     second = session.ask(lambda x: x * x, budget=0.2)
    >>> session.spent <= 0.3
    True
    """

    def __new__(
        cls,
        source: Source,
        budget: Any,
        ledger: Ledger | None = None,
        *,
        store: str | Path | None = None,
        method: str | Equilibrium = "auto-pac",
        secret: Any = None,
        subject: str = "",
        executor: Any = None,
    ) -> Any:
        """Return a hearing for `Presence`, which has no drawn world and no posterior."""
        if not isinstance(source, Presence):
            return super().__new__(cls)
        if store is not None or secret is not None or subject or executor is not None:
            move = "A session about anybody's presence has no world to keep, give or run."
            raise refuse("no store, secret, subject or executor for rpac.Presence", "one", move)
        return Hearing(source, budget, ledger, ask_adding)

    def __init__(
        self,
        source: Source,
        budget: Any,
        ledger: Ledger | None = None,
        *,
        store: str | Path | None = None,
        method: str | Equilibrium = "auto-pac",
        secret: Any = None,
        subject: str = "",
        executor: Any = None,
    ) -> None:
        self._solver = _of_a_session(source, method)
        self._name = method_name(method)
        self._heard: list[Json] = []
        super().__init__(source, budget, ledger, store, secret, subject, executor)

    def ask(self, question: Any, budget: Any, *, key: str | None = None) -> Release:
        """Return the answer on the drawn world, with noise for the posterior of this moment.

        Args:
            question: A mechanism; or its outputs on all worlds of the source; or a list of
                mechanisms, declared together: one release with the list of their answers.
            budget: What this answer may leak, in nats given all earlier answers.
            key: Idempotency key, with a ledger.

        Raises:
            BudgetSpent: If what is asked for does not fit into what is left.
            Withheld: If the data do not allow an answer; `Withheld.NATS` are charged.
        """
        before = self.spent
        made = super().ask(question, budget, key=key)
        self._heard.append(heard(question, made, self.spent - before))
        return made

    @property
    def answers(self) -> History:
        """What was asked and answered so far; with a ledger before a restart, too."""
        return answers_of(self.id, self._ledger, self._heard)

    @property
    def _method(self) -> str:
        return self._name

    def _propose(self, outputs: Outputs, weights: Floats, nats: float) -> tuple[Releasable, Ints]:
        return noise_under(outputs, weights, nats, self._solver)

    def _first_aim(self, weights: Floats, nats: float) -> float:
        return first_aim(weights, nats)


def _of_a_session(source: Source, method: str | Equilibrium) -> Calibrator:
    """Return the calibrator of a method whose leakage a session can bound without draws."""
    if not isinstance(method, str) and not of_words(method):
        raise refuse(
            "a method's name, or Equilibrium(family='channel', ...)",
            type(method).__name__,
            "Several numbers of a session have Auto-PAC noise, or code words.",
        )
    return held_method(source, method)
