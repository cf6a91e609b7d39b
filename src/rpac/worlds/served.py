"""The other side of `apart.py`: a process that runs a function in children of its own.

It reads a function, then calls, and answers each with bytes. Before it loads the function, so that
no thread started on loading is left out, it lets the kernel forbid that it or a child writes to
any file or terminal, looks into another process or sends it a signal (Landlock, where there is such
a thing), or leaves a value in what outlasts it: times, rights and attributes of files, shared
memory, queues and keys of the user, priorities and limits of other processes (`seccomp.py`).
Before the first call it shuts every descriptor but its line, and ends whatever loading started. A
child has a session of its own; after its call all its descendants are killed, those that left the
session too.

Open stay: the network; time and memory, which the kernel counts for whoever waits for a process;
what reading a file tells (its time of access, the cache, a named pipe that is emptied); and, while
a call runs, what anybody may see of a process (its name, its locks, its share of a user's limits).
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import importlib
import os
import resource
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NoReturn

import cloudpickle
import numpy as np

from rpac.worlds import seccomp
from rpac.worlds.apart import HEAD, LOADING, NUMBERS, READY, TEXT, THREADS, receive

_IDLE = frozenset({"jemalloc_bg_thd", "polars-ooc-clea"})
"""Threads of libraries on which nothing ever waits: a fork may lose them."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/nvidia*", "/dev/dri", "/dev/kfd")
"""What a child may open for writing: nothing that anybody reads."""
_DEATH_SIGNAL, _SUBREAPER, _NO_NEW_PRIVILEGES = 1, 36, 38
_LANDLOCK, _RULE, _RESTRICT = 444, 445, 446
_WRITES = 0x1FF2
"""Landlock's rights to write to files, and to make and remove them."""
_ASKS_DEVICES, _SCOPES = 5, 6
"""Versions of Landlock that close requests to devices; signals and abstract sockets."""
_Function = Callable[..., Any]


def serve(
    *, line: int, bare: bool, near: str, seconds: float | None, memory: int | None
) -> NoReturn:  # pragma: no cover  (child process)
    """Load a function, then answer calls until the other end is shut.

    Args:
        line: Descriptor of the socket to the process that asks.
        bare: Load the function in each child: here it would leave threads, which forks lose.
        near: A module to load beside the function, for what it will be called with.
        seconds: Limit of time for a call.
        memory: Limit of memory for a call, in bytes.
    """
    try:
        _prctl(_SUBREAPER, 1)
        _reseed()  # which loads what children need for it
        with socket.socket(fileno=line) as asks:
            packed = _part(asks)
            fence()
            seccomp.bar()
            function = None if bare else _loaded(packed, near)
            _sweep()
            if not bare and not _alone():
                asks.sendall(THREADS)
                os._exit(0)
            os.dup2(line, 3, inheritable=False)
            os.closerange(4, _most_descriptors())
            asks.detach()
        with socket.socket(fileno=3) as asks:
            asks.sendall(READY)
            while True:
                most, count = (HEAD.unpack(receive(asks, HEAD.size))[0] for _ in range(2))
                arguments = [_part(asks) for _ in range(count)]
                reply = _call(function, packed, arguments, asks, (most, seconds, memory))
                asks.sendall(HEAD.pack(len(reply)) + reply)
    finally:
        _sweep()
        os._exit(0)


def _loaded(packed: bytes, near: str) -> Any:  # pragma: no cover  (child process)
    with contextlib.suppress(Exception):
        importlib.import_module(near)
    return cloudpickle.loads(packed)


def _part(asks: socket.socket) -> bytes:  # pragma: no cover  (child process)
    return receive(asks, HEAD.unpack(receive(asks, HEAD.size))[0])


