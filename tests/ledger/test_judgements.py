"""Certificates in the books: counted across processes, under the ledger's key."""

import rpac
from rpac.ledger.judgements import Judgements


def test_attempts_and_judgements_are_entries(where):
    with rpac.Ledger(where, budget=1.0, dataset="people") as ledger:
        assert isinstance(ledger, Judgements)
        assert [ledger.attempt("outputs") for _ in range(3)] == [1, 2, 3]
        ledger.learn("outputs", 7)
        ledger.learn("outputs", 5)
        assert ledger.attempt("outputs") == 8
        assert ledger.judge("draws", "law", 4)
        assert ledger.attempt_on_draws("draws") == 4
        kinds = [entry["kind"] for entry in ledger.entries()]
        assert kinds == ["open", *["attempt"] * 5, "judged"]
        assert ledger.verify() == 6


def test_draws_are_counted_by_dataset_and_across_processes(where):
    with rpac.Ledger(where, budget=1.0, dataset="people") as ledger:
        assert [ledger.attempt_on_draws(f"draws {i}") for i in range(3)] == [1, 2, 3]
        assert ledger.under(dataset="others").attempt_on_draws("draws 0") == 1
    with rpac.Ledger(where, dataset="people") as again:
        assert again.attempt_on_draws("draws 9") == 4
        assert {a["kind"] for a in again.accounts()} == {"ledger"}
