"""Finite worlds as atoms: equal ones are one, rare ones are merged and paid for."""

import math

import numpy as np
import pytest

import rpac
from rpac._base.entropy import entropy
from rpac.certificate.atoms import centred, distinct, merge_tail


def test_equal_outputs_are_one_world():
    outputs = rpac.Outputs([[0.0, 0.0]] * 5 + [[3.0, 1.0]] * 5)
    certificate = rpac.certify(outputs, rpac.GaussianNoise(0.01 * np.eye(2)))
    assert certificate.bound == pytest.approx(math.log(2), abs=1e-3)
    assert certificate.entropy == pytest.approx(math.log(10))


def test_tiny_worlds_are_merged_and_paid_for():
    weights = np.array([0.5, 0.5 - 3e-9, 1e-9, 2e-9])
    values = np.array([[-1.0, 0], [1, 0], [50, 50], [80, 0]])
    noise = rpac.GaussianNoise(np.eye(2))
    certificate = rpac.certify(rpac.Outputs(values, weights), noise)
    alone = rpac.certify(rpac.Outputs(values[:2], weights[:2] / weights[:2].sum()), noise)
    truth = rpac.oracles.quadrature_nats([-1, 1], [0.5, 0.5], 1.0)
    assert certificate.bound >= truth
    assert certificate.bound == pytest.approx(alone.bound, abs=2e-3)
    main, merge = merge_tail(weights)
    assert main.tolist() == [0, 1]
    assert merge(0.0) == pytest.approx(3e-9 * (1 + math.log(1 / 3e-9) + math.log(3)), rel=0.3)


def test_distinct_worlds_keep_their_weight():
    rows, weights = distinct(np.array([[1, 2], [0, 5], [1, 2]]), np.array([0.2, 0.5, 0.3]))
    assert rows.tolist() == [[0, 5], [1, 2]]
    assert weights.tolist() == [0.5, 0.5]


def test_centred_codes_keep_their_distances():
    codes = np.random.default_rng(0).integers(10**14, 10**14 + 50, size=(20, 3))
    moved = centred(codes, np.full(20, 1 / 20))
    assert (np.diff(moved, axis=0) == np.diff(codes, axis=0)).all()
    assert np.abs(moved).max() <= 60


def test_nothing_is_merged_where_nothing_is_rare():
    main, merged = merge_tail(np.array([0.5, 0.3, 0.2]))
    assert main.tolist() == [0, 1, 2]
    assert merged(0.7) == 0.7


def test_a_merged_bound_covers_the_truth():
    """Worlds far apart leak everything: the main ones' bound and the price must cover it."""
    weights = np.array([0.6, 0.4 - 6e-8, 4e-8, 2e-8])
    main, merged = merge_tail(weights)
    p = weights[main] / weights[main].sum()
    assert main.tolist() == [0, 1]
    assert merged(entropy(p)) >= entropy(weights)
    assert merged(entropy(p)) <= entropy(weights) + 1e-12
