"""The contract suite accepts what is right and names what is wrong."""

import numpy as np
import pytest

import rpac
from rpac.contracts import check_noise, check_reference, check_source


class Scaled(rpac.Noise):
    """Gaussian noise that draws at another scale than it says."""

    dim = 1

    def __init__(self, drawn, said, log_scale=0.0):
        self.drawn, self.said = rpac.GaussianNoise(drawn), rpac.GaussianNoise(said)
        self.log_scale = log_scale

    @property
    def cov(self):
        return self.said.cov

    @property
    def power(self):
        return self.said.power

    def sample(self, n, rng):
        return self.drawn.sample(n, rng)

    def log_density(self, points):
        return self.said.log_density(points) + self.log_scale

    def describe(self):
        return {}


def test_honest_noise_passes():
    check_noise(Scaled(1.0, 1.0))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (Scaled(0.9, 1.0), r"Expected samples with E\|B\|\^2 = power; got 0.9"),
        (Scaled(1.0, 1.0, 0.1), "Expected a density that integrates to 1; got 0.9"),
    ],
)
def test_dishonest_noise_is_named(noise, message):
    with pytest.raises(rpac.ContractError, match=message):
        check_noise(noise)


def test_a_noise_with_wrong_masses_is_named():
    class Wrong(Scaled):
        drawn = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])

        def __init__(self, masses):
            self.said, self.masses = self.drawn, np.asarray(masses)

        def log_density(self, points):
            return np.log(self.masses)[points[:, 0].astype(int) + 1]

    check_noise(Wrong([0.25, 0.5, 0.25]))
    with pytest.raises(rpac.ContractError, match="Expected masses that sum to at most 1; got 1.5"):
        check_noise(Wrong([0.5, 0.5, 0.5]))
    with pytest.raises(rpac.ContractError, match="Expected samples as often as their mass says"):
        check_noise(Wrong([0.3, 0.5, 0.2]))
    with (
        np.errstate(divide="ignore"),
        pytest.raises(rpac.ContractError, match="Expected a finite log density at every sample"),
    ):
        check_noise(Wrong([0.0, 0.5, 0.5]))


def test_sources():
    class Drifting(rpac.Source):
        statement, calls = "drifts", 0

        def worlds(self, seed):
            self.calls += 1
            return [self.calls, 2]

    with pytest.raises(rpac.ContractError, match="Expected equal worlds for equal seeds; got"):
        check_source(Drifting())

    class Unbalanced(rpac.Source):
        statement, weights = "unbalanced", np.array([0.5, 0.6])

        def worlds(self, seed):
            return [1, 2]

    with pytest.raises(rpac.ContractError, match="Expected positive weights that sum to 1, one"):
        check_source(Unbalanced())
    lame = rpac.Subsets(range(10), worlds=8)
    lame.masks[0] = True
    with pytest.raises(rpac.ContractError, match="Expected every unit in half of the worlds; got"):
        check_source(lame)


def test_references():
    good = rpac.GaussianReference([0.0], [[1.0]])
    check_reference(good.log_density, [0.0], [[1.0]])
    with pytest.raises(rpac.ContractError, match="a certificate would not hold"):
        check_reference(lambda y: good.log_density(y) + 0.05, [0.0], [[1.0]])
