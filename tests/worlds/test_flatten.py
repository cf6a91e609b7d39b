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
