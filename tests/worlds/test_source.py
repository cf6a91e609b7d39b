"""Sources: balanced half-samples, priors, samplers; frames of every kind."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.contracts import check_source
from rpac.worlds.source import Pool


@pytest.mark.parametrize(("units", "worlds"), [(30, 512), (31, 64), (7, 512), (8, 512), (2, 8)])
def test_every_unit_is_in_exactly_half_of_the_worlds(units, worlds):
    source = rpac.Subsets(np.arange(units), worlds=worlds)
    assert (2 * source.masks.sum(axis=0) == len(source.masks)).all()
    sizes = source.masks.sum(axis=1)
    assert set(sizes) <= {units // 2, units - units // 2}
    assert len({mask.tobytes() for mask in source.masks}) == len(source.masks)
    check_source(source)


def test_few_units_give_all_half_samples():
    assert len(rpac.Subsets(range(6)).masks) == math.comb(6, 3)
    assert len(rpac.Subsets(range(5)).masks) == 2 * math.comb(5, 2)
    chosen = {tuple(w) for w in rpac.Subsets(range(4)).worlds(0)}
    assert chosen == set(itertools.combinations(range(4), 2))


def test_half_samples_depend_on_their_seed_only():
    data = np.arange(40)
    same = [rpac.Subsets(data, seed=3).masks for _ in range(2)]
    assert (same[0] == same[1]).all()
    assert (same[0] != rpac.Subsets(data, seed=4).masks).any()


ROWS = {"person": ["a", "a", "b", "c", "d", "d"], "x": [1.0, 2, 3, 4, 5, 6]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_rows_of_a_unit_move_together_in_any_frame(make):
    source = rpac.Subsets(make(ROWS), unit="person", worlds=8)
    assert source.units.tolist() == ["a", "b", "c", "d"]
    for world in source.worlds(0):
        assert type(world) is type(make(ROWS))
        people = pd.DataFrame(ROWS if not hasattr(world, "to_pandas") else world.to_pandas())
        people = world if isinstance(world, pd.DataFrame) else people
        counts = people["person"].value_counts()
        assert counts.get("a", 2) == 2
        assert counts.get("d", 2) == 2
        assert counts.size == 2


def test_frames_by_row_when_asked():
    assert rpac.Subsets(pd.DataFrame(ROWS), unit="rows").units.size == 6


def test_samplers_that_fail():
    with pytest.raises(
        rpac.MechanismError, match=r"Expected a sampler\(rng\) that returns a secret"
    ):
        rpac.Draws(lambda: 0.0, clip=(0, 1)).worlds(0)


def test_unit_column_of_an_array():
    data = np.array([[0, 1.0], [0, 2.0], [1, 3.0]])
    assert [len(w) for w in rpac.Subsets(data, unit=0).worlds(0)] == [2, 1]


def test_worlds_and_draws():
    source = rpac.Worlds([1, 2, 3], weights=[0.5, 0.25, 0.25])
    check_source(source)
    check_source(rpac.Draws(lambda rng: rng.normal(), clip=(-1, 1), draws=40))
    assert "3 worlds" in repr(source)
    assert "&lt;" not in source._repr_html_()
    stacked = rpac.Draws(rpac.vectorized(lambda rng, n: rng.normal(size=n)), clip=(-1, 1), draws=50)
    assert len(stacked.worlds(0)) == 50
    assert (stacked.worlds(1) == stacked.worlds(1)).all()
    assert (stacked.worlds(1) != stacked.worlds(2)).all()
    single = rpac.Draws(lambda rng: rng.normal(), clip=(-1, 1), draws=40)
    for each in (stacked, single):
        assert each.draw() != each.draw()
        assert each.draw(0) == each.draw(0)


BAD = {
    "one world": (lambda: rpac.Worlds([1]), "Expected at least 2 worlds; got 1. With one world"),
    "no world": (lambda: rpac.Worlds([]), "Expected at least 2 worlds; got 0"),
    "zero weight": (lambda: rpac.Worlds([1, 2], weights=[1, 0]), "Expected positive weights"),
    "weights off": (lambda: rpac.Worlds([1, 2], weights=[1, 1]), "that sum to 1; got 2. Divide"),
    "weights few": (lambda: rpac.Worlds([1, 2], weights=[1]), "Expected 2 weights in `weights`"),
    "nan weight": (lambda: rpac.Worlds([1, 2], [math.nan, 1]), "Expected finite numbers"),
    "one unit": (lambda: rpac.Subsets([1]), "Expected at least 2 units; got 1"),
    "odd worlds": (lambda: rpac.Subsets(range(40), worlds=7), "Expected an even number of worlds"),
    "worlds text": (lambda: rpac.Subsets(range(40), worlds="8"), "Expected a whole `worlds`"),
    "worlds bool": (lambda: rpac.Subsets(range(40), worlds=True), "got True. Pass a larger"),
    "no rows": (lambda: rpac.Subsets(iter([1])), "Expected data with rows; got list_iterator"),
    "no column": (
        lambda: rpac.Subsets(pd.DataFrame(ROWS), unit="who"),
        "Expected a column among 'person', 'x'; got 'who'. Name one of them",
    ),
    "frame without unit": (
        lambda: rpac.Subsets(pd.DataFrame(ROWS)),
        'Expected the `unit` column of a data frame; got none. Name the column .* unit="rows"',
    ),
    "mixed units": (
        lambda: rpac.Subsets(pd.DataFrame({"u": ["a", 1, "b"]}, dtype=object), unit="u"),
        "Expected entries of one kind in the `unit` column; got a mixture",
    ),
    "missing unit": (
        lambda: rpac.Subsets(pd.DataFrame({"u": ["a", None, "b"]}, dtype=object), unit="u"),
        "Expected an entry in every row of the `unit` column; got missing ones",
    ),
    "seed": (lambda: rpac.Subsets(range(9), seed=-1), "Expected a whole `seed` of at least 0"),
    "no column number": (
        lambda: rpac.Subsets(np.eye(3), unit=3),
        "Expected a column number as `unit` of an array; got 3",
    ),
    "no sampler": (lambda: rpac.Draws([1, 2], clip=(0, 1)), r"Expected a sampler\(rng\); got list"),
    "no clip": (lambda: rpac.Draws(lambda rng: 0.0), "Expected public bounds clip"),
    "one number as clip": (lambda: rpac.Draws(lambda rng: 0.0, clip=4), "Expected public bounds"),
    "half a clip": (lambda: rpac.Draws(lambda rng: 0.0, clip=(1,)), "Expected public bounds clip"),
    "clip swapped": (lambda: rpac.Draws(lambda rng: 0.0, clip=(1, 0)), "Expected low below high"),
    "infinite clip": (
        lambda: rpac.Draws(lambda rng: 0.0, clip=(-math.inf, 0)),
        "Expected finite numbers in `clip`; got 1 NaN or infinite",
    ),
    "few draws": (
        lambda: rpac.Draws(lambda rng: 0.0, clip=(0, 1), draws=3),
        "Expected a whole `draws` of at least 40; got 3",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    call, message = BAD[name]
    with pytest.raises(rpac.InputError, match=message):
        call()


def test_a_pool_of_numbered_units_has_numbered_worlds():
    source = rpac.Subsets(Pool(30, "version"), worlds=8)
    assert len(Pool(30)) == 30
    assert source.worlds(0).tolist() == list(range(8))
    assert source.version == "version"
    assert source.masks.shape == (8, 30)
    with pytest.raises(rpac.InputError, match="Expected rows to leave out; got units by number"):
        source.without(3)


def test_a_pool_without_one_unit():
    data = np.arange(12.0)
    source = rpac.Subsets(data, worlds=8)
    left = source.without(4)
    assert left.units.size == 11
    assert all(4.0 not in world for world in left.worlds(0))
    with pytest.raises(rpac.InputError, match="Expected a unit below 12; got 12"):
        source.without(12)


def test_the_statement_tells_no_number_of_units():
    said = [rpac.Subsets(np.arange(n), worlds=16).statement for n in (40, 41, 900)]
    assert set(said) == {"which of 16 half-samples of the pool was drawn "
                         "(every unit is in with probability 1/2)"}  # fmt: skip


def test_worlds_are_made_when_they_are_asked_for(monkeypatch):
    source = rpac.Subsets(np.arange(100.0), worlds=16)
    made = []
    worlds = source.worlds(0)
    take = worlds.take
    monkeypatch.setattr(worlds, "take", lambda rows: made.append(len(rows)) or take(rows))
    assert len(worlds) == 16
    assert made == []
    assert [len(w) for w in worlds[2:4]] == made == [50, 50]
    assert (worlds[-1] == source.half_sample(15)).all()
    with pytest.raises(IndexError):
        worlds[16]


def test_what_a_half_sample_is_said_to_be_tells_no_number_of_units():
    one, two = (rpac.Subsets(np.arange(n), worlds=16) for n in (50, 60))
    assert one.statement == two.statement
    assert one.statement == (
        "which of 16 half-samples of the pool was drawn (every unit is in with probability 1/2)"
    )
    assert one.secret != two.secret
    assert one.secret == rpac.Subsets(np.arange(50), worlds=16).secret
    shared = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    owners = [rpac.Subsets(np.array(shared), unit=c).secret for c in (0, 1)]
    assert owners[0] == owners[1]


def test_worlds_have_one_version_in_any_order():
    secrets, weights = ["a", "b", "c"], [0.5, 0.3, 0.2]
    first = rpac.Worlds(secrets, weights)
    turned = rpac.Worlds(secrets[::-1], weights[::-1])
    crossed = rpac.Worlds(secrets[::-1], weights)
    assert first.version == turned.version == crossed.version
    assert first.secret == turned.secret != crossed.secret  # another prior
    assert rpac.Worlds([1, 2]).version == rpac.Worlds([2, 1]).version
    assert rpac.Worlds([1, 2]).version != rpac.Worlds([1, 1]).version
    assert rpac.Worlds([1, 2]).secret != rpac.Worlds([1, 2], [0.4, 0.6]).secret


def test_a_pool_has_the_worlds_of_its_ids():
    ids = [f"p{i:02d}" for i in range(30)]
    frame = pd.DataFrame({"id": ids})
    by_id, by_number = rpac.Subsets(Pool(30, ids=ids)), rpac.Subsets(Pool(30))
    assert by_id.members.digest == rpac.Subsets(frame, unit="id").members.digest
    assert by_number.members.digest == rpac.Subsets(frame, unit="rows").members.digest
    assert by_id.members.digest != by_number.members.digest
    with pytest.raises(rpac.InputError, match="Expected 3 ids; got 2. Give one for each unit"):
        Pool(3, ids=["a", "b"])


def test_a_source_of_ones_own_has_a_version_and_a_secret():
    class Pair(rpac.Source):
        statement = "which of two"

        def __init__(self, first):
            self.first = first

        def worlds(self, seed):
            return [self.first, 2]

    assert Pair(1).version == Pair(1).version != Pair(3).version
    assert Pair(1).secret == Pair(3).secret
    one, two = (rpac.Draws(lambda rng: 0.0, clip=(0, high)) for high in (1, 2))
    assert one.version != two.version


def test_nobody_changes_the_order_of_worlds():
    listed = [1.0, 2.0, 4.0]
    source = rpac.Worlds(listed)
    outputs = rpac.simulate(source, float)
    listed.reverse()
    source.worlds(0).reverse()
    assert list(source.secrets) == [1.0, 2.0, 4.0]
    assert rpac.privatize(outputs, source, 0.3).certificate.bound <= 0.3
    with pytest.raises(rpac.InputError, match="outputs of this source|got others"):
        rpac.privatize(outputs, rpac.Worlds([1.0, 2.0, 4.0]), 0.3)
