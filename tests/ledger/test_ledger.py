"""The books: what is acknowledged is recorded, what is recorded fits the cap, damage shows."""

import math
import os
import sqlite3

import numpy as np
import pytest
from benchmarks import ledger as long_run  # with smaller counts

import rpac
from rpac.ledger.entries import Line


def test_a_ledger_adds_up_and_survives_reopening(where):
    with rpac.Ledger(where, budget=1.0, dataset="people", analyst="ann") as ledger:
        for _ in range(3):
            ledger.spend(0.1)
        ledger.spend(rpac.Bits(0.1))
        assert ledger.spent == pytest.approx(0.3 + 0.1 * math.log(2), abs=1e-9)
        assert ledger.remaining == pytest.approx(1 - ledger.spent)
        assert ledger.verify() == 4
        assert "ledger" in str(ledger)
        assert "people" in ledger._repr_html_()
    with rpac.Ledger(where) as again:
        assert again.spent == ledger.spent
        kinds = [entry["kind"] for entry in again.entries()]
        assert kinds == ["open"] + ["spend"] * 4
        assert [entry["seq"] for entry in again.entries(2)] == [2, 3, 4]
        assert again.id == ledger.id
        ledger.close()


def test_the_cap_is_met_to_the_nano_nat_and_the_refusal_says_what_is_left(where):
    with rpac.Ledger(where, budget=0.5) as ledger:
        for _ in range(5):
            ledger.check(0.1)
            ledger.spend(0.1)
        with pytest.raises(
            rpac.BudgetSpent,
            match=r"at most 0\.000000000 nats, what is left for the ledger; got 0\.000000001 nats",
        ) as caught:  # noqa: E501
            ledger.spend(1e-12)
        assert caught.value.remaining == 0
        with pytest.raises(rpac.BudgetSpent):
            ledger.check(1e-9)
        ledger.spend(0)
        assert ledger.spent == 0.5


