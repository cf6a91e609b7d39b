"""A certificate in words, under every promise."""

import rpac
from rpac.pictures.words import PROMISES

PERSON = rpac.Certificate(
    promise="person", secret="s", prior="any", bound=0.125, charged=True, entropy=None, bounds={},
    noise={"levels": {"pay": 90.0}}, outputs={}, distance=1.0, worst_unit_success=0.6915,
)  # fmt: skip


def test_every_promise_has_its_words():
    assert {*PROMISES} == {"sample", "person", "person, given the level"}


def test_a_person_reads_what_can_be_guessed_of_them():
    told = dict(PERSON.figures())
    guessed = "guessed right 50 % without this answer, at most 69.15 % with it"
    assert told["presence of one person"] == guessed
    assert "epsilon 4.38 at delta 0.00001" in told["differential privacy"]
    assert told["level of pay"] == "90"
    assert "0.125 nats about one person" in told["leaks at most"]
    assert "noise power" not in told
    assert PERSON.statement.startswith("Promise: person, whether a given person is in the data")
    assert "69.15 %" in str(PERSON)


def test_given_the_level_nothing_is_said_of_success_or_epsilon():
    from dataclasses import replace

    told = dict(replace(PERSON, promise="person, given the level").figures())
    assert not {"presence of one person", "differential privacy"} & {*told}
