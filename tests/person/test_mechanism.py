"""One release: nothing leaves but through the noise, and the noise covers everybody.

`tests/person/trace.py` says how: along the same released integers two neighbours give the same
answer to the last bit, and the distances of all parts sum to no more than the claim.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from rpac.advantage import success_to_distance
from rpac.person import contributions, level, mechanism
from rpac.person.contributions import Column, Linear, Quantile, Rows, Term
from rpac.person.split import spent, split
from tests.conftest import SHARED
from tests.person.trace import (
    Seen,
    Trace,
    alone,
    discrete_masses,
    distance,
    gaussian_delta,
    hockey_stick,
    hold,
    random_case,
    rounded_masses,
    same,
    traced,
)


def table(values, groups=None, units=None):
    values = np.asarray(values, float)
    n = len(values)
    units = np.arange(n) if units is None else np.asarray(units)
    return Rows(units, np.zeros(n, np.int64) if groups is None else np.asarray(groups),
                values.reshape(n, -1))  # fmt: skip


# --- neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_neighbours_are_within_the_claim(monkeypatch, seed):
    """1,000 random questions, tables and neighbours, along random paths of what is released."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        hold(monkeypatch, random_case(rng), rng, paths=4)


def test_the_claim_is_reached(monkeypatch):
    """The check has something to find: a unit beyond the cap is at the distance, almost."""
    case = alone(table([1e9, 3, 4]))
    assert distance(monkeypatch, case, np.random.default_rng(0)) > 0.999 * case[3].delta ** 2


@pytest.mark.parametrize("cap", [None, 5.0])
def test_every_level_that_can_be_drawn_is_within_the_claim(monkeypatch, cap):
    """All of a menu, not only what is likely: units in several groups and numbers."""
    columns = (Column("x", 1.0, 0.0, cap), Column("y", 1.0, 0.0))
    terms = (Term("x", (1, 0)), Term("y", (0, 1)), Term("y y", (0, 2)), Term("n", (0, 0)),
             Term("u", (0, 0), once=True, share=0.1))  # fmt: skip
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(1, 2, (9, 2)))
    rows = table(values, rng.integers(0, 3, 9), [0, 0, 0, 0, 1, 1, 2, 3, 4])
    question, *pair, shares = alone(rows, 3.0, columns=columns, terms=terms, groups=3, rows=None)
    entries = level.menu(2.0**14, shares.beta)
    levels = len(question.levels)
    for k in range(0, len(entries), 3):
        forced = [k] * levels
        trace = [Trace(forced=list(forced)), None]
        one = traced(monkeypatch, trace[0], question, pair[0], shares)
        trace[1] = Trace(forced=trace[0].forced)
        assert same(one, traced(monkeypatch, trace[1], question, pair[1], shares))
        steps = [
            (int(a) - int(b)) * s[1] / s[0]
            for a, b, s in zip(trace[0].sums, trace[1].sums, trace[0].sigmas, strict=True)
        ]
        assert all(abs(step) <= shares.level for step in steps[:levels])
        assert math.fsum(step**2 for step in steps[levels:]) <= shares.values**2


def test_whoever_is_at_the_bound_counts_in_full(monkeypatch):
    """The clip must not take a step from everybody: 50,000 people are 50,000."""
    question = Linear((Column("x", 1.0, 0.0, 1.0),), (Term("n", (0,)), Term("x", (1,))))
    trace = Trace()
    traced(monkeypatch, trace, question, table(np.ones(50_000)), split(0.25, question))
    assert trace.sums == [50_000 << 14, 50_000 << 14]


def test_order_of_rows_and_names_of_units_do_not_matter(monkeypatch):
    rng = np.random.default_rng(4)
    for _ in range(100):
        question, rows, _, shares = random_case(rng)
        order = rng.permutation(len(rows.units))
        names = rng.permutation(100)[rows.units]
        turned = Rows(names[order], rows.groups[order], rows.values[order])
        trace, again = Trace(rng=rng), Trace()
        one = traced(monkeypatch, trace, question, rows, shares)
        again.forced = trace.forced
        assert same(one, traced(monkeypatch, again, question, turned, shares))
        assert [int(s) for s in trace.sums] == [int(s) for s in again.sums]


