"""Sessions: the exact posterior, charges that cover what is learnt, one world through restarts."""

import copy
import json
import os
import pickle
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks import session as long_run  # with smaller counts

import rpac
from rpac._base.sealed import SealedValue
from rpac.certificate.evidence import proved_leakage
from rpac.front.posterior import posterior_auto_pac
from rpac.front.session import Session
from rpac.release.conversation import Conversation
from rpac.release.state import packed, unpacked, updated
from rpac.worlds.batch import stacked

SOURCE = rpac.Worlds(list(range(16)))
RNG = np.random.default_rng(0)
TWO = rpac.Outputs(RNG.normal(size=(16, 2)))


def square(x):
    return x * x


@pytest.fixture
def ledger(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=5.0, dataset="numbers", analyst="ann") as books:
        yield books


@pytest.mark.parametrize("name", ["greedy", "random", "top-2"])
def test_charges_cover_what_an_adaptive_analyst_learns(name):
    lower, _, charge = long_run.conversations(name, 200)
    assert lower <= charge <= long_run.QUESTIONS * long_run.NATS


def test_calibrating_for_the_prior_overspends():
    with long_run.PriorOnly():
        lower, _, charge = long_run.conversations("top-2", 200)
    assert lower > charge


def test_the_posterior_is_exact():
    law, codes = posterior_auto_pac(TWO, TWO.weights, 0.3)
    assert (codes == law.encode(TWO.values)).all()
    prior = np.log(RNG.dirichlet(np.ones(16)))
    noisy = codes[3] + np.array([100, -250])
    log_q = law.log_density(((noisy - codes) * law.steps) @ law.basis.T)
    expected = np.exp(prior + log_q) / np.exp(prior + log_q).sum()
    assert np.exp(updated(prior, law.log_likelihood(codes, noisy))) == pytest.approx(
        expected, rel=1e-9
    )
    mixed = rpac.GridNoise(
        np.eye(2), np.zeros(2),
        (rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25]), rpac.LatticeNoise.gaussian(1.0, 2)),
    )  # fmt: skip
    codes = np.array([[0, 0], [1, 0], [5, 0]])
    found = np.exp(updated(np.log([0.2, 0.3, 0.5]), mixed.log_likelihood(codes, np.array([1, 1]))))
    assert found == pytest.approx([0.05 / 0.2, 0.15 / 0.2, 0])


def test_labels_have_an_exact_posterior_too():
    channel = rpac.LabelChannel.randomized_response(2, 0.75)
    codes = np.array([[0], [1], [1]])
    found = np.exp(updated(np.log([0.5, 0.25, 0.25]), channel.log_likelihood(codes, np.array([1]))))
    assert found == pytest.approx([0.25, 0.375, 0.375])
    weights = np.array([0.5, 0.25, 0.25])
    assert proved_leakage(codes, weights, channel, 1.04) == pytest.approx(0.130812, 1e-4)


@pytest.mark.parametrize("method", ["auto-pac", "equilibrium"])
def test_answers_have_the_form_of_the_mechanism(method):
    with Session(SOURCE, 3.0, method=method) as session:
        assert isinstance(session.ask(square, 0.2).value, int)
        assert session.ask(lambda x: "even" if x % 2 == 0 else "odd", 0.2).value in ("even", "odd")
        assert set(session.ask(lambda x: {"a": x, "b": x % 3}, 0.2).value) == {"a", "b"}
        release = session.ask(lambda x: np.array([x, x % 5, 1.0]), 0.2)
        assert release.value.shape == (3,)
        assert release.certificate.charged
        assert release.certificate.grade == "proved"
        assert (release.noise_interval[0] <= release.value).all()
        assert 0 < session.spent <= 0.8
        assert session.remaining == pytest.approx(3 - session.spent)
        assert "4 answers" in repr(session)


def test_many_numbers_and_half_samples():
    people = rpac.Subsets(RNG.normal(size=(40, 30)), worlds=20)
    with Session(people, 2.0) as session:
        release = session.ask(lambda x: x.mean(axis=0), 0.5)  # more numbers than worlds
        assert release.value.shape == (30,)
        assert 0.4 < session.spent <= 0.5


