"""What a unit adds is a function of its own rows, on integers, in every order."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rpac.person import contributions
from rpac.person.contributions import (
    FINE,
    LARGEST,
    Column,
    Linear,
    Rows,
    Term,
    add_up,
    added,
    inside,
    reach,
    sums,
)
from tests.person.trace import random_case

ONE = 1 << FINE


def rows_of(*listed):
    """Return rows from (unit, group, *values)."""
    units, groups = (np.array([row[i] for row in listed], np.int64) for i in (0, 1))
    return Rows(units, groups, np.array([row[2:] for row in listed], float))


def lines(found):
    """Return what is added, by unit and group."""
    keys = zip(found.units.tolist(), found.groups.tolist(), strict=True)
    return dict(zip(keys, found.steps.tolist(), strict=True))


def test_units_add_their_own_rows():
    question = Linear(
        (Column("x", 1.0, 0.0), Column("y", 4.0, 0.0)),
        (Term("x", (1, 0)), Term("y", (0, 1)), Term("n", (0, 0)), Term("u", (0, 0), once=True),
         Term("xy", (1, 1)), Term("with y", (0, 0), (1,)), Term("cube", (3, 0))),
        groups=2,
    )  # fmt: skip
    nan = math.nan
    rows = rows_of((0, 0, 1.5, 8), (0, 0, 2, nan), (0, 1, -1, 4), (7, 1, nan, 4))
    found = lines(added(question, rows, np.zeros(2)))
    assert found == {
        (0, 0): [3.5 * ONE, 2 * ONE, 2 * ONE, ONE, 3 * ONE, ONE, (3.375 + 8) * ONE],
        (0, 1): [-ONE, ONE, ONE, ONE, -ONE, ONE, -ONE],
        (7, 1): [0, ONE, ONE, ONE, 0, ONE, 0],
    }
    assert question.step(question.terms[1]) == 4 / ONE


def test_entries_are_counted_from_the_middle():
    question = Linear((Column("x"),), (Term("x", (1,)), Term("squares", (2,))))
    found = added(question, rows_of((0, 0, 42.0), (0, 0, 39.0)), np.array([40.0]))
    assert found.steps.tolist() == [[ONE, 5 * ONE]]


@pytest.mark.parametrize("entry", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_adds_nothing(entry):
    terms = Term("x", (1,)), Term("squares", (2,)), Term("n", (0,), (0,))
    found = added(Linear((Column("x"),), terms), rows_of((0, 0, entry)), np.zeros(1))
    assert found.steps.tolist() == [[0, 0, 0]]


def test_large_entries_and_their_products_are_cut_off():
    terms = Term("x", (1,)), Term("squares", (2,))
    rows = rows_of((0, 0, 1e300), (1, 0, 1e13), (2, 0, -1e13))
    found = added(Linear((Column("x"),), terms), rows, np.zeros(1)).steps
    most = int(LARGEST)
    assert found.tolist() == [[most, most], [10**13 << FINE, most], [-(10**13) << FINE, most]]
    many = rows_of(*[(0, 0, -1e300)] * 9, (1, 0, 1.0))
    found = added(Linear((Column("x"),), terms[:1]), many, np.zeros(1))
    assert found.steps.tolist() == [[-most], [ONE]]


def test_sums_are_exact():
    rng = np.random.default_rng(0)
    steps = rng.integers(-(1 << 60), 1 << 60, 500)
    steps[:9] = [-1, 1, 1 << 60, -(1 << 60), 0, (1 << 30) - 1, -(1 << 30), 1 << 30, -2]
    place = rng.integers(0, 4, 500)
    wanted = [
        sum(s for s, p in zip(steps.tolist(), place, strict=True) if p == i) for i in range(6)
    ]
    assert sums(place, steps, 6) == wanted
    most = 1 << 60
    assert add_up(place, steps, 6).tolist() == [min(max(w, -most), most) for w in wanted]
    ends = np.array([most, -1, -most, 1, -most, -1])
    assert add_up(np.array([0, 0, 1, 1, 2, 2]), ends, 3).tolist() == [most - 1, 1 - most, -most]


def test_others_change_nothing_that_a_unit_adds():
    """Neither their presence, nor their entries, nor the order of rows: to the last bit."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        question, rows, _, _ = random_case(rng)
        rows, middles = inside(question, rows), np.zeros(len(question.columns))
        all_of_it = lines(added(question, rows, middles))
        order = rng.permutation(len(rows.units))
        turned = Rows(rows.units[order], rows.groups[order], rows.values[order])
        assert lines(added(question, turned, middles)) == all_of_it
        for unit in set(rows.units.tolist()):
            own = rows.units == unit
            alone = Rows(rows.units[own], rows.groups[own], rows.values[own])
            found = lines(added(question, alone, middles))
            assert found == {key: line for key, line in all_of_it.items() if key[0] == unit}


