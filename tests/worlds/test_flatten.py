"""How answers become vectors, and how they are rebuilt."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.worlds.flatten import flatten

SOURCE = rpac.Subsets(np.random.default_rng(0).normal(size=(20, 3)), worlds=16)


ANSWERS = {
    "float": lambda x: float(x.mean()),
    "numpy scalar": lambda x: x.mean(),
    "int": lambda x: int((x > 0).sum()),
    "bool": lambda x: bool(x.mean() > 0),
    "vector": lambda x: x.mean(axis=0),
    "list": lambda x: [x.min(), x.max()],
    "matrix": lambda x: np.cov(x.T),
    "zero axes": lambda x: np.array(x.mean()),
    "dict": lambda x: {"mean": x.mean(), "sd": x.std()},
    "pandas": lambda x: pd.DataFrame({"a": x[:2, 0], "b": x[:2, 1]}),
    "series": lambda x: pd.Series(x[:2, 0], index=["a", "b"], name="s"),
    "indexed": lambda x: pd.DataFrame({"a": x[:2, 0]}, index=["mean", "sd"]),
    "polars": lambda x: pl.DataFrame({"a": x[:2, 0], "b": x[:2, 1]}),
    "pyarrow": lambda x: pa.table({"a": x[:2, 0], "b": x[:2, 1]}),
    "label": lambda x: "up" if x.mean() > 0 else "down",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_outputs_rebuild_what_the_mechanism_returns(name):
    mechanism = ANSWERS[name]
    outputs = rpac.simulate(SOURCE, mechanism)
    first = mechanism(SOURCE.worlds(0)[0])
    rebuilt = outputs.rebuild(outputs.values[0])
    scalars = {"numpy scalar": float, "zero axes": float, "list": np.ndarray}
    assert isinstance(rebuilt, scalars.get(name, type(first)))
    if hasattr(first, "equals"):
        assert rebuilt.equals(first)
    elif isinstance(first, dict | str | bool):
        assert rebuilt == pytest.approx(first) if isinstance(first, dict) else rebuilt == first
    else:
        assert np.asarray(rebuilt) == pytest.approx(np.asarray(first, float))
    kinds = {"int": "count", "bool": "label", "label": "label"}
    assert outputs.kind == kinds.get(name, "real")


def test_text_is_a_label_and_never_a_sequence():
    form, value = flatten("yes")
    assert (form.name, value) == ("label", "yes")
    assert form.rebuild("yes") == "yes"


@pytest.mark.parametrize(("answer", "kind"), [
    (["a", "bcdefghij"], "text"), ([b"abc", b"d"], "bytes"), ([None, 1], "objects"),
    (np.array(["2026-01-01"], "datetime64[D]"), "dates"), (np.array([1 + 2j]), "Complex128DType"),
])  # fmt: skip
def test_a_refusal_tells_the_kind_and_not_the_width(answer, kind):
    with pytest.raises(rpac.MechanismError, match=f"numbers from the mechanism; got {kind}") as at:
        flatten(answer)
    assert "9" not in str(at.value)


LOUD = type("Loud", (str,), {"__eq__": lambda *_: True, "__hash__": lambda _: 0})
NAMED = {
    "a series": lambda x: pd.Series([1.0], name=f"secret {x}"),
    "an index": lambda x: pd.Series([1.0], index=pd.Index(["a"], name=f"secret {x}")),
    "an index of a frame": lambda x: pd.DataFrame({"a": [1.0]}, index=pd.Index([0], name=str(x))),
    "a category that none has": lambda x: pd.Series(
        [1.0], index=pd.CategoricalIndex(["a"], ["a", f"secret {x}"])
    ),
    "a level that none has": lambda x: pd.Series(
        [1.0], index=pd.MultiIndex([["a"], ["b", f"secret {x}"]], [[0], [0]])
    ),
    "a key that says it is equal": lambda x: {LOUD(f"secret {x}"): 1.0},
    "a key of another type": lambda x: {1 if x > 1 else 1.0: 1.0},
    "a key of another sign": lambda x: {0.0 if x > 1 else -0.0: 1.0},
}


@pytest.mark.parametrize("name", NAMED)
def test_names_that_differ_between_worlds_are_refused(name):
    """Those of one world would stand in the answer, and nothing books them."""
    with pytest.raises(rpac.MechanismError, match="forms that differ"):
        rpac.simulate(rpac.Worlds([1.0, 2.0]), NAMED[name])


@pytest.mark.parametrize("key", ["a", 7, 300.5, ("a", 1), np.int64(5), pd.Timestamp("2020-01-01")])
def test_names_that_agree_pass(key):
    rpac.simulate(rpac.Worlds([1.0, 2.0]), lambda x: {key: x})
    rpac.simulate(rpac.Worlds([1.0, 2.0]), lambda x: pd.Series([x, x], index=[key, "b"], name="n"))


def test_a_series_is_shown_as_pandas_own_whatever_its_class_says():
    """A class of the mechanism's own would see what is released, and could say it in an error."""

    class Loud(pd.Series):
        def __init__(self, *args, **named):
            assert isinstance(args[0], list), repr(list(args[0]))
            super().__init__(*args, **named)

    form, numbers = flatten(Loud([1.0, 2.0], index=["a", "b"], name="pay"))
    again = form.rebuild(numbers + 1)
    assert type(again) is pd.Series
    assert (again.to_dict(), again.name) == ({"a": 2.0, "b": 3.0}, "pay")