def test_a_batch_is_one_release_calibrated_jointly():
    questions = [lambda x: x, lambda x: np.array([x % 3, x % 5]), square]
    with Session(SOURCE, 3.0) as session:
        value = session.ask(questions, 0.3).value
        assert isinstance(value[0], int)
        assert value[1].shape == (2,)
        assert session.spent <= 0.3
        parts = [session._outputs(lambda x: x), session._outputs(lambda x: 2 * x)]
        alone = [rpac.calibrate(part, 0.1, "auto-pac").power for part in parts]
        both = stacked(parts)
        assert posterior_auto_pac(both, both.weights, 0.2)[0].power < sum(alone)
        for wrong in ([], [lambda x: "label"]):
            with pytest.raises(rpac.InputError, match="numeric outputs of several questions"):
                session.ask(wrong, 0.1)


def test_noise_never_vanishes_when_the_posterior_is_sure():
    """Ask one thing until the world is all but known: no zero noise, no NaN, no overspending."""
    with Session(rpac.Worlds([0, 1, 2, 3]), 50.0) as session:
        for _ in range(40):
            release = session.ask(rpac.Outputs(np.eye(4)), 0.5)
            assert release.certificate.noise["power"] > 0
            assert np.isfinite(release.value).all()
        assert np.exp(session._log_posterior).max() > 0.99
        assert session._log_posterior.argmax() == session._world.open()  # one world throughout
        one = session.ask(lambda x: x, 0.3)
        assert one.certificate.bound <= 0.3
        assert session.ask(lambda x: "ab"[x % 2], 0.3).certificate.bound <= 0.3


def test_the_session_refuses_what_does_not_fit(ledger):
    with Session(SOURCE, 0.25) as session:
        session.ask(TWO, 0.2)
        with pytest.raises(rpac.BudgetSpent, match="what is left for the session") as caught:
            session.ask(TWO, 0.2)
        assert 0 < caught.value.remaining < 0.06
        with pytest.raises(rpac.InputError, match="outputs on the worlds of the session"):
            session.ask(rpac.Outputs(np.eye(4)), 0.01)
        before = session.spent, session._log_posterior
        for same in (lambda x: np.ones(2), lambda x: "yes", lambda x: 7):
            agreed = session.ask(same, 0.01)  # nothing differs, so there is nothing to hide
            assert np.array_equal(agreed.value, same(0))
            assert (agreed.certificate.bound, agreed.certificate.noise["power"]) == (0, 0)
        assert session.spent == before[0]
        assert session._log_posterior == pytest.approx(before[1], abs=1e-12)
        with pytest.raises(rpac.InputError, match="Expected a ledger for the key; got 'k'"):
            session.ask(TWO, 0.01, key="k")
    draws = rpac.Draws(lambda rng: rng.normal(), clip=(-1, 1))
    for wrong in (draws, [1, 2]):
        with pytest.raises(rpac.InputError, match="Expected Worlds or Subsets"):
            Session(wrong, 1.0)
    with pytest.raises(rpac.InputError, match="Expected a ledger beside a sealed store; got None"):
        Session(SOURCE, 1.0, store="none")
    session = Session(SOURCE, 4.0, ledger)
    ledger.cap(0.1, analyst="ann")
    with pytest.raises(rpac.BudgetSpent, match="what is left for analyst 'ann'"):
        session.ask(TWO, 0.2)
    assert session.spent == 0


def test_a_law_beyond_the_budget_is_not_released(monkeypatch):
    monkeypatch.setattr("rpac.release.conversation.proved_leakage", lambda *a: 1.0)
    with Session(SOURCE, 2.0) as session, pytest.raises(rpac.Withheld):
        session.ask(TWO, 0.2)


