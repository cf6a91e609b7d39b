"""Any answer as rows: names as they are, numbers beside their error bars."""

import datetime
import json
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac._base.sealed import publish
from rpac.answers.rows import answer_rows, plain, rows_of
from rpac.certificate.certificate import FACT

NOISE = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])


@pytest.fixture(scope="module")
def certificate():
    return rpac.certify(rpac.Outputs([0, 1]), NOISE, draws=0)


def test_only_what_moves_has_intervals(certificate):
    value = {"a": 2.0, "b": 3.0}
    release = rpac.Release(value, certificate, None, ({"a": 1.0, "b": 3.0}, {"a": 4.0, "b": 3.0}))
    assert answer_rows(release, "x") == [
        {"": "a", "x": {"value": 2.0, "noise": [1.0, 4.0], "sampling": None}},
        {"": "b", "x": 3.0},
    ]
    facts = ({"a": 2.0, "b": -4.0}, {"a": 2.0, "b": 4.0})
    fact = rpac.Release(value, certificate, facts=facts)
    assert answer_rows(fact, "x")[1] == {"": "b", "x": {"value": 3.0, "fact": FACT}}
    assert answer_rows(rpac.Release("yes", certificate), "x") == [{"x": "yes"}]


def test_answers_of_every_form_become_rows():
    assert rows_of(3.0, "answer") == [{"answer": 3.0}]
    assert rows_of({"a": 1}, "answer") == [{"": "a", "answer": 1}]
    assert rows_of(np.array([1.0, 2.0]), "answer")[1] == {"": 2, "answer": 2.0}
    assert rows_of(np.eye(2), "x") == [{"": i + 1, "x": v} for i, v in enumerate([1, 0, 0, 1])]
    assert rows_of(pd.DataFrame({"x": [1, 2]}), "answer") == [{"x": 1}, {"x": 2}]
    assert rows_of(pl.DataFrame({"x": [1, 2]}), "answer") == [{"x": 1}, {"x": 2}]
    assert rows_of(pd.Series([1.5], index=["k"]), "answer") == [{"": "k", "answer": 1.5}]
    assert rows_of("yes", "answer") == [{"answer": "yes"}]
    assert rows_of([], "answer") == []


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(None, None), (True, True), (3, 3), (2.5, 2.5), ("a", "a"), (np.int64(3), 3),
     (np.float32(0.5), 0.5), (np.bool_(1), True), (Decimal("1.25"), 1.25), ((1, "b"), [1, "b"]),
     (float("nan"), None), (np.float64("nan"), None), (pd.NaT, None), (Decimal("NaN"), None),
     (datetime.date(2020, 2, 29), "2020-02-29"), (datetime.time(7, 30), "07:30:00"),
     (datetime.datetime(2020, 2, 29, 7), "2020-02-29T07:00:00"),
     (pd.Timestamp("2020-02-29"), "2020-02-29T00:00:00"),
     (datetime.timedelta(days=2), "2 days, 0:00:00"), (uuid.UUID(int=0), str(uuid.UUID(int=0))),
     (np.array([[1, 2]]), [[1, 2]]), (np.array([1.5, np.nan]), [1.5, None]),
     ({1: np.int8(2)}, {"1": 2}),
     (pd.DataFrame({"k": ["a", None], "x": [0.5, float("nan")]}),
      [{"k": "a", "x": 0.5}, {"k": None, "x": None}])],
    ids=repr,
)  # fmt: skip
def test_values_become_plain(value, wanted):
    found = plain(value)
    assert found == wanted
    assert type(found) is type(wanted)
    assert json.loads(publish(found)) == wanted


def test_of_long_arrays_the_first_numbers_have_rows(certificate):
    release = rpac.Release(np.arange(50.0), certificate, None, (np.zeros(50), np.full(50, 9.0)))
    assert len(answer_rows(release, "x", 3)) == 3
    assert answer_rows(release, "x")[49]["x"] == {"value": 49.0, "noise": [0, 9], "sampling": None}