@pytest.mark.parametrize("kind", ["nobody", "one", "alike", "owner of all", "below the floor"])
def test_every_table_has_an_answer(kind):
    columns = (Column("x", 1.0, None), Column("y", 1.0, 0.0))
    question = Linear(
        columns, (Term("x", (1, 0)), Term("y", (0, 1)), Term("n", (0, 0))), 2,
        (Quantile(1, 0.5, np.arange(4.0)),), None,
    )  # fmt: skip
    size = {"nobody": 0, "one": 1}.get(kind, 7)
    values = np.full((size, 2), 1e-9 if kind == "below the floor" else 4.0)
    units = np.zeros(size, np.int64) if kind == "owner of all" else np.arange(size)
    rows = Rows(units, np.arange(size) % 2, values)
    drawn = mechanism.draw(question, rows, split(0.25, question))
    assert drawn.sums.shape == (2, 3)
    assert drawn.quantiles.shape == (2, 1)
    assert np.isfinite(drawn.sums).all()
    assert len(drawn.levels) == 3


def test_nothing_is_too_large_for_the_noise():
    """Caps and powers are declared freely; sums of a unit are cut off, and so are scales."""
    columns = (Column("x", 1.0, 0.0, 1e30),)
    question = Linear(columns, (Term("x", (1,)), Term("fourth", (4,)), Term("n", (0,))), rows=1e300)
    drawn = mechanism.draw(question, table([1e300, -1e200, 3.0]), split(1e-3, question))
    assert np.isfinite(drawn.sums).all()
    steps = [question.step(term) for term in question.terms]
    assert (drawn.scales / steps < 2.0**100).all()  # the sampler is exact up to 2^150


# --- exact curves ---------------------------------------------------------------------------------


def coarse(monkeypatch, fine):
    """Make steps so large that all of a law can be written down."""
    for module in (contributions, level, mechanism):
        monkeypatch.setattr(module, "FINE", fine)
    monkeypatch.setattr(level, "LARGEST", 2.0 ** (fine + 3))


def curves(monkeypatch, case, epsilons, masses=rounded_masses):
    """Return the exact curve of level and values together: for both orders of the neighbours."""
    question, rows, other, shares = case
    total = np.zeros((2, len(epsilons)))
    entries = level.menu(level.floor_steps(1.0, 0), shares.beta)
    for k in range(len(entries)):
        traces = Trace(forced=[k]), Trace(forced=[k])
        for trace, given in zip(traces, (rows, other), strict=True):
            traced(monkeypatch, trace, question, given, shares)
        one, two = (_joint(t, k, len(entries), traces, masses) for t in traces)
        total[0] += hockey_stick(one, two, epsilons)
        total[1] += hockey_stick(two, one, epsilons)
    return total


def _joint(trace, k, size, traces, masses):
    """Return the masses of one level with all values on a grid around both tables."""
    sigma = trace.sigmas[0][0] / trace.sigmas[0][1]
    low = -np.inf if k == 0 else (k - 0.5 - trace.sums[0]) / sigma
    high = np.inf if k == size - 1 else (k + 0.5 - trace.sums[0]) / sigma
    joint = np.array([norm.cdf(high) - norm.cdf(low)])
    for i in range(1, len(trace.sums)):
        sigma = trace.sigmas[i][0] / trace.sigmas[i][1]
        at = [int(t.sums[i]) for t in traces]
        grid = np.arange(min(at) - int(9 * sigma) - 2, max(at) + int(9 * sigma) + 3)
        joint = np.outer(joint, masses(trace.sums[i], sigma, grid)).ravel()
    return joint


EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", range(12))
def test_the_curve_of_level_and_values_is_below_the_gaussian_one(monkeypatch, seed):
    """Exactly on the grid: all levels, one or two numbers, by the real release's own parts."""
    coarse(monkeypatch, 2)
    rng = np.random.default_rng(seed)
    terms = (Term("x", (1,)), Term("n", (0,)))[: 1 + seed % 2]
    values = np.round(np.exp(rng.normal(0.5, 1.0, rng.integers(1, 6))), 1)
    case = alone(table(values), 2.0 + seed % 3, columns=(Column("x", 1.0, 0.0),), terms=terms)
    found = curves(monkeypatch, case, EPSILONS)
    claim = gaussian_delta(EPSILONS, spent(case[3], case[0]) ** 0.5)
    assert (found <= claim + 1e-12).all()
    assert found.max() > 0.01  # there is something to see


