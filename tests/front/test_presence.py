"""Which way a mechanism is asked."""

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.front.presence import ask, ask_adding

TABLE = pd.DataFrame({"x": np.arange(60.0)})


def test_named_statistics_are_asked_by_contributions():
    for way in ("auto", "contributions"):
        source = rpac.Presence(TABLE, unit="rows", way=way)
        assert ask(rpac.statistics.mean("x"), source).way == "contributions"


def test_what_is_no_contribution_is_refused_where_these_were_asked_for():
    source = rpac.Presence(TABLE, unit="rows", way="contributions")
    for mechanism in (rpac.statistics.regression("x", "x"), np.mean):
        with pytest.raises(rpac.InputError, match="contributions of single people"):
            ask(mechanism, source)


def test_other_functions_are_asked_by_blocks():
    for way in ("auto", "blocks"):
        source = rpac.Presence(TABLE, unit="rows", way=way, middle=0.0)
        assert ask(np.mean, source).way == "blocks"
    source = rpac.Presence(TABLE, unit="rows", way="blocks")
    assert ask(rpac.statistics.mean("x"), source).way == "blocks"


def test_a_way_whose_distances_do_not_add_up_is_no_question_of_a_session():
    source = rpac.Presence(TABLE, unit="rows", way="leave-one-out", middle=0.0)
    assert (ask(np.mean, source).way, ask(np.mean, source).promise) == (
        "leave-one-out", "person, given the level")  # fmt: skip
    with pytest.raises(rpac.InputError, match="distances add up over questions; got 'leave-one"):
        ask_adding(np.mean, source)
    with (
        rpac.Session(source, rpac.SuccessRate(0.6)) as session,
        pytest.raises(rpac.InputError, match="distances add up over questions"),
    ):
        session.ask(np.mean, rpac.SuccessRate(0.55))
    other = rpac.Presence(TABLE, unit="rows", middle=0.0)
    assert ask_adding(np.mean, other).way == "blocks"
