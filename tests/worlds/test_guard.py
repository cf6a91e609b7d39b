"""Failure is data: hostile functions become sentinels, and nothing but the value differs."""

import itertools
import logging
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from benchmarks import release as long_run  # with smaller counts

import rpac
from rpac.worlds.guard import guarded
from rpac.worlds.run import answer_on_fresh_draw

LIMITS = {"seconds": 2.0, "memory": 1 << 30}


class Panic(BaseException):
    """As extensions raise it: no Exception."""


def panic():
    raise Panic("the secret was 8.5")


def die(how):
    def mechanism(x):
        how()
        return 1.0

    return mechanism


@pytest.mark.parametrize("limits", [{}, LIMITS])
@pytest.mark.parametrize(
    "mechanism",
    [
        lambda x: 1 / 0,
        lambda x: float("nan"),
        lambda x: np.array([1.0, 2.0]),
        lambda x: None,
        lambda x: "text",
        die(lambda: sys.exit(3)),
        die(panic),
    ],
)
def test_what_goes_wrong_becomes_the_sentinel(mechanism, limits):
    assert guarded(mechanism, sentinel=-1.0, **limits)(0) == -1.0


@pytest.mark.parametrize(
    "how",
    [
        lambda: os._exit(0),
        lambda: os.kill(os.getpid(), signal.SIGSEGV),
        lambda: os.abort(),
        lambda: time.sleep(60),
        lambda: bytearray(4 << 30),
        lambda: os.write(3, b"x" * 100_000),
        lambda: os.write(3, b"x" * 24) and os._exit(0),
        lambda: os.close(3),
        lambda: Path(tempfile.gettempdir(), "rpac-escape").write_text("x" * 10_000),
        lambda: os.fork() == 0 and time.sleep(60),
    ],
)
def test_crashes_hangs_and_hogs_become_the_sentinel(how):
    start = time.monotonic()
    value = guarded(die(how), sentinel=-1.0, seconds=0.7, memory=1 << 30)(0)
    assert value in (-1.0, 1.0)  # 1.0: what the limits made harmless
    assert time.monotonic() - start < 10


def test_answers_come_back_in_their_own_form():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    cases = [(3, 0), (2.5, 0.0), ("yes", "no"), (True, False), (np.arange(4.0), np.zeros(4)),
             ({"a": 1.0, "b": 2.0}, {"a": 0.0, "b": 0.0})]  # fmt: skip
    for limits in ({}, LIMITS):
        for answer, sentinel in cases:
            found = guarded(lambda x, answer=answer: answer, sentinel, **limits)(0)
            assert type(found) is type(answer)
            assert found == answer if isinstance(found, dict) else np.array_equal(found, answer)
        assert guarded(lambda x: frame, frame * 0, **limits)(0).equals(frame)
        assert guarded(lambda x: 2.5, 0, **limits)(0) == 0  # a fraction where counts were declared
    assert guarded(lambda x, rng: rng.random(), 9.0)(0, rng=np.random.default_rng(0)) < 1


@pytest.mark.parametrize("limits", [{}, LIMITS])
def test_workers_get_guards(limits):
    """Sent again and again, one is kept: its server starts once in a process."""
    worlds = rpac.Worlds(list(range(8)))
    safe = guarded(lambda x: 1 / (x - 3), sentinel=9.0, **limits)
    found = [rpac.simulate(worlds, safe, n_jobs=n).values for n in (1, 2)]
    assert (found[0] == found[1]).all()
    assert found[0][3] == 9.0
    again = [pickle.loads(cloudpickle.dumps(safe)) for _ in range(2)]
    assert (again[0] is again[1]) == bool(limits)
    assert again[0](3) == 9.0


def test_secrets_that_cannot_be_sent():
    safe = guarded(lambda x: 1.0, sentinel=-1.0, **LIMITS)
    assert safe([threading.Lock()]) == -1.0  # other lists can
    with pytest.raises(rpac.InputError, match="sent to another process; got lock. Pass plain"):
        safe(threading.Lock())
    lock = threading.Lock()
    with pytest.raises(rpac.InputError, match="sent to another process; got .*<lambda>, which"):
        guarded(lambda x: lock, 0.0, seconds=1)
    assert guarded(lambda x: "text", 0.0, **LIMITS)(0) == 0.0


def test_nothing_of_this_process_is_patched():
    """What a guarded function sees is what is there, limits or not."""
    before = sys.stdout, sys.stderr, warnings.filters, logging.root.manager.disable
    seen = []
    guarded(lambda x: seen.append((sys.stdout, sys.stderr, warnings.filters,
                                   logging.root.manager.disable)) or 1.0, 0.0)(0)  # fmt: skip
    assert seen == [before]


def test_refusals_of_the_guard():
    with pytest.raises(rpac.InputError, match="Expected a callable mechanism; got int"):
        guarded(3, 0.0)
    with pytest.raises(rpac.InputError, match="Expected a positive limit; got -1"):
        guarded(len, 0, seconds=-1)


