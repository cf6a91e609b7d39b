"""Chunks of worlds: the same rows from every cut, and nothing said by a worker but rows."""

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.worlds import chunks
from rpac.worlds.chunks import Job, Outcome, Payload, answer_rows, overheard, perform, rows_of
from rpac.worlds.collect import collected

SOURCE = rpac.Subsets(np.random.default_rng(0).normal(size=(20, 3)), worlds=16)
FRAME = rpac.Subsets(pd.DataFrame({"id": range(40), "x": np.arange(40.0)}), "id", worlds=16)


def noisy(x, rng):
    return x.mean() + rng.normal()


@pytest.mark.parametrize("source", [SOURCE, FRAME], ids=["array", "frame"])
def test_a_job_that_travelled_gives_the_same_rows(source):
    def mean(world):
        return np.asarray(world).mean(axis=0)

    job = Job.of(mean, source.worlds(0), 5)
    sent = pickle.loads(pickle.dumps(Payload.of(job)))
    assert perform(sent, range(3, 7)).rows[1].tolist() == job(range(3, 7))[1].tolist()
    assert sent.body.nbytes > 0  # the table lies apart, to be mapped
    assert sent.body.nbytes < 4096


def test_worlds_that_workers_cannot_make_come_with_their_chunk():
    worlds = [np.arange(float(i + 2)) for i in range(9)]
    job = Job.of(lambda x, rng: x.sum() + rng.normal(), worlds, 1)
    sent = Payload.of(job)
    assert sent.table == b""
    own = pickle.dumps(job.own([4, 2]))
    assert perform(sent, [4, 2], own).rows[1].tolist() == job(range(9))[1][[4, 2]].tolist()


def test_a_worlds_generator_follows_from_its_number():
    job = Job.of(noisy, SOURCE.worlds(0), 5)
    seeds = np.random.SeedSequence([5, 1]).spawn(16)
    spawned = [noisy(w, np.random.default_rng(s)) for w, s in zip(job.secrets, seeds, strict=True)]
    assert job(range(16))[1][:, 0].tolist() == spawned


def test_a_stack_that_is_here_already_is_run_in_blocks(monkeypatch):
    monkeypatch.setattr(chunks, "STACK", 20)
    draw = rpac.vectorized(lambda rng, n: rng.normal(size=(n, 2)))
    seen = []
    mean = rpac.vectorized(lambda stack: seen.append(len(stack)) or stack.mean(axis=1))
    outputs = rpac.simulate(rpac.Draws(draw, clip=(-9, 9), draws=45), mean, n_jobs=2)
    assert len(outputs.values) == 45
    assert seen[:-1] == [10, 10, 10, 10, 5]


def test_every_cut_gives_the_same_rows():
    job = Job.of(noisy, SOURCE.worlds(0), 5)
    whole = job(range(16))[1]
    cuts = [range(10, 16), range(0, 1), range(1, 10)]
    assert (collected([(cut, job(cut)) for cut in cuts], len(whole))[1] == whole).all()
    with pytest.raises(rpac.MechanismError, match="forms that differ"):
        collected([(range(1), rows_of([1.0])), (range(1, 2), rows_of([[1.0, 2.0]]))], 2)


def says(error):
    def act(x):
        raise error

    return act


@pytest.mark.parametrize("error", [KeyError("row 17"), SystemExit("row 17"), MemoryError()])
def test_what_a_worker_raises_is_what_is_refused_here(error):
    outcome = perform(Payload.of(Job.of(says(error), SOURCE.worlds(0), 0)), range(2))
    with pytest.raises(rpac.MechanismError) as here:
        rpac.simulate(SOURCE, says(error))
    with pytest.raises(rpac.MechanismError) as there:
        answer_rows(outcome)
    assert str(here.value) == str(there.value)
    assert "row 17" not in outcome.refusal


