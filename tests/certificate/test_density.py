"""Draws of the information density: their mean is the leakage."""

import math

import numpy as np
import pytest

import rpac
from rpac.certificate.density import lattice_densities, open_densities
from rpac.certificate.exact import lattice_law, lattice_leakage
from rpac.certificate.references import GaussianReference, TableReference


def close(draws, truth):
    assert draws.mean() == pytest.approx(truth, abs=5 * draws.std() / math.sqrt(draws.size))


def test_the_mean_on_a_lattice_is_the_leakage():
    axis = rpac.LatticeNoise.gaussian(1.0, 2.0)
    codes, weights = np.array([0, 3, 4, 9]), np.array([0.4, 0.3, 0.2, 0.1])
    starts, law = lattice_law(codes, weights, axis)
    close(lattice_densities(starts, law, weights, axis), lattice_leakage(codes, weights, axis))


def test_the_mean_for_draws_is_that_of_the_reference():
    """For a Gaussian law and its own reference the mean is the Gaussian channel's capacity."""
    rng = np.random.default_rng(0)
    axis = rpac.LatticeNoise.gaussian(0.01, 100.0)
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    codes = np.rint(rng.normal(size=(20_000, 1)) * 100).astype(np.int64)
    close(open_densities(codes, law, GaussianReference([0.0], [[2.0]])), 0.5 * math.log(2))
    low = int(codes.min() + axis.offsets[0])
    cells = np.arange(low, int(codes.max() + axis.offsets[-1]) + 1)
    table = TableReference([low], [np.exp(-0.25 * np.square(cells / 100.0)) + 1e-30])
    close(open_densities(codes, law, table), 0.5 * math.log(2))
