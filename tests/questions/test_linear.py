"""Sums over all half-samples as one matrix product: the answers of a loop, bit for bit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac.questions import linear

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "id": RNG.integers(0, 40, 150),
        "pay": np.where(RNG.random(150) < 0.2, np.nan, RNG.lognormal(10, 1, 150)),
        "dept": RNG.choice(["a", "b", "c"], 150),
    }
)
ASKED = {
    "mean": rpac.statistics.mean("pay"),
    "sum": rpac.statistics.sum("pay"),
    "count": rpac.statistics.count(),
    "entries": rpac.statistics.count("pay"),
    "means": rpac.statistics.group_by("dept", rpac.statistics.mean("pay", -1.0), ["a", "b", "z"]),
    "counts": rpac.statistics.group_by("dept", rpac.statistics.count(), ["a", "b"]),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("unit", ["id", "rows"])
def test_all_half_samples_at_once_are_those_of_a_loop(name, unit):
    asked = ASKED[name]
    source = rpac.Subsets(TABLE, unit, worlds=64)
    found = rpac.simulate(source, asked)
    loop = rpac.simulate(source, lambda world: asked(world))
    assert found.values == pytest.approx(loop.values, rel=1e-13)
    assert found.kind == loop.kind
    if found.kind == "count":
        assert (found.values == loop.values).all()


def test_the_order_of_rows_and_of_addition_does_not_matter(monkeypatch):
    order = RNG.permutation(len(TABLE))
    one, two = (
        rpac.Subsets(pl.from_pandas(table), "id", worlds=32) for table in (TABLE, TABLE.iloc[order])
    )
    before = rpac.simulate(one, ASKED["mean"]).values
    monkeypatch.setattr("rpac.worlds.halves._BLOCK", 100)  # other blocks
    assert (before == rpac.simulate(two, ASKED["mean"]).values).all()


def test_no_half_sample_is_made_for_a_sum(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr("rpac.worlds.halves.HalfSamples.take", never)
    monkeypatch.setattr("rpac.questions.statistics.Statistic.__call__", never)
    assert rpac.simulate(rpac.Subsets(TABLE, "id", worlds=16), ASKED["mean"]).dim == 1


def test_sums_beyond_the_numbers_are_asked_world_by_world():
    table = pd.DataFrame({"x": [1.7e308, 1.0, 1.0, -1.7e308, 1.7e308, 2.0]})
    source = rpac.Subsets(table, "rows", worlds=4)
    assert linear.answers(linear.total("x"), source, {"x": table["x"].to_numpy()}) is None
    with pytest.raises(rpac.MechanismError, match="got NaN or infinity"):
        rpac.simulate(rpac.Subsets(table, "rows", worlds=20), rpac.statistics.sum("x"))


def test_other_statistics_are_asked_world_by_world():
    source = rpac.Subsets(TABLE, "id", worlds=16)
    assert rpac.statistics.median("pay").on_half_samples(source) is None
    assert rpac.simulate(source, rpac.statistics.median("pay")).dim == 1