def _alone() -> bool:  # pragma: no cover  (child process)
    """Tell whether this process has no thread but its own, and such as nothing waits for."""
    names = []
    for path in glob.glob("/proc/self/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            names.append(file.read().strip())
    return sum(name not in _IDLE for name in names) == 1


def _call(
    function: _Function | None,
    packed: bytes,
    arguments: list[bytes],
    asks: socket.socket,
    limits: tuple[int, float | None, int | None],
) -> bytes:  # pragma: no cover  (child process)
    """Return what a child says, and leave nothing of it behind."""
    most, seconds, memory = limits
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(write, function, packed, arguments, (seconds, memory))
    os.close(write)
    try:
        return _heard(pid, read, asks, most, seconds)
    finally:
        os.close(read)
        _sweep()


def _child(
    write: int,
    function: _Function | None,
    packed: bytes,
    arguments: list[bytes],
    limits: tuple[float | None, int | None],
) -> NoReturn:  # pragma: no cover  (child process)
    try:
        os.setsid()
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        os.dup2(write, 3, inheritable=False)
        os.closerange(4, _most_descriptors())
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        if landlock() < _SCOPES:
            seccomp.bar_signals(os.getpid())
        if function is None:
            function = cloudpickle.loads(packed)
        _limit(*limits)
        _reseed()
        os.write(3, b"+")  # the clock starts
        row = function(*(cloudpickle.loads(argument) for argument in arguments))
        if row is not None:
            text = isinstance(row, str)
            body = TEXT + row.encode() if text else NUMBERS + np.asarray(row, np.float64).tobytes()
            left = memoryview(HEAD.pack(len(body)) + body)
            while left:
                left = left[os.write(3, left) :]
    finally:
        os._exit(0)


def _reseed() -> None:  # pragma: no cover  (child process)
    """Seed the process's generator by the operating system: else all forks draw alike."""
    np.random.seed()  # noqa: NPY002


def _limit(seconds: float | None, memory: int | None) -> None:  # pragma: no cover  (child process)
    if memory is not None:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory,) * 2)
    if seconds is not None:
        whole = int(seconds + time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))


def _heard(
    pid: int, read: int, asks: socket.socket, most: int, seconds: float | None
) -> bytes:  # pragma: no cover  (child process)
    """Return the message of a child; empty if it is none, too long or late."""
    message, gone, end = b"", False, time.monotonic() + LOADING
    while time.monotonic() < end:
        ready = select.select([read, asks.fileno()], [], [], 0.0 if gone else 0.05)[0]
        if asks.fileno() in ready or (gone and not ready):  # nobody waits for it; it says no more
            return b""
        if not ready:
            gone = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            continue
        part = os.read(read, 1 << 16)
        if not part:
            return b""
        if not message:
            end = float("inf") if seconds is None else time.monotonic() + seconds
        message += part
        if len(message) > HEAD.size:
            length = HEAD.unpack(message[1 : 1 + HEAD.size])[0]
            if not 0 <= length <= most:
                return b""
            if len(message) >= 1 + HEAD.size + length:
                return message[1 + HEAD.size :][:length]
    return b""


def _sweep() -> None:  # pragma: no cover  (child process)
    """Kill all descendants: those whose parents died are children of this process."""
    with contextlib.suppress(ChildProcessError):
        while True:
            with open("/proc/thread-self/children", encoding="ascii") as file:
                for pid in file.read().split():
                    os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)


def _most_descriptors() -> int:  # pragma: no cover  (child process)
    return min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16)


def _prctl(option: int, value: int) -> None:  # pragma: no cover  (child process)
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def landlock() -> int:
    """Return the kernel's version of Landlock, below 1 if it has none."""
    return int(ctypes.CDLL(None).syscall(_LANDLOCK, None, ctypes.c_size_t(0), 1))


def fence() -> bool:  # pragma: no cover  (child process)
    """Let the kernel forbid this process to write or to look into others; tell whether it can."""
    call, version = ctypes.CDLL(None).syscall, landlock()
    if version < 1:
        return False
    handled = _WRITES | (1 << 13 if version > 1 else 0) | (1 << 14 if version > 2 else 0)
    requests = 1 << 15 if version >= _ASKS_DEVICES else 0
    handled |= requests
    scoped = 3 if version >= _SCOPES else 0  # abstract sockets, signals
    rules = struct.pack("<QQQ", handled, 0, scoped)[
        : 8 if version < 4 else 16 if version < 6 else 24
    ]
    fd = call(_LANDLOCK, rules, ctypes.c_size_t(len(rules)), 0)
    for path in (path for pattern in _DEVICES for path in glob.glob(pattern)):
        device = os.open(path, os.O_PATH | os.O_CLOEXEC)
        call(_RULE, fd, 1, struct.pack("<Qi", 1 << 1 | requests, device), 0)
        os.close(device)
    _prctl(_NO_NEW_PRIVILEGES, 1)
    done = call(_RESTRICT, fd, 0) == 0
    os.close(fd)
    return bool(done)
