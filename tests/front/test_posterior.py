"""Noise for the posterior of a session: proposals that meet what they aim at."""

import math

import numpy as np
import pytest

import rpac
from rpac._base.entropy import entropy
from rpac.certificate.evidence import proved_leakage
from rpac.front.methods import METHODS
from rpac.front.posterior import first_aim, noise_under, posterior_auto_pac

RNG = np.random.default_rng(0)
WEIGHTS = RNG.dirichlet(np.ones(24))


@pytest.mark.parametrize("dim", [2, 5, 30])
@pytest.mark.parametrize("nats", [0.01, 0.3])
def test_several_numbers_get_auto_pac_under_the_posterior(dim, nats):
    outputs = rpac.Outputs(RNG.normal(size=(24, dim)))
    law, codes = posterior_auto_pac(outputs, WEIGHTS, nats)
    exact = rpac.calibrate(outputs.under(WEIGHTS), nats, "auto-pac")
    assert law.power == pytest.approx(exact.power, rel=2e-3)
    bound = proved_leakage(codes, WEIGHTS, law, entropy(WEIGHTS))
    assert bound == pytest.approx(nats, rel=0.02)


def test_the_aim_leaves_room_for_rounding():
    for nats in (1e-4, 0.01, 1.0):
        aim = first_aim(WEIGHTS, nats)
        assert 0.4 * nats < aim < nats
    sure = np.array([1 - 3e-9, 1e-9, 1e-9, 1e-9])
    assert first_aim(sure, 1e-6) >= 0.49e-6


def test_labels_and_single_numbers():
    labels = rpac.Outputs(["a", "b"] * 12)
    law, codes = noise_under(labels, WEIGHTS, 0.1, METHODS["auto-pac"])
    assert isinstance(law, rpac.LabelChannel)
    assert codes.tolist() == [[0], [1]] * 12
    assert proved_leakage(codes, WEIGHTS, law, entropy(WEIGHTS)) <= 0.1 + 1e-9
    numbers = rpac.Outputs(np.arange(24.0))
    law, codes = noise_under(numbers, WEIGHTS, 0.1, METHODS["equilibrium"])
    assert proved_leakage(codes, WEIGHTS, law, entropy(WEIGHTS)) <= 0.1 + 1e-6


def test_there_is_noise_even_where_the_posterior_leaves_little():
    sure = np.array([1 - 1e-6, 1e-6])
    law, _ = noise_under(rpac.Outputs([0.0, 1.0]), sure, 5.0, METHODS["auto-pac"])
    assert law.power > 0
    assert math.isfinite(law.power)
