"""What a record tells of a release by itself: any answer as rows, and a question by its name."""

import datetime
import json
import uuid
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac._base.sealed import publish
from rpac.answers import told as telling
from rpac.answers.told import answer_rows, plain, question_of, rows_of, told
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


def test_a_question_is_named_and_never_shown_with_what_it_holds():
    db = rpac.Database({"t": pd.DataFrame({"id": [1, 2], "x": [0, 1]})}, "id")
    sql = "SELECT avg(x) AS x FROM t"
    named = {
        "mean(pay)": rpac.statistics.mean("pay"), sql: db.query(sql), "mean": np.mean,
        "wc {file}": rpac.programs.Command("wc {file}"), "partial": partial(np.quantile, q=0.12345),
        "mean, std": [np.mean, np.std],
    }  # fmt: skip
    for text, mechanism in named.items():
        assert question_of(mechanism) == {"question": text, "about": {}}


def test_a_long_answer_is_told_by_its_question_alone(certificate, monkeypatch):
    """The books have its numbers once, as they were released, and not six times as text."""
    release = rpac.Release(np.zeros(3), certificate)
    whole = {
        "question": "q",
        "about": {},
        "answer": rows_of(np.zeros(3), "answer"),
        "value": [0.0] * 3,
    }
    assert told(release, {"question": "q", "about": {}}, 3) == {"told": whole}
    monkeypatch.setattr(telling, "MOST", 2)
    short = {"told": {"question": "q", "about": {}}}
    assert told(release, {"question": "q", "about": {}}, 3) == short
