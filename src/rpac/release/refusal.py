"""Refusals that depend on data: one type and one text for all of them, written and paid for.

That a function fails on some world, or that no certificate fits the budget, is a fact of the data,
and its reason more so. What depends on public things alone (arguments, schemas, what is left of a
budget) is refused beforehand, in its own words and for nothing.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import MappingProxyType, TracebackType
from typing import Any

import numpy as np

from rpac._base.types import Json
from rpac.errors import LedgerError, Withheld
from rpac.ledger.ledger import Ledger

MARK = MappingProxyType({"withheld": True})
"""What the books keep in place of an answer."""


def was_withheld(answer: Any) -> bool:
    """Whether the books hold a refusal in place of an answer."""
    return bool(answer == MARK)


@contextlib.contextmanager
def withheld(
    book: Callable[[], object] | None = None, *, static: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Run a block that looks at data; whatever it raises comes out as `Withheld`.

    Books that cannot be written (`LedgerError` of the ledger itself, with no other code on its way)
    and interrupts pass, and are not booked.

    Args:
        book: Called before `Withheld` is raised: writes and charges it.
        static: Further errors that pass, since they follow from what was typed: `InputError`
            around `simulate`, nothing around the search for noise and its certificate.

    Guarantees:
        Nothing of the reason is left in what is raised: neither its text nor its cause, nor a
        warning of NumPy's.
    """
    failed = False
    try:
        with np.errstate(all="ignore"):
            yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # without what it says
    except BaseException as error:  # whatever it says, it says of data
        if type(error) in static or (type(error) is LedgerError and _of_the_books(error)):
            raise
        failed = True
    if failed:
        if book is not None:
            book()
        refusal = Withheld()
        try:
            raise refusal
        finally:
            refusal.__context__ = None  # which a traceback would print, and a debugger show


def told_or_marked(tell: Callable[[], Json]) -> Json:
    """Return what is told of a drawn answer; the mark of a refusal, if telling it fails.

    What fails then, an interrupt too, may be the answer's own doing: the draw stands, at its full
    price.
    """
    try:
        with np.errstate(all="ignore"):
            return tell()
    except BaseException:  # code of the answer's own form, say
        return dict(MARK)


def _of_the_books(error: LedgerError) -> bool:
    """Tell whether the block called the ledger, which raised this: a function could do so too.

    Whatever an error passes on its way is in its traceback: this generator, the block, the rest.
    """
    step: TracebackType | None = error.__traceback__
    names = []
    while step is not None:
        inside, name = step.tb_frame.f_globals, str(step.tb_frame.f_globals.get("__name__"))
        genuine = getattr(sys.modules.get(name), "__dict__", None) is inside
        names.append(name if genuine else "")
        step = step.tb_next
    called = names[2:]
    ours = all(name == "contextlib" or name.startswith("rpac.") for name in called)
    return bool(called) and ours and called[-1].startswith("rpac.ledger.")


def refusal_in(
    ledger: Ledger | None, key: str | None = None, request: str = ""
) -> Callable[[], object] | None:
    """Return what books a refusal in a ledger; None without one.

    It falls on no line of the data: a refusal tells of the pool, not of the world that is drawn.
    """
    if ledger is None:
        return None
    draw = lambda: (dict(MARK), b"")  # noqa: E731
    return lambda: ledger.spend(Withheld.NATS, key=key, request=request, draw=draw)
