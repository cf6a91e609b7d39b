"""Questions under the promise *person*: which way a mechanism is asked."""

from __future__ import annotations

from typing import Any

from rpac._base.checks import refuse
from rpac.person.source import Asked, Presence
from rpac.questions.functions import by_blocks


def ask(mechanism: Any, source: Presence, n_jobs: int = 1) -> Asked:
    """Return a mechanism as a question to a source: by contributions where it can be, or blocks.

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
        move = 'Leave `way` out, or pass way="blocks".'
        raise refuse("a way whose distances add up over questions", repr(source.way), move)
    return by_blocks(mechanism, source, n_jobs) if found is None else found
