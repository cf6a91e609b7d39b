"""Who remembers judgements: a process, a ledger, or both, and the stricter one counts."""

import math

import numpy as np
import pytest

import rpac
from rpac.certificate.attempts import Attempts, Memory, Together
from rpac.certificate.issue import issue
from rpac.front.certify import PROCESS, remembered

OUTPUTS = rpac.Outputs(np.random.default_rng(0).normal(size=(30, 2)))
LAW = rpac.tabulate(OUTPUTS, rpac.GaussianNoise(4 * np.eye(2)))


@pytest.fixture(params=["memory", "ledger", "both"])
def attempts(request, folder):
    if request.param == "memory":
        yield Memory()
        return
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        yield ledger if request.param == "ledger" else Together(Memory(), ledger)


def test_attempts_are_counted_by_outputs(attempts):
    assert isinstance(attempts, Attempts)
    assert [attempts.attempt("a") for _ in range(3)] == [1, 2, 3]
    assert attempts.attempt("b") == 1
    assert attempts.attempt("a") == 4


def test_draws_judge_one_law(attempts):
    assert attempts.judge("draws", "law")
    assert attempts.judge("draws", "law")
    assert not attempts.judge("draws", "another law")
    assert attempts.judge("draws", "law")
    assert attempts.judge("other draws", "another law")


def test_draws_keep_their_number(attempts):
    counted = not isinstance(attempts, Memory)
    assert attempts.attempt_on_draws("a") == counted
    assert attempts.judge("a", "law", 1)
    assert attempts.attempt_on_draws("b") == 2 * counted
    assert attempts.attempt_on_draws("a") == counted, "the same verdict again"


def test_what_is_shown_of_a_digest_has_a_key(attempts, folder):
    mark = attempts.fingerprint("a" * 64)
    assert mark == attempts.fingerprint("a" * 64) != "a" * 64
    if isinstance(attempts, Memory):
        assert mark == Memory().fingerprint("a" * 64), "the process has one"
    else:
        with rpac.Ledger(f"{folder}/other.db", budget=1.0) as other:
            assert Together(Memory(), other).fingerprint("a" * 64) == other.fingerprint("a" * 64)
            assert other.fingerprint("a" * 64) != mark


def test_the_shares_of_all_attempts_sum_to_the_error():
    assert math.fsum(1 / (k * (k + 1)) for k in range(1, 10_000)) < 1


def test_the_stricter_memory_counts():
    first, second = Memory(), Memory()
    for _ in range(5):
        second.attempt("a")
    both = Together(first, second)
    assert both.attempt("a") == 6
    assert first.attempt("a") == 7, "each goes on from the larger number"
    second.judge("draws", "law")
    assert not both.judge("draws", "another")
    assert not first.judge("draws", "law"), "both remember, whatever they say"
    first.clear()
    assert first.attempt("a") == 1


def test_judgements_survive_the_process_in_a_ledger(folder):
    """Draws that failed to certify one noise cannot be asked about a second, in another process."""
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        assert ledger.judge("draws", "law")
    with rpac.Ledger(f"{folder}/l.db") as again:
        assert not again.judge("draws", "another law")
        assert again.judge("draws", "law")
        assert [e["kind"] for e in again.entries()] == ["open", "judged"]
        assert {a["kind"] for a in again.accounts()} == {"ledger"}
        again.verify()


def test_two_who_judge_at_once_agree_on_the_first(folder, monkeypatch):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as one, rpac.Ledger(f"{folder}/l.db") as two:
        record = one.record

        def overtaken(kind, change):
            two.judge("draws", "law")
            return record(kind, change)

        monkeypatch.setattr(one, "record", overtaken)
        assert not one.judge("draws", "another law")


def test_what_is_not_left_to_chance_is_no_attempt():
    memory = Memory()
    line = rpac.Outputs([0.0, 1.0, 3.0])
    issue(line, rpac.tabulate(line, rpac.GaussianNoise(1.0)), 0.99, attempts=memory)
    issue(rpac.Outputs(["a", "b"]), rpac.LabelChannel(np.eye(2)), 0.99, attempts=memory)
    issue(OUTPUTS, LAW, 0.99, attempts=memory, draws=0)
    assert issue(OUTPUTS, LAW, 0.99, attempts=memory, draws=500).attempt == 1
    assert issue(OUTPUTS, LAW, 0.99, attempts=memory, draws=500).attempt == 2


def test_the_process_remembers_and_a_ledger_beside_it(folder):
    assert remembered(None) is PROCESS
    assert rpac.certify(OUTPUTS, LAW, draws=500).attempt == 1
    assert rpac.certify(OUTPUTS, LAW, draws=500).attempt == 2
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        assert remembered(ledger).attempt(OUTPUTS.digest) == 3
        assert ledger.attempt(OUTPUTS.digest) == 4
        ledger.learn(OUTPUTS.digest, 2)  # fewer than the books know: nothing is written
        assert ledger.verify() == 3
        assert ledger.attempt(OUTPUTS.digest) == 5


def test_no_mixture_of_memories_spends_the_error_twice(folder):
    """Whoever asks, with books or without: the shares of all certificates sum to at most one."""
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        for _ in range(5):
            ledger.attempt(OUTPUTS.digest)
        numbers = []
        for turn in range(12):
            memory = remembered(ledger if turn % 3 == 0 else None)
            numbers.append(memory.attempt(OUTPUTS.digest))
        assert len(set(numbers)) == 12
        assert sum(1 / (k * (k + 1)) for k in [*range(1, 6), *numbers]) <= 1
