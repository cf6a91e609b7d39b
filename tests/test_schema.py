"""What is declared of columns: public, checked, and never inferred."""

import math

import pytest

import rpac
from rpac.schema import Column, Declared, by_column, declared, rows_cap


def test_sums_are_counted_from_zero_and_averages_from_a_middle():
    age = Declared(low=0, high=120)
    assert age.around_zero("age") == Column("age", 1.0, 0.0, 120)
    assert age.around_middle("age") == Column("age", 1.0, 60.0, 60.0)
    assert Declared(low=-10, high=5).around_zero("x").cap == 10
    assert Declared(low=0, high=120, middle=40).around_middle("age").cap == 80
    assert Declared().around_zero("x") == Column("x", 1.0, 0.0, None)
    assert Declared().around_middle("x").middle is None  # found privately
    assert Declared(middle=3, floor=0.5).around_middle("x") == Column("x", 0.5, 3, None)


def test_steps_follow_the_floor_or_a_finer_declaration():
    assert Column("x", 1.0).exponent == 0
    assert Column("x", 100.0).exponent == 6
    assert Column("x", 100.0, step=2.0**-14).exponent == 0
    assert Column("x", 1.0, step=1000.0).exponent == 0  # never coarser than the floor allows


def test_caps_and_middles_go_into_the_schema():
    found = declared({"age": (0, 120)}, {"age": 40, "pay": 1e4}, {"pay": {"floor": 100.0}})
    assert found == {
        "age": Declared(low=0, high=120, middle=40), "pay": Declared(floor=100.0, middle=1e4),
    }  # fmt: skip
    assert declared({}, {}, {"x": Declared(floor=2.0)}) == {"x": Declared(floor=2.0)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"floor": 0}, "a positive floor from 1e-30 to 1e\\+30; got 0"),
        ({"step": -1.0}, "a positive step from .*; got -1.0"),
        ({"floor": math.nan}, "floor"),
        ({"low": 1.0}, "both caps; got 1.0:None"),
        ({"low": 2.0, "high": 1.0}, "low below high, within .*; got 2:1"),
        ({"low": math.nan, "high": 1.0}, "caps"),
        ({"middle": "x"}, "middle"),
        ({"middle": -1e31}, "a middle within 1e.30; got -1e.31"),
    ],
)
def test_what_is_wrong_in_a_declaration_is_refused(given, message):
    with pytest.raises(rpac.InputError, match=message):
        Declared(**given)


def test_what_is_wrong_in_a_schema_is_refused():
    with pytest.raises(rpac.InputError, match=r"caps \(low, high\) of 'age'; got 3"):
        declared({"age": 3}, {}, {})
    with pytest.raises(rpac.InputError, match="fields floor, low, high"):
        declared({}, {}, {"age": {"flour": 1}})


def test_declarations_are_by_column():
    assert by_column(None, "caps") == {}
    assert by_column({"age": (0, 1)}, "caps") == {"age": (0, 1)}
    with pytest.raises(rpac.InputError, match=r"`caps` by column; got \[0, 100\]. Such as caps="):
        by_column([0, 100], "caps")
    with pytest.raises(rpac.InputError, match="`schema` by column; got 'age'"):
        declared({}, {}, "age")


def test_rows_of_one_person():
    assert rows_cap(None) is None
    assert rows_cap(5) == 5.0
    assert rows_cap((0, 7)) == 7.0
    with pytest.raises(rpac.InputError, match="at least one row a person in caps; got 0"):
        rows_cap(0)