def test_a_mechanism_cannot_speak_through_this_room():
    def speaks(x):
        return answer_rows(Outcome((), refusal="row 17"))

    class Loud(dict):
        def __iter__(self):
            raise rpac.MechanismError("row 17")

    for mechanism in (speaks, lambda x: Loud()):
        outcome = perform(Payload.of(Job.of(mechanism, SOURCE.worlds(0), 0)), range(2))
        assert "got an exception on some" in outcome.refusal


def test_an_interrupt_in_a_worker_is_one_here():
    outcome = perform(Job.of(says(KeyboardInterrupt("row 17")), SOURCE.worlds(0), 0), range(2))
    with pytest.raises(KeyboardInterrupt) as caught:
        answer_rows(outcome)
    assert caught.value.args == ()


def test_what_cannot_be_sent_is_refused_with_a_next_move():
    lock = threading.Lock()
    with pytest.raises(rpac.InputError, match=r"sent to another process; got .*<lambda>, which"):
        Payload.of(Job.of(lambda x: lock.locked(), SOURCE.worlds(0), 0))


def test_a_worker_that_cannot_load_a_function_says_what_it_lacks(monkeypatch):
    class Broken:
        function = b"\x80\x04crpac_absent\nname\n."

        loaded = Payload.loaded

    outcome = perform(Broken(), range(2))
    with pytest.raises(rpac.InputError, match="got no module 'rpac_absent' there. Install the"):
        answer_rows(outcome)
    Broken.function = b"no pickle"
    assert perform(Broken(), range(2)).unready == "a UnpicklingError"
    with pytest.raises(rpac.InputError, match="workers that can load the mechanism; got a Unp"):
        answer_rows(Outcome((), unready="a UnpicklingError"))


PLAIN = {
    "floats": [1.0, 2.0],
    "ints": [1, 2],
    "huge": [1, 2**70],
    "mixed": [1, 2.0],
    "bools": [True, False],
    "numpy bools": list(np.array([True, False])),
    "text": ["a", "b"],
    "lists": [[1.0, 2.0], [3.0, 4.0]],
    "lists of both": [[1, 2], [3.0, 4.0]],
    "tuples": [(1, 2), (3, 4)],
    "dicts": [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}],
    "other keys": [{"a": 1.0}, {"b": 1.0}],
    "equal keys": [{1: 1.0}, {True: 1.0}],
    "more keys": [{"a": 1.0}, {"a": 1.0, "b": 2.0}],
    "arrays": [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    "shapes": [np.array([1.0, 2.0]), np.array([3.0])],
    "ragged": [[1.0], [1.0, 2.0]],
    "nan": [1.0, float("nan")],
    "nothing": [[], []],
    "words": [["1"], ["2"]],
}


@pytest.mark.parametrize("name", PLAIN)
def test_answers_looked_at_together_are_those_looked_at_one_by_one(name, monkeypatch):
    def looked():
        try:
            form, rows = rows_of(PLAIN[name])
        except rpac.MechanismError as error:
            return str(error)
        return form.name, form.layout, form.whole, rows.tolist(), rows.dtype.kind

    together = looked()
    monkeypatch.setattr(chunks, "_at_once", lambda answers: None)
    assert together == looked()


def test_a_truth_of_numpy_is_rebuilt_as_it_was():
    outputs = rpac.simulate(SOURCE, lambda x: x.mean() > 0)
    assert [outputs.rebuild(np.array([i])) for i in range(2)] == [False, True]


def test_warnings_of_other_threads_are_left_alone():
    from_other = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: from_other.append(str(message))
        with overheard() as kinds:
            warnings.warn("own", UserWarning, stacklevel=1)
            other = threading.Thread(target=lambda: warnings.warn("its own", stacklevel=1))
            other.start()
            other.join()
        seen = []

        def elsewhere():
            with overheard() as none:
                warnings.warn("as before", stacklevel=1)
            seen.append(none)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert kinds == {"UserWarning"}
    assert seen == [set()]
    assert from_other == ["its own", "as before"]
