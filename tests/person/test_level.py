"""The level moves by at most B when anybody joins, leaves or changes; menus and grids are public."""  # noqa: E501

import math

import numpy as np
import pytest

from rpac.person import level
from rpac.person.contributions import FINE
from rpac.person.level import (
    LARGEST,
    PER_BETA,
    draw_level,
    floor_steps,
    grid_of_middles,
    menu,
    place,
)
from tests.person.trace import Trace

FLOOR = 2**FINE


def by_definition(reach, entries):
    """Return min over j of l_(j) + B (j - 1), written out."""
    last = len(entries) - 1
    found = sorted(min([k for k in range(last) if x <= entries[k]], default=last) for x in reach)
    found = [*found[::-1], 0]
    return min(l + PER_BETA * j for j, l in enumerate(found))  # noqa: E741


def test_the_place_is_what_the_definition_says():
    rng = np.random.default_rng(0)
    entries = menu(FLOOR, 3.0)
    for _ in range(300):
        reach = random_reach(rng, entries, int(rng.integers(0, 40)))
        assert place(reach, entries) == by_definition(reach, entries)


def random_reach(rng, entries, size):
    """Return what units add: zeros, floors, ties, entries of the menu, beyond its end."""
    kinds = [
        np.zeros(size, np.int64),
        np.full(size, FLOOR),
        entries[rng.integers(0, len(entries), size)],
        entries[rng.integers(0, len(entries), size)] + 1,
        np.full(size, 1 << 60),
        np.exp(rng.uniform(0, 41, size)).astype(np.int64),
        np.full(size, int(rng.integers(0, 1 << 40))),
    ]
    return np.choose(rng.integers(0, rng.integers(1, len(kinds) + 1), size), kinds)


def test_nobody_moves_the_level_by_more_than_b():
    """The Lipschitz inequality on 30,000 random tables, each with somebody gone and replaced."""
    rng = np.random.default_rng(1)
    menus = [menu(FLOOR, 0.02), menu(1.7 * FLOOR, 0.3), menu(FLOOR, 2.0), menu(FLOOR, 20.0)]
    moved, changed = 0, 0
    for i in range(30_000):
        entries = menus[i % 4]
        reach = random_reach(rng, entries, 1 + i % 33)
        whole, without = place(reach, entries), place(reach[1:], entries)
        assert 0 <= whole - without <= PER_BETA
        reach[0] = entries[-1] if i % 2 else reach[-1] >> 1
        assert abs(place(reach, entries) - whole) <= PER_BETA
        assert 0 <= whole <= len(entries) - 1
        moved, changed = max(moved, whole - without), max(changed, place(reach, entries) - whole)
    assert moved == changed == PER_BETA  # the inequality is reached


@pytest.mark.parametrize("fault", ["largest", "second", "float logarithm"])
def test_levels_that_move_further_would_be_seen(fault):
    """The largest entry, an order statistic, and logarithms of entries do not pass the same test."""  # noqa: E501
    entries = menu(FLOOR, 0.3)

    def wrong(reach):
        l = np.sort(np.searchsorted(entries, reach))[::-1]  # noqa: E741
        if fault == "float logarithm":
            unit = 0.3 / PER_BETA
            ordered = np.log(np.maximum(np.sort(reach)[::-1] / FLOOR, 1.0)) / unit
            return min([*(ordered + PER_BETA * np.arange(len(l))), PER_BETA * len(l)])
        return int(l[0]) if fault == "largest" else int(l[min(1, len(l) - 1)])

    rng, seen = np.random.default_rng(2), False
    for _ in range(2_000):
        reach = random_reach(rng, entries, 20)
        off = wrong(reach) - wrong(reach[1:])
        seen |= not 0 <= off <= PER_BETA or off != int(off)
    assert seen  # beyond B, or between integers where noise on integers does not cover it


def test_a_menu_rises_from_the_floor_to_the_last_entry():
    for floor, beta in [(FLOOR, 0.01), (1.99 * FLOOR, 1.0), (2.0**40, 0.1), (FLOOR, 1e-3)]:
        entries = menu(floor, beta)
        assert entries[0] == math.ceil(floor)
        assert entries[-1] >= LARGEST
        assert (np.diff(entries) > 0).all()
        ratio = entries[1:] / entries[:-1]
        assert ratio.max() <= math.exp(beta / PER_BETA) + 1 / FLOOR


@pytest.mark.parametrize(("noise", "wanted"), [(-(10**9), 0), (10**9, -1), (5, 5)])
def test_the_noisy_place_is_held_to_the_menu(monkeypatch, noise, wanted):
    entries = menu(FLOOR, 0.3)
    monkeypatch.setattr(level, "rounded_gaussian", lambda sigma: noise)
    found = draw_level(0, len(entries), 0.1)
    assert found == (wanted if wanted >= 0 else len(entries) - 1)


def test_noise_is_b_over_the_distance(monkeypatch):
    trace = Trace()
    monkeypatch.setattr(level, "rounded_gaussian", trace)
    draw_level(100, len(menu(FLOOR, 0.3)), 0.1)
    ((numerator, denominator),) = trace.sigmas
    assert PER_BETA / 0.1 <= numerator / denominator < PER_BETA / 0.1 + 1e-4


def test_levels_are_drawn_afresh():
    entries = menu(FLOOR, 0.01)
    assert len({draw_level(900, len(entries), 0.1) for _ in range(20)}) > 2


def test_a_floor_is_at_least_as_many_steps_as_are_fine():
    assert floor_steps(1.0, 0) == FLOOR
    assert floor_steps(100.0, 6) == 100 / 64 * FLOOR


def test_candidates_for_middles_are_the_same_on_both_sides():
    grid = grid_of_middles(3, 8)
    assert (np.diff(grid) > 0).all()
    assert (grid == -grid[::-1]).all()
    assert 0.0 in grid
    assert 8.0 in grid
    assert 2 ** (3 - 4) in grid
