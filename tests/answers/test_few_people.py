"""Averages over so few people that they may be anything say so, and no others do."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac import statistics as st
from rpac.cli.program import main

BUDGET = rpac.SuccessRate(0.55)


def frame(n):
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"id": range(n), "pay": rng.normal(30, 8, n)})
    rows["dept"] = np.where(rows["id"] < 2, "tiny", np.where(rows["id"] % 2, "a", "b"))
    return rows


def people(n, **said):
    return rpac.Presence(frame(n), unit="id", **said)


@pytest.mark.parametrize("statistic", [st.mean("pay"), st.group_by("dept", st.mean("pay"), ["a"])])
def test_forty_people_cannot_settle_a_middle(statistic):
    made = rpac.privatize(statistic, people(40), BUDGET)
    low, high = made.noise_interval
    ends = [(low[k], high[k]) for k in low] if isinstance(low, dict) else [(low, high)]
    assert set(ends) == {(-math.inf, math.inf)}
    assert "beyond +-1000 %: too noisy to publish" in str(made)


@pytest.mark.parametrize(
    "said", [{"middle": {"pay": 25}}, {"schema": {"pay": {"low": 0, "high": 60}}}]
)
def test_a_middle_that_is_declared_is_settled(said):
    low, high = rpac.privatize(st.mean("pay"), people(200, **said), BUDGET).noise_interval
    assert math.isfinite(high - low)


@pytest.mark.parametrize("statistic", [st.count(), st.sum("pay"), st.variance("pay")])
def test_what_hangs_on_no_middle_has_ends(statistic):
    low, high = rpac.privatize(statistic, people(40), BUDGET).noise_interval
    assert math.isfinite(high - low)


def test_a_group_of_two_says_so_beside_large_ones():
    asked = st.group_by("dept", st.mean("pay"), ["a", "b", "tiny"])
    made = rpac.privatize(asked, people(4_000), rpac.SuccessRate(0.6))
    low, high = made.noise_interval
    assert high["a"] - low["a"] < 2
    assert high["b"] - low["b"] < 2
    assert made.tidy()["a"] == pytest.approx(30, abs=2)
    assert {"a", "b"} <= {*made.value}
    some = [(low[k], high[k]) for k in ("tiny", "other")]
    assert (-math.inf, math.inf) in some  # a count of 2 is above its noise once in forty times


def test_every_form_of_an_answer_takes_infinite_ends(tmp_path, capsys):
    made = rpac.privatize(st.mean("pay"), people(40), BUDGET)
    assert math.isnan(made.tidy())  # nothing is known of it
    assert "too noisy to publish" in made._repr_html_()
    made.plot()
    frame(40).to_csv(tmp_path / "t.csv", index=False)
    sql = "SELECT dept, avg(pay) AS p, count(*) AS n FROM t GROUP BY dept"
    words = ["release", str(tmp_path / "t.csv"), "--unit", "id", "--keys", "dept=a,b", "--sql", sql]
    files = ["--report", str(tmp_path / "r.html"), "--out", str(tmp_path / "r.json")]
    assert main([*words, *files, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["answer"]
    assert [row["p"]["noise"] for row in rows] == [["-inf", "inf"]] * 2
    assert all(math.isfinite(end) for row in rows for end in row["n"]["noise"])
    page = (tmp_path / "r.html").read_text()
    assert page.count("too noisy to publish") >= 2