def test_a_session_survives_a_restart(ledger, folder):
    store = f"{folder}/session"
    first = Session(SOURCE, 2.0, ledger, store=store)
    answers = [first.ask(TWO, 0.1, key=f"{i}") for i in range(5)]
    world = first._world.open()
    assert os.stat(store).st_mode & 0o777 == 0o600
    del first  # the process is gone
    again = Session(SOURCE, 2.0, ledger, store=store)
    assert again._world.open() == world
    assert again.spent == pytest.approx(sum(a.receipt.nats for a in answers), abs=1e-12)
    retry = again.ask(TWO, 0.1, key="4")
    assert (retry.value == answers[4].value).all()
    assert retry.receipt == answers[4].receipt
    before = again.spent
    assert "after 5 answers" in again.ask(TWO, 0.1).certificate.prior
    assert again.spent > before
    other = rpac.Worlds(list(range(1, 17)))
    with pytest.raises(rpac.InputError, match="Expected the source of this session; got another"):
        Session(other, 2.0, ledger, store=store)
    kept = Path(store).read_bytes()
    again.close()
    assert not os.path.exists(store)
    assert again._world.open() == -1
    Path(store).write_bytes(kept)  # a copy of the sealed store does not reopen a closed session
    with pytest.raises(rpac.LedgerError, match="Expected an open session with the state on record"):
        Session(SOURCE, 2.0, ledger, store=store)
    with pytest.raises(rpac.LedgerError, match="an open session; got one closed or forked"):
        again.ask(TWO, 0.1)
    again._world = SealedValue(world)  # the books know it is closed, whatever the process thinks
    with pytest.raises(rpac.LedgerError, match="a charge under the latest state"):
        again.ask(TWO, 0.1)
    ledger.verify()


def test_two_processes_in_one_session_cannot_charge_under_a_stale_posterior(ledger, folder):
    store = f"{folder}/session"
    first = Session(SOURCE, 2.0, ledger, store=store)
    second = Session(SOURCE, 2.0, ledger, store=store)
    first.ask(TWO, 0.1)
    with pytest.raises(rpac.LedgerError, match="a charge under the latest state of an"):
        second.ask(TWO, 0.1)
    Session(SOURCE, 2.0, ledger, store=store).ask(TWO, 0.1)


def test_the_drawn_world_is_in_no_public_place(ledger, folder):
    session = Session(SOURCE, 2.0, ledger, store=f"{folder}/session")
    release = session.ask(TWO, 0.1)
    public = str(release) + release._repr_html_() + repr(session) + repr(session._world)
    assert "world" not in json.dumps(list(ledger.entries())).replace("worlds", "").replace(
        "drawn world", ""
    ).replace("every world", "")
    assert "SealedValue(...)" in public
    session.close()
    session = Session(SOURCE, 2.0, ledger)  # without a store nothing is left to erase
    session.close()
    assert [e["kind"] for e in ledger.entries()][-2:] == ["session", "close"]
    session = Session(SOURCE, 2.0)
    session.close()
    with pytest.raises(rpac.LedgerError, match="an open session; got one closed or forked"):
        session.ask(TWO, 0.1)


def test_a_state_that_was_changed_is_refused(ledger, folder):
    store = f"{folder}/session"
    session = Session(SOURCE, 2.0, ledger, store=store)
    with ledger._store.exclusive():
        wrong = packed(np.log(np.full(16, 1 / 16)), 0, 0)[::-1]
        ledger._store.put(ledger._store.account("session", session.id), state=wrong)
    with pytest.raises(rpac.LedgerError, match="Expected an open session with the state on record"):
        Session(SOURCE, 2.0, ledger, store=store)


def test_a_state_rolled_back_with_its_seals_is_found(ledger, folder):
    """Whoever can write the database cannot have the next answer charged under the prior."""
    store = f"{folder}/session"
    session = Session(SOURCE, 2.0, ledger, store=store)
    prior = packed(session._log_posterior, 0, 0)
    session.ask(TWO, 0.3)
    with ledger._store.exclusive():
        old = ledger._store.account("session", session.id)
        ledger._store.put(old._replace(note=ledger.sessions.mark(prior)), state=prior)
    with pytest.raises(rpac.LedgerError, match="accounts that differ from the sum of the entries"):
        Session(SOURCE, 2.0, ledger, store=store)


