"""Failure is data: a mechanism that may fail answers with a declared sentinel instead.

The sentinel is put in before any noise, on every world alike, so what a failure tells is paid for
like any other answer. With limits each call runs in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, final

import cloudpickle
import numpy as np

from rpac._base.checks import check_callable, number, refuse
from rpac.worlds.apart import Apart, Unsendable, packed, packed_function
from rpac.worlds.flatten import common_form, flatten


def guarded(
    mechanism: Callable[..., Any],
    sentinel: Any,
    *,
    seconds: float | None = None,
    memory: int | None = None,
) -> Guarded:
    """Return a mechanism that never fails: what goes wrong becomes the sentinel.

    Args:
        mechanism: A callable of one secret (and `rng`, if it has such a parameter).
        sentinel: The answer in place of an exception, NaN, infinity or another form than the
            sentinel's own. It declares the form of all answers.
        seconds: Limit of time for a call. With it or `memory`, calls run in processes of their
            own: crashes, hangs and exits become the sentinel too, and nothing is printed. What
            they call is sent there once, so it may hold no lock, open file or connection.
        memory: Limit of memory for a call, in bytes.

    Raises:
        InputError: With limits, if the mechanism cannot be sent to another process.

    >>> guarded(lambda x: 1 / x, sentinel=0.0)(0)
    0.0
    """
    return Guarded(mechanism, sentinel, seconds=seconds, memory=memory)


@final
class Guarded:
    """A mechanism with its sentinel, `declared`, and its limits; made by `guarded`."""

    def __init__(
        self,
        mechanism: Callable[..., Any],
        sentinel: Any,
        *,
        seconds: float | None = None,
        memory: int | None = None,
    ) -> None:
        check_callable(mechanism)
        for limit in (seconds, memory):
            if limit is not None and number(limit, "limit") <= 0:
                raise refuse("a positive limit", repr(limit), "Or leave it out.")
        self.__wrapped__, self.declared = mechanism, sentinel
        self._form, self._sentinel = flatten(sentinel)
        self.seconds, self.memory = seconds, memory
        self._apart: Apart | None = None
        if seconds is not None or memory is not None:
            name = getattr(mechanism, "__qualname__", type(mechanism).__qualname__)
            here = packed_function(Guarded(mechanism, sentinel)._row, name)
            self._apart = Apart(here, name, seconds=seconds, memory=memory)

    def __call__(self, secret: Any, **rng: Any) -> Any:
        """Return the mechanism's answer, or the sentinel."""
        row = (
            self._row(secret, rng)
            if self._apart is None
            else self._row_of(self._apart, secret, rng)
        )
        return self._form.rebuild(self._sentinel if row is None else row)

    def __reduce__(self) -> Any:
        """Send mechanism and sentinel; a process that gets them twice keeps one server."""
        if self._apart is None:
            return Guarded, (self.__wrapped__, self.declared)
        limits = {"seconds": self.seconds, "memory": self.memory}
        return _again, (packed((self.__wrapped__, self.declared, limits)),)

    def _row(self, secret: Any, rng: Any) -> Any:
        """Return the numbers or label of the answer; None if anything went wrong."""
        try:
            form, row = flatten(self.__wrapped__(secret, **rng))
            common_form([self._form, form])
        except KeyboardInterrupt:
            raise
        except BaseException:  # a panic of an extension is no Exception
            return None
        whole = not self._form.whole or form.whole
        return row if whole else None

    def _row_of(self, apart: Apart, secret: Any, rng: Any) -> Any:
        """The same in a process of its own; only numbers or a label come back."""
        try:
            sent = packed(secret), packed(rng)
        except Unsendable:  # this value is not like others of its type
            return None
        near = str(type(secret).__module__).partition(".")[0]
        row = apart.call(*sent, size=np.size(self._sentinel), near=near)
        return row if isinstance(row, str) == isinstance(self._sentinel, str) else None


@lru_cache(maxsize=4)
def _again(sent: bytes) -> Guarded:
    """Return the guard that was sent: one for equal bytes, so that a worker has one server."""
    mechanism, sentinel, limits = cloudpickle.loads(sent)
    return Guarded(mechanism, sentinel, **limits)
