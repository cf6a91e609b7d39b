"""What a record tells of a release by itself: its rows, and a question by its name."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.answers import told as telling
from rpac.answers.rows import rows_of
from rpac.answers.told import question_of, told

NOISE = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])


@pytest.fixture(scope="module")
def certificate():
    return rpac.certify(rpac.Outputs([0, 1]), NOISE, draws=0)


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