def test_one_world_has_one_session(monkeypatch):
    session = Session(SOURCE, 0.35)

    inside, together = [], []

    def slowly(*args):
        inside.append(1)
        together.append(len(inside))
        time.sleep(0.1)  # between the check and the charge: another thread's chance
        inside.pop()
        return updated(*args)

    monkeypatch.setattr("rpac.release.conversation.updated", slowly)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(rpac.InputError, match="Expected one session for one drawn world"):
            duplicate(session)
    answers, refused = [], []

    def ask():
        try:
            answers.append(session.ask(TWO, 0.1))
        except rpac.BudgetSpent:
            refused.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(answers), len(refused)) == (3, 5)
    assert max(together) == 1
    assert session.spent == pytest.approx(sum(a.certificate.bound for a in answers), abs=1e-8)
    session._pid += 1  # as after a fork
    with pytest.raises(rpac.LedgerError, match="an open session; got one closed or forked"):
        session.ask(TWO, 0.01)


def test_a_given_secret_is_booked_once_or_asked_about_in_one_session(ledger, folder):
    """Noise for the prior, asked about adaptively, would leak more than the books say."""
    worlds = rpac.Worlds([float(x) for x in range(16)])
    first = rpac.privatize(square, worlds, 0.1, secret=3.0, ledger=ledger, key="k")
    again = rpac.privatize(square, worlds, 0.1, secret=3.0, ledger=ledger, key="k")
    assert again.value == first.value
    with pytest.raises(rpac.InputError, match="a given secret asked about again"):
        rpac.privatize(square, worlds, 0.1, secret=3.0, ledger=ledger)
    elsewhere = ledger.under(dataset="elsewhere")
    store = f"{folder}/session"
    session = Session(worlds, 1.0, elsewhere, store=store, secret=3.0)
    session.ask(square, 0.1)
    session = Session(worlds, 1.0, elsewhere, store=store)
    session.ask(square, 0.1)
    assert session._world.open() == 3
    other = Session(worlds, 1.0, elsewhere, secret=3.0)
    with pytest.raises(rpac.InputError, match="a given secret asked about again"):
        other.ask(square, 0.1)


def test_who_comes_second_with_a_key_gets_the_first_ones_answer(ledger, folder, monkeypatch):
    store = f"{folder}/session"
    slow = Session(SOURCE, 2.0, ledger, store=store)
    quick = Session(SOURCE, 2.0, ledger, store=store)
    monkeypatch.setattr(ledger, "find", lambda *a: None)  # as if asked just before
    first, second = quick.ask(TWO, 0.1, key="k"), slow.ask(TWO, 0.1, key="k")
    assert (second.value == first.value).all()
    assert (second.certificate, second.receipt) == (first.certificate, first.receipt)
    assert (slow.spent, quick.spent) == (0.0, ledger.spent)
    with pytest.raises(rpac.LedgerError, match="an older state"):
        slow.ask(TWO, 0.1)


def test_many_sessions_are_reopened_as_they_were(database):
    with rpac.Ledger(database("sessions"), budget=5.0) as books:
        session = Session(SOURCE, 1.0, books)
        release = session.ask(TWO, 0.1, key="k")
        assert release.receipt.nats <= 0.1
        assert books.find("k") == release.receipt
        session.close()
        books.verify()


@pytest.mark.parametrize("wrong", ["law", "codes", "shape"])
def test_a_proposal_is_held_to_the_known_laws(wrong):
    """Who proposes is not trusted: a law that draws otherwise than it says is refused."""

    class Bare(rpac.GridNoise):  # final for type checkers only
        def noisy(self, codes):
            return codes

    class Talk(Conversation):
        _method = "mine"

        def _first_aim(self, weights, nats):
            return nats

        def _propose(self, outputs, weights, nats):
            law, codes = posterior_auto_pac(outputs, weights, nats)
            if wrong == "law":
                law = Bare(law.basis, law.center, law.axes)
            if wrong == "codes":
                codes = codes.astype(float)
            return law, codes[:3] if wrong == "shape" else codes

    talk = Talk(SOURCE, 1.0, None, None, None)
    with pytest.raises(rpac.InputError, match="Only tables are released|its integers of shape"):
        talk._certified(TWO, 0.1)
    with pytest.raises(rpac.Withheld):
        talk.ask(TWO, 0.1)
    assert talk.spent == 0.01


