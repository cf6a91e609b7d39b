"""Failure is data: a mechanism that may fail answers with a declared sentinel instead.

The sentinel is put in before any noise, on every world alike, so what a failure tells is paid for
like any other answer. With limits each call runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import resource
import select
import signal
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from rpac._base.checks import number, refuse
from rpac.worlds.flatten import common_form, flatten

_HEAD = struct.Struct("<qq")
_MOST_TEXT = 1 << 16


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep what a mechanism prints, logs or warns of from whoever watches this process."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(level)


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
            own: crashes, hangs and exits become the sentinel too, and nothing is printed.
        memory: Limit of memory for a call, in bytes.

    >>> guarded(lambda x: 1 / x, sentinel=0.0)(0)
    0.0
    """
    return Guarded(mechanism, sentinel, seconds=seconds, memory=memory)


@final
class Guarded:
    """A mechanism with its sentinel; made by `guarded`."""

    def __init__(
        self,
        mechanism: Callable[..., Any],
        sentinel: Any,
        *,
        seconds: float | None = None,
        memory: int | None = None,
    ) -> None:
        if not callable(mechanism):
            raise refuse("a callable mechanism", type(mechanism).__name__, "Pass a function.")
        for limit in (seconds, memory):
            if limit is not None and number(limit, "limit") <= 0:
                raise refuse("a positive limit", repr(limit), "Or leave it out.")
        self.__wrapped__ = mechanism
        self._form, self._sentinel = flatten(sentinel)
        self._seconds, self._memory = seconds, memory

    def __call__(self, secret: Any, **rng: Any) -> Any:
        """Return the mechanism's answer, or the sentinel."""
        isolated = self._seconds is not None or self._memory is not None
        row = self._apart(secret, rng) if isolated else self._here(secret, rng)
        return self._form.rebuild(self._sentinel if row is None else row)

    def _here(self, secret: Any, rng: Any) -> Any:
        """Return the numbers or label of the answer; None if anything went wrong."""
        with silence():
            try:
                form, row = flatten(self.__wrapped__(secret, **rng))
                common_form([self._form, form])
            except KeyboardInterrupt:
                raise
            except BaseException:  # a panic of an extension is no Exception
                return None
        whole = not self._form.whole or form.whole
        return row if whole else None

    def _apart(self, secret: Any, rng: Any) -> Any:
        """The same in a process of its own; only numbers or a label come back."""
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads and fork: the child has limits
            pid = os.fork()
        if pid == 0:
            self._child(write, secret, rng)  # pragma: no cover  (forked)
        os.close(write)
        try:
            return self._decoded(_receive(read, self._limit_bytes(), self._seconds))
        finally:
            os.close(read)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _child(self, write: int, secret: Any, rng: Any) -> None:  # pragma: no cover  (forked)
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            os.dup2(write, 3)
            os.closerange(4, 4096)
            self._limits()
            row = self._here(secret, rng)
            if row is not None:
                text = isinstance(row, str)
                body = row.encode() if isinstance(row, str) else np.asarray(row).tobytes()
                os.write(3, _HEAD.pack(text, len(body)))
                view = memoryview(body)
                while view:
                    view = view[os.write(3, view) :]
        finally:
            os._exit(0)

    def _limits(self) -> None:  # pragma: no cover  (forked)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        if self._memory is not None:
            with open("/proc/self/statm", encoding="ascii") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + self._memory,) * 2)
        if self._seconds is not None:
            whole = int(self._seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))

    def _limit_bytes(self) -> int:
        text = isinstance(self._sentinel, str)
        return _HEAD.size + (_MOST_TEXT if text else 8 * np.size(self._sentinel))

    def _decoded(self, message: bytes) -> Any:
        if len(message) < _HEAD.size:
            return None
        text, length = _HEAD.unpack(message[: _HEAD.size])
        body = message[_HEAD.size :]
        if length != len(body) or bool(text) != isinstance(self._sentinel, str):
            return None
        if text:
            return body.decode(errors="replace")
        row = np.frombuffer(body, np.float64)
        fits = row.size == np.size(self._sentinel) and np.isfinite(row).all()
        return row if fits else None


def _receive(read: int, most: int, seconds: float | None) -> bytes:
    """Read until the other end is shut, the message is longer than it may be, or time is up."""
    message, end = b"", None if seconds is None else time.monotonic() + seconds
    while len(message) <= most:
        left = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([read], [], [], left)[0]:
            return b""
        part = os.read(read, 1 << 16)
        if not part:
            return message
        message += part
    return b""
