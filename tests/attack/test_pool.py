"""Membership in the public pool: shown, warned of, and never held against a certificate."""

import numpy as np
import pytest

import rpac
from rpac.attack.base import Game, Play
from rpac.attack.pool import WARN_ABOVE, PoolMembership, influence


def test_pool_membership_is_shown_and_never_alarms():
    data = np.append(np.random.default_rng(0).normal(size=59), 60.0)
    people = rpac.Subsets(data, worlds=128)
    outputs = rpac.simulate(people, np.mean)
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    pool = PoolMembership(people, np.mean, 0.5, candidates=2)
    report = rpac.audit((outputs, noise), [pool, "bayes"])
    assert not report.alarm
    assert report.findings[0].estimate > 3
    assert report.findings[0].detail["ratios"].keys() >= {59}
    assert len(report.warnings) == 1
    assert "WARNING: noise with / without unit 59" in str(report)
    assert "not covered" in str(report)
    assert len(report.plot().axes[0].get_yticks()) == 1
    even = PoolMembership(rpac.Subsets(np.arange(60.0), worlds=512), np.mean, 0.5)
    assert rpac.audit((outputs, noise), [even]).warnings == []
    with pytest.raises(rpac.InputError, match="Expected half-samples of a pool; got Worlds"):
        PoolMembership(rpac.Worlds([1, 2]), np.mean, 0.5)
    rich = PoolMembership(people, np.mean, 10.0)
    with (
        pytest.warns(rpac.errors.ExactRelease),
        pytest.raises(rpac.InputError, match="Expected noise of positive power; got 0"),
    ):
        rpac.audit((outputs, noise), [rich])


def test_a_pool_without_a_unit():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": [1, 1, 2, 3, 3], "x": range(5)})
    rest = rpac.Subsets(frame, unit="who").without(0)
    assert rest.units.tolist() == [2, 3]
    assert rpac.Subsets(np.arange(4)).without(3).units.size == 3
    with pytest.raises(rpac.InputError, match="Expected a unit below 4; got 4"):
        rpac.Subsets(np.arange(4)).without(4)


def testinfluence_is_how_far_worlds_with_a_unit_lie_from_worlds_without():
    people = rpac.Subsets(np.random.default_rng(0).normal(size=(12, 2)), worlds=64)
    outputs = rpac.simulate(people, lambda x: x.mean(axis=0))
    found = influence(outputs)
    spread = outputs.values.std(axis=0)
    for unit in range(12):
        inside = outputs.masks[:, unit]
        gap = outputs.values[inside].mean(axis=0) - outputs.values[~inside].mean(axis=0)
        assert found[unit] == pytest.approx(np.linalg.norm(gap / spread) / 4)


def test_a_coordinate_that_never_moves_counts_for_nothing():
    values = np.column_stack([np.arange(4.0), np.ones(4)])
    masks = np.array([[0, 1], [0, 1], [1, 0], [1, 0]], bool)
    flat = rpac.Outputs(values, masks=masks)
    assert influence(flat) == pytest.approx(influence(rpac.Outputs(values[:, :1], masks=masks)))


def test_the_ratio_is_that_of_the_spreads_under_auto_pac():
    """In one direction Auto-PAC's noise is in proportion to the outputs' own spread."""
    people = rpac.Subsets(np.append(np.random.default_rng(1).normal(size=39), 9.0), worlds=256)
    pool = PoolMembership(people, np.mean, 0.3, candidates=1)
    outputs = rpac.simulate(people, np.mean)
    found = pool.run(Play(Game(outputs, 1.0), 200), 0.1)
    rest = rpac.simulate(people.without(39), np.mean)
    ratio = outputs.values.std() / rest.values.std()
    assert found.detail["ratios"] == {39: pytest.approx(ratio, rel=1e-3)}
    assert found.estimate == found.low == found.high == pytest.approx(ratio, rel=1e-3)
    assert ratio > WARN_ABOVE
    assert (found.measure, found.covered, found.nats) == ("ratio", False, 0.0)


def test_candidates_are_counted():
    people = rpac.Subsets(np.arange(6.0))
    with pytest.raises(rpac.InputError, match="Expected a whole `candidates` of at least 1; got 0"):
        PoolMembership(people, np.mean, 0.5, candidates=0)
