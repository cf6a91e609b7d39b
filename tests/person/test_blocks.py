"""Functions by blocks: one person, one block, and the distance that was claimed."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from rpac.person import blocks
from rpac.person.contributions import Rows, added, reach
from rpac.person.level import PER_BETA, floor_steps, menu, place
from rpac.person.mechanism import clipped, draw, headroom, scales_of
from rpac.person.parts import Ask, Part, Table
from rpac.person.source import Presence
from rpac.person.split import spent, split
from rpac.worlds.apart import packed_function
from tests.person.test_parts import same

IDS = [
    7,
    7.0,
    "07",
    "anna",
    " anna",
    "Ωmega",
    True,
    "",
    None,
    float("nan"),
    2**70,
    -0.5,
    "lone\ud800",
]


def seen(source, size=5):
    """Return what a function would see of every block."""
    table = Table(source)
    return [table.part(Part(rows)) for rows in blocks.members(table, source, size)]


def changed(one, other):
    return sum(not same(a, b) for a, b in zip(one, other, strict=True))


# --- who is in which block ------------------------------------------------------------------------


def test_whoever_leaves_changes_one_block_only():
    rng = np.random.default_rng(0)
    ids = [IDS[i] for i in rng.integers(0, len(IDS), 80)]
    frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "x": rng.normal(size=80)})
    whole = seen(Presence(frame, "id"))
    owners = Presence(frame, "id").owners()
    assert sum(len(block["x"]) for block in whole) == (owners >= 0).sum() < 80
    for unit in np.unique(owners):
        without = seen(Presence(frame[owners != unit], "id"))
        assert changed(whole, without) == (0 if unit < 0 else 1)


def test_all_rows_of_a_person_are_in_one_block_however_the_id_is_spelled():
    frame = pd.DataFrame({"id": ["7", "07", "7.0", " 7"], "x": range(4)})
    assert sorted(len(block["x"]) for block in seen(Presence(frame, "id"), 50))[-1] == 4


@pytest.mark.parametrize("distinct", [2, 40])
def test_without_ids_whoever_leaves_changes_one_block_only(distinct):
    """Rows of equal content are interchangeable; row numbers shift and decide nothing."""
    rng = np.random.default_rng(distinct)
    x = rng.integers(0, distinct, 60).astype(float)
    frame = pd.DataFrame({"x": x, "w": ["a", "b", None] * 20})
    whole = seen(Presence(frame, "rows"))
    assert sum(len(block["x"]) for block in whole) == 60
    assert all(len(block["x"]) > 2 for block in whole)
    for i in range(60):
        assert changed(whole, seen(Presence(frame.drop(i), "rows"))) == 1
    shuffled = frame.sample(frac=1, random_state=1)
    assert changed(whole, seen(Presence(shuffled, "rows"))) == 0


def test_a_row_with_more_columns_changes_one_block_only():
    rows = [{"x": float(i)} for i in range(200)]
    for more in ({"x": 5.0, "hiv": 1}, [1, 2, 3], "y"):
        without, with_ = (Presence(data, "rows") for data in (rows, [*rows, more]))
        found = [
            [[data.entries.data[r] for r in part] for part in blocks.members(Table(data), data, 40)]
            for data in (without, with_)
        ]
        assert sum(a != b for a, b in zip(*found, strict=True)) == 1


def test_another_entry_changes_one_block_only():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.integers(0, 3, 40), "d": rng.choice(["a", "b"], 40)})
    instead = {"d": ["a", "b", "c"]}
    whole = seen(Presence(frame, "rows", instead=instead))
    for i in range(40):
        other = frame.copy()
        other.loc[i, "d"] = "c"
        assert changed(whole, seen(Presence(other, "rows", instead=instead))) == 1
    alone = frame[["d"]]
    whole = seen(Presence(alone, "rows", instead=instead))
    other = alone.copy()
    other.loc[7, "d"] = "c"
    assert changed(whole, seen(Presence(other, "rows", instead=instead))) == 1


def test_blocks_are_about_equal():
    sizes = [len(rows) for rows in _members(np.arange(40_000.0), 100)]
    assert sum(sizes) == 40_000
    assert max(abs(size - 400) for size in sizes) < 6 * 20


def _members(data, size):
    source = Presence(data)
    return blocks.members(Table(source), source, size)


def test_no_rows_are_no_trouble():
    assert [len(rows) for rows in _members(np.zeros(0), 3)] == [0, 0, 0]
    ask = Ask(packed_function(lambda columns, seed: [5.0, 5.0], "f"), "f", np.zeros(2))
    found = blocks.rows(ask, Presence(np.zeros(0)), 3, 1)
    assert found.values.tolist() == [[0.0]] * 6


def test_each_block_is_a_unit_with_a_row_for_each_number():
    def f(columns, seed):
        return [columns["0"].sum(), float(len(columns["0"]))]

    source = Presence(np.arange(50.0))
    ask = Ask(packed_function(f, "f"), "f", np.array([1.0, 2.0]))
    found = blocks.rows(ask, source, 4, 1)
    assert found.units.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.groups.tolist() == [0, 1] * 4
    expected = [[rows.sum() - 1.0, len(rows) - 2.0] for rows in _members(np.arange(50.0), 4)]
    assert np.array_equal(found.values[:, 0], np.ravel(expected))


# --- the distance ---------------------------------------------------------------------------------


def as_rows(values):
    units, groups = np.indices(values.shape).reshape(2, -1)
    return Rows(units, groups, values.reshape(-1, 1))


def releases(question, values, shares):
    """Yield, for every level that may be drawn, its scale and the (d,) sums without noise."""
    rows, column = as_rows(values), question.columns[0]
    contributed = added(question, rows, np.zeros(1))
    entries = [1]
    if column.cap is None:
        entries = menu(floor_steps(column.floor, column.exponent), shares.beta)
    factor = headroom(shares)
    for entry in entries[:: max(1, len(entries) // 60)]:
        level = math.ldexp(factor * float(entry), column.exponent - 14)
        scales = scales_of(question, {0: level}, shares.values)
        kept = clipped(question, contributed, scales, shares.values)[:, 0]
        step = question.step(question.terms[0])
        yield scales[0], np.bincount(contributed.groups, kept * step, question.groups)


def farthest(question, one, other, shares):
    """Return the largest distance of two data sets' sums, over all levels."""
    pairs = zip(releases(question, one, shares), releases(question, other, shares), strict=True)
    return max(np.linalg.norm(a - b) / scale for (scale, a), (_, b) in pairs)


