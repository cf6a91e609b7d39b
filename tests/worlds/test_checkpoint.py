"""A run that was cut off goes on from its checkpoint; what does not fit is not used."""

import importlib
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

import rpac
from rpac.worlds.checkpoint import Checkpoint, content_of, missing
from rpac.worlds.chunks import Job, rows_of

DATA = np.random.default_rng(0).normal(size=(40, 2))
SOURCE = rpac.Subsets(DATA, worlds=24)


class Counted:
    """A mechanism that counts its calls outside of what is hashed."""

    calls = 0

    def __call__(self, x):
        type(self).calls += 1
        return x.mean(axis=0)


@pytest.fixture
def calls():
    Counted.calls = 0
    return lambda: Counted.calls


def run(folder, source=SOURCE, mechanism=None, **more):
    executor = rpac.Executor("serial", chunk=5)
    mechanism = Counted() if mechanism is None else mechanism
    return rpac.simulate(source, mechanism, executor=executor, checkpoint=folder, **more)


def chunks_in(folder):
    return sorted(p for p in folder.iterdir() if "-" in p.name)


def test_what_is_done_is_not_done_again(tmp_path, calls):
    folder = tmp_path / "kept"
    whole = run(folder)
    assert calls() == 24 + 8
    assert run(folder).digest == whole.digest == rpac.simulate(SOURCE, lambda x: x.mean(0)).digest
    assert calls() == 32 + 1 + 8  # one to see the form, eight whether it is pure


def test_it_is_for_its_owner_alone_and_its_names_tell_nothing(tmp_path):
    folder = tmp_path / "a" / "kept"
    run(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    names = {p.name.rpartition("-")[0] for p in chunks_in(folder)}
    other = tmp_path / "other"
    run(other)
    assert names.isdisjoint(p.name.rpartition("-")[0] for p in chunks_in(other))
    assert len(names) == 1
    folder.chmod(0o755)
    with pytest.raises(rpac.InputError, match="for its owner alone; got mode 755. It holds outp"):
        run(folder)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_chunk_is_computed_anew(tmp_path, calls, damage):
    whole = run(tmp_path / "kept")
    path = chunks_in(tmp_path / "kept")[1]
    raw = path.read_bytes()
    flipped = raw[:-3] + bytes([raw[-3] ^ 1]) + raw[-2:]
    path.write_bytes({"flip": flipped, "cut": raw[:-8], "empty": b""}[damage])
    before = calls()
    assert run(tmp_path / "kept").digest == whole.digest
    assert calls() - before in {5 + 8, 4 + 8}
    assert path.read_bytes() == raw


def test_a_chunk_of_one_place_does_not_serve_another(tmp_path, calls):
    whole = run(tmp_path / "kept")
    first, second = chunks_in(tmp_path / "kept")[:2]
    second.write_bytes(first.read_bytes())
    assert run(tmp_path / "kept").digest == whole.digest


def test_other_content_is_never_used(tmp_path, calls):
    folder = tmp_path / "kept"
    run(folder)
    for source, more in (
        (rpac.Subsets(DATA + 1e-9, worlds=24), {}),
        (rpac.Subsets(DATA, worlds=24, seed=1), {}),
        (rpac.Subsets(DATA, worlds=26), {}),
        (SOURCE, {"seed": 1}),
    ):
        before = calls()
        fresh = rpac.simulate(source, lambda x: x.mean(axis=0))
        assert run(folder, source, **more).digest == fresh.digest
        assert calls() - before >= 24 + 8
    for factor in (1.0, 2.0):  # of one name and one code
        other = run(folder, mechanism=lambda x, k=factor: k * x.mean(axis=0))
        assert (other.values == factor * rpac.simulate(SOURCE, Counted()).values).all()


def test_the_order_of_listed_worlds_is_content(tmp_path):
    for worlds in ([1.0, 2.0, 4.0], [4.0, 2.0, 1.0]):
        outputs = run(tmp_path / "kept", rpac.Worlds(worlds), float)
        assert outputs.values[:, 0].tolist() == worlds


def test_a_changed_module_is_other_content(tmp_path, monkeypatch):
    (tmp_path / "helper_of_mine.py").write_text("def scale(x):\n    return 2 * x\n")
    text = "import helper_of_mine\n\n\ndef f(x):\n    return helper_of_mine.scale(x)\n"
    (tmp_path / "module_of_mine.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("module_of_mine")
    source = rpac.Worlds([1.0, 2.0])
    job = Job.of(module.f, source.worlds(0), 0)
    before = content_of(source, job)
    assert before == content_of(source, job)
    (tmp_path / "helper_of_mine.py").write_text("def scale(x):\n    return 3 * x\n")
    assert content_of(source, job) != before


def test_answers_of_another_form_are_computed_anew(tmp_path):
    store = Checkpoint(tmp_path / "kept", "content", 4)
    store.write(range(0, 2), rows_of([1.0, 2.0]))
    store.write(range(3, 4), rows_of(["a"]))
    first, last = store.read()
    assert (first.worlds, last.worlds) == (range(0, 2), range(3, 4))
    assert first.form == store.mark(rows_of([9.0])[0]) != last.form
    assert last.values.tolist() == ["a"]
    assert missing(4, [first, last]) == [range(2, 3)]
    store.write(range(0, 4), rows_of([1.0, 2.0, 3.0, 4.0]))
    assert [kept.worlds for kept in store.read()] == [range(0, 4)]  # none over another


def test_a_form_that_shows_otherwise_in_each_process_is_computed_anew(tmp_path, calls):
    class Key(str):
        __slots__ = ()

        def __repr__(self):
            return f"Key {Counted.calls}"

    def keyed(x):
        Counted.calls += 1
        return {KEY: x.mean()}

    KEY = Key("a")  # noqa: N806
    outputs = run(tmp_path / "kept", mechanism=keyed)
    before = Counted.calls
    assert run(tmp_path / "kept", mechanism=keyed).digest == outputs.digest
    assert Counted.calls - before > 24


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path, calls):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(rpac.InputError, match="a checkpoint folder that can be written; got"):
            rpac.privatize(Counted(), SOURCE, 0.1, checkpoint=place)
    assert calls() == 0


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    store = Checkpoint(tmp_path / "kept", "content", 4)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(rpac.InputError, match="can be written; got No space left on device. Look"):
        store.write(range(0, 2), rows_of([1.0, 2.0]))
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["key"]


DRIVER = """
import os, sys, time
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
    with rpac.Executor(sys.argv[3], workers=int(sys.argv[4]), chunk=10) as executor:
        outputs = rpac.simulate(source, slow, executor=executor, checkpoint=sys.argv[1])
    print(outputs.digest)
"""


@pytest.mark.parametrize(("kind", "workers"), [("serial", 1), ("joblib", 2)])
def test_a_driver_that_was_killed_repeats_its_chunks_under_way_alone(tmp_path, kind, workers):
    script, folder, log = (tmp_path / name for name in ("driver.py", "kept", "log"))
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(folder), str(log), kind, str(workers)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (folder.exists() and len(chunks_in(folder)) >= 3):
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = 10 * len(chunks_in(folder))
    assert 30 <= done < 120
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    calls = len(log.read_text().splitlines())
    under_way = 1 if kind == "serial" else 2 * workers  # joblib sends the next before one is kept
    assert calls <= 120 + 10 * under_way + 8  # eight, to see whether it is pure
    source = rpac.Subsets(np.arange(50.0), worlds=120)
    assert again.stdout.strip() == rpac.simulate(source, lambda x: float(x.mean())).digest
