"""Which sources conditions tie together."""

import numpy as np
import pytest

from rpac.sql.joins import (
    Place,
    components,
    equal_columns,
    home,
    merge,
    optional_pairs,
    place_of,
)
from tests.sql.people import database, scope_of

DB = database()


def names(pairs):
    return {frozenset(f"{place.alias}.{column.name}" for place, column in p) for p in pairs}


@pytest.mark.parametrize(
    ("condition", "tied"),
    [
        ("s.id = v.visitor", {"s.id v.visitor"}),
        ("(s.id = v.visitor) AND s.age = v.cost", {"s.id v.visitor", "s.age v.cost"}),
        ("s.id = v.visitor OR s.age = 3", set()),
        ("NOT s.id = v.visitor", set()),
        ("s.id <> v.visitor", set()),
        ("s.id = v.visitor + 0", set()),
        ("s.id = 3", set()),
    ],
)
def test_columns_are_equal_only_where_every_row_that_is_left_has_them_equal(condition, tied):
    expected = {frozenset(pair.split()) for pair in tied}
    for sql in ("FROM staff s, visit v WHERE {}", "FROM staff s JOIN visit v ON {}"):
        scope = scope_of(DB, f"SELECT 1 AS x {sql.format(condition)}")
        assert names(equal_columns(scope)) == expected
        assert optional_pairs(scope) == []


def test_an_outer_join_ties_its_own_source_only():
    scope = scope_of(
        DB,
        "SELECT 1 AS x FROM staff s CROSS JOIN visit v "
        "LEFT JOIN codes c ON c.code = v.code AND s.id = v.visitor",
    )
    assert equal_columns(scope) == []
    (pairs,) = optional_pairs(scope)
    assert names(pairs) == {frozenset({"c.code", "v.code"})}


def test_a_name_means_the_nearest_source_and_a_subquery_sees_those_around_it():
    scope = scope_of(
        DB,
        "SELECT 1 AS x FROM staff s WHERE EXISTS "
        "(SELECT 1 FROM visit v WHERE v.visitor = s.id AND EXISTS (SELECT 1 FROM codes s))",
    )
    (inner,) = scope.subquery_scopes
    (deep,) = inner.subquery_scopes
    assert home(inner, "s") is scope
    assert home(deep, "v") is inner
    assert home(deep, "s") is deep
    assert home(scope, "v") is None
    assert place_of(inner, "s") == place_of(scope, "s") != place_of(deep, "s")
    assert place_of(scope, "v").scope is scope  # of an unknown name, the place where it was said


def reachable(sets, start):
    """Return all that is tied to a member, by walking from it: the slow way."""
    found, grown = {start}, True
    while grown:
        grown = False
        for one in sets:
            if one & found and not one <= found:
                found |= one
                grown = True
    return found


@pytest.mark.parametrize("seed", range(20))
def test_merged_sets_are_those_that_a_walk_reaches(seed):
    rng = np.random.default_rng(seed)
    sets = [set(rng.integers(0, 12, rng.integers(1, 4)).tolist()) for _ in range(6)]
    merged = merge(sets)
    for part in merged:
        for member in part:
            assert reachable(sets, member) == part
    assert set().union(*merged) == set().union(*sets)


def test_components_keep_the_wanted_places_and_leave_the_others_out():
    scope = scope_of(DB, "SELECT 1 AS x FROM staff a, staff b, staff c, codes d")
    a, b, c, d = (Place(scope, 0, name) for name in "abcd")
    found = components([{a, d}, {d, b}], [a, b, c])
    assert {frozenset(part) for part in found} == {frozenset({a, b}), frozenset({c})}
    assert components([{a, d}], []) == []
