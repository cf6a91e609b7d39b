"""The one statistical bound: its control variates, its coverage, its shortcuts."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

import rpac
from rpac.certificate import sampled


def test_many_worlds_skip_the_pairwise_heights(monkeypatch):
    monkeypatch.setattr(sampled, "_MOST_HEIGHTS", 10)
    problem = rpac.oracles.sign_cube(5, 2.0)
    certificate = rpac.certify(problem.outputs, problem.noise)
    assert problem.nats <= certificate.bound
    assert certificate.bounds["mixture"] <= 1.1 * problem.nats


LENGTH = 4.0 - 4.0 * chi2.sf(40, 6) + 40 * chi2.sf(40, 4)
"""Mean of a chi-square of 4 degrees of freedom, clipped at 40."""
DEFICITS = {
    "explained": (lambda s, h, chance: 0.2 * s + 0.5 * h + 0.1 * chance, 0.2 * LENGTH + 0.77),
    "against": (lambda s, h, chance: 20.0 - 0.3 * s + h, 21.5 - 0.3 * LENGTH),
    "unrelated": (lambda s, h, chance: chance, 0.2),
    "shared": (lambda s, h, chance: chance * s, 0.2 * LENGTH),
}


@pytest.mark.parametrize("how", DEFICITS)
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_bound_on_deficits_holds_however_they_go_with_their_controls(how, spread):
    rng, misses, runs, n = np.random.default_rng(0), 0, 600, 320
    made, truth = DEFICITS[how]
    means, most = np.array([LENGTH - 1e-4, -1.5]), np.array([40.0, -1.0])
    for _ in range(runs):
        lengths = np.minimum(rng.chisquare(4, n), 40.0)
        heights = 1.5 + spread * (rng.random(n) - 0.5)
        deficits = made(lengths, heights, rng.exponential(0.2, n))
        controls = np.stack([lengths, -heights], axis=1)
        misses += sampled.mean_at_least(deficits, controls, means, most, 0.1) > truth
    assert binomtest(misses, runs, 0.1, "greater").pvalue > 1e-3


def test_the_control_variates_explain_most_of_the_variance(monkeypatch):
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(100, 6)))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 2.0, "auto-pac"))
    shares, real = [], sampled.control_slopes

    def spy(deficits, controls):
        slopes = real(deficits, controls)
        shares.append((deficits - controls @ slopes).var() / deficits.var())
        return slopes

    monkeypatch.setattr(sampled, "control_slopes", spy)
    rpac.certify(outputs, law, draws=50_000)
    assert shares[0] < 0.5


def test_worlds_very_far_apart_are_certified_by_their_entropy():
    """Scores carry the rounding of large exponents; they are clipped to what they can be."""
    values = np.random.default_rng(3).normal(size=(50, 2)) * 1e7
    made = rpac.certify(rpac.Outputs(values), rpac.GaussianNoise(np.eye(2)), draws=2_000)
    assert made.bound == pytest.approx(np.log(50), abs=1e-9)
