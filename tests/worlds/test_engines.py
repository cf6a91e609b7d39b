"""Real Dask and Ray clusters of two processes: identical outputs, and workers that are killed."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.worlds import engines
from rpac.worlds.chunks import Job, Outcome, answer_rows
from rpac.worlds.engines import Lost

SOURCE = rpac.Subsets(np.random.default_rng(0).normal(size=(40, 3)), worlds=48)
FRAME = rpac.Subsets(
    pd.DataFrame({"id": range(9_000), "x": np.arange(9_000.0), "word": "text"}), "id", worlds=12
)
needs = {
    kind: pytest.mark.skipif(find_spec(module) is None, reason=f"{module}: not installed")
    for kind, module in (("dask", "distributed"), ("ray", "ray"))
}


@pytest.fixture(
    scope="module", params=[pytest.param(kind, marks=mark) for kind, mark in needs.items()]
)
def cluster(request):
    with rpac.Executor(request.param, workers=2, chunk=4) as executor:
        yield executor


def noisy(x, rng):
    return x.mean(axis=0) + rng.normal()


def test_outputs_are_identical(cluster):
    listed = rpac.Worlds([np.arange(i + 2.0) for i in range(9)])
    for source, mechanism in (
        (SOURCE, noisy),
        (SOURCE, rpac.vectorized(lambda s: s.max(axis=1))),
        (FRAME, lambda world: {"x": world["x"].mean(), "n": len(world)}),
        (FRAME, lambda world: world["word"].iloc[0]),
        (listed, lambda x: (x.sort(), x[0])[1]),  # a world may be changed in place
    ):
        here = rpac.simulate(source, mechanism)
        there = rpac.simulate(source, mechanism, executor=cluster)
        assert there.digest == here.digest
        assert there.form.layout == here.form.layout
    assert cluster.engine.workers == 2


def test_a_worker_that_is_killed_changes_nothing(cluster, tmp_path):
    def dies_once(x):
        try:
            (tmp_path / "died").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
        return float(x.mean())

    found = rpac.simulate(SOURCE, dies_once, executor=cluster)
    assert found.digest == rpac.simulate(SOURCE, lambda x: float(x.mean())).digest
    assert (tmp_path / "died").exists()


def says(x):
    raise KeyError("row 17 of the secret")


def test_what_a_worker_raises_is_refused_as_it_is_here(cluster, capfd):
    with pytest.raises(rpac.MechanismError) as here:
        rpac.simulate(SOURCE, says)
    with pytest.raises(rpac.MechanismError) as there:
        rpac.simulate(SOURCE, says, executor=cluster)
    assert str(there.value) == str(here.value)
    assert "row 17" not in "".join(capfd.readouterr())


def test_a_client_that_is_connected_is_used_and_left(cluster):
    if cluster.kind == "ray":
        again = rpac.Executor("ray")  # the cluster that this process knows
    else:
        again = rpac.Executor.of(cluster.engine._client)
    with again:
        assert rpac.simulate(SOURCE, np.mean, executor=again).dim == 1
    assert rpac.simulate(SOURCE, np.mean, executor=cluster).dim == 1


@needs["dask"]
def test_a_scheduler_by_its_address():
    with rpac.Executor("dask", workers=1) as own:
        address = own.engine._client.scheduler.address
        with rpac.Executor.of(address) as other:
            assert rpac.simulate(SOURCE, np.mean, executor=other).dim == 1


@needs["ray"]
def test_a_ray_cluster_by_its_address(monkeypatch):
    import ray

    given = {}
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **more: given.update(more))
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 5.0})
    assert engines.Ray("ray://head:10001").workers == 5
    assert given["address"] == "ray://head:10001"


@pytest.mark.parametrize(("kind", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_what_is_not_installed_is_named(kind, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(rpac.InputError, match=f"{kind} for this executor; got none installed. pip"):
        rpac.simulate(SOURCE, np.mean, executor=kind)


def test_tasks_that_were_never_begun():
    def lost():
        raise OSError

    def strange():
        raise ImportError("rpac")

    with pytest.raises(Lost):
        engines._result(lost, OSError)
    with pytest.raises(rpac.InputError, match="got a ImportError before it was run"):
        answer_rows(engines._result(strange, OSError))
    assert isinstance(engines._result(lambda: Outcome(()), OSError), Outcome)


def test_this_process_is_an_engine_too():
    job = Job.of(np.mean, SOURCE.worlds(0), 0)
    engine = engines.Serial()
    (found,) = engine.outcomes(engine.ship(job), iter([(range(3), None)]))
    assert found.rows[1].shape == (3, 1)
    engine.close()


DRIVER = """
import sys, time
import numpy as np
import rpac

LOG = sys.argv[2]  # a worker's own arguments are others

def slow(x):
    with open(LOG, "a") as log:
        log.write("call\\n")
    time.sleep(0.01)
    return float(x.mean())

if __name__ == "__main__":
    source = rpac.Subsets(np.arange(50.0), worlds=120)
    with rpac.Executor(sys.argv[3], workers=2, chunk=10) as executor:
        print(rpac.simulate(source, slow, executor=executor, checkpoint=sys.argv[1]).digest)
"""


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=mark) for kind, mark in needs.items()])
def test_a_driver_that_was_killed_goes_on(kind, tmp_path):
    script, folder, log = (tmp_path / name for name in ("driver.py", "kept", "log"))
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(folder), str(log), kind]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len([*folder.glob("*-*")]) < 3:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = len([*folder.glob("*-*")])
    assert 3 <= kept < 12
    assert len(log.read_text().splitlines()) >= 10 * kept
    command[-1] = "serial"  # whoever goes on
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(log.read_text().splitlines()) <= 120 + 2 * 10 + 8
    source = rpac.Subsets(np.arange(50.0), worlds=120)
    assert again.stdout.strip() == rpac.simulate(source, lambda x: float(x.mean())).digest


def test_a_cluster_that_does_not_answer_is_named_by_its_address():
    from rpac.worlds.engines import _reached

    for address, got in (("tcp://nowhere:1", "a OSError at 'tcp://nowhere:1'"), (None, "none")):
        told = rf"a cluster that answers; got {got}\. Check the address"
        with pytest.raises(rpac.InputError, match=told), _reached(address):
            raise OSError("with words of its own")
