"""Shares of a distance: public, and their squares sum to at most its square."""

import numpy as np
import pytest

from rpac.person.contributions import Column, Linear, Quantile, Term
from rpac.person.split import LEAST_BETA, LEVELS, MIDDLES, STEEP, spent, split
from tests.person.trace import random_question

COUNT = Linear((), (Term("n", ()),))
MEAN = Linear((Column("x", 1.0, None),), (Term("s", (1,)), Term("n", (0,), share=0.03)))


@pytest.mark.parametrize("delta", [1e-6, 0.2513, 1.0, 7.0])
def test_squares_never_exceed_the_whole(delta):
    rng = np.random.default_rng(0)
    for question in [COUNT, MEAN, *(random_question(rng) for _ in range(200))]:
        shares = split(delta, question)
        assert delta**2 * (1 - 1e-8) < spent(shares, question) <= delta**2


def test_what_is_not_drawn_costs_nothing():
    assert split(1.0, COUNT).level == split(1.0, COUNT).middle == 0.0
    assert split(1.0, COUNT).values == pytest.approx(1.0)
    shares = split(1.0, MEAN)
    assert shares.level**2 == pytest.approx(LEVELS)
    assert shares.middle**2 == pytest.approx(MIDDLES)
    assert shares.values**2 == pytest.approx(1 - LEVELS - MIDDLES)


def test_several_levels_middles_and_quantiles_share_theirs():
    columns = Column("x", 1.0, None), Column("y", 1.0, None), Column("z")
    half = Quantile(2, 0.5, np.arange(4.0), share=3.0)
    question = Linear(columns, (Term("x", (1, 0, 0)), Term("y", (0, 1, 0))), quantiles=(half,))
    shares = split(2.0, question)
    assert 2 * shares.level**2 == pytest.approx(4 * LEVELS)
    assert 2 * shares.middle**2 == pytest.approx(4 * MIDDLES)
    assert shares.quantiles[0] ** 2 == pytest.approx(1.5 * shares.values**2)
    only = Linear((Column("z"),), (), quantiles=(half,))
    assert split(2.0, only).values == 0.0


def test_a_level_falls_slower_where_little_is_spent_but_menus_have_an_end():
    assert split(1.0, MEAN).beta == split(1.0, MEAN).level / STEEP
    assert split(1e-6, MEAN).beta == LEAST_BETA
