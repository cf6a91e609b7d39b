"""A process of its own: numbers or a label come back, and nothing else ever does."""

import math
import os
import signal
import sys
import threading
import time
import types

import numpy as np
import pytest

import rpac
from rpac.worlds import apart
from rpac.worlds.apart import Apart, Unsendable, packed, packed_function
from tests.worlds.test_run import Undecided


def apart_of(function, **limits):
    return Apart(packed_function(function, "this"), "this", **limits)


def answer(function, secret=1.0, size=1, **limits):
    return apart_of(function, **limits).call(packed(secret), size=size)


def test_numbers_and_text_come_back():
    assert answer(lambda x: np.array([x, x + 1]), size=2).tolist() == [1.0, 2.0]
    assert answer(lambda x: np.zeros(100_000) + x, size=100_000).sum() == 100_000
    assert answer(lambda x: "a label") == "a label"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: None,
        lambda x: np.array([x, x]),
        lambda x: np.array([math.nan]),
        lambda x: "x" * (1 << 17),
        lambda x: "x" * ((1 << 16) + 1),
        lambda x: object(),
        lambda x: 1 / 0,
        lambda x: sys.exit(int(x)),
        lambda x: os._exit(int(x)),
        lambda x: os.abort(),
        lambda x: os.write(3, b"+" + apart.HEAD.pack(-5)) and time.sleep(60),
        lambda x: os.close(3),
    ],
)
def test_anything_else_is_nothing(function):
    assert answer(function) is None


def test_one_server_answers_many_calls_and_starts_again_when_it_was_killed():
    def kills(x):
        if x == 3:
            os.kill(os.getppid(), signal.SIGKILL)
        return np.array([float(os.getppid())])

    process = apart_of(kills)
    found = [process.call(packed(x), size=1) for x in range(5)]
    assert found[3] is None
    assert found[0] == found[2] != found[4]


def test_it_ends_with_its_object():
    process = apart_of(lambda x: np.array([float(os.getppid())]))
    server = int(process.call(packed(0), size=1)[0])
    os.kill(server, 0)
    del process
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_calls_from_many_threads_do_not_mix():
    process, found = apart_of(lambda x: np.array([x])), {}

    def ask(x):
        found[x] = float(process.call(packed(x), size=1)[0])

    threads = [threading.Thread(target=ask, args=(float(x),)) for x in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {x: x for x in found}
    assert len(found) == 8


def test_time_is_limited_once_the_function_is_loaded():
    start = time.monotonic()
    assert answer(lambda x: time.sleep(60), seconds=0.3) is None
    assert time.monotonic() - start < 10
    assert apart_of(len)._patience() is None


def starts_a_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return lambda x: np.array([x + threading.active_count()])


class LoadsWithThreads:
    def __reduce__(self):
        return starts_a_thread, ()


def test_a_function_that_loads_with_threads_is_loaded_in_every_child():
    """A fork of the server would have lost the thread."""
    process = apart_of(LoadsWithThreads(), seconds=5)
    for x in (1.0, 2.0):
        assert process.call(packed(x), size=1) == x + 2
    assert process._patience() > apart.LOADING


# --- what cannot be sent ------------------------------------------------------------------------


def test_a_type_that_cannot_be_sent_is_refused():
    with pytest.raises(rpac.InputError, match="sent to another process; got generator. Pass plain"):
        packed(x for x in range(3))


@pytest.mark.parametrize("value", [Undecided(8.5), [threading.Lock()], {"a": (x for x in [])}])
def test_a_value_that_cannot_be_sent_is_not_told_apart(value):
    with pytest.raises(Unsendable) as caught:
        packed(value)
    assert str(caught.value) == ""
    assert caught.value.__suppress_context__


def test_a_function_that_cannot_be_sent_is_refused():
    lock = threading.Lock()
    with pytest.raises(rpac.InputError, match=r"got this, which holds .* \(TypeError\). Open"):
        packed_function(lambda x: lock, "this")


def test_a_function_that_cannot_be_loaded_is_refused(monkeypatch):
    module = types.ModuleType("made_up_here")
    exec("def function(x):\n    return x\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "made_up_here", module)
    process = apart_of(module.function)
    for _ in range(2):
        with pytest.raises(rpac.InputError, match="another process can load; got this. Keep it"):
            process.call(packed(1.0), size=1)


# --- the server is not trusted ------------------------------------------------------------------


def other_server(monkeypatch, then):
    start = "import json, sys, os, time; line = json.loads(sys.argv[1])['line']; "
    monkeypatch.setattr(apart, "_BOOT", start + then)
    return Apart(b"x" * 50_000_000, "this", seconds=0.2)


def test_a_server_that_dies_on_loading_is_a_refusal(monkeypatch):
    with pytest.raises(rpac.InputError, match="can load; got this"):
        other_server(monkeypatch, "os._exit(1)").call(packed(1.0), size=1)


_READ = "left = 50_000_008\nwhile left: left -= len(os.read(line, left))\nos.write(line, b'r'); "


@pytest.mark.parametrize("length", [-1, 1 << 40])
def test_a_reply_of_another_length_is_nothing(monkeypatch, length):
    told = f"os.write(line, ({length}).to_bytes(8, 'little', signed=True)); time.sleep(60)"
    assert other_server(monkeypatch, _READ + told).call(packed(1.0), size=1) is None


def test_a_server_that_is_stuck_is_killed(monkeypatch):
    monkeypatch.setattr(apart, "_GRACE", 0.1)
    process = other_server(monkeypatch, _READ + "time.sleep(600)")
    start = time.monotonic()
    assert process.call(packed(1.0), size=1) is None
    assert time.monotonic() - start < 30


def test_an_interrupt_leaves_no_half_message(monkeypatch):
    process = apart_of(lambda x: np.array([x]))

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(apart._Server, "ask", interrupt)
        with pytest.raises(KeyboardInterrupt):
            process.call(packed(1.0), size=1)
    assert process._server is None
    assert process.call(packed(1.0), size=1) == 1.0


def test_a_copy_of_the_process_has_a_server_of_its_own():
    process = apart_of(lambda x: np.array([float(os.getppid())]))
    first = process.call(packed(1.0), size=1)
    server = process._server
    server.owner = -1  # as a forked copy sees it
    assert process.call(packed(1.0), size=1) != first
    apart._end(None, server._socket, -1)  # and it does not end what it does not own
