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
