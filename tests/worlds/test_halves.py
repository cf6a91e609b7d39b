"""Half-samples: one at a time, stacked or added up, with the columns that are needed."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.worlds.halves import HalfSamples

RNG = np.random.default_rng(1)
DATA = RNG.normal(size=(31, 3))
OWNERS = RNG.integers(0, 9, 31)


@pytest.mark.parametrize("data", [DATA, DATA[:, 0], DATA.tolist()], ids=["table", "row", "list"])
def test_worlds_one_by_one_and_in_blocks_are_the_same(data, monkeypatch):
    source = rpac.Subsets(data, worlds=20)
    halves = source.worlds(0)
    assert isinstance(halves, HalfSamples)
    masks = source.masks
    monkeypatch.setattr("rpac.worlds.halves._BITS", 70)  # two worlds at a time
    for i, world in enumerate(halves):
        assert np.array_equal(world, np.asarray(data)[masks[i]])
        assert np.array_equal(world, halves[i])
    assert np.array_equal(list(halves.some([7, 3]))[1], halves[3])


def test_worlds_are_stacked_where_they_share_a_shape():
    source = rpac.Subsets(DATA[:30], worlds=20)
    halves = source.worlds(0)
    assert np.array_equal(halves.stacked([4, 11]), np.stack([halves[4], halves[11]]))
    assert rpac.Subsets(DATA, worlds=20).worlds(0).stacked([0, 19]) is None  # 15 and 16 rows
    assert rpac.Subsets(DATA.tolist(), worlds=20).worlds(0).stacked([0]) is None
    owned = rpac.Subsets(np.column_stack([OWNERS, DATA]), 0, worlds=20).worlds(0)
    assert np.array_equal(owned.stacked([5]), owned[5][None])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_only_the_columns_that_are_read_are_in_a_world(make):
    table = make({"id": OWNERS, "x": DATA[:, 0], "y": DATA[:, 1]})
    halves = rpac.Subsets(table, "id", worlds=8).worlds(0)
    seen = []

    class Reads:
        reads = ("y",)

        def __call__(self, world):
            seen.append(list(getattr(world, "column_names", None) or world.columns))
            return float(np.asarray(world["y"]).sum())

    outputs = rpac.simulate(rpac.Subsets(table, "id", worlds=8), Reads())
    assert {*map(tuple, seen)} == {("y",)}
    assert outputs.values[:, 0] == pytest.approx(
        [float(np.sum(np.asarray(w["y"]))) for w in halves]
    )
    assert type(halves.reading(["x"])[0]) is type(table)
    assert len(halves.reading([])[0]) == len(halves[0])
    with pytest.raises(rpac.InputError, match="a column among 'id', 'x', 'y'; got 'z'"):
        halves.reading(["z"])
    array = rpac.Subsets(DATA, worlds=8).worlds(0)
    assert array.reading(["x"]) is array


def test_an_estimator_is_given_its_columns_alone():
    fitted = rpac.programs.Fitted(type("E", (), {"fit": None})(), ["x"], "y")
    assert fitted.reads == ("x", "y")
    assert rpac.statistics.group_by("d", rpac.statistics.mean("x"), ["a"]).reads == ("x", "d")


def test_no_sum_drowns_in_what_only_other_worlds_hold():
    values = np.array([1e308, 1.0, 2.0, 5e-324, -1e20, 0.1, 0.2, 0.3])
    source = rpac.Subsets(values, worlds=70)
    found = source.worlds(0).totals(values[:, None])[:, 0]
    truth = [math.fsum(world) for world in source.worlds(0)]
    assert found.tolist() == pytest.approx(truth, rel=1e-15, abs=0)
    assert source.worlds(0).totals(np.zeros((8, 2))).tolist() == np.zeros((70, 2)).tolist()


def test_sums_over_worlds():
    owned = rpac.Subsets(np.column_stack([OWNERS, DATA]), 0, worlds=20)
    for source, rows in ((rpac.Subsets(DATA, worlds=20), None), (owned, [3, 4, 30])):
        halves = source.worlds(0)
        values = DATA if rows is None else DATA[rows]
        inside = source.masks[:, source._owner]
        inside = inside if rows is None else inside[:, rows]
        assert halves.totals(values, rows) == pytest.approx(inside @ values)
