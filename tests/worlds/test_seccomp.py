"""What a function could leave behind outside its process: every way is refused by the kernel."""

import ctypes
import fcntl
import os
import platform
import resource
import signal
import socket
import struct
import sys
import termios
import threading
import time

import numpy as np
import pytest

from rpac.worlds import seccomp
from tests.worlds.test_apart import answer, apart_of, packed

HERE = os.getpid()
NUMBERS = {"add_key": 248, "keyctl": 250, "ioprio_set": 251, "io_uring_setup": 425}
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64 below")
KNOWN = pytest.mark.skipif(not seccomp.rules(platform.machine()), reason="no filter here")


def called(name, *arguments):
    """Call the C library, or the kernel by number; raise what went wrong."""
    lib = ctypes.CDLL(None, use_errno=True)
    call = getattr(lib, name, None)
    if call is None or name in NUMBERS:
        call, arguments = lib.syscall, (NUMBERS[name], *arguments)
    if call(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)


def with_file(path, act):
    fd = os.open(path, os.O_RDONLY)
    try:
        act(fd)
    finally:
        os.close(fd)


WAYS = {
    "times": lambda path: os.utime(path, (8, 8)),
    "times of a descriptor": lambda path: with_file(path, lambda fd: os.utime(fd, (8, 8))),
    "times of its folder": lambda path: os.utime(path.parent, (8, 8)),
    "an attribute": lambda path: os.setxattr(path, "user.secret", b"8"),
    "an attribute of a descriptor": lambda path: with_file(
        path, lambda fd: os.setxattr(fd, "user.secret", b"8")
    ),
    "an attribute removed": lambda path: os.removexattr(path, "user.old"),
    "rights": lambda path: os.chmod(path, 0o644),
    "rights of a descriptor": lambda path: with_file(path, lambda fd: os.fchmod(fd, 0o644)),
    "an owner": lambda path: os.chown(path, -1, os.getgid()),
    "flags of a file": lambda path: with_file(
        path, lambda fd: fcntl.ioctl(fd, 0x40086602, struct.pack("q", 0x40))
    ),
    "a hint in an inode": lambda path: with_file(
        path, lambda fd: fcntl.fcntl(fd, 1036, struct.pack("Q", 3))
    ),
    "shared memory": lambda path: called("shmget", 0x5EC3, 4096, 0o1600),
    "a queue": lambda path: called("msgget", 0x5EC3, 0o1600),
    "a semaphore": lambda path: called("semget", 0x5EC3, 1, 0o1600),
    "a queue by name": lambda path: called("mq_open", b"/rpac-test", 0o102, 0o600, None),
    "a limit": lambda path: resource.prlimit(
        HERE, resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)
    ),
    "a priority": lambda path: os.setpriority(os.PRIO_PROCESS, HERE, 5),
    "the priority of all": lambda path: os.setpriority(os.PRIO_USER, 0, 5),
    "processors": lambda path: os.sched_setaffinity(HERE, {0}),
    "a schedule": lambda path: os.sched_setscheduler(HERE, os.SCHED_BATCH, os.sched_param(0)),
    "a socket by name": lambda path: socket.socket(socket.AF_UNIX).close(),
    "a size of a terminal": lambda path: fcntl.ioctl(0, termios.TIOCSWINSZ, b"\0" * 8),
    "a trace": lambda path: called("ptrace", 16, HERE, 0, 0),
}
BY_NUMBER = {
    "a key": lambda path: called("add_key", b"user", b"rpac-test", b"8", 1, -4),
    "a keyring": lambda path: called("keyctl", 0, -4, 1),
    "a priority of reading": lambda path: called("ioprio_set", 1, HERE, 0x4007),
    "a ring": lambda path: called("io_uring_setup", 1, ctypes.create_string_buffer(120)),
}


def refused(act, path):
    """Return the number of the error that an act meets in a process of its own."""

    def function(x):
        try:
            act(path)
        except OSError as error:
            return f"error {error.errno}"
        return "done"

    return answer(function)


@KNOWN
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_behind(way, tmp_path):
    (tmp_path / "old").write_text("text")
    before = os.stat(tmp_path / "old")
    assert refused(WAYS[way], tmp_path / "old") == "error 1"
    after = os.stat(tmp_path / "old")
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    assert os.listxattr(tmp_path / "old") == []


@X86
@pytest.mark.parametrize("way", BY_NUMBER)
def test_nothing_is_left_behind_by_number(way, tmp_path):
    assert refused(BY_NUMBER[way], tmp_path / "old") == "error 1"


