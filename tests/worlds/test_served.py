"""What a function can do in its process: nothing that anybody sees. Attacks, one by one."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rpac.worlds import served
from tests.conftest import ROOT
from tests.worlds.test_apart import answer, apart_of, packed

HERE = os.getpid()


def tried(act, folder):
    """Return a function that says whether an act was refused."""

    def function(x):
        try:
            act(folder)
        except OSError as error:
            return f"refused: {type(error).__name__}"
        return "done"

    return function


def opened(path):
    return os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.skipif(served.landlock() < 6, reason="the kernel cannot")
@pytest.mark.parametrize(
    "act",
    [
        lambda folder: opened(f"/proc/{HERE}/fd/1"),
        lambda folder: opened(f"/proc/{HERE}/fd/2"),
        lambda folder: open(f"/proc/{HERE}/mem", "rb").close(),
        lambda folder: os.kill(HERE, 0),
        lambda folder: opened("/dev/tty"),
        lambda folder: opened("/dev/ptmx"),
        lambda folder: (folder / "new").mkdir(),
        lambda folder: (folder / "new").touch(),
        lambda folder: os.symlink("secret", folder / "new"),
        lambda folder: os.mkfifo(folder / "new"),
        lambda folder: os.remove(folder / "old"),
        lambda folder: os.truncate(folder / "old", 0),
        lambda folder: os.rename(folder / "old", folder / "new"),
        lambda folder: opened(folder / "old"),
    ],
)
def test_the_kernel_keeps_it_in(act, tmp_path):
    (tmp_path / "old").write_text("text")
    assert answer(tried(act, tmp_path)).startswith("refused: ")
    assert os.listdir(tmp_path) == ["old"]


def test_it_has_no_descriptor_but_its_own_and_nothing_it_starts_outlives_it(tmp_path):
    def function(x):
        import resource

        limits = [resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_CORE,
                  resource.RLIMIT_FSIZE)]  # fmt: skip
        nowhere = [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)]
        open_above = [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 4]
        if (first := os.fork()) == 0:
            os.setsid()
            if (second := os.fork()) == 0:
                time.sleep(60)
            os.write(3, b"")
            os._exit(second % 1)
        os.waitpid(first, 0)
        return f"{limits} {nowhere} {open_above} {os.getsid(0) == os.getpid()} {os.getppid()}"

    process = apart_of(function)
    told, _, server = process.call(packed(0), size=1).rpartition(" ")
    assert told == "[0, 0] ['/dev/null', '/dev/null', '/dev/null'] [] True"
    assert Path(f"/proc/{server}/task/{server}/children").read_text() == ""


def test_what_holds_the_line_open_does_not_hold_up_the_call():
    def function(x):
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        os._exit(0)

    start = time.monotonic()
    assert answer(function) is None
    assert time.monotonic() - start < 10


def test_forks_do_not_draw_alike():
    draws = apart_of(lambda x: np.array([np.random.rand()]))  # noqa: NPY002
    assert draws.call(packed(0), size=1) != draws.call(packed(0), size=1)


def test_it_finds_the_modules_and_files_that_its_parent_finds(tmp_path, monkeypatch):
    (tmp_path / "of_this_test.py").write_text("NUMBER = 7.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def function(x):
        import of_this_test

        return np.array([of_this_test.NUMBER + os.path.exists("of_this_test.py")])

    assert answer(function) == 8.0


def test_what_the_arguments_need_is_loaded_before_the_calls():
    loaded = packed("colorsys")
    for near, said in (("colorsys", "True"), ("", "False"), ("no_such_module", "False")):
        process = apart_of(lambda name: str(name in sys.modules))
        assert process.call(loaded, size=1, near=near) == said


def test_memory_is_limited():
    hog = lambda x: np.array([float(len(bytearray(1 << 29)))])  # noqa: E731
    assert answer(hog, memory=1 << 28) is None
    assert answer(hog, memory=1 << 30) == 1 << 29


ATTACKS = r"""
import atexit, ctypes, faulthandler, logging, os, signal, subprocess, sys, threading, time, warnings
import numpy as np, rpac
from rpac.worlds.run import answer_on_fresh_draw
logging.basicConfig(level=0)
STUDY = np.random.default_rng(0).normal()