def test_hostile_functions_cannot_be_told_apart():
    assert long_run.hostiles(300) == 0


def test_a_guard_that_leaks_would_be_seen(monkeypatch):
    """The comparison can fail: let exceptions of the drawn world through."""

    def leak(x):
        print(x)
        return float(x)

    face = [long_run.response(leak, secret, guard=False) for secret in (0, 3)]
    assert face[0] == face[1]  # all worlds run, in either case
    monkeypatch.setattr("rpac.release.release.draw_among", lambda weights, given: print(given) or 0)
    face = [long_run.response(leak, secret) for secret in (0, 3)]
    assert face[0] != face[1]


def test_a_fresh_draw_is_silent(capfd, caplog):
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=100)

    def loud(x):
        print("secret", x)
        os.write(2, b"secret")
        os.system("echo secret")
        warnings.warn(f"secret {x}", stacklevel=1)
        logging.getLogger("m").error("secret %s", x)
        return x

    form = rpac.simulate(rpac.Worlds([1.0, 2.0]), lambda x: x).form
    clip = np.array([-4.0]), np.array([4.0])
    outputs = rpac.Outputs(np.linspace(-1, 1, 100), clip=clip, form=form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer_on_fresh_draw(source, loud, outputs)
        guarded(loud, 0.0, seconds=5)(8.5)
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


COUNTER = itertools.count()
CACHE: dict = {}
STATE = {"last": 0.0, "n": 0}


def _cached(x):
    return CACHE.setdefault(x, x) + 0.1 * len(CACHE)


def _state(x):
    out, STATE["last"] = STATE["last"] + x, x
    return out


def _global_count(x):
    STATE["n"] += 1
    return x + 1e-3 * STATE["n"]


def _mutates(x):
    x += 1
    return float(x.sum())


def _grows(x, seen=[]):  # noqa: B006
    seen.append(x)
    return len(seen)


def _env(x):
    os.environ["RPAC_N"] = str(int(os.environ.get("RPAC_N", "0")) + 1)
    return float(os.environ["RPAC_N"])


IMPURE = [
    lambda x: x + next(COUNTER),
    lambda x: x + random.random(),
    lambda x: x + np.random.rand(),  # noqa: NPY002
    lambda x: x + np.random.default_rng().random(),
    lambda x: x + time.perf_counter(),
    lambda x: x + time.time_ns() % 1000,
    lambda x: x + os.urandom(1)[0],
    lambda x: float(id(object()) % 977) + random.random(),
    _cached,
    _state,
    _global_count,
    _grows,
    _env,
    lambda x: float(str(time.monotonic_ns())[-3:]),
    lambda x: x + len(CACHE.setdefault(time.perf_counter_ns(), "")) + len(CACHE),
    lambda x: "up" if random.random() < 0.5 else "down",
    lambda x: {"a": x, "b": random.random()},
    lambda x: np.array([x, next(COUNTER)]),
    rpac.vectorized(lambda stack: stack + np.random.rand()),  # noqa: NPY002
]


@pytest.mark.parametrize("number", range(len(IMPURE)))
def test_impure_mechanisms_are_found(number):
    CACHE.clear()
    worlds = rpac.Worlds(list(np.arange(1.0, 33.0)))
    with pytest.raises(rpac.MechanismError, match="whose answer depends on its secret alone"):
        rpac.simulate(worlds, IMPURE[number])


def test_a_mechanism_that_changes_its_data_is_found():
    worlds = rpac.Worlds([np.zeros(3) + i for i in range(9)])
    with pytest.raises(rpac.MechanismError, match="Drop caches"):
        rpac.simulate(worlds, _mutates)


def test_pure_mechanisms_pass_with_declared_randomness():
    worlds = rpac.Worlds(list(np.arange(1.0, 33.0)))
    rpac.simulate(worlds, lambda x, rng: x + rng.normal())
    rpac.simulate(worlds, lambda x: "a" if x > 3 else "b")
    rpac.simulate(worlds, rpac.vectorized(lambda stack: stack * 2))


def test_a_panic_tells_nothing():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4.0, 4.0), draws=40)
    outputs = rpac.simulate(source, lambda x: x)
    on_secret = lambda x: panic() if x == 3.5 else x  # noqa: E731
    assert answer_on_fresh_draw(source, on_secret, outputs, 3.5) == pytest.approx(outputs.center)
    with pytest.raises(rpac.MechanismError, match="got an exception on some") as caught:
        rpac.simulate(rpac.Worlds([1.0, 2.0]), die(panic))
    assert "8.5" not in str(caught.value)

    def interrupt():
        raise KeyboardInterrupt

    for run in (guarded(die(interrupt), sentinel=0.0), lambda x: rpac.simulate(x, die(interrupt))):
        with pytest.raises(KeyboardInterrupt):
            run(rpac.Worlds([1.0, 2.0]))
