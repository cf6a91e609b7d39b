"""Twin runs of the command line, a few: nobody's presence is told, and planted leaks are found."""

import dataclasses

import numpy as np
import pytest
from benchmarks.twin_faults import FAULTS, least, with_fault
from benchmarks.twin_reader import Score, Seen, read, scores, threshold
from benchmarks.twins import (
    DATA,
    QUESTIONS,
    Cell,
    cells,
    files,
    fitting,
    frames,
    judged,
    persons,
    pooled,
    secrets_of,
    verdict,
)

PEOPLE, ALARM = 300, 1e-6
FIGURES = {"noise halved", "scales cap / c a number, no joint clip"}
"""Faults that take hundreds of runs: `python -m benchmarks.twins` has them."""


def seen(text, *, code=0, size=10):
    return Seen(code, {"stdout": text, "record.json": text}, {"record.json": size})


def noisy(secret, leak):
    """Return runs whose text is noise, but for what a leak says of the secret."""
    rng = np.random.default_rng(3)
    made = [seen(f"mean {rng.normal():.6f}\nscale 2.5, key {rng.bytes(8).hex()}") for _ in secret]
    return [read(leak(run, there)) for run, there in zip(made, secret, strict=True)]


def said(run, words):
    return dataclasses.replace(run, texts=run.texts | {"stdout": run.texts["stdout"] + words})


LEAKS = {
    "exit code": lambda run, there: dataclasses.replace(run, code=int(there)),
    "size of a file": lambda run, there: dataclasses.replace(
        run, sizes={"record.json": 10 + there}
    ),
    "name of a file": lambda run, there: dataclasses.replace(run, sizes={f"r{there:d}.json": 10}),
    "a word": lambda run, there: said(run, " beside" if there else " besides"),
    "a line more": lambda run, there: said(run, "\nnote" * (1 + there)),
    "a number": lambda run, there: said(run, f"\nrows {1999 + there}"),
    "decimals": lambda run, there: said(run, "\nstep 0.50" if there else "\nstep 0.5"),
    "width of an interval": lambda run, there: _interval(run, 3 + 0.01 * there),
    "a fingerprint": lambda run, there: said(run, f"\nhash {'0a1b2c3d' if there else 'deadbee1'}"),
}


def _interval(run, width):
    low = float(run.texts["stdout"].split()[1])
    return said(run, f"\n[\n{low!r},\n{float(low + width)!r}\n]")


@pytest.mark.parametrize("name", LEAKS)
def test_the_reader_finds_a_leak_of_any_kind(name):
    secret = secrets_of(40, 1)
    found = scores(noisy(secret, LEAKS[name]), secret)
    assert max(score.rate for score in found.values()) == 1.0


def test_the_reader_finds_nothing_in_noise():
    secret = secrets_of(300, 2)
    found = scores(noisy(secret, lambda run, there: run), secret)
    assert set(found) == {"logistic regression", "random forest", "one threshold"}
    assert least(found, 0.5) > ALARM


def test_the_reader_guesses_where_nothing_varies():
    secret = secrets_of(10, 2)
    found = scores([read(seen("the same"))] * 20, secret)
    assert found == {"nothing varies": Score(5, 10)}


def test_a_threshold_is_the_best_there_is():
    rng = np.random.default_rng(0)
    x, secret = rng.normal(size=(40, 3)), rng.random(40) < 0.4
    feature, place, below = threshold(x, secret)
    rate = ((x[:, feature] < place) == below) == secret
    ways = [((x[:, [j]] < x[None, :, j]) == b) == secret[:, None] for j in range(3) for b in (0, 1)]
    assert rate.mean() == max(way.mean(axis=0).max() for way in ways)


def test_chances_are_those_of_the_binomial_law():
    assert Score(3, 3).chance(0.5) == pytest.approx(1 / 8)
    assert Score(2, 3).chance(0.5) == pytest.approx(1 / 2)
    found = [{"a": Score(3, 3)}, {"a": Score(0, 3)}]
    assert pooled(found) == {"a": Score(3, 6)}
    assert verdict(found, 0.5) == pytest.approx((2 / 8, 42 / 64))


def test_twins_differ_in_all_rows_of_one_person():
    whole, without = files(people=PEOPLE), files(16, PEOPLE)
    for name in DATA:
        gone = {*whole[name].splitlines()} - {*without[name].splitlines()}
        assert gone
        assert all(line.startswith(b"p16,") for line in gone)
        assert b"\np16," not in without[name]
    nobody = files(29, PEOPLE)  # a row whose id is missing
    assert len(nobody["staff.csv"]) < len(whole["staff.csv"])
    assert nobody["visits.csv"] == whole["visits.csv"]


def test_persons_and_questions_are_as_said():
    kinds = persons()
    assert [len(found) for found in kinds.values()] == [10, 10, 10]
    assert len({who for found in kinds.values() for who in found}) == 30
    sizes = frames()[0].groupby(["dept", "region"])["name"].transform("size")
    assert max(sizes[who] for who in kinds["small groups"]) <= 30
    asked = [cell.question for _, cell in cells(30, 300, 1)]
    assert {name: asked.count(name) for name in QUESTIONS} == dict.fromkeys(QUESTIONS, 6)
    both = [*cells(30, 300, 1), *fitting(300)]
    assert len({(cell.person, cell.question) for _, cell in both}) == len(both) == 41
    secret = secrets_of(50, 0)
    assert secret[:50].sum() == secret[50:].sum() == 25


@pytest.mark.parametrize(("question", "person"), [("mean", 0), ("groups", 2), ("join", 16)])
def test_the_command_line_tells_nobodys_presence(question, person):
    cell = Cell(person, question, 12, people=PEOPLE)
    assert least(judged(cell), cell.success) > ALARM


@pytest.mark.parametrize("name", sorted({*FAULTS} - FIGURES))
def test_a_planted_leak_is_found(name):
    cell = FAULTS[name][1]
    small = dataclasses.replace(cell, runs=26, people=PEOPLE, person=min(cell.person, 40))
    assert least(with_fault(name, small), cell.success) < ALARM