def test_one_key_is_charged_once_and_has_one_answer(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        draws = iter(range(100))
        spend = lambda r="r": ledger.spend(  # noqa: E731
            0.25, key="k", request=r, draw=lambda: ({"value": next(draws)}, b"")
        )
        receipts = [spend() for _ in range(50)]
        assert all(r == receipts[0] for r in receipts)
        assert receipts[0].answer == {"value": 0}
        assert receipts[0].nats == 0.25
        assert "0.250000000 nats" in str(receipts[0])
        assert ledger.spent == 0.25
        first = r"Expected the request that key 'k' was first used for; got another one\. Take"
        with pytest.raises(rpac.InputError, match=first):  # no digest of it
            spend("another")
        assert ledger.find("k") == receipts[0]
        assert ledger.find("unknown") is None


def test_two_processes_with_one_key_share_one_answer(where, monkeypatch):
    with rpac.Ledger(where, budget=1.0) as ledger, rpac.Ledger(where) as other:
        first = other.spend(0.1, key="k", draw=lambda: ("first", b""))
        real = ledger._chain._under
        looks = iter([None])  # the look before the lock came too early
        monkeypatch.setattr(ledger._chain, "_under", lambda *a: next(looks, None) or real(*a))
        monkeypatch.setattr(ledger, "find", lambda *a: None)
        assert ledger.spend(0.1, key="k", draw=lambda: ("second", b"")) == first
        assert ledger.spent == 0.1


def test_caps_of_datasets_and_analysts(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        ledger.cap(0.3, dataset="people")
        ledger.cap(0.2, analyst="ann")
        ann = ledger.under(dataset="people", analyst="ann")
        bob = ledger.under(dataset="people", analyst="bob")
        ann.spend(0.2)
        with pytest.raises(rpac.BudgetSpent, match=r"what is left for analyst 'ann'"):
            ann.spend(0.01)
        assert bob.remaining == pytest.approx(0.1)
        bob.spend(0.1)
        with pytest.raises(rpac.BudgetSpent, match=r"what is left for dataset 'people'"):
            bob.spend(0.01)
        with pytest.raises(rpac.InputError, match="a cap of at least what is spent, 0.200000000"):
            ledger.cap(0.1, analyst="ann")
        for named in ({"analyst": ""}, {"dataset": ""}, {"dataset": "people", "analyst": "ann"}):
            with pytest.raises(rpac.InputError, match="the name of one dataset or one analyst; "):
                ledger.cap(0.1, **named)
        ledger.cap(2.0)
        assert ledger.under(dataset="other").remaining == pytest.approx(1.7)
        ledger.spend(0.1)  # nameless: on no line but the ledger's and the data's
        nameless = [a for a in ledger.accounts() if not a["name"]]
        assert [(a["kind"], a["spent"]) for a in nameless] == [("ledger", pytest.approx(0.4))]
        ledger.verify()
    with pytest.raises(rpac.InputError, match="Expected the budget of this ledger, 2.000000000"):
        rpac.Ledger(where, budget=1.0)


def test_names_and_keys_are_text(where):
    """The books would hold a text, and their hashes something else."""
    with rpac.Ledger(where, budget=1.0) as ledger:
        wrong = [
            ("dataset", lambda: rpac.Ledger(where, dataset=None)),
            ("dataset", lambda: ledger.cap(0.1, dataset=0)),
            ("analyst", lambda: ledger.under(analyst=7)),
            ("analyst", lambda: ledger.under(analyst="a\nb")),
            ("key", lambda: ledger.spend(0.1, key=7)),
        ]
        for name, call in wrong:
            with pytest.raises(rpac.InputError, match=f"Expected printable text for `{name}`; "):
                call()
        ledger.under(analyst=np.str_("eve")).spend(0.0, key=np.str_("k"))
        ledger.under(analyst="山田\u3000太郎").spend(0.0)
        ledger.verify()


def test_a_line_of_the_books_has_one_secret_and_new_data_a_new_line(where):
    with rpac.Ledger(where, budget=1.0, dataset="people") as ledger:
        ledger.spend(0.1, line=Line("v1", "halves by person"))
        with pytest.raises(rpac.InputError, match="Expected charges about one secret on a line"):
            ledger.spend(0.1, line=Line("v1", "halves by row"))
        ledger.spend(0.2, line=Line("v2", "halves by row"))
        lines = {a["name"]: a["spent"] for a in ledger.accounts() if a["kind"] == "version"}
        names = [f"people@{ledger.fingerprint(version)}" for version in ("v1", "v2")]
        assert lines == dict(zip(names, (0.1, 0.2), strict=True))


def test_a_draw_that_fails_charges_nothing(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        with pytest.raises(ZeroDivisionError):
            ledger.spend(0.1, key="k", draw=lambda: 1 / 0)
        with pytest.raises(rpac.InputError, match="Expected public values; got sealed Outputs"):
            ledger.spend(0.1, key="k", draw=lambda: (rpac.Outputs([0.0, 1.0]), b""))
        assert ledger.spent == 0
        assert ledger.find("k") is None


def test_nothing_is_drawn_before_the_check_and_nothing_revealed_before_the_write(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        order = []
        with pytest.raises(rpac.BudgetSpent):
            ledger.spend(2.0, draw=lambda: order.append("draw"))
        assert order == []
        real = ledger._store.rows

        def rows(sql, *values):
            if sql == "COMMIT" or sql.startswith("INSERT INTO rpac_entries"):
                order.append(sql.split()[0])
            return real(sql, *values)

        ledger._store.rows = rows
        ledger.spend(0.1, draw=lambda: (order.append("draw"), b""))
        assert order == ["draw", "INSERT", "COMMIT"]


def test_a_new_ledger_needs_a_budget(folder):
    with pytest.raises(rpac.InputError, match="Expected a budget for a new ledger; got None"):
        rpac.Ledger(f"{folder}/none.db")


def test_many_processes_spend_to_the_exact_cap(folder):
    found = long_run.load(f"{folder}/l.db", 24, 40)
    assert found["granted"] == found["recorded"] == found["cap"] == 24 * 40
    assert found["left"] == found["failed"] == 0


def test_kill_9_loses_nothing_that_was_acknowledged(folder):
    found = long_run.kills(f"{folder}/l.db", 30, cap=2_000)
    assert found["lost"] == 0
    assert 0 < found["acknowledged"] <= found["recorded"] <= found["cap"]


def test_kill_9_at_every_named_point(folder):
    assert not any(long_run.crash_points(f"{folder}/l.db", 2).values())


def test_flipped_bytes_are_refused_or_harmless(folder):
    found = long_run.flips(folder, 100)
    assert found["wrong"] == 0
    assert found["refused"] > 10


def test_no_room_and_no_right_to_write_release_nothing(folder):
    assert long_run.disk_full(folder, 10) == (10, 0)
    assert long_run.file_limit(folder, 5) == (5, 0)
    os.makedirs(f"{folder}/only")
    assert long_run.read_only(f"{folder}/only")


def test_ten_thousand_retries(folder):
    assert long_run.retries(f"{folder}/l.db", 1_000) == (1, 1)


def test_caps_are_rounded_down(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=2.5e-9) as ledger:
        assert ledger.remaining == 2e-9


def test_attempts_at_certificates_are_counted_across_processes(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        assert [ledger.attempt("outputs") for _ in range(3)] == [1, 2, 3]
        assert ledger.verify() == 3
        assert all(a["kind"] != "attempts" for a in ledger.accounts())


def test_a_key_belongs_to_its_analyst_and_its_entry(folder):
    people = rpac.Worlds([1.0, 2.0, 4.0, 8.0])
    path = f"{folder}/keys.db"
    with rpac.Ledger(path, budget=2.0, analyst="ann") as ann:
        rpac.privatize(float, people, 0.4, ledger=ann, key="k")
        bob = ann.under(analyst="bob")
        bob.cap(0.1, analyst="bob")
        with pytest.raises(rpac.InputError, match="another one"):
            rpac.privatize(float, people, 0.4, ledger=bob, key="k")
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TRIGGER rpac_no_UPDATE")
        raw.execute("UPDATE rpac_entries SET key = NULL")
    raw.close()
    with pytest.raises(rpac.LedgerError, match="under another key"):
        rpac.Ledger(path)


def test_what_is_spent_and_what_is_left_are_of_one_account(folder):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0, dataset="a", analyst="ann")
    ledger.spend(0.1)
    ledger.under(dataset="b").spend(0.2)
    assert (ledger.spent, ledger.remaining) == pytest.approx((0.3, 0.7))
    ledger.cap(0.25, dataset="a")
    ledger.cap(2.0, analyst="ann")
    assert (ledger.spent, ledger.remaining) == pytest.approx((0.1, 0.15))
    assert ledger.under(dataset="b").spent == pytest.approx(0.3)


def test_a_history_says_who_asked_when(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0, dataset="a", analyst="ann") as ledger:
        ledger.spend(0.1, key="k")
        ledger.cap(0.5)
        ledger.under(analyst="bob").spend(0.2)
        found = [(row["analyst"], row["nats"], row["what"]) for row in ledger.history()]
        assert found == [("ann", 0.1, "charge"), ("bob", 0.2, "charge")]
        assert ledger.history()[0]["at"].endswith("+00:00")


def test_spent_and_remaining_are_of_the_account_that_has_the_least_left(tmp_path):
    with rpac.Ledger(
        tmp_path / "l.db", budget=5, dataset="a", anchor=tmp_path / "anchor"
    ) as ledger:
        ledger.cap(1.0, dataset="a")
        ledger.spend(0.4)
        ledger.under(dataset="b").spend(2.0)
        assert (ledger.spent, ledger.remaining) == (0.4, 0.6)
        other = ledger.under(dataset="b")
        assert (other.spent, other.remaining) == (2.4, 2.6)
        assert "<svg" in ledger._repr_html_()
        (axes,) = ledger.plot().axes
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ledger", "dataset a"]