def test_float_summation_would_be_noticed(monkeypatch):
    def wrong(place, steps, size):
        return np.bincount(place, steps.astype(float), size).astype(np.int64)

    monkeypatch.setattr(contributions, "add_up", wrong)
    question = Linear((Column("x"),), (Term("x", (1,)),))
    large = 2.0**45
    rows = rows_of((0, 0, large), (0, 0, 1 / ONE), (0, 0, -large))
    turned = Rows(rows.units, rows.groups, rows.values[[0, 2, 1]])
    one, two = (added(question, r, np.zeros(1)).steps.tolist() for r in (rows, turned))
    assert one != two


def test_powers_are_products_wherever_a_row_stands():
    """A vectorised power may round by where in its register an entry stands."""
    values = np.random.default_rng(2).normal(size=41) * 1e4
    question = Linear((Column("x"),), (Term("cube", (3,)),))
    many = added(
        question, Rows(np.arange(41), np.zeros(41, np.int64), values[:, None]), np.zeros(1)
    )
    for unit, x in enumerate(values.tolist()):
        wanted = round(Fraction(x * x * x) * ONE)
        assert many.steps[unit, 0] == wanted


def test_reach_is_the_most_that_a_unit_adds_to_one_group():
    question = Linear((Column("x"),), (Term("x", (1,)), Term("n", (0,))), groups=3, rows=None)
    rows = rows_of((0, 0, 5), (0, 0, -9), (0, 2, 3), (4, 1, 2), (4, 1, math.nan))
    assert reach(question, 0, rows, np.zeros(1)).tolist() == [4 * ONE, 2 * ONE]
    assert reach(question, None, rows, np.zeros(1)).tolist() == [2 * ONE, 2 * ONE]
    assert reach(question, 0, Rows(*(x[:0] for x in vars(rows).values())), np.zeros(1)).size == 0


def test_rows_of_nobody_and_of_no_group_are_nobodys():
    """Counted by unit times groups, they would be taken for those of a neighbour."""
    question = Linear((Column("x"),), (Term("x", (1,)),), groups=2)
    rows = rows_of((-1, 0, 1), (1, -1, 2), (1, 2, 3), (1, 1, 4))
    assert lines(added(question, inside(question, rows), np.zeros(1))) == {(1, 1): [4 * ONE]}


def test_levels_are_drawn_where_nothing_is_declared():
    columns = Column("x"), Column("y", cap=3.0), Column("unused")
    terms = Term("x", (1, 0, 0)), Term("y", (0, 1, 0)), Term("n", (0, 0, 0))
    assert Linear(columns, terms).levels == (0,)
    assert Linear(columns, terms, rows=None).levels == (None, 0)
    once = Term("u", (0, 0, 0), once=True)
    assert Linear(columns, (once,), rows=None).levels == ()
    assert Linear((Column("x", middle=None),), ()).sought == (0,)


def test_steps_are_fine_beside_caps_too():
    """A cap below the floor must not be rounded away."""
    assert Column("x", 1.0, cap=2.0**-20).exponent == -20
    assert Column("x", 1.0, cap=100.0).exponent == 0
