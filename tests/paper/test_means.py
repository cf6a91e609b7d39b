"""Means of Iris and Rice: secrets, the baseline of differential privacy, rows of every method."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rpac
from rpac.calibrators.closed_form import auto_pac_variances, principal
from rpac.paper import means, published, study

SMALL = replace(study.QUICK, sr_pac=0, n_jobs=1)
TINY = replace(SMALL, worlds=64, games=200, draws=20_000)
RECORDS = np.random.default_rng(1).normal(size=(30, 2))


def test_membership_vectors_are_fair_coins_in_pairs():
    masks = means.membership_vectors(256, 0)
    assert masks.shape == (256, 30)
    assert len(np.unique(masks, axis=0)) == 256
    assert (masks.sum(axis=0) == 128).all()
    assert masks.any(axis=1).all()


def test_mean_of_members_has_the_covariance_of_its_law():
    """Against the closed form for independent coins: Cov = S sum_s P(s) (n - s) / (s (n - 1))."""
    records = np.random.default_rng(1).normal(size=(30, 2))
    outputs = means.outputs_of(records, means.MEMBERSHIP, replace(SMALL, worlds=20_000))
    factor = sum(math.comb(30, s) / 2**30 * (30 - s) / (s * 29) for s in range(1, 31))
    exact = np.cov(records.T, bias=True) * factor
    assert np.cov(outputs.values.T) == pytest.approx(exact, rel=0.06, abs=0.06 * exact.max())


def test_printed_power_is_met_and_its_leakage_is_a_lower_limit():
    records = np.random.default_rng(1).normal(size=(30, 3))
    outputs = means.outputs_of(records, means.MEMBERSHIP, SMALL)
    for power in (0.004, 0.1, 20.0):
        noise = means.of_power(outputs, power)
        assert noise.power == pytest.approx(power, rel=1e-9)
        assert rpac.certify(outputs, noise, draws=2_000).lower <= rpac.certify(outputs, noise).bound


def test_differential_privacy_is_the_clipped_mean():
    records = np.random.default_rng(1).normal(size=(30, 4)) * 3
    assert np.linalg.norm(means.clipped(records), axis=1).max() <= 2.0 + 1e-12
    masks = np.ones((3, 30), bool)
    assert means.differential_privacy(4, masks).sensitivity == pytest.approx(2.0 / 30)


def test_a_pool_is_thirty_records_standardised_by_all():
    features = np.random.default_rng(0).gamma(2.0, size=(200, 3)) * [1.0, 10.0, 100.0] + 5
    found = means.pool(features, 0)
    unit = (features - features.mean(axis=0)) / features.std(axis=0)
    assert found.shape == (30, 3)
    rows = {tuple(row) for row in unit}
    assert all(tuple(row) in rows for row in found)
    assert len(np.unique(found, axis=0)) == 30
    np.testing.assert_array_equal(found, means.pool(features, 0))
    assert not np.array_equal(found, means.pool(features, 1))


@pytest.mark.parametrize("secret", [means.MEMBERSHIP, means.HALVES])
def test_outputs_are_means_of_who_is_in_them(secret):
    outputs = means.outputs_of(RECORDS, secret, TINY)
    by_hand = [RECORDS[mask].mean(axis=0) for mask in outputs.masks]
    assert outputs.values == pytest.approx(np.array(by_hand))
    if secret == means.HALVES:
        assert (outputs.masks.sum(axis=1) == 15).all()
    else:
        assert outputs.statement == "which of 64 membership vectors of 30 records was drawn"


def test_records_inside_the_radius_are_not_clipped():
    records = np.array([[0.1, 0.2], [3.0, 4.0]])
    found = means.clipped(records)
    np.testing.assert_array_equal(found[0], records[0])
    assert found[1] == pytest.approx(records[1] / 5 * math.sqrt(2))
    assert means.radius(9) == 3.0


@pytest.mark.parametrize("nats", [0.001, 0.1, 0.5])
def test_success_is_the_root_of_the_binary_divergence(nats):
    found = means.success(nats)
    spent = found * math.log(2 * found) + (1 - found) * math.log(2 * (1 - found))
    assert spent == pytest.approx(nats, rel=1e-6)
    assert found > 0.5


def test_noise_of_a_power_has_auto_pacs_shape():
    outputs = means.outputs_of(RECORDS, means.MEMBERSHIP, TINY)
    noise = means.of_power(outputs, 0.2)
    _, spectrum = principal(outputs)
    nats = 0.5 * np.log1p(spectrum / noise.variances).sum()
    assert noise.variances == pytest.approx(auto_pac_variances(spectrum, nats), rel=1e-6)


def test_leakage_falls_with_power_and_is_worked_out_once():
    leaked = means.leaked_at(np.random.default_rng(2).normal(size=(60, 2)), TINY)
    assert leaked(0.01) > leaked(0.1) > leaked(10.0) >= 0.0
    assert leaked(0.1) == leaked(0.1)


def test_everything_is_run_for_both_secrets():
    found = means.tasks("iris", np.random.default_rng(2).normal(size=(60, 2)), TINY)
    asked = [(task[1], task[5]) for task in found]
    own = (*study.CLOSED_FORMS, "equilibrium", "dp")
    assert {(m, s) for m in own for s in (means.MEMBERSHIP, means.HALVES)} <= {*asked}
    assert ("sr-pac", means.MEMBERSHIP) in asked
    assert ("success-rate", means.HALVES) in asked
    assert len(asked) == len({*asked}) == 14
    grid = study.few(published.budgets("iris"), TINY.budgets)
    assert all(task[2] == grid for task in found[1:])


@pytest.mark.parametrize("method", ["auto-pac", "dp", "success-rate"])
def test_rows_of_a_method(method):
    budgets = [0.05, 0.2]
    rows = means.method_rows(method, budgets, "iris", RECORDS, means.HALVES, TINY)
    assert [row.budget for row in rows] == budgets
    assert rows[0].power > rows[1].power
    for row in rows:
        assert row.success_bound == means.success(row.budget)
        assert row.attack <= row.certified
        assert 0.5 <= row.person <= row.success_bound + 1e-6
        if method == "auto-pac":
            assert row.ratio == pytest.approx(1.0)
            assert row.certified <= row.budget
    if method == "dp":
        masks = means.outputs_of(RECORDS, means.HALVES, TINY).masks
        made = means.differential_privacy(2, masks)
        outputs = means.outputs_of(means.clipped(RECORDS), means.HALVES, TINY)
        assert rows[0].power == pytest.approx(made.propose(outputs, 0.05).power)