@KNOWN
def test_what_a_function_does_to_itself_stays_open():
    def function(x):
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
        resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
        for end in (*socket.socketpair(), socket.socket(socket.AF_INET)):
            end.close()
        os.set_inheritable(3, not x)
        os.isatty(0)
        thread = threading.Thread(target=os.memfd_create, args=("own",))
        thread.start()
        thread.join()
        return np.array([x])

    assert answer(function) == 1.0


def from_a_thread_of_loading(path):
    """Start, on loading, a thread with the name of one on which nothing waits."""

    def work():
        ctypes.CDLL(None).prctl(15, b"jemalloc_bg_thd", 0, 0, 0)
        named.set()
        while True:
            for frame in sys._current_frames().values():
                while frame is not None:
                    if frame.f_locals.get("arguments"):
                        with open(path, "wb") as file:
                            file.write(frame.f_locals["arguments"][0])
                    frame = frame.f_back
            time.sleep(0.001)

    named = threading.Event()
    threading.Thread(target=work, daemon=True).start()
    named.wait()
    return lambda x: time.sleep(0.3) or np.array([x])


class LoadsWithASpy:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return from_a_thread_of_loading, (self.path,)


def test_a_thread_that_loading_started_writes_nothing_either(tmp_path):
    """It stays in the server, where calls and their secrets come by."""
    assert apart_of(LoadsWithASpy(str(tmp_path / "new"))).call(packed(8.5), size=1) == 8.5
    assert os.listdir(tmp_path) == []


@KNOWN
def test_signals_to_others_are_refused_without_landlock_too():
    def function(x):
        assert seccomp.bar_signals(os.getpid())
        os.kill(os.getpid(), 0)
        try:
            os.kill(os.getppid(), 0)
        except PermissionError:
            return np.array([x])

    assert answer(function) == 1.0


# --- the program itself -------------------------------------------------------------------------

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OPEN, SHUT = 0x7FFF0000, 0x00050001


def verdict(steps, architecture, number, *arguments):
    """Run a filter on one call, as the kernel does."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    at, held = 0, 0
    while True:
        code, yes, no, constant = steps[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("<I", data, constant)[0]
        elif code == 0x54:
            held &= constant
        elif code == 0x15:
            at += yes if held == constant else no
        else:
            return constant


# utimensat, sched_setaffinity, prlimit64, socket, fcntl, ioctl, read
CALLS = {"x86_64": (280, 203, 302, 41, 72, 16, 0), "aarch64": (88, 122, 261, 198, 25, 29, 63)}


@pytest.mark.parametrize("machine", CALLS)
def test_the_filter_of_either_machine(machine):
    steps, told = seccomp.rules(machine), ARCHITECTURES[machine]
    utimensat, affinity, limits, sockets, fcntls, ioctls, read = CALLS[machine]
    for number, arguments, expected in [
        (read, (), OPEN), (utimensat, (), SHUT), (affinity, (0,), OPEN), (affinity, (7,), SHUT),
        (limits, (0, 1, 99), OPEN), (limits, (7, 1, 0), OPEN), (limits, (7, 1, 99), SHUT),
        (limits, (7, 1, 1 << 32), SHUT), (sockets, (2,), OPEN), (sockets, (10,), OPEN),
        (sockets, (1,), SHUT), (fcntls, (3, 1), OPEN), (fcntls, (3, 1036), SHUT),
        (ioctls, (0, 0x5401), OPEN), (ioctls, (0, 0x5414), SHUT), (ioctls, (0, 0x40086602), SHUT),
        (ioctls, (0, 0xC0104620), OPEN),
    ]:  # fmt: skip
        assert verdict(steps, told, number, *arguments) == expected, (number, arguments)
    assert verdict(steps, 0x40000003, read) == SHUT  # calls of another architecture
    assert len(steps) < 4096
    assert all(yes < 256 and no < 256 for _, yes, no, _ in steps)


def test_a_second_set_of_numbers_is_closed():
    assert verdict(seccomp.rules("x86_64"), 0xC000003E, 0x40000000) == SHUT


def test_signals_go_to_one_process():
    steps = seccomp.signal_rules("aarch64", 77)
    found = [verdict(steps, 0xC00000B7, 129, pid, signal.SIGTERM) for pid in (77, 78, 0xFFFFFFFF)]
    assert found == [OPEN, SHUT, SHUT]


def test_other_machines_have_no_filter():
    assert seccomp.rules("riscv64") == seccomp.signal_rules("riscv64", 1) == []
