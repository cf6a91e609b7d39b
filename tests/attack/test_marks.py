"""Side doors: low bits, parities, residues and failures, and what they tell where they leak."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

import rpac
from rpac.attack.base import Game, Play
from rpac.attack.marks import (
    Failure,
    Precision,
    _columns,
    _counts,
    _fineness,
    _low_bits,
    _partitions,
    _plug_in,
    _residue,
)


def test_marks():
    y = np.array([[1.0], [0.5], [3 * 2.0**-30], [0.0], [np.nan]])
    fine = _fineness(y, c=0, spread=1.0)
    assert len(set(fine[:4].tolist())) == 4
    assert fine[3] == fine[4]
    assert _fineness(-y[:3], c=0, spread=1.0).tolist() == fine[:3].tolist()
    assert _low_bits(np.array([[8.0], [13.0], [0.5], [np.inf]]), c=0).tolist() == [0, 5, -1, -1]
    axis = rpac.LatticeNoise.gaussian(0.5, 4.0)
    noise = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    assert _residue(np.array([[1.0], [1.2], [1.33], [np.nan]]), noise=noise, a=0).tolist() == [
        0, 8, 2, 0,
    ]  # fmt: skip


def test_parity_of_counts_is_no_leak_after_table_noise():
    outputs = rpac.Outputs([0, 1])
    law = rpac.tabulate(outputs, rpac.GaussianNoise(4.0))
    report = rpac.audit((outputs, law), ["precision"], games=40_000)
    assert report.lower <= report.limit
    game = Game(outputs, law).play(40_000, 1)
    right = int(((game.released[:, 0] % 2) == game.worlds).sum())
    assert binomtest(right, 40_000).pvalue > 1e-6


def test_half_of_an_even_world_tells_its_parity():
    outputs = rpac.Outputs([0, 1])

    def even_noise(worlds, rng):
        return outputs.values[worlds, 0] + 2 * rng.integers(-20, 21, size=len(worlds))

    report = rpac.audit((outputs, 140.0), ["precision"], budget=0.1, released=even_noise)
    assert report.alarm
    assert report.lower == pytest.approx(np.log(2), abs=0.02)


def test_a_sentinel_that_is_a_number_is_seen():
    outputs = rpac.Outputs(np.arange(4.0))

    def released(worlds, rng):
        return np.where(
            worlds == 3, -1.0, outputs.values[worlds, 0] + rng.normal(0, 5, len(worlds))
        )

    report = rpac.audit((outputs, 25.0), ["failure"], budget=0.1, released=released)
    assert report.alarm
    assert report.lower == pytest.approx(0.5623, abs=0.05)  # the entropy of a quarter


def test_marks_beyond_the_common_ones_share_a_place():
    assert _columns(np.array([5, 7, 6, 9, 5, 1]), np.array([5, 7, 9])).tolist() == [
        0, 1, 3, 2, 0, 3,
    ]  # fmt: skip


def test_counts_are_those_of_a_plain_loop():
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 4, 10)
    own, columns = cells[rng.integers(0, 10, 200)], rng.integers(0, 3, 200)
    plain = np.zeros((cells.max() + 1, 3))
    for cell, column in zip(own, columns, strict=True):
        plain[cell, column] += 1
    assert (_counts(cells, own, columns, 3) == plain).all()


def test_the_plug_in_estimate_is_the_empirical_information_less_twice_its_bias():
    joint = np.array([[30.0, 10.0, 0.0], [5.0, 15.0, 40.0]])
    p = joint / joint.sum()
    plain = sum(
        p[i, j] * math.log(p[i, j] / (p[i].sum() * p[:, j].sum()))
        for i in range(2)
        for j in range(3)
        if p[i, j]
    )
    assert _plug_in(joint) == pytest.approx(plain - 1 * 2 / 100)
    assert _plug_in(np.outer([2.0, 3.0], [4.0, 6.0])) == pytest.approx(-1 / 50)  # independent


def test_partitions_are_the_questions_that_a_mark_may_answer():
    masks = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 0, 0]], bool)
    outputs = rpac.Outputs([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0]], masks=masks)
    play = Play(Game(outputs, np.eye(2)), 400)

    def marker(values):
        return (values[:, 0] > 1.5).astype(np.int64)

    found = {what: cells.tolist() for cells, what in _partitions(play, marker)}
    assert found.keys() == {
        "the world", "where the world lies", "the mark of the world's own answer",
        "membership of unit 1", "membership of unit 2",
    }  # fmt: skip
    assert found["the world"] == [0, 1, 2, 3]
    assert found["where the world lies"] in ([3, 1, 2, 0], [0, 2, 1, 3])  # either end first
    assert found["the mark of the world's own answer"] == [1, 0, 1, 0]
    assert found["membership of unit 1"] == [1, 0, 1, 0]
    assert "the world" not in {w for _, w in _partitions(Play(play.game, 200), marker)}


def test_failures_and_values_that_come_back_are_marked():
    def released(worlds, rng):
        y = rng.normal(size=len(worlds))
        y[: len(y) // 4], y[len(y) // 4 : len(y) // 2] = np.nan, 7.0
        return y

    outputs = rpac.Outputs(np.arange(4.0))
    (marker,) = Failure().markers(Play(Game(outputs, 1.0, released), 1_000))
    assert marker(np.array([[np.nan], [np.inf], [7.0], [0.3]])).tolist() == [1, 1, 2, 0]


def test_a_failure_of_one_world_in_four_tells_its_share():
    """A NaN on world 3 alone: the entropy of a quarter, to the floor and the limits."""
    outputs = rpac.Outputs(np.arange(4.0))

    def released(worlds, rng):
        return np.where(worlds == 3, np.nan, rng.normal(size=len(worlds)))

    found = Failure().run(Play(Game(outputs, 1.0, released), 20_000), 1e-3)
    truth = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    assert found.low <= truth
    assert found.estimate == pytest.approx(truth, abs=0.03)
    assert found.note in ("about the world", "about where the world lies")


def test_marks_of_an_honest_release_show_nothing_that_is_not_there():
    outputs = rpac.Outputs([[0.0], [1.0]])
    law = rpac.tabulate(outputs, rpac.GaussianNoise(1e6))
    for attack in (Failure(), Precision()):
        assert attack.run(Play(Game(outputs, law), 4_000), 1e-3).nats < 1e-3


def test_precision_looks_at_few_axes_and_at_residues_of_a_grid():
    wide = rpac.Outputs(np.random.default_rng(0).normal(size=(16, 6)))
    plain = Precision().markers(Play(Game(wide, np.eye(6)), 400))
    assert len(plain) == 4 * 2
    law = rpac.tabulate(wide, rpac.GaussianNoise(np.eye(6)))
    assert len(Precision().markers(Play(Game(wide, law), 400))) == 4 * 2 + 4


def test_answers_off_the_grid_are_caught_by_their_residue():
    outputs = rpac.Outputs([[0.0], [0.3]])
    axis = rpac.LatticeNoise(1.0, np.arange(-50, 51), np.full(101, 1 / 101))
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))

    def bare(worlds, rng):
        return outputs.values[worlds, 0] + law.sample(len(worlds), rng)[:, 0]

    report = rpac.audit((outputs, law), ["precision"], budget=0.05, released=bare)
    assert report.alarm
    assert report.lower == pytest.approx(math.log(2), abs=0.02)
