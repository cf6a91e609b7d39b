"""Everybody's own figure: against leaving each one out, and within the claim."""

import numpy as np
import pytest

import rpac
from rpac.attack.duel import somebody
from rpac.attack.everybody import exposure, places_without
from rpac.person.level import PER_BETA, menu, place
from tests.attack.presences import CASES, VISITS, released

ANOTHER = ["blocks", "instead", "instead of a group"]
"""Cases in which something else is in a person's place."""


@pytest.mark.parametrize("seed", range(40))
def test_places_without_each_one_are_those_of_the_shorter_lists(seed):
    rng = np.random.default_rng(seed)
    entries = menu(2.0**14, 0.05)
    n = int(rng.integers(0, 60))
    sizes = rng.choice([0, 2**13, 2**15, 2**20, 2**52, 2**60], n)
    sizes = np.where(rng.random(n) < 0.5, sizes, (2 ** rng.uniform(10, 54, n)).astype(int))
    at, without = places_without(sizes, entries)
    assert at == place(sizes, entries)
    assert without.tolist() == [place(np.delete(sizes, u), entries) for u in range(n)]
    assert ((at - PER_BETA <= without) & (without <= at)).all()


def by_hand(studied, unit):
    """Return the distance of one unit by drawing nothing and leaving them out."""
    question, shares, drawn = studied.question, studied.shares, studied.drawn
    duel = somebody(studied, unit)
    places = duel._read_places([drawn])
    total = np.square(duel._shift(drawn.middles, places[0])).sum()
    for i in range(len(question.levels)):
        without, with_ = duel._centres(i, drawn.middles[None])[0]
        total += ((with_ - without) * shares.level / PER_BETA) ** 2
    for ballot in duel._middles.values():
        moved = np.abs(ballot.totals[1] - ballot.totals[0])
        assert set(moved) <= {0.0, 0.5}
        total += (moved > 0).all() * shares.middle**2
    for (g, i), ballot in duel._quantiles.items():
        low, high = 0, len(question.quantiles[i].grid) - 1
        end = int(np.searchsorted(question.quantiles[i].grid, drawn.quantiles[g, i]))
        while low < high:
            at = (low + high) // 2
            total += ((ballot.totals[1, at] - ballot.totals[0, at]) / ballot.sigma) ** 2
            low, high = (at + 1, high) if end > at else (low, at)
    return np.sqrt(total)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ANOTHER])
def test_everybodys_distance_is_that_of_leaving_them_out(name):
    studied = released(name).sealed
    found = exposure(studied)
    wanted = [by_hand(studied, unit) for unit in found.ids]
    assert found.distances == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    assert wanted[found.ids.tolist().index(found.worst)] == pytest.approx(max(wanted), rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_nobody_is_above_the_claim(name):
    release = released(name)
    found = exposure(release.sealed)
    assert found.distances.max() <= release.certificate.distance
    assert found.successes.max() <= found.claimed <= release.certificate.worst_unit_success + 1e-12
    assert found.successes.min() >= 0.5
    bars = found.histogram
    assert sum(bar["people"] for bar in bars) == found.units
    assert bars[0]["low"] == 0.5
    assert bars[-1]["high"] == found.claimed


@pytest.mark.parametrize("name", ANOTHER)
def test_another_entry_is_at_least_as_far_as_the_opposite_one(name):
    studied = released(name).sealed
    found = exposure(studied)
    places = somebody(studied, int(found.ids[0]))._read_places([studied.drawn])[0]
    for unit, distance in zip(found.ids[:20], found.distances[:20], strict=True):
        shift = somebody(studied, int(unit))._shift(studied.drawn.middles, places)
        assert np.sqrt(np.square(shift).sum()) <= distance


def test_the_clipped_are_those_who_lose_more_than_rounding():
    one_row = rpac.privatize(
        rpac.statistics.count(), rpac.Presence(VISITS, unit="rows"), rpac.SuccessRate(0.6)
    )
    assert exposure(one_row.sealed).clipped == 0
    caps = {"pay": (0, 50)}
    tight = rpac.privatize(
        rpac.statistics.sum("pay"), rpac.Presence(VISITS, unit="rows", caps=caps),
        rpac.SuccessRate(0.6),
    )  # fmt: skip
    assert exposure(tight.sealed).clipped == (VISITS["pay"] > 50.06).sum() > 5


def test_nobody_at_all():
    found = exposure(released("mean", frame=VISITS.head(0)).sealed)
    assert (found.units, found.worst, found.clipped) == (0, None, 0)
    assert sum(bar["people"] for bar in found.histogram) == 0
