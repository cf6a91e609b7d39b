"""Run a function in a process of its own, from which nothing comes back but numbers or a label.

A server is started by exec, never by a fork of this process, in which threads may live. Its
descriptors 0-2 lead nowhere. It loads the function once and forks a child for every call
(`served.py`). Nothing of this process is patched, so it is the same from threads, in notebooks and
beside JAX. What comes back is never unpickled: it is bytes of numbers, or text.

Not closed off: the network, and how long a call takes. Where the kernel has no Landlock (Linux
before 5.13), neither is what belongs to the same user: terminals, descriptors of other processes.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, final

import cloudpickle
import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats, Json

HEAD = struct.Struct("<q")
"""What stands before every part of a message: its length."""
MOST_TEXT = 1 << 16
"""Bytes of the longest label."""
LOADING = 300.0
"""Seconds that a function may take to load."""
NUMBERS, TEXT, READY, THREADS = b"n", b"t", b"r", b"p"
_GRACE = 10.0
"""Seconds after a call's time is up in which its server must have said so."""
_BOOT = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given.pop('path'); "
    "from rpac.worlds.served import serve; serve(**given)"
)


class Unsendable(ValueError):
    """A value that cannot be sent, though its type may be: which one it is may be a secret."""


def packed(value: Any) -> bytes:
    """Return a value as bytes for another process.

    Raises:
        InputError: If no value of its type can be sent.
        Unsendable: If this one cannot. It says nothing of the value, nor why.
    """
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception:
        if not _never_travels(value):
            raise Unsendable from None
    raise refuse(
        "a secret that can be sent to another process",
        type(value).__name__,
        "Pass plain data: arrays, tables, numbers, text, lists of them.",
    )


def _never_travels(value: Any) -> bool:
    """Tell whether the type alone forbids it: one that decides for itself may look at the value."""
    kind, own = type(value), ("__reduce_ex__", "__reduce__", "__getstate__")
    if any(getattr(kind, name) is not getattr(object, name) for name in own):
        return False
    try:
        value.__reduce_ex__(4)
    except TypeError:
        return True
    return False


def packed_function(function: Callable[..., Any], name: str) -> bytes:
    """Return a function as bytes for another process; those of notebooks travel whole.

    Raises:
        InputError: If it holds something that cannot be sent: a lock, an open file, a connection.
    """
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:
        raise refuse(
            "a function that can be sent to another process",
            f"{name}, which holds something that cannot ({type(error).__name__})",
            "Open files, connections and locks inside of it, not around it.",
        ) from None


@final
class Apart:
    """A function in a process of its own, with a child for every call.

    Args:
        function: What `packed_function` returned of a callable that returns (d,) float64 numbers,
            text or None. Modules that it names are imported there anew.
        name: What refusals call it.
        seconds: Limit of time for a call, once the function is loaded.
        memory: Limit of memory for a call, in bytes beyond what the loaded function takes.

    Guarantees:
        Whatever a call does, what is seen of it here is as many numbers as were asked for, a text
        of at most 64 KiB, or None; and how long it took.
    """

    def __init__(
        self, function: bytes, name: str, *, seconds: float | None = None, memory: int | None = None
    ) -> None:
        self._function, self._name = function, name
        self._seconds, self._memory = seconds, memory
        self._bare = False
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def call(self, *arguments: bytes, size: int, near: str = "") -> Floats | str | None:
        """Return the (size,) finite numbers or the text that the function returns, else None.

        Args:
            arguments: Each as `packed` returned it.
            size: How many numbers are expected.
            near: A module that the arguments need; loaded once, if it is known at the first call.

        Raises:
            InputError: If the function cannot be loaded in another process, whatever it is asked.
        """
        with self._lock:
            server = self._started(near)
            try:
                reply = server.ask(arguments, max(MOST_TEXT, 8 * size) + 1, self._patience())
            except (OSError, EOFError):  # ended from within; the next call has another
                reply = b""
                self._end()
            except BaseException:  # an interrupt, amid a message
                self._end()
                raise
        return _decoded(reply, size)

    def _started(self, near: str) -> _Server:
        """Return the server, started if this process has none."""
        if self._server is None or self._server.owner != os.getpid():
            server = self._start(near)
            if server.status == THREADS:  # loaded, it has threads that no fork would keep
                self._bare = True
                server.end()
                server = self._start(near)
            if server.status != READY:
                raise refuse(
                    "a function that another process can load",
                    self._name,
                    "Keep it in a module that can be imported, or in the script itself.",
                )
            self._server = server
        return self._server

    def _start(self, near: str) -> _Server:
        limits = {"seconds": self._seconds, "memory": self._memory}
        return _Server(self._function, {"bare": self._bare, "near": near} | limits)

    def _end(self) -> None:
        assert self._server is not None
        self._server.end()
        self._server = None

    def _patience(self) -> float | None:
        """Return the seconds to wait for a server: it keeps the time itself, unless it is stuck."""
        if self._seconds is None:
            return None
        return self._seconds + _GRACE + (LOADING if self._bare else 0.0)


@final
class _Server:
    """The other end of one server process, which ends with this object."""

    def __init__(self, function: bytes, settings: Json) -> None:
        self._socket, theirs = socket.socketpair()
        given = {"path": sys.path, "line": theirs.fileno()} | settings
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps(given)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it starts them when loaded
            )
        self.owner = os.getpid()
        self.end = weakref.finalize(self, _end, process, self._socket, self.owner)
        self.status = self._load(function)

    def _load(self, function: bytes) -> bytes:
        """Return what the server says of the function: nothing if it cannot be loaded."""
        self._socket.settimeout(LOADING)
        try:
            self._send(function)
            return self._socket.recv(1)
        except OSError:
            return b""

    def ask(self, arguments: tuple[bytes, ...], most: int, patience: float | None) -> bytes:
        """Return what came of a call, at most so many bytes."""
        self._socket.settimeout(patience)
        self._socket.sendall(HEAD.pack(most) + HEAD.pack(len(arguments)))
        for argument in arguments:
            self._send(argument)
        length = HEAD.unpack(self._receive(HEAD.size))[0]
        if not 0 <= length <= most:
            raise EOFError
        return self._receive(length)

    def _send(self, part: bytes) -> None:
        self._socket.sendall(HEAD.pack(len(part)))
        self._socket.sendall(part)

    def _receive(self, length: int) -> bytes:
        return receive(self._socket, length)


def receive(line: socket.socket, length: int) -> bytes:
    """Return so many bytes.

    Raises:
        EOFError: If the other end is shut before.
    """
    message = bytearray()
    while len(message) < length:
        part = line.recv(min(length - len(message), 1 << 20))
        if not part:
            raise EOFError
        message += part
    return bytes(message)


def _end(process: subprocess.Popen[bytes], line: socket.socket, owner: int) -> None:
    """Shut the line, on which the server ends what it runs and itself; else kill it."""
    line.close()
    if owner != os.getpid():  # a copy of the process that owns it
        return
    try:
        process.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _decoded(reply: bytes, size: int) -> Floats | str | None:
    kind, body = reply[:1], reply[1:]
    if kind == TEXT and len(body) <= MOST_TEXT:
        return body.decode(errors="replace")
    if kind != NUMBERS or len(body) != 8 * size:
        return None
    row = np.frombuffer(body, np.float64)
    return row if np.isfinite(row).all() else None
