"""The class `Session`: who proposes, and what a name stands for."""

import numpy as np
import pytest

import rpac
from rpac.front.session import Session
from rpac.release.conversation import Conversation

SOURCE = rpac.Worlds([0.0, 1.0, 4.0, 9.0])


def test_a_conversation_needs_somebody_who_proposes():
    assert issubclass(Session, Conversation)
    with pytest.raises(TypeError, match="abstract"):
        Conversation(SOURCE, 1.0, None, None, None)


def test_the_method_is_part_of_what_a_key_stands_for(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=2.0) as ledger:
        store = f"{folder}/s"
        first = Session(SOURCE, 1.0, ledger, store=store, method="auto-pac")
        first.ask(lambda x: x, 0.1, key="k")
        other = Session(SOURCE, 1.0, ledger, store=store, method="isotropic")
        with pytest.raises(rpac.InputError, match="the request that key 'k' was first used for"):
            other.ask(lambda x: x, 0.1, key="k")


@pytest.mark.parametrize("method", ["auto-pac", "isotropic", "equilibrium"])
def test_one_number_gets_the_noise_of_its_method(method):
    outputs = rpac.simulate(SOURCE, lambda x: x)
    with Session(SOURCE, 5.0, method=method) as session:
        law, codes = session._propose(outputs, outputs.weights, 0.2)
        alone = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.2, method))
        assert law.power == pytest.approx(alone.power, rel=1e-6)
        assert (codes == law.encode(outputs.values)).all()


def test_a_careless_proposal_is_never_released():
    class Careless(Conversation):
        _method = "careless"

        def _propose(self, outputs, weights, nats):
            law = rpac.tabulate(outputs, rpac.GaussianNoise(1e-12))
            return law, law.encode(outputs.values)

        def _first_aim(self, weights, nats):
            return nats

    talk = Careless(SOURCE, 9.0, None, None, None)
    with pytest.raises(rpac.Withheld):
        talk.ask(lambda x: x, 0.1)
    assert talk.spent == 0.01
    assert np.exp(talk._log_posterior) == pytest.approx([0.25] * 4)


def test_a_session_may_answer_with_code_words():
    """Each is charged its exact leakage under the posterior; together they stay within the cap."""
    rng = np.random.default_rng(5)
    worlds = rpac.Worlds([*rng.normal(size=(12, 2))])
    with Session(worlds, 1.0, method="channel") as session:
        answers = [session.ask(lambda x: x, 0.3) for _ in range(3)]
        assert session.spent <= 0.9
    for answer in answers:
        assert answer.certificate.noise["family"] == "codebook"
        assert 0.28 < answer.certificate.bound <= 0.3


def test_a_session_takes_code_words_of_ones_own():
    rng = np.random.default_rng(5)
    worlds = rpac.Worlds([*rng.normal(size=(12, 2))])
    words = [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]
    with Session(worlds, 1.0, method=rpac.Equilibrium(family="channel", words=words)) as session:
        answer = session.ask(lambda x: x, 0.3)
        assert answer.value.tolist() in words
        assert answer.certificate.noise["family"] == "codebook"
        assert session.ask(lambda x: x, 0.3).certificate.bound <= 0.3


@pytest.mark.parametrize("method", [rpac.Equilibrium(), rpac.Isotropic(), 7])
def test_a_session_refuses_a_calibrator_that_it_would_not_use(method):
    expected = r"Expected a method's name, or Equilibrium\(family='channel', ...\)"
    with pytest.raises(rpac.InputError, match=f"{expected}; got {type(method).__name__}"):
        Session(rpac.Worlds([0.0, 1.0]), 1.0, method=method)


def test_a_resumed_session_knows_its_answers(folder):
    def asked():
        ledger = rpac.Ledger(f"{folder}/l.db", budget=None if made else 1.0)
        return Session(SOURCE, 0.8, ledger, store=f"{folder}/s")

    made = []
    first = asked()
    made.append(first.ask(double, 0.1))
    made.append(first.ask([double, triple], 0.1, key="both"))
    assert first.ask([double, triple], 0.1, key="both").value == made[1].value
    again = asked()
    assert [row["value"] for row in again.answers] == [made[0].value, list(made[1].value)]
    assert [row["question"] for row in again.answers] == ["double", "double, triple"]
    assert again.answers.rows == first.answers.rows
    assert sum(row["nats"] for row in again.answers) == pytest.approx(again.spent)
    with Session(SOURCE, 0.8) as alone:
        value = alone.ask(double, 0.1).value
        assert [(row["value"], row["nats"]) for row in alone.answers] == [(value, alone.spent)]


def double(x):
    return 2.0 * x


def triple(x):
    return 3.0 * x
