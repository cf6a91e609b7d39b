"""One simulation, whoever runs it: the same outputs to the last bit, also when workers are lost."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.worlds.chunks import Job, Outcome, rows_of
from rpac.worlds.engines import Lost
from rpac.worlds.executor import Chunks

SOURCE = rpac.Subsets(np.random.default_rng(0).normal(size=(40, 3)), worlds=64)


def noisy(x, rng):
    return x.mean(axis=0) + rng.normal()


def test_it_is_named_or_given_by_an_address():
    client = type("Client", (), {"scatter": 0, "submit": 0})()
    shown = {
        "serial": "Executor('serial')",
        "dask://host:1": "Executor('dask', address='tcp://host:1')",
        "tls://host:1": "Executor('dask', address='tls://host:1')",
        "ray://host:1": "Executor('ray', address='ray://host:1')",
    }
    assert {text: repr(rpac.Executor.of(text)) for text in shown} == shown
    assert rpac.Executor.of(client).kind == "dask"
    assert repr(rpac.Executor("joblib", -1, chunk=3)) == "Executor('joblib', chunk=3)"
    one = rpac.Executor("joblib", workers=2)
    assert rpac.Executor.of(one) is one


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rpac.Executor("spark"), "among serial, joblib, dask, ray; got 'spark'"),
        (lambda: rpac.Executor("joblib", 0), "a whole `workers` of at least 1; got 0"),
        (lambda: rpac.Executor("joblib", chunk=0), "a whole `chunk` of at least 1; got 0"),
        (lambda: rpac.Executor("joblib", address="x"), "got a client or address for 'joblib'"),
        (lambda: rpac.Executor("ray", client=object()), "got a client or address for 'ray'"),
        (lambda: rpac.Executor.of(3), "an executor, its name or its address; got int. Such as"),
        (lambda: rpac.Executor.of("http://x"), "its name or its address; got 'http://x'"),
        (
            lambda: rpac.simulate(SOURCE, np.mean, n_jobs=2, executor="serial"),
            "Expected n_jobs or executor; got both",
        ),
    ],
)
def test_what_it_cannot_be(make, message):
    with pytest.raises(rpac.InputError, match=message):
        make()


@pytest.mark.parametrize("chunk", [None, 1, 7, 1000])
def test_outputs_do_not_depend_on_chunks(chunk):
    whole = rpac.simulate(SOURCE, noisy, seed=3)
    here = rpac.simulate(SOURCE, noisy, seed=3, executor=rpac.Executor("serial", chunk=chunk))
    assert here.digest == whole.digest


def test_processes_of_joblib_give_the_same_outputs():
    table = pd.DataFrame({"id": range(40_000), "x": np.arange(40_000.0), "word": "text"})
    frame = rpac.Subsets(table, "id", worlds=16)
    stacks = rpac.vectorized(lambda s: s.max(axis=1))
    listed = rpac.Worlds([np.arange(i + 2.0) for i in range(9)])
    with rpac.Executor("joblib", workers=2) as two:
        for source, mechanism in (
            (SOURCE, noisy),
            (SOURCE, stacks),
            (frame, lambda world: world["x"].mean()),
            (frame, lambda world: world["word"].iloc[0]),
            (listed, np.std),
        ):
            here = rpac.simulate(source, mechanism)
            assert rpac.simulate(source, mechanism, executor=two).digest == here.digest


def test_release_and_session_take_an_executor(tmp_path):
    with rpac.Executor("serial", chunk=3) as executor:
        more = {"executor": executor, "checkpoint": tmp_path / "kept"}
        assert rpac.privatize(np.mean, SOURCE, 0.1, **more).certificate.bound <= 0.1
        with rpac.Session(SOURCE, 0.5, executor=executor) as session:
            assert session.ask(np.mean, 0.1).certificate.bound <= 0.1
    people = rpac.Presence(pd.DataFrame({"id": [1, 2], "x": [1.0, 2.0]}), unit="id")
    for key in ("executor", "checkpoint"):
        with pytest.raises(rpac.InputError, match="no executor or checkpoint under the promise pe"):
            rpac.privatize(np.mean, people, rpac.SuccessRate(0.55), **{key: "serial"})
    with pytest.raises(rpac.InputError, match="subject or executor for rpac.Presence"):
        rpac.Session(people, 0.5, executor="serial")


def test_an_executor_that_is_named_is_ended(monkeypatch):
    ended = []
    monkeypatch.setattr(rpac.Executor, "close", lambda self: ended.append(self.kind))
    rpac.simulate(SOURCE, np.mean, executor="serial")
    rpac.simulate(SOURCE, np.mean, executor=rpac.Executor("joblib", 2))  # its owner ends that one
    assert ended == ["serial"]


def test_what_cannot_be_sent_is_refused():
    lock = threading.Lock()
    with pytest.raises(rpac.InputError, match="a function that can be sent to another process"):
        rpac.simulate(SOURCE, lambda x: lock.locked() + x.mean(), n_jobs=2)
    with pytest.raises(rpac.InputError, match="worlds that can be sent to another process; got g"):
        rpac.simulate(rpac.Worlds([(i for i in [1]), (i for i in [2])]), id, n_jobs=2)


def test_impure_mechanisms_are_found_among_workers():
    counter = itertools.count()
    for impure in (lambda x: np.random.default_rng().random(), lambda x: float(next(counter))):
        with pytest.raises(rpac.MechanismError, match="other answers on a second run"):
            rpac.simulate(SOURCE, impure, n_jobs=2)


# --- lost workers ---------------------------------------------------------------------------------


def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    def dies_once(x):
        try:
            (tmp_path / "died").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
        return float(x.mean())

    with rpac.Executor("joblib", workers=2, chunk=4) as two:
        found = rpac.simulate(SOURCE, dies_once, executor=two)
    assert found.digest == rpac.simulate(SOURCE, lambda x: float(x.mean())).digest


class Flaky:
    """An engine that loses its workers amid some rounds."""

    workers = 2

    def __init__(self, done_before_loss):
        self.left = list(done_before_loss)
        self.run = []

    def ship(self, job):
        return job

    def outcomes(self, sent, tasks, ahead):
        left = self.left.pop(0) if self.left else 10**9
        for numbers, _ in tasks:
            if not left:
                raise Lost
            left -= 1
            self.run.append(numbers)
            yield Outcome(numbers, sent(numbers), seconds=0.01)


def test_only_what_was_lost_is_run_again():
    executor = rpac.Executor("serial", chunk=8)
    executor._engine = flaky = Flaky([2, 0, 3])
    job = Job.of(np.mean, SOURCE.worlds(0), 0)
    found = list(executor.outcomes(job, [range(64)]))
    assert sorted(i for one in found for i in one.numbers) == [*range(64)]
    assert len(flaky.run) == 8


def test_workers_that_end_again_and_again_are_refused():
    executor = rpac.Executor("serial", chunk=8)
    executor._engine = Flaky([1, 0, 0, 0])
    with pytest.raises(rpac.MechanismError, match="workers that ended 3 times in a row. It may"):
        list(executor.outcomes(Job.of(np.mean, SOURCE.worlds(0), 0), [range(64)]))


def test_chunks_take_about_a_quarter_of_a_second():
    chunks, sizes = Chunks([range(100_000)], 2, None), []
    for numbers in chunks:
        sizes.append(len(numbers))
        chunks.finished(Outcome(numbers, rows_of([0.0]), seconds=0.001 * len(numbers)))
    assert sizes[0] == 1
    assert max(sizes) == 250
    assert min(sizes[1:-1]) == 20
    assert sum(sizes) == 100_000
    refused = Chunks([range(4)], 2, 2)
    refused.finished(Outcome(next(refused), refusal="no"))
    refused.finished(Outcome((), unready="no"))
    assert refused.left() == [range(2, 4)]


# --- interrupts -----------------------------------------------------------------------------------

INTERRUPTED = """
import sys, time
import numpy as np
import rpac

def slow(x):
    time.sleep(0.05)
    return float(x.mean())

if __name__ == "__main__":
    try:
        rpac.simulate(rpac.Subsets(np.arange(50.0), worlds=2000), slow, n_jobs=2,
                      checkpoint=sys.argv[1] + "/kept")
    except KeyboardInterrupt:
        print("interrupted")
"""


def group_of(pid):
    """Return the processes of a process group that run."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [row for row in rows if int(row[0]) == pid and not row[1].startswith("Z")]


def test_an_interrupt_leaves_no_process_and_nothing_half_written(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), str(tmp_path)]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    run = subprocess.Popen(command, start_new_session=True, **quiet)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any((tmp_path / "kept").glob("*-*")):
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    assert run.communicate(timeout=30)[0] == "interrupted\n"
    while time.monotonic() < deadline and group_of(run.pid):
        time.sleep(0.1)
    assert not group_of(run.pid)
    assert not [p for p in (tmp_path / "kept").iterdir() if p.name.startswith(".")]