def neighbours(rng, size, d):
    """Return answers of blocks, and the same with that of one block replaced."""
    one = rng.lognormal(0, rng.uniform(0, 4), (size, d)) * rng.choice([-1, 1], (size, d))
    one[rng.random(size) < 0.2] = 0.0  # failures
    other = one.copy()
    other[rng.integers(size)] *= -rng.choice([0.0, 1.0, 1e6])
    return one, other


@pytest.mark.parametrize("cap", [None, 3.0])
def test_values_and_level_stay_within_the_claimed_distance(cap):
    rng = np.random.default_rng(5)
    for _ in range(40):
        d, size = int(rng.integers(1, 6)), int(rng.integers(2, 30))
        question = blocks.question(d, size, 1e-3, cap)
        shares = split(0.2513, question)
        assert spent(shares, question) <= 0.2513**2
        one, other = neighbours(rng, size, d)
        assert farthest(question, one, other, shares) <= shares.values
        if cap is None:
            entries = menu(floor_steps(1e-3, question.columns[0].exponent), shares.beta)
            found = [
                place(reach(question, 0, as_rows(x), np.zeros(1)), entries) for x in (one, other)
            ]
            assert abs(found[0] - found[1]) <= PER_BETA


def test_a_clip_at_c_in_place_of_half_of_it_is_seen():
    rng = np.random.default_rng(6)
    excess = []
    for _ in range(10):
        question = replace(blocks.question(2, 20, 1e-3, 3.0), moves=1)
        shares = split(0.2513, question)
        one, other = neighbours(rng, 20, 2)
        excess.append(farthest(question, one, other, shares) / shares.values)
    assert max(excess) > 1.5


