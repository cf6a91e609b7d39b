"""Made-up tables: the columns of a source, and rows of nobody."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac.questions.made_up import made_up

TABLE = pd.DataFrame({"id": range(60), "pay": np.arange(60.0), "dept": ["lab", "ops", None] * 20})
KINDS = {
    "pandas": lambda t: t, "polars": pl.from_pandas, "lazy": lambda t: pl.from_pandas(t).lazy(),
    "arrow": lambda t: pl.from_pandas(t).to_arrow(), "duckdb": duckdb.from_df,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_public_pool_columns_are_drawn_apart_and_of_its_kind(kind):
    data = KINDS[kind](TABLE)
    found = made_up(rpac.Subsets(data, "id", 4), size=50)
    assert type(found) is type(data)
    plain = pl.from_pandas(made_up(rpac.Subsets(TABLE, "id", 4), size=50))
    assert plain.columns == [*TABLE]
    assert set(plain["dept"]) == {"lab", "ops", None}
    assert (plain["id"] != plain["pay"]).any()  # no row of the pool
    assert len(plain) == 50


def test_of_arrays_and_lists():
    cube = np.arange(60.0).reshape(20, 3)
    found = made_up(rpac.Subsets(cube, worlds=4), size=7)
    assert found.shape == (7, 3)
    assert np.isin(found[:, 1], cube[:, 1]).all()
    assert made_up(rpac.Subsets(np.arange(9.0), worlds=4), size=7).shape == (7,)
    assert set(made_up(rpac.Subsets([1, 2, 3, 4], worlds=4))) <= {1, 2, 3, 4}


def test_of_a_private_table_names_and_declarations_alone_are_used():
    schema = {"dept": {"domain": ["x", "y"]}, "when": {"type": "date"}, "word": {"type": "text"},
              "code": {"domain": [1, 2]}}  # fmt: skip
    wide = TABLE.assign(when="2024-05-05", word="w", code=7)
    source = rpac.Presence(wide, "id", caps={"pay": (5, 6)}, schema=schema)
    found = made_up(source, size=40)
    assert [*found] == [*wide]
    assert found["pay"].between(5, 6).all()
    assert set(found["dept"]) == {"x", "y"}
    assert found["when"].str.startswith("2020-01-").all()
    assert set(found["word"]) <= set("abcd")
    assert set(found["code"]) == {1.0, 2.0}
    assert found["id"].value_counts().max() == 2
    other = wide.assign(dept=3, pay="text", code=None, id="z")  # none of it is looked at
    again = made_up(rpac.Presence(other, "id", caps={"pay": (5, 6)}, schema=schema), size=40)
    pd.testing.assert_frame_equal(found, again)
    assert [*made_up(source, ["pay"])] == ["pay"]
    texts = rpac.Presence(TABLE, "id", schema={"id": {"type": "text"}}, caps={"rows": 1})
    assert made_up(texts, size=3)["id"].tolist() == ["p0", "p1", "p2"]


def test_of_a_private_array():
    found = made_up(rpac.Presence(np.ones((8, 2, 3)), middle=0.0), size=5)
    assert found.shape == (5, 2, 3)


def test_of_anything_else_there_is_none():
    assert made_up(rpac.Worlds([1, 2])) is None
    assert made_up(rpac.Draws(lambda rng: 0.0, clip=(0, 1))) is None
    assert made_up(rpac.Database({"t": TABLE}, unit="id").source) is None
    assert made_up(rpac.Database({"t": TABLE}, unit="id").presence) is None


def test_of_rows_that_bring_their_own_columns_the_declared_ones_are_made_up():
    """The union of everybody's columns would tell who is there."""
    rows = [{"id": i, "x": 1.0} for i in range(50)]
    both = {"x": {"floor": 1.0}, "answer": {"floor": 1.0}}
    for schema, shape in (({}, (200,)), (both, (200, 2))):
        with_one_more = rpac.Presence([*rows, {"id": 9, "hiv": 1}], "id", schema=schema)
        without = rpac.Presence(rows, "id", schema=schema)
        assert made_up(with_one_more).shape == made_up(without).shape == shape
    assert made_up(rpac.Presence([1.0, 2.0], "rows")).shape == (200,)