# --- given secrets, refusals, stores ------------------------------------------------------------


def test_a_subject_has_one_session_however_its_worlds_are_listed(ledger, folder):
    worlds = rpac.Worlds([float(x) for x in range(16)])
    other = rpac.Worlds([float(x) for x in reversed(range(17))])
    Session(worlds, 1.0, ledger, secret=3.0, subject="ann").ask(square, 0.1)
    for again in (worlds, other):
        with pytest.raises(rpac.InputError, match="a given secret asked about again"):
            Session(again, 1.0, ledger, secret=3.0, subject="ann").ask(square, 0.1)
    with pytest.raises(rpac.InputError, match="a given secret asked about again"):
        rpac.privatize(square, other, 0.1, ledger=ledger, secret=3.0, subject="ann")
    rpac.privatize(square, other, 0.1, ledger=ledger, secret=3.0, subject="bob")
    with pytest.raises(rpac.InputError, match="Expected a given secret for the subject; got 'cy'"):
        Session(worlds, 1.0, ledger, subject="cy")


def test_a_session_is_resumed_with_its_own_secret_and_order(ledger, folder):
    store = f"{folder}/session"
    Session(SOURCE, 1.0, ledger, store=store, secret=3, subject="ann").ask(square, 0.1)
    for wrong in ({"secret": 4}, {"subject": "bob"}):
        with pytest.raises(rpac.InputError, match="Expected the secret of this session; got anoth"):
            Session(SOURCE, 1.0, ledger, store=store, **wrong)
    turned = rpac.Worlds(list(reversed(range(16))))
    assert turned.version == SOURCE.version
    with pytest.raises(rpac.InputError, match="Expected the source of this session; got another"):
        Session(turned, 1.0, ledger, store=store)
    again = Session(SOURCE, 1.0, ledger, store=store, secret=3, subject="ann")
    assert again._world.open() == 3


def failing(x):
    if x == 3:
        raise ValueError(f"secret {x}")
    return x


def test_a_refusal_is_charged_once_and_leaves_the_posterior(ledger, folder):
    session = Session(SOURCE, 1.0, ledger, store=f"{folder}/session")
    session.ask(TWO, 0.1)
    posterior, spent = session._log_posterior, session.spent
    for _ in range(3):
        with pytest.raises(rpac.Withheld) as caught:
            session.ask(failing, 0.1, key="k")
        assert caught.value.__context__ is None
        assert session.spent == pytest.approx(spent + 0.01)
    assert ledger.spent == session.spent
    assert session._log_posterior is not None
    assert np.array_equal(session._log_posterior, posterior)
    assert ledger.find("k").answer == {"withheld": True}
    again = Session(SOURCE, 1.0, ledger, store=f"{folder}/session")
    assert (again.spent, again._charges, again._questions) == (session.spent, 2, 1)
    again.ask(TWO, 0.1)
    with pytest.raises(rpac.LedgerError, match="an older state"):  # a refusal is a state too
        session.ask(TWO, 0.1)
    ledger.verify()


def test_another_question_under_a_key_is_told_by_its_price_alone(ledger):
    session = Session(SOURCE, 1.0, ledger)
    first = session.ask(TWO, 0.1, key="k")
    other = rpac.Outputs(TWO.values + 1.0)
    with pytest.raises(rpac.Withheld):
        session.ask(other, 0.1, key="k")
    assert session.spent == pytest.approx(first.receipt.nats + 0.01)
    with pytest.raises(rpac.InputError, match="the request that key 'k' was first used for"):
        session.ask(TWO, 0.2, key="k")


