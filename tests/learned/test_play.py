"""What a game leaves behind: it can be kept, and taken up again."""

import dataclasses
import pickle

import numpy as np
import pytest

import rpac
from rpac.learned.play import Attack, Play


def test_an_attack_is_equal_by_value_and_fixed():
    made = Attack(0.5, 0.4, "kernel")
    assert made == Attack(0.5, 0.4, "kernel") != Attack(0.5, 0.4, "network")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.nats = 0.1


def test_a_play_is_kept_in_a_file():
    attack = Attack(0.5, 0.4, "bayes")
    play = Play(rpac.GaussianNoise(2.0), attack, np.ones((50, 3)), {"t": np.array(50)})
    kept = pickle.loads(pickle.dumps(play))
    assert kept.attack == attack
    assert kept.noise.power == 2.0
    np.testing.assert_array_equal(kept.history, play.history)
    assert int(kept.state["t"]) == 50