class Odd:
    def __init__(self, x):
        self.x = x
    def __float__(self):
        os.write(2, told(self.x))
        raise ValueError(told(self.x))
    __len__ = __array__ = __reduce__ = __repr__ = __float__

def told(x):
    return f"LE{'AK'} {x}".encode()

def later(x):
    threading.Thread(target=lambda: time.sleep(0.1) or os.write(2, told(x))).start()

def child(x):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.1)
        os.write(1, told(x))

def hook(x):
    sys.excepthook = lambda *_: os.write(2, told(x))
    raise ValueError(told(x))

def crash(x):
    faulthandler.enable()
    os.kill(os.getpid(), signal.SIGSEGV)

ALL = [
    lambda x: print(told(x)), lambda x: logging.critical(told(x)),
    lambda x: warnings.warn(str(told(x))), lambda x: os.write(1, told(x)) * 0,
    lambda x: os.write(2, told(x)) * 0, lambda x: sys.__stderr__.write(str(told(x))) * 0,
    lambda x: ctypes.CDLL(None).dprintf(2, told(x)) * 0,
    lambda x: subprocess.run(["echo", told(x)]),
    lambda x: os.system("echo LEAK >&2; (sleep 0.1; echo LEAK) &"), later, child, hook, crash,
    lambda x: sys.exit(told(x)), lambda x: atexit.register(os.write, 2, told(x)), Odd,
    lambda x: [Odd(x)], lambda x: {"x": Odd(x)}, lambda x: os.abort(),
    lambda x: exec("raise BaseException(told(x))"), lambda x: np.full(10_000_000, x),
]

def attacked():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=40)
    outputs = rpac.simulate(source, lambda x: x)
    for act in ALL:
        def mechanism(x):
            found = None if x == STUDY else act(x)
            return x if found is None else found
        assert abs(answer_on_fresh_draw(source, mechanism, outputs, 3.5)[0]) in (0, 3.5)
        assert abs(answer_on_fresh_draw(source, mechanism, outputs)[0]) <= 4
"""
THREAD = "thread = threading.Thread(target=attacked)\nthread.start()\nthread.join()\n"
JAX = "import jax.numpy as jnp\n(jnp.ones((200, 200)) @ jnp.ones(200)).block_until_ready()\n"
JOBS = "import joblib\njoblib.Parallel(n_jobs=2)(joblib.delayed(attacked)() for _ in range(2))\n"
END = "time.sleep(0.3)\nprint('the end')\n"


@pytest.mark.parametrize("how", ["attacked()\n", THREAD, JOBS])
def test_no_attack_is_seen_from_a_script_on_standard_input(how):
    """As in a notebook: functions of `__main__`, which no file holds."""
    done = subprocess.run(
        [sys.executable, "-"], input=ATTACKS + how + END, capture_output=True, text=True,
        timeout=300, check=False, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr[-2000:]
    assert done.stderr == ""


def test_no_attack_is_seen_beside_jax():
    pytest.importorskip("jax")
    quiet = ATTACKS.replace("logging.basicConfig(level=0)", "")
    done = subprocess.run(
        [sys.executable, "-"], input=quiet + JAX + "ALL = ALL[::4]\nattacked()\n" + END,
        capture_output=True, text=True, timeout=300, check=False, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr[-2000:]
    assert done.stderr == ""


def test_jax_is_used_in_the_child():
    jnp = pytest.importorskip("jax.numpy")
    assert jnp.ones(2).sum() == 2  # in this process, which has its threads from now on
    held = jnp.arange(3.0)
    for function in (lambda x: np.asarray(jnp.ones(1) * x), lambda x: np.asarray(held.sum() + x)):
        found = []
        thread = threading.Thread(target=lambda f=function: found.append(answer(f)))  # noqa: B023
        thread.start()
        thread.join()
        assert found[0] in (1.0, 4.0)