def test_who_comes_second_with_a_refused_key_is_refused(ledger, folder, monkeypatch):
    store = f"{folder}/session"
    slow = Session(SOURCE, 2.0, ledger, store=store)
    quick = Session(SOURCE, 2.0, ledger, store=store)
    monkeypatch.setattr(ledger, "find", lambda *a: None)  # as if asked just before
    with pytest.raises(rpac.Withheld):
        quick.ask(failing, 0.1, key="k")
    with pytest.raises(rpac.Withheld):
        slow.ask(TWO, 0.1, key="k")
    assert ledger.spent == 0.01


def test_a_store_wants_an_anchored_ledger(database, folder):
    with (
        rpac.Ledger(database("bare"), budget=1.0) as books,
        pytest.raises(rpac.InputError, match="an anchored ledger beside a sealed store; got one"),
    ):
        Session(SOURCE, 1.0, books, store=f"{folder}/session")


@pytest.mark.parametrize("point", ["intend", "confirm"])
def test_a_crash_between_books_and_store_keeps_the_session(ledger, folder, monkeypatch, point):
    store = f"{folder}/session"
    session = Session(SOURCE, 1.0, ledger, store=store)

    def gone(*_):
        raise OSError(5, "gone")

    monkeypatch.setattr(session._store.anchor, point, gone)
    with pytest.raises(rpac.LedgerError, match="Expected a (ledger|sealed store) that can be"):
        session.ask(TWO, 0.1, key="k")
    again = Session(SOURCE, 1.0, ledger, store=store)
    assert again._charges == (point == "confirm")
    assert again.ask(TWO, 0.1, key="k").receipt.nats == again.spent
    Session(SOURCE, 1.0, ledger, store=store).ask(TWO, 0.1)


def test_a_state_holds_posterior_and_counts():
    found, charges, answers = unpacked(packed(np.log([0.25, 0.75]), 5, 3))
    assert (np.exp(found).tolist(), charges, answers) == ([0.25, 0.75], 5, 3)


def test_a_session_takes_outputs_of_its_own_source_alone():
    outputs = rpac.simulate(SOURCE, float)
    with Session(SOURCE, 0.5) as session:
        first, second = session.ask(outputs, 0.1), session.ask(outputs, 0.2)
        assert first.certificate.bound <= 0.1 < second.certificate.bound <= 0.2
        other = rpac.simulate(rpac.Worlds(list(range(1, 17))), float)
        with pytest.raises(rpac.InputError, match="simulated on this source; got others"):
            session.ask(other, 0.1)


def test_labels_that_no_file_can_hold_are_charged_and_change_the_posterior(tmp_path):
    """An error at writing would quote what was drawn, and nothing would be booked."""
    spell, given = {0: "\ud800", 1: "\ud801"}, {"secret": 1, "subject": "s"}
    with (
        rpac.Ledger(f"{tmp_path}/l.db", budget=0.1) as ledger,
        Session(rpac.Worlds([0, 1]), 0.03, ledger, **given) as session,
    ):
        shown = {session.ask(spell.get, 0.01).value for _ in range(2)}
        assert shown <= {*spell.values()}
        assert ledger.spent == pytest.approx(session.spent)
        assert session.spent > 0.01


def test_what_fails_when_an_answer_is_told_is_withheld_at_its_full_price(tmp_path, monkeypatch):
    monkeypatch.setattr("rpac.release.conversation.told", lambda *_: 1 / 0)
    with (
        rpac.Ledger(f"{tmp_path}/l.db", budget=1.0) as ledger,
        Session(rpac.Worlds([0.0, 1.0, 5.0]), 0.3, ledger) as session,
    ):
        before = session._log_posterior.copy()
        with pytest.raises(rpac.Withheld):
            session.ask(lambda x: x, 0.2)
        assert ledger.spent == pytest.approx(session.spent)
        assert 0.15 < session.spent <= 0.2  # not the price of a refusal
        assert not np.array_equal(session._log_posterior, before)  # the answer was drawn