def hockey(question, one, other, shares, gamma):
    """Return the exact largest P(S) - gamma Q(S) of level and one number together."""
    column = question.columns[0]
    entries = menu(floor_steps(column.floor, column.exponent), shares.beta)
    at = [place(reach(question, 0, as_rows(x), np.zeros(1)), entries) for x in (one, other)]
    sigma, k = PER_BETA / shares.level, np.arange(len(entries))
    edges = np.concatenate([[-np.inf], k[:-1] + 0.5, [np.inf]])
    p, q = (np.diff(ndtr((edges - m) / sigma)) for m in at)
    factor = headroom(shares)
    total = 0.0
    for i in np.flatnonzero((p > 1e-12) | (q > 1e-12)):
        level = math.ldexp(factor * float(entries[i]), column.exponent - 14)
        scales = scales_of(question, {0: level}, shares.values)
        sums = []
        for x in (one, other):
            found = added(question, as_rows(x), np.zeros(1))
            sums.append(clipped(question, found, scales, shares.values).sum())
        gap = (sums[1] - sums[0]) * question.step(question.terms[0]) / scales[0]
        total += _positive_part(p[i], gamma * q[i], gap)
    return total


def _positive_part(p, q, gap):
    """Return the integral of (p phi(x) - q phi(x - gap))+."""
    if p <= 0 or q <= 0 or gap == 0:
        return max(p - q, 0.0) if q > 0 or p <= 0 else p
    cut = (math.log(p / q) + gap * gap / 2) / gap
    return p * ndtr(cut) - q * ndtr(cut - gap) if gap > 0 else p * ndtr(-cut) - q * ndtr(gap - cut)


def gaussian_hockey(delta, gamma):
    cut = math.log(gamma) / delta
    return ndtr(delta / 2 - cut) - gamma * ndtr(-delta / 2 - cut)


def test_the_trade_off_of_level_and_value_is_within_the_gaussian_one_exactly():
    rng, most = np.random.default_rng(8), 0.0
    for i in range(8):
        question = blocks.question(1, 12, 1.0, None)
        shares = split(0.8, question)
        one, other = neighbours(rng, 12, 1)
        if i == 0:  # the worst there is: all far out, one turned round
            one = np.full((12, 1), 50.0)
            other = one.copy()
            other[3] = -50.0
        for gamma in (0.6, 0.9, 1.0, 1.2, 1.8):
            for a, b in ((one, other), (other, one)):
                found = hockey(question, a, b, shares, gamma)
                assert found <= gaussian_hockey(0.8, gamma) + 1e-9
                most = max(most, found / gaussian_hockey(0.8, gamma))
    assert most > 0.5  # the test has something to see


def test_the_level_is_of_the_length_of_an_answer_and_its_steepness_of_the_blocks():
    question = blocks.question(2, 100, 0.5, None)
    values = np.array([[3.0, 4.0], [-6.0, 8.0], [0.0, np.nan]])
    step = question.step(question.terms[0])
    found = reach(question, 0, as_rows(values), np.zeros(1)) * step
    assert found == pytest.approx([5.0, 10.0, 0.0], abs=2 * step)
    shares = split(0.3, question)
    assert shares.beta == pytest.approx(2 * math.log(blocks.RATIO) / 100)
    assert len(reach(question, 0, Rows(*np.zeros((2, 0), int), np.zeros((0, 1))), np.zeros(1))) == 0


def test_a_release_is_near_the_sum_of_answers():
    rng = np.random.default_rng(9)
    values = rng.normal(3.0, 1.0, (400, 3))
    for cap in (None, 10.0):
        question = blocks.question(3, 400, 1e-3, cap)
        shares = split(0.2513, question)
        drawn = draw(question, as_rows(values), shares)
        assert np.abs(drawn.sums[:, 0] - values.sum(axis=0)).max() < 9 * drawn.scales[0]
        assert drawn.scales[0] < 400  # noise below 1 in a mean of 3


def test_small_caps_are_not_below_the_step():
    question = blocks.question(1, 10, 1.0, 1e-6)
    found = added(question, as_rows(np.full((10, 1), 1e-6)), np.zeros(1)).steps
    assert (found > 1000).all()
