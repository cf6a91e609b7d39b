"""A certificate in words, under every promise."""

import math
from dataclasses import replace

import rpac
from rpac.pictures.words import EVEN, MEAN, PROMISES

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
    told = dict(replace(PERSON, promise="person, given the level").figures())
    assert not {"presence of one person", "differential privacy"} & {*told}


def test_of_listed_worlds_it_says_how_often_the_world_itself_is_named():
    made = rpac.Certificate(
        secret="which of 300 worlds was drawn", prior="all equally likely", bound=1.0, charged=True,
        entropy=math.log(300), bounds={"mixture": 1.0}, noise={"power": 2.0}, outputs={},
        density_quantiles={"0.5": 1.5},
    )  # fmt: skip
    told = dict(made.figures())
    said = "named right 0.333 % without this answer, at most 27.9 % with it"
    assert told["the world itself"] == said
    assert told["information density"] == f"50 % 1.5 (estimated quantiles, nats; {MEAN})"
    for other in (
        {"prior": "given weights, entropy 0.3 nats"}, {"entropy": None},
        {"secret": "which of 300 half-samples of the pool was drawn"},
    ):  # fmt: skip
        assert "the world itself" not in dict(replace(made, **other).figures())


def test_certificates_word_worlds_as_that_line_expects():
    source = rpac.Worlds([0.0, 1.0])
    outputs = rpac.simulate(source, lambda x: x)
    assert "worlds was drawn" in outputs.statement
    assert outputs.prior == EVEN
