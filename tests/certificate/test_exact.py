"""Finite sums against enumeration and long double."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rpac
from rpac.certificate import exact
from rpac.certificate.exact import (
    channel_entropies,
    channel_leakage,
    channel_rounding,
    lattice_leakage,
    sum_rounding,
)


def brute_force(codes, weights, offsets, q):
    """MI of integer atoms plus integer noise, by listing every pair."""
    law, total = {}, 0.0
    for z, p in zip(codes, weights, strict=True):
        for b, m in zip(offsets, q, strict=True):
            law[z + b] = law.get(z + b, 0.0) + p * m
    for z, p in zip(codes, weights, strict=True):
        for b, m in zip(offsets, q, strict=True):
            total += p * m * math.log(m / law[z + b]) if m > 0 else 0.0
    return total


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_lattice_sum_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    m, k = rng.integers(2, 9), rng.integers(1, 12)
    codes = rng.integers(-30, 30, size=m) * rng.choice([1, 1, 1000])
    weights = rng.dirichlet(np.ones(m))
    offsets = rng.choice(np.arange(-20, 20), size=k, replace=False)
    noise = rpac.LatticeNoise(1.0, offsets, rng.dirichlet(np.ones(k)))
    truth = brute_force(codes, weights, noise.offsets, noise.weights)
    assert lattice_leakage(codes, weights, noise) == pytest.approx(truth, abs=1e-12)
    bound = rpac.certify(rpac.Outputs(codes, weights), noise).bound
    assert bound == pytest.approx(truth, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_label_sum_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    p, matrix = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k)
    outputs = rpac.Outputs([f"label {i}" for i in range(k)], p)
    channel = rpac.LabelChannel(matrix)
    law = p @ channel.matrix
    truth = sum(
        p[i] * channel.matrix[i, j] * math.log(channel.matrix[i, j] / law[j])
        for i in range(k)
        for j in range(k)
        if channel.matrix[i, j] > 0
    )
    assert rpac.certify(outputs, channel).bound == pytest.approx(truth, abs=1e-12)


def test_a_lattice_sum_too_long_falls_back_on_the_entropy(monkeypatch):
    monkeypatch.setattr(exact, "_MOST_CELLS", 10)
    noise = rpac.LatticeNoise(1.0, np.arange(9), np.full(9, 1 / 9))
    certificate = rpac.certify(rpac.Outputs([0, 100]), noise)
    assert certificate.bound == pytest.approx(math.log(2))
    assert set(certificate.bounds) == {"entropy"}


def test_allowances_cover_the_rounding_of_long_sums():
    """Against long double, where the machine has it: many worlds, many cells."""
    rng = np.random.default_rng(9)
    codes = np.sort(rng.integers(0, 3_000_000, size=500))
    noise = rpac.LatticeNoise.gaussian(1.0, 1024.0)
    dense, law = noise.dense.astype(np.longdouble), np.zeros(3_100_000, np.longdouble)
    for code in codes:
        law[code : code + dense.size] += dense / 500
    law, mass = law[law > 0], dense[dense > 0]
    truth = float(-(law * np.log(law)).sum() + (mass * np.log(mass)).sum())
    certificate = rpac.certify(rpac.Outputs(codes), noise)
    assert truth - 1e-15 <= certificate.bound <= truth + 1e-10
    assert certificate.lower <= truth


def test_labels_by_hand():
    channel = rpac.LabelChannel([[0.75, 0.25], [0.25, 0.75]])
    even = np.array([0.5, 0.5])
    released, within = channel_entropies(even, channel)
    assert released.tolist() == [0.5, 0.5]
    assert within == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    kept = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert channel_leakage(even, channel) == pytest.approx(kept)
    assert channel_leakage(even, rpac.LabelChannel(np.full((2, 2), 0.5))) == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_sum_of_a_code_book_equals_enumeration(seed):
    """In whole numbers and long double, row by row: zeros, equal rows and priors of any kind."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(2, 40)), int(rng.integers(1, 30))
    p = rng.dirichlet(np.full(m, 0.3)) + 1e-9
    matrix = rng.dirichlet(np.full(k, 0.2), size=m)
    matrix[rng.random((m, k)) < 0.3] = 0.0
    matrix[:, 0] += 1.0 - matrix.sum(axis=1)
    book = rpac.Codebook(rng.normal(size=(k, 2)), matrix)
    outputs = rpac.Outputs(rng.normal(size=(m, 2)), p / p.sum())
    joint = outputs.weights[:, None].astype(np.longdouble) * (book.tables / np.longdouble(2) ** 63)
    law = joint.sum(axis=0)
    rows = joint / outputs.weights[:, None].astype(np.longdouble)
    truth = sum(joint[i, j] * np.log(rows[i, j] / law[j])
                for i in range(m) for j in range(k) if joint[i, j] > 0)  # fmt: skip
    found = rpac.certify(outputs, book)
    assert abs(found.bound - float(truth)) < 1e-9
    assert found.lower <= float(truth) + 1e-15
    assert float(truth) <= found.bound + 1e-15
    assert (found.grade, found.attempt) == ("proved", 1)


def test_a_long_channel_is_summed_in_blocks(monkeypatch):
    rng = np.random.default_rng(2)
    book = rpac.Codebook(np.arange(5.0), rng.dirichlet(np.ones(5), 50))
    prior = rng.dirichlet(np.ones(50))
    whole = channel_leakage(prior, book)
    monkeypatch.setattr(exact, "_BLOCK", 12)
    assert channel_leakage(prior, book) == pytest.approx(whole, abs=1e-14)
    assert 4e-13 < channel_rounding(whole, book) < 1e-11


def test_gaps_wider_than_the_noise_change_nothing():
    axis = rpac.LatticeNoise(1.0, [0, 1], [0.5, 0.5])
    weights = np.array([0.5, 0.5])
    near, far = (lattice_leakage(np.array([0, gap]), weights, axis) for gap in (2, 10**12))
    assert near == far == pytest.approx(math.log(2))
    assert 0 < sum_rounding(2, near, axis) < 1e-12
