"""A certificate in words, under every promise."""

import numpy as np

import rpac
from rpac.pictures.words import MEAN, PROMISES

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


def test_of_listed_worlds_it_says_how_often_the_world_itself_is_named():
    outputs = rpac.Outputs(np.arange(300.0))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 1.0, "auto-pac"))
    told = dict(rpac.certify(outputs, law, draws=2_000).figures())
    said = "named right 0.333 % of the time before, at most "
    assert told["the world itself"].startswith(said)
    after = float(told["the world itself"].removeprefix(said).split(" %")[0])
    assert 27.0 < after < 29.0
    assert MEAN in told["information density"]
    weighed = rpac.Outputs([0.0, 1.0], [0.9, 0.1])
    bound = rpac.certify(weighed, rpac.tabulate(weighed, rpac.calibrate(weighed, 0.1)))
    assert "the world itself" not in dict(bound.figures())
    halves = rpac.simulate(rpac.Subsets(np.arange(20.0), worlds=16), np.mean)
    made = rpac.certify(halves, rpac.tabulate(halves, rpac.calibrate(halves, 0.1)))
    assert "the world itself" not in dict(made.figures())
