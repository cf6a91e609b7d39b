"""One left out at a time: every unit in the data within the distance, given the level."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from rpac import InputError
from rpac.person import leave_one_out
from rpac.person.leave_one_out import RHO, Influences, draw_given_level, influences, scales_of
from rpac.person.parts import Ask
from rpac.person.source import Presence
from rpac.worlds.apart import packed_function

STEP = 2.0**-15  # of a floor of 1: 2^-14 of the power of two at or below it


def ask(function, middle):
    return Ask(packed_function(function, "f"), "f", np.array(middle))


def means(columns, seed):
    return [columns["x"].mean(), columns["x"].max()]


FRAME = pd.DataFrame({"id": ["a", "b", "b", None, "c"], "x": [1.0, 2.0, 6.0, 99.0, 3.0]})


def longest(sealed, scales):
    return np.linalg.norm(sealed.moves * sealed.step / scales, axis=1).max()


def test_influences_are_those_of_units_and_of_the_floor():
    found = influences(ask(means, [0.0, 0.0]), Presence(FRAME, "id"), 1.0, 1)
    assert found.answer * found.step == pytest.approx([3.0, 6.0], abs=found.step)
    moves = found.moves * found.step
    expected = [[-2 / 3, 0], [1.0, 3.0], [0.0, 0.0]]  # of whole less without: a, b, c
    assert moves[:3] == pytest.approx(np.array(expected), abs=found.step)
    assert moves[3:] == pytest.approx(np.eye(2), abs=found.step)
    assert found.step <= 2.0**-14


def test_failures_are_the_middle_without_a_unit_and_on_all():
    def frail(columns, seed):
        if len(columns["x"]) == 2:  # without b
            raise ValueError
        return [columns["x"].mean()]

    found = influences(ask(frail, [10.0]), Presence(FRAME, "id"), 1.0, 1)
    assert found.moves[1, 0] * found.step == pytest.approx(3.0 - 10.0, abs=found.step)

    def broken(columns, seed):
        raise ValueError

    found = influences(ask(broken, [10.0]), Presence(FRAME, "id"), 1.0, 1)
    assert found.answer.tolist() == [0]
    assert not found.moves[:-1].any()


def test_one_unit_no_unit_and_a_unit_that_owns_all_rows():
    for ids in (["a"], [None], ["a"] * 3):
        frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "x": [5.0] * len(ids)})
        source, f = Presence(frame, "id"), ask(means, [0.0, 0.0])
        drawn = leave_one_out.released(f, source, 1.0, 0.5, lambda moves, c: moves.max(0))
        value, scales = drawn.sums[0], drawn.scales
        assert np.isfinite(value).all()
        assert (scales >= 1 / 0.5).all()  # full support, nobody needed for it
        expected = [0.0, 0.0] if ids == [None] else [5.0, 5.0]
        assert (np.abs(value - expected) < 9 * scales).all()


def test_instead_compares_all_alternatives_in_pairs():
    frame = pd.DataFrame({"id": [1, 2, 3], "x": [0.0, 10.0, 0.0]})
    source = Presence(frame, "id", instead={"x": [0, 3, 9]})

    def total(columns, seed):
        return [columns["x"].sum()]

    found = influences(ask(total, [0.0]), source, 1.0, 1)
    moves = np.abs(found.moves[:, 0] * found.step)[:-1]
    assert len(moves) == 3 * 6  # three units, pairs of the present answer and three others
    # The second person's own entry is none of those declared, and is held to the distance too.
    assert sorted(np.rint(moves)) == sorted([0, 3, 9, 3, 9, 6] * 2 + [10, 7, 1, 3, 9, 6])


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        ({"x": [1]}, r"two entries or more of a column in `instead`; got 'x': \[1\]. Such as"),
        ({"x": 3}, "two entries or more of a column in `instead`; got 'x': 3"),
        ({"id": [1, 2]}, r"got 'id': \[1, 2\]. .*not the unit's own column"),
        ({"x": [1, 2], "z": [1, 2]}, "one column in `instead`; got 2. Ask one at a time"),
        ({"y": [1, 2]}, "a column among 'id', 'x'; got 'y'"),
    ],
)
def test_alternatives_are_checked(instead, message):
    frame = FRAME.assign(z=0) if "z" in instead else FRAME
    with pytest.raises(InputError, match=message):
        leave_one_out.alternatives(Presence(frame, "id", instead=instead))


def random_problem(rng):
    d = int(rng.integers(1, 6))
    moves = np.rint(rng.normal(size=(int(rng.integers(1, 40)), d)) * 10 ** rng.uniform(0, 6, d))
    floors = np.eye(d, dtype=np.int64) * 2**14
    sealed = Influences(np.zeros(d, np.int64), np.vstack([moves.astype(np.int64), floors]), STEP)
    return sealed, d


def test_no_unit_is_beyond_the_distance_whatever_is_proposed():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sealed, d = random_problem(rng)
        proposed = 10.0 ** rng.uniform(-300, 10, d)
        proposed[rng.random(d) < 0.2] = rng.choice([0.0, -1.0, np.nan, np.inf])
        c = float(rng.uniform(0.05, 3))
        scales = scales_of(sealed, c, proposed, rng.random(d))
        assert longest(sealed, scales) <= c
        assert (scales >= STEP * 2**14 / c).all()


def test_a_good_proposal_is_raised_by_less_than_the_menus_ratio():
    rng = np.random.default_rng(1)
    for _ in range(100):
        sealed, d = random_problem(rng)
        good = np.full(d, 1.0)
        good *= longest(sealed, good) / (0.5 * (1 - 2e-9))
        scales = scales_of(sealed, 0.5, good, rng.random(d))
        assert (scales / good >= 1 - 1e-12).all()
        assert (scales / good <= RHO * (1 + 1e-12)).all()


@pytest.mark.parametrize("apart", [0.0, 0.03, 0.5, 0.97])
def test_two_proposals_show_different_entries_with_the_stated_probability(apart):
    sealed = Influences(np.zeros(1, np.int64), np.array([[1]]), STEP)
    origins = (np.arange(2000) + 0.5) / 2000
    one, other = 3.7, 3.7 * RHO**apart
    entries = [
        [scales_of(sealed, 1.0, np.array([s]), np.array([u]))[0] for u in origins]
        for s in (one, other)
    ]
    differ = np.mean(~np.isclose(*entries, rtol=1e-9))
    assert differ == pytest.approx(apart, abs=1 / 1000)


def test_what_is_drawn_has_the_deviations_it_names():
    sealed = Influences(np.array([1000, -70]), np.array([[5, 0], [0, 300]]), STEP)
    draws = [draw_given_level(sealed, 0.5, np.array([2.0, 1e-3])) for _ in range(400)]
    z = np.array([(value - sealed.answer * STEP) / scales for value, scales in draws])
    assert np.abs(z).max() < 8
    assert np.abs(z.mean(axis=0)).max() < 6 / 20
    assert np.abs(z.std(axis=0) - 1).max() < 6 / math.sqrt(800)
    steps = np.array([value for value, _ in draws]) / STEP
    assert (steps == np.rint(steps)).all()  # the grid's origin is 0
    assert len({scales[0] for _, scales in draws}) > 390  # each draw has an origin of its own


def test_sealed_things_are_neither_printed_nor_pickled():
    sealed = Influences(np.array([12345]), np.array([[12345]]), 1.0)
    assert "12345" not in repr(sealed)
    with pytest.raises(InputError, match="stay in this process"):
        pickle.dumps(sealed)