def test_a_discrete_gaussian_is_above_the_curve(monkeypatch):
    coarse(monkeypatch, 0)
    count = (Term("n", (0,)),)
    question, rows, other, shares = alone(table([1.0, 1.0]), 1.0, terms=count, rows=1.0)
    traces = Trace(forced=[2]), Trace(forced=[2])
    for trace, given in zip(traces, (rows, other), strict=True):
        traced(monkeypatch, trace, question, given, shares)
    sigma = traces[0].sigmas[0][0] / traces[0].sigmas[0][1]
    assert traces[0].sums[0] - traces[1].sums[0] == 1
    assert sigma == pytest.approx(1.0, abs=1e-3)
    grid = np.arange(-30, 31)
    claim = gaussian_delta(EPSILONS, 1.0)
    for masses, above in ((rounded_masses, False), (discrete_masses, True)):
        p, q = (masses(t.sums[0], sigma, grid) for t in traces)
        assert (hockey_stick(p, q, EPSILONS) > claim + 1e-4).any() == above


# --- planted faults -------------------------------------------------------------------------------


def clip_each(question, found, scales, c):
    """Clip each number by itself, at what its scale allows."""
    steps = np.array([question.step(term) for term in question.terms])
    most = np.floor(scales * c / question.moves / steps)
    return np.clip(found.steps, -most, most).astype(np.int64)


def scales_each(question, levels, c):
    """Scales bound / c for each number by itself."""
    bounds = [mechanism.bound_of(question, term, levels) for term in question.terms]
    return np.array(bounds) / (c / question.moves)


def level_without_noise(exact, size, c_m):
    return min(exact, size - 1)


def level_by_logarithms(question, j, units, middles, shares):
    """The level on a real scale: integers are covered by noise, what lies between them is not."""
    unit = shares.beta / level.PER_BETA
    found = mechanism.reach(question, j, units.held(), middles)
    sizes = np.sort(np.maximum(found / 2.0**14, 1.0))[::-1]
    found = min([*(np.log(sizes) + shares.beta * np.arange(len(sizes))), shares.beta * len(sizes)])
    whole, sigma = math.floor(found / unit), (math.ceil(level.PER_BETA / shares.level), 1)
    noisy = whole + mechanism.rounded_gaussian(sigma)
    return math.exp((noisy + found / unit - whole) * unit)


def half_forgotten(name):
    """Do as if presence were the secret where it is an entry: c in place of c / 2."""
    right = getattr(mechanism, name)
    return lambda question, *rest: right(replace(question, moves=1), *rest)


def level_of_the_data(question, j, units, middles, shares):
    """Scales from what was achieved: the largest contribution itself."""
    return float(mechanism.reach(question, j, units.held(), middles).max(initial=1)) / 2.0**14


TWO_COLUMNS = {
    "columns": (Column("x", 1.0, 0.0, 10.0), Column("y", 1.0, 0.0, 10.0)),
    "terms": (Term("x", (1, 0)), Term("y", (0, 1))),
}
SPREAD = table([[9e9, 9e9]] * 3 + [[1, 1]], [0, 1, 2, 0], [0, 0, 0, 1])
OPEN = {"columns": (Column("x", 1.0, 0.0),), "terms": (Term("x", (1,)),)}


def replaced_case():
    """Return the case of a unit whose entry turns from one end to the other."""
    question, _, _, _ = alone(table([1.0]), moves=2)
    return question, table([9e9, 1]), table([-9e9, 1]), split(0.25, question)


