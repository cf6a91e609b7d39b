"""Members: packed bits, half-samples by keyed hashes of ids."""

import datetime
import math
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.worlds.members import Members, _least, canonical, half_samples, hashes, mixed
from rpac.worlds.source import Pool

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(3, 4), (16, 9), (7, 1), (20, 300)])
def test_a_matrix_comes_back(shape):
    masks = RNG.random(shape) < 0.5
    members = Members.wrap(masks)
    assert members.shape == (len(members), members.units) == shape
    assert (members.matrix() == masks).all()
    assert all((members.world(i) == row).all() for i, row in enumerate(masks))
    assert (members.world(-1) == masks[-1]).all()
    assert (members.of(np.array([0, members.units - 1])) == masks[:, [0, -1]]).all()
    assert (members.rows([1, 0]) == masks[[1, 0]]).all()
    with pytest.raises(ValueError, match="read-only"):
        members.matrix()[0, 0] = True
    with pytest.raises(IndexError):
        members.world(len(masks))


@pytest.mark.parametrize(("units", "worlds"), [(30, 64), (31, 64), (101, 6), (400, 130)])
def test_pairs_are_complements_of_exact_halves(units, worlds):
    members = half_samples(range(units), worlds, 0)
    masks = members.matrix()
    assert members.paired
    assert members.bits.shape == (units, math.ceil(worlds / 16))
    assert (masks[worlds // 2 :] == ~masks[: worlds // 2]).all()
    assert (masks[: worlds // 2].sum(axis=1) == units // 2).all()
    assert (2 * masks.sum(axis=0) == worlds).all()
    assert all((members.world(i) == masks[i]).all() for i in range(worlds))
    assert (members.of(slice(3, 9)) == masks[:, 3:9]).all()


@pytest.mark.parametrize("paired", [True, False])
def test_sums_over_the_worlds_of_a_unit(paired):
    members = half_samples(range(50), 24, 1)
    members = members if paired else Members.wrap(members.matrix())
    rows = RNG.normal(size=(24, 3))
    expected = members.matrix().T.astype(float) @ rows
    found = np.concatenate([members.sums(rows, units) for units in members.blocks()])
    assert found == pytest.approx(expected, abs=1e-12)
    some = np.array([4, 1, 49])
    assert members.sums(rows, some) == pytest.approx(expected[some], abs=1e-12)


@pytest.mark.parametrize("n", [40, 41, 200, 333])
def test_who_joins_or_leaves_moves_at_most_one_other_unit_a_pair(n):
    ids = [f"person {i}" for i in range(n)]
    whole = half_samples(ids, 64, 0).matrix()
    for leaver in RNG.choice(n, 5, replace=False):
        rest = half_samples([name for name in ids if name != ids[leaver]], 64, 0).matrix()
        moved = (np.delete(whole, leaver, axis=1) != rest)[:32].sum(axis=1)
        assert moved.max() <= 1
        assert moved.any()  # halves stay exact: somebody has to move now and then


def test_ids_decide_and_not_their_order():
    ids = np.array([f"p{i}" for i in range(60)])
    order = RNG.permutation(60)
    plain, turned = (half_samples(some, 32, 0).matrix() for some in (ids, ids[order]))
    assert (plain[:, order] == turned).all()
    other = half_samples([f"q{i}" for i in range(60)], 32, 0).matrix()
    assert (plain != other).any()
    assert (plain != half_samples(ids, 32, 1).matrix()).any()


def test_rows_in_another_order_are_the_same_people():
    frame = pd.DataFrame({"id": [f"p{i % 40}" for i in range(120)], "x": np.arange(120.0)})
    turned = frame.sample(frac=1, random_state=1)
    one, two = (rpac.Subsets(f, unit="id", worlds=16) for f in (frame, turned))
    assert one.members.digest == two.members.digest
    assert (one.units == two.units).all()


def test_the_worlds_of_a_pair_look_like_fair_draws():
    members = half_samples(range(2_000), 512, 0)
    first = members.matrix()[:256].astype(float) * 2 - 1
    between = np.corrcoef(first)[np.triu_indices(256, 1)]
    assert abs(between.mean()) < 4 / math.sqrt(2_000 * between.size)
    assert between.std() == pytest.approx(1 / math.sqrt(2_000), rel=0.05)
    units = np.corrcoef(first[:, :300].T)[np.triu_indices(300, 1)]
    assert units.std() == pytest.approx(1 / math.sqrt(256), rel=0.05)


def test_few_units_have_all_half_samples():
    for n, worlds in ((5, 20), (6, 20)):
        masks = half_samples(range(n), 512, 0).matrix()
        assert len(masks) == len({row.tobytes() for row in masks}) == worlds
    assert half_samples(range(6), 18, 0).paired  # 20 do not fit


def test_many_units_take_no_matrix():
    tracemalloc.start()
    members = half_samples(range(100_000), 512, 0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert members.bits.nbytes == 32 * 100_000
    assert most < 20 * 2**20  # the matrix would have 51 million bytes


NOW = datetime.datetime(2020, 2, 3, 4, 5, 6, 7)
SAME = [
    ("7", [7, 7.0, np.int8(7), np.float32(7), np.uint64(7), Decimal("7.00"), "7", np.str_("7")]),
    ("1", [True, np.True_, 1]),
    ("0.5", [0.5, np.float64(0.5), Decimal("0.5")]),
    ("2020-02-03T04:05:06.000007", [NOW, np.datetime64(NOW), pd.Timestamp(NOW)]),
    ("2020-02-03T00:00:00", [np.datetime64("2020-02-03", "ns"), datetime.datetime(2020, 2, 3)]),
    ("2020-02-03", [datetime.date(2020, 2, 3), np.datetime64("2020-02-03", "D")]),
    ("inf", [math.inf]),
]


@pytest.mark.parametrize(("text", "names"), SAME)
def test_canonical_text(text, names):
    assert [canonical(name) for name in names] == [text] * len(names)


def test_hashes_are_keyed_and_mixing_is_one_to_one():
    ids = list(range(5_000))
    found = hashes(ids, 0)
    assert found.dtype == np.uint64
    assert np.unique(found).size == len(ids)
    assert (found != hashes(ids, 1)).all()
    small = np.arange(70_000, dtype=np.uint64)
    assert np.unique(mixed(small, np.uint64(5))).size == small.size


@pytest.mark.parametrize("masks", [[1, 0], [[]], [[0.5, 1]], [["a"]], [[[True]]]])
def test_masks_that_are_none(masks):
    with pytest.raises(rpac.InputError, match=r"Expected masks, \(worlds, units\), of true and"):
        Members.wrap(masks)


def test_membership_is_what_it_has_always_been():
    """Books and records of earlier versions speak of these very worlds."""
    assert half_samples(range(1_000), 64, 5).digest.startswith("68d2c3356517d30c")
    assert half_samples([f"p{i}" for i in range(501)], 30, 1).digest.startswith("4d58b8f6febb2781")


def test_ids_are_hashed_alike_one_by_one_and_together():
    for ids in (np.arange(-5, 40), np.arange(9, dtype=np.uint8), np.array(["b", "ä", ""])):
        assert (hashes(ids, 3) == hashes(list(ids), 3)).all()


def test_equal_words_still_make_exact_halves():
    words = np.array([5, 1, 5, 5, 9, 5], np.uint64)
    assert len(_least(words, 3)) == 3
    assert 1 in _least(words, 3)
    assert _least(np.array([4, 2, 3], np.uint64), 1).tolist() == [False, True, False]


def test_some_units_alone():
    members = half_samples(range(100), 16, 0)
    few = members.among(np.array([7, 3]))
    assert (few.matrix() == members.matrix()[:, [7, 3]]).all()


@pytest.mark.parametrize(
    ("wall", "what"),
    [(lambda: half_samples(range(10**9), 10**6, 0), "the bits of 1000000 worlds of 1000000000"),
     (lambda: rpac.Subsets(np.zeros(10), worlds=10**13), "the bits of 10000000000000 worlds of 10"),
     (lambda: rpac.Subsets(Pool(10**12)), "the bits of 512 worlds of 1000000000000 units"),
     (lambda: _huge().matrix(), "a matrix of worlds x units"),
     (lambda: rpac.Outputs(np.zeros(512), masks=_huge()).masks, "a matrix of worlds x units")],
    ids=["worlds", "worlds of an array", "units", "matrix", "masks"],
)  # fmt: skip
def test_walls(wall, what):
    """Each is met before anything is allocated, with a next move."""
    tracemalloc.start()
    with pytest.raises(rpac.TooLarge, match=rf"Expected {what}.*; got .* room for .*\. \w+"):
        wall()
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def _huge():
    """Members of a billion units that take no memory, since nothing is stored."""
    found = object.__new__(Members)
    found.__dict__.update(shape=(512, 10**9), paired=True)
    return found
