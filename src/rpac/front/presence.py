"""Questions under the promise *person*: which way a mechanism is asked."""

from __future__ import annotations

from typing import Any

from rpac._base.checks import refuse
from rpac.calibrators.worst_unit import propose
from rpac.person.source import Asked, Presence
from rpac.questions.functions import by_blocks, leaving_one_out


def ask(mechanism: Any, source: Presence, n_jobs: int = 1) -> Asked:
    """Return a mechanism as a question to a source: by contributions where it can be, or blocks.

    With `way="leave-one-out"` at that grade, and no other way.

    Raises:
        InputError: For a mechanism that is none, or that is not contributions of single people
            where these were asked for. It depends on the question alone.
    """
    found: Asked | None = None
    if source.way in ("auto", "contributions") and hasattr(mechanism, "asked"):
        found = mechanism.asked(source)
    if found is None and source.way == "contributions":
        move = 'Use rpac.statistics or SQL, or way="blocks" for any function.'
        raise refuse("contributions of single people", repr(mechanism)[:80], move)
    if source.way == "leave-one-out":
        return leaving_one_out(mechanism, source, propose, n_jobs)
    return by_blocks(mechanism, source, n_jobs) if found is None else found


def ask_adding(mechanism: Any, source: Presence) -> Asked:
    """Return a mechanism as a question of a session; refuse a way whose distances do not add up."""
    if source.way == "leave-one-out":
        move = 'Leave `way` out, or pass way="blocks"; rpac.privatize takes it, one by one.'
        raise refuse("a way whose distances add up over questions", repr(source.way), move)
    return ask(mechanism, source)
