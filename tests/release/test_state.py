"""The state of a session: what is packed comes back, and Bayes' rule in logarithms."""

import numpy as np
import pytest

from rpac.release.state import packed, state_hash, unpacked, updated


def test_what_is_packed_comes_back_and_every_part_is_sealed():
    posterior = np.log([0.2, 0.3, 0.5])
    state = packed(posterior, 5, 3)
    found, charges, answers = unpacked(state)
    assert found.tolist() == posterior.tolist()
    assert (charges, answers) == (5, 3)
    others = [packed(posterior, 6, 3), packed(posterior, 5, 4), packed(posterior[::-1], 5, 3)]
    assert len({state_hash(one) for one in (state, *others)}) == 4


def test_the_posterior_is_bayes_rule_however_small_the_likelihoods():
    prior, likelihood = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.4, 0.2])
    expected = prior * likelihood / (prior @ likelihood)
    for shift in (0.0, -5_000.0):
        found = np.exp(updated(np.log(prior), np.log(likelihood) + shift))
        assert found == pytest.approx(expected)