FAULTS = {
    "scales cap / c for each number": (
        {"scales_of": scales_each, "clipped": clip_each}, lambda: alone(SPREAD, **TWO_COLUMNS)),
    "no joint clip over numbers": (
        {"clipped": clip_each}, lambda: alone(SPREAD, groups=3, touches=1, **TWO_COLUMNS)),
    "level without noise": ({"draw_level": level_without_noise}, lambda: alone(
        table(np.exp(np.arange(9.0))[::-1]), **OPEN)),
    "level by float logarithms": ({"_level": level_by_logarithms}, lambda: alone(
        table([3.0, *np.full(60, 2.9)]), 3.0, **OPEN)),
    "achieved figures published": ({"_level": level_of_the_data}, lambda: alone(
        table([5.0, 3.0]), **OPEN)),
    "c in place of c / 2": (
        {"scales_of": half_forgotten("scales_of"), "clipped": half_forgotten("clipped")},
        replaced_case),
    "clip of each group": ({"clipped": clip_each}, lambda: alone(
        table([9e9] * 3 + [1], [0, 1, 2, 0], [0, 0, 0, 1]), groups=3)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_seen(monkeypatch, fault):
    wrong, make = FAULTS[fault]
    rng = np.random.default_rng(5)
    hold(monkeypatch, make(), rng, paths=5)  # as it is, the same case is within the claim
    for name, part in wrong.items():
        monkeypatch.setattr(mechanism, name, part)
    with pytest.raises(Seen):
        hold(monkeypatch, make(), rng, paths=5)


def test_float_sums_are_seen(monkeypatch):
    """Somebody who adds 1 is drowned by float sums of others, or not: by the order of rows."""
    rows = table([2.0**44, -(2.0**44), 2.0**-14, 1.0], units=[1, 1, 1, 0])
    case = alone(rows, **OPEN)
    turned = Rows(*(part[[0, 2, 1, 3]] for part in vars(rows).values()))

    def told():
        sums = []
        for given in (rows, turned):
            trace = Trace()
            traced(monkeypatch, trace, case[0], given, case[3])
            sums.append([int(s) for s in trace.sums])
        return sums[0] != sums[1]

    assert not told()
    wrong = lambda place, steps, size: np.bincount(place, steps * 1.0, size).astype(int)  # noqa: E731
    monkeypatch.setattr(contributions, "add_up", wrong)
    assert told()


def test_a_vote_that_changes_its_group_is_covered(monkeypatch):
    """From group to group an extreme vote moves by sqrt(2) of its weight, not by 1."""
    grid = np.arange(8.0)
    question = Linear((Column("x"),), (), 2, (Quantile(0, 0.1, grid),), moves=2)
    case = question, table([0.0], [0]), table([0.0], [1]), split(0.25, question)
    rng = np.random.default_rng(6)
    hold(monkeypatch, case, rng)
    wrong = lambda level, size, moves, c: math.sqrt(mechanism._rounds(size)) / c  # noqa: E731
    monkeypatch.setattr(mechanism, "_deviation", wrong)
    with pytest.raises(Seen):
        hold(monkeypatch, case, rng)


# --- many questions -------------------------------------------------------------------------------

GAMES, QUESTIONS, EACH = 2_000, 200, 0.06


def game(monkeypatch, rng, filters, values):
    """Return how often the best test on 200 adaptive answers knows whether unit 0 is there.

    The released integers' means and deviations are those of real releases (`Trace`); the analyst
    picks the next filter by what all answers so far say of unit 0.
    """
    means, deviations = [], []
    for kept in filters:
        case = alone(table(np.where(kept, values, np.nan)), EACH)
        pair = []
        for given in case[1:3]:
            trace = Trace()
            traced(monkeypatch, trace, case[0], given, case[3])
            pair.append(int(trace.sums[0]))
        means.append(pair[::-1])
        deviations.append(trace.sigmas[0][0] / trace.sigmas[0][1])
    means, deviations = np.array(means, float), np.array(deviations)
    there = rng.integers(0, 2, GAMES)
    ratio, last = np.zeros(GAMES), np.zeros(GAMES)
    for t in range(QUESTIONS):
        close = (np.abs(ratio) < 1).astype(int)
        pick = (close * 3 + (last > 0) * 5 + t) % len(filters)
        pick = np.where(rng.random(GAMES) < 0.9, 0, pick)  # mostly the person alone
        answer = means[pick, there] + np.rint(deviations[pick] * rng.normal(size=GAMES))
        with_, without = ((answer - means[pick, i]) / deviations[pick] for i in (1, 0))
        ratio += (without**2 - with_**2) / 2
        last = without
    return np.mean((ratio > 0) == there)


def test_two_hundred_adaptive_questions_stay_within_the_composed_curve(monkeypatch):
    rng = np.random.default_rng(7)
    values = np.concatenate([[1e6], rng.normal(0, 5, 30)])
    filters = rng.random((16, 31)) < 0.5
    filters[:, 0], filters[0] = True, np.arange(31) == 0
    claim = norm.cdf(EACH * QUESTIONS**0.5 / 2)
    found = game(monkeypatch, rng, filters, values)
    error = 0.5 / GAMES**0.5
    assert claim - 4 * error < found < claim + 4.9 * error  # used to the full, and not beyond
    monkeypatch.setattr(mechanism, "clipped", lambda question, found, scales, c: found.steps)
    assert game(monkeypatch, rng, filters, values) > claim + 10 * error


# --- what is drawn --------------------------------------------------------------------------------


def test_scales_are_the_least_for_bounds_that_fill_the_clip():
    terms = Term("x", (1,), share=3.0), Term("n", (0,), share=1.0)
    question = Linear((Column("x", 1.0, 0.0, 5.0),), terms, touches=2)
    scales = mechanism.scales_of(question, {}, 0.2)
    assert 2 * (np.array([5.0, 1.0]) / scales) ** 2 @ [1, 1] == pytest.approx(0.04)
    assert (5 / scales[0]) ** 2 == pytest.approx(3 * (1 / scales[1]) ** 2)
    halved = mechanism.scales_of(replace(question, moves=2), {}, 0.2)
    assert halved == pytest.approx(2 * scales)


@pytest.mark.parametrize(
    ("term", "rows", "wanted"),
    [
        (Term("n", (0, 0)), 3.0, 3.0), (Term("n", (0, 0)), None, 7.0),
        (Term("u", (0, 0), once=True), None, 1.0), (Term("x", (1, 0)), None, 5.0),
        (Term("xyy", (1, 2)), None, 5.0 * 16), (Term("yy", (0, 2)), 1.0, 16.0),
    ],
)  # fmt: skip
def test_bounds_come_from_levels_and_declarations(term, rows, wanted):
    question = Linear((Column("x", cap=5.0), Column("y")), (term,), rows=rows)
    assert mechanism.bound_of(question, term, {None: 7.0, 1: 4.0}) == wanted


def test_answers_are_right_but_for_their_noise():
    rng = np.random.default_rng(8)
    values = np.round(rng.normal(40, 10, 30_000))
    question = Linear(
        (Column("x", 1.0, None),), (Term("x", (1,)), Term("n", (0,), share=0.03)), 1,
        (Quantile(0, 0.5, np.arange(100.0)),),
    )  # fmt: skip
    drawn = mechanism.draw(question, table(values), split(1.0, question))
    assert 30 < drawn.middles[0] < 50
    assert 35 < drawn.levels[0] < 120
    centred = drawn.sums[0] - [(values - drawn.middles[0]).sum(), 30_000]
    assert (np.abs(centred) < 6 * drawn.scales).all()
    assert abs(drawn.quantiles[0, 0] - 40) <= 1


def test_quantiles_of_groups_have_one_vote_a_unit():
    """A unit of a thousand rows has no more votes than one of a single row."""
    values = [*np.zeros(1_000), *np.full(200, 5.0)]
    units = [*np.zeros(1_000, int), *range(1, 201)]
    question = Linear((Column("x"),), (), 2, (Quantile(0, 0.5, np.arange(8.0)),))
    rows = table([*values, math.nan], [0] * 1_201, [*units, 999])
    drawn = mechanism.draw(question, rows, split(5.0, question))
    assert drawn.quantiles[0, 0] == 5.0
    assert drawn.sums.shape == (2, 0)


def test_the_middle_of_people_is_that_of_their_averages(monkeypatch):
    values = [10.0, 30.0, *np.full(9, 20.0), math.nan]
    units = [0, 0, *range(1, 10), 77]
    question = Linear((Column("x", 1.0, None),), (Term("x", (1,)),))
    drawn = traced(monkeypatch, Trace(), question, table(values, units=units), split(1.0, question))
    assert 20 <= drawn.middles[0] < 20 * 2 ** (1 / mechanism.MIDDLE_GRID)


def test_adult_is_within_its_bars():
    path = SHARED / "data" / "adult.csv.gz"
    if not path.exists():
        pytest.skip("Adult not found; set RPAC_SHARED to the folder that has data/adult.csv.gz")
    from rpac.person.entries import Entries

    entries, delta = Entries(path), success_to_distance(0.55)
    for name, bar in ("hours_per_week", 0.13), ("education_num", 0.13), ("capital_gain", 0.36):
        values = entries.numbers(name)
        terms = Term("x", (1,), (0,)), Term("n", (0,), (0,), share=0.03)
        question = Linear((Column(name, 1.0, None),), terms)
        drawn = mechanism.draw(question, table(values), split(delta, question))
        answer = drawn.middles[0] + drawn.sums[0, 0] / max(drawn.sums[0, 1], 1.0)
        error = abs(answer - values.mean()) / (values.std() / len(values) ** 0.5)
        assert error < 7 * bar  # the root mean square is below 1
