"""Answers from what was stored: the same numbers, the same ends."""

import numpy as np
import pandas as pd

import rpac
from rpac.answers.presence import shown

TABLE = pd.DataFrame({"g": ["a", "b"] * 30, "x": np.arange(60.0)})


def test_an_answer_is_made_of_what_was_stored_alone():
    source = rpac.Presence(TABLE, unit="rows")
    statistic = rpac.statistics.group_by("g", rpac.statistics.mean("x"), ["a", "b"])
    made = rpac.privatize(statistic, source, 1.0)
    drawn = {name: np.asarray(part).tolist() for name, part in vars(made.sealed.drawn).items()}
    kept = {"drawn": drawn, "certificate": vars(made.certificate)}
    again = shown(statistic.asked(rpac.Presence(TABLE.iloc[:0], unit="rows")), kept)
    assert again.value == made.value
    assert again.noise_interval == made.noise_interval
    assert again.sealed is None


def test_ends_are_wider_where_fewer_people_are():
    few = pd.DataFrame({"g": ["a"] * 5_000 + ["b"] * 100, "x": 1.0})
    source = rpac.Presence(few, unit="rows", caps={"x": (0, 2)})
    statistic = rpac.statistics.group_by("g", rpac.statistics.mean("x"), ["a", "b"])
    low, high = rpac.privatize(statistic, source, 1.0).noise_interval
    assert high["b"] - low["b"] > 10 * (high["a"] - low["a"]) > 0


def test_quantiles_have_no_ends_beside_sums_that_do():
    db = rpac.Database({"t": TABLE}, unit="rows", caps={"x": (0, 60)})
    made = rpac.privatize(db.query("SELECT median(x) AS m, sum(x) AS s FROM t"), db.presence, 1.0)
    low, high = made.noise_interval
    assert low["m"].isna().all()
    assert high["m"].isna().all()
    assert low["s"][0] < made.value["s"][0] < high["s"][0]
    (note,) = made.certificate.outputs["notes"]
    assert note.startswith("A quantile of x is a point of a public grid, 0.0147 apart, between its")
    assert f"note  {note}" in str(made)
