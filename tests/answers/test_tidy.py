"""Rounded, and not below 0: numbers alone, in the form they were released in."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.answers.rows import plain
from rpac.answers.tidy import tidied

COLUMNS = {"year": [1990, -5], "dept": ["a", None], "n": [-3, 7], "pay": [2.6, -0.4]}
ENDS = [{**COLUMNS, "n": [n - 9, n], "pay": [float(n), 2.0 * n - 1]} for n in (0, 1)]


def tidy(value, ends=None, **how):
    return tidied(value, ends, **({"least": 0, "whole": True} | how))


@pytest.mark.parametrize(
    ("value", "low", "high", "found"),
    [(-2, -9, 5, 0), (3.4, 1.0, 5.0, 3), ({"a": -1.6, "b": 5}, {"a": -9, "b": 5}, {"a": 9, "b": 5},
     {"a": 0, "b": 5}), ([2.5, "x"], [1.0, "x"], [3.0, "x"], [2, "x"]), ("yes", "no", "yes", "yes"),
     (True, False, True, True), (None, 0, 1, None)],
)  # fmt: skip
def test_numbers_are_rounded_and_held(value, low, high, found):
    made = tidy(value, (low, high))
    assert made == found
    assert type(made) is type(found)


def test_either_may_be_left_out():
    assert tidy(-2.6, (-9.0, 9.0), least=None) == -3
    assert tidy(-2.6, (-9.0, 9.0), whole=False) == 0.0
    assert tidy(2.6, (-9.0, 9.0), whole=False, least=5) == 5.0
    assert tidy(-7, (-9, 9), least=None) == -7


def test_arrays_and_series_keep_their_shape_and_index():
    ends = np.array([[-9.0, 5.0]]), np.array([[9.0, 5.0]])
    assert tidy(np.array([[-1.4, 5.0]]), ends).tolist() == [[0.0, 5.0]]
    series = pd.Series([-1.4, 2.6], index=["a", "b"], name="x")
    made = tidy(series, (series - 1, series + 1))
    assert made.to_dict() == {"a": 0.0, "b": 3.0}
    whole = np.array([-3, 5])
    assert tidy(whole, (whole - 1, whole + 1)).dtype == whole.dtype
    assert made.name == "x"


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: duckdb.from_arrow(pa.table(d))]
)
def test_names_in_frames_are_left_alone(make):
    made = tidy(make(COLUMNS), tuple(make(side) for side in ENDS))
    assert type(made) is type(make(COLUMNS))
    rows = [list(row.values()) for row in plain(made)]
    assert rows == [[1990, "a", 0, 3], [-5, None, 7, 0]]


def test_without_ends_fractions_are_numbers():
    assert tidy({"year": 1990, "median": 3.7}) == {"year": 1990, "median": 4}


def test_by_default_only_counts_are_held_and_others_rounded_to_their_bars():
    value = {"n": -3, "mean": -0.4123, "hours": 39.1349, "pay": 35_122.4, "median": 3.77}
    low = {"n": -9, "mean": -0.9, "hours": 38.8, "pay": 34_600.0, "median": None}
    high = {"n": 9, "mean": 0.1, "hours": 39.5, "pay": 35_600.0, "median": None}
    made = tidied(value, (low, high), counts=True)
    assert made == {"n": 0, "mean": -0.41, "hours": 39.13, "pay": 35_120.0, "median": 3.77}
    assert tidied(value, (low, high))["n"] == -3  # integers of which nothing is known
    assert tidied(value, (low, high), counts=True, least=None)["n"] == -3
    assert tidied(value, (low, high), least=0)["mean"] == 0.0
    frame = pd.DataFrame([value])
    made = tidied(frame, (pd.DataFrame([low]), pd.DataFrame([high])), counts=True)
    assert made.to_dict("records") == [tidied(value, (low, high), counts=True)]


@pytest.mark.parametrize("ends", [None, (None, None), (np.nan, np.nan)])
def test_without_an_error_bar_numbers_have_so_many_digits_as_is_said(ends):
    assert tidied(-0.41239, ends) == -0.41239
    assert tidied(-0.41239, ends, digits=4) == -0.4124
    assert tidied(37.23919548088248, ends, digits=4) == 37.24


FORMS = [
    lambda x: x, lambda x: {"a": x}, lambda x: [x], lambda x: np.array([x]),
    lambda x: pd.Series([x]), lambda x: pd.DataFrame({"x": [x]}),
    lambda x: pl.DataFrame({"x": [x]}), lambda x: pa.table({"x": [x]}),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whole", [None, True, False])
def test_of_a_number_without_ends_nothing_is_left(form, whole):
    ends = form(-np.inf), form(np.inf)
    found = np.ravel(_first(tidied(form(604.2095349066495), ends, whole=whole)))
    assert np.isnan(found.astype(float)).all()
    assert tidied(604, (-np.inf, np.inf)) == 604  # integers have no NaN


def _first(found):
    if isinstance(found, pa.Table):
        return found.to_pandas().to_numpy()
    return list(found.values()) if isinstance(found, dict) else np.asarray(found)


@pytest.mark.parametrize("form", FORMS)
def test_quantiles_have_open_ends_and_four_digits(form):
    open_ = np.nan if isinstance(form(1.0), np.ndarray | pd.Series) else None
    found = _first(tidied(form(37.23919548088248), (form(open_), form(open_)), digits=4))
    assert np.ravel(found).astype(float) == pytest.approx([37.24], abs=1e-12)
    named = tidied(
        {"k": "a", "x": 37.239}, ({"k": "a", "x": None}, {"k": "a", "x": None}), digits=3
    )
    assert named == {"k": "a", "x": 37.2}


def test_a_released_median_is_tidy():
    people = rpac.Presence(pd.DataFrame({"x": np.linspace(1, 99, 500)}), unit="rows")
    release = rpac.privatize(rpac.statistics.median("x"), people, rpac.GaussianDP(8))
    assert release.tidy() == float(f"{release.value:.4g}") != release.value


def test_averages_of_groups_keep_their_sign_and_counts_do_not():
    rows = [{"id": i, "g": "a", "x": -1.0} for i in range(50)]
    people = rpac.Presence(rows, unit="id", caps={"x": (-1, 1), "rows": 1})
    asked = rpac.statistics.group_by("g", rpac.statistics.mean("x"), ["a"])
    release = rpac.privatize(asked, people, rpac.GaussianDP(8))
    made, (low, high) = release.tidy()["a"], release.noise_interval
    assert made == pytest.approx(release.value["a"], abs=(high["a"] - low["a"]) / 20)
    assert made < 0
    assert len(str(made)) < len(str(release.value["a"]))


def test_which_integers_of_a_sample_are_counts_is_not_known():
    source = rpac.Subsets(list(range(40)), worlds=8)
    release = rpac.privatize(lambda rows: -len(rows) - int(min(rows)), source, 0.1)
    assert release.tidy() == release.value < 0
    assert release.tidy(least=0) == 0


def test_a_release_still_says_what_was_released():
    people = rpac.Presence([{"g": "a"}] * 3, unit="rows")
    release = rpac.privatize(
        rpac.statistics.group_by("g", rpac.statistics.count(), ["a", "b"]), people, 0.01
    )
    before = dict(release.value)
    made = release.tidy()
    assert release.value == before
    assert min(made.values()) >= 0
    assert made == {key: max(0, n) for key, n in before.items()}
    assert release.tidy(least=None) == before
