"""Gaussian kernels in units of their own scale."""

import numpy as np
import pytest
from scipy.stats import chi2

import rpac
from rpac.certificate.kernel import TAIL, grid_kernel, ideal_kernel
from rpac.noise.grid import Laws
from rpac.noise.lattice import gaussian_law


@pytest.mark.parametrize("scale", [0.5, 3.0, 300.0])
def test_the_mean_length_of_noise_is_never_overstated(scale):
    law = gaussian_law(scale)
    kernel = grid_kernel(Laws((law, law)))
    squares = np.square(law.offsets / scale)
    _, claimed, most = kernel.lengths(np.zeros((1, 2)))
    kept = np.minimum(squares[:, None] + squares, most)
    truth = float(law.weights @ kept @ law.weights)
    assert claimed <= truth < claimed + 1.02 * TAIL
    assert most < 45  # so that the stakes of the bound stay large


@pytest.mark.parametrize("rank", [2, 10, 100])
def test_the_mean_length_of_ideal_noise_is_never_overstated(rank):
    kernel = ideal_kernel(rpac.GaussianNoise(np.eye(rank)))
    _, claimed, most = kernel.lengths(np.zeros((1, rank)))
    # E (L - l)+ of a chi-square, by its densities of rank and rank + 2 degrees of freedom.
    lost = rank * chi2.sf(most, rank + 2) - most * chi2.sf(most, rank)
    assert claimed <= rank - lost < claimed + 1.02 * TAIL
