"""Gaussian kernels in units of their own scale."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

import rpac
from rpac.certificate.kernel import TAIL, form_limit, grid_kernel, ideal_kernel
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


def test_a_fine_grid_is_all_but_ideal():
    law = gaussian_law(1024.0)
    grid, ideal = grid_kernel(Laws((law, law))), ideal_kernel(rpac.GaussianNoise(np.eye(2)))
    assert grid.entropy == pytest.approx(ideal.entropy, abs=1e-6)
    assert grid.variances == pytest.approx([1.0, 1.0])
    assert 0 <= grid.excess < 1e-9
    assert grid.log_theta < 1e-12
    assert grid.draw(5).shape == ideal.draw(5).shape == (5, 2)


def test_theta_covers_what_a_gaussian_sums_to_over_its_lattice():
    """Poisson summation: a density no narrower than the noise, summed over the integers."""
    for scale in (0.2, 0.4, 0.7, 1.5):
        kernel = grid_kernel(Laws((gaussian_law(scale),)))
        k = np.arange(-60, 61)
        for wider in (1.0, 1.3, 3.0):
            sigma2 = wider * kernel.variances[0] * scale**2
            for shift in (0.0, 0.25, 0.5):
                total = np.exp(-0.5 * np.square(k - shift) / sigma2).sum()
                total /= math.sqrt(2 * math.pi * sigma2)
                assert total <= math.exp(min(kernel.log_theta, 700.0)) * (1 + 1e-12)


@pytest.mark.parametrize(("largest", "rank"), [(0.1, 1), (1.0, 3), (2.5, 10)])
def test_a_clipped_form_loses_no_more_than_it_may(largest, rank):
    limit = form_limit(largest * rank, largest) / largest
    lost = rank * chi2.sf(limit, rank + 2) - limit * chi2.sf(limit, rank)
    assert 0 <= largest * lost <= TAIL * largest
    assert limit < 20 + 2.1 * rank


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0])
def test_noise_on_a_grid_has_no_larger_exponential_moments_than_ideal_noise(scale):
    law = gaussian_law(scale)
    for w in (0.1, 1.0, 3.0):
        assert law.weights @ np.exp(w * law.offsets / scale) <= math.exp(w * w / 2) * (1 + 1e-12)
