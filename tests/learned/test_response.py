"""The follower's best response: below the truth, near it, and seeded."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import rpac
from rpac.learned.families import FullGaussian
from rpac.learned.frame import frame_of
from rpac.learned.response import Follower, fresh_response, world_table
from rpac.oracles import quadrature_nats

COIN = rpac.Outputs([-1.0, 1.0])


def line(seed=2):
    """Eight values in three clusters."""
    rng = np.random.default_rng(seed)
    return rpac.Outputs(np.array([-3.0, -3, -3, 0, 0, 4, 4, 4]) + 0.1 * rng.normal(size=8))


@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_a_kernel_comes_near_the_truth_by_quadrature(sigma):
    attack = fresh_response(COIN, rpac.GaussianNoise(sigma**2), "kernel", 0)
    truth = quadrature_nats([-1, 1], [0.5, 0.5], sigma)
    assert attack.nats == pytest.approx(truth, rel=0.05, abs=0.01)
    assert 0 <= attack.lower <= truth
    assert attack.decoder == "kernel"


@pytest.mark.parametrize("decoder", ["kernel", "network", "mixture", "flow"])
def test_every_decoder_learns(decoder):
    """A decoder's figure lies below the truth, and well above nothing."""
    outputs, noise = line(), rpac.GaussianNoise(2.0)
    truth = rpac.certify(outputs, noise, draws=20_000)
    attack = rpac.decoder_attack(outputs, noise, decoder)
    least = {"kernel": 0.95, "network": 0.9}.get(decoder, 0.4)  # the others guess numbers
    assert least * truth.lower <= attack.nats
    assert attack.lower <= truth.bound


def test_a_table_is_met_by_a_mixture_on_its_own_axes():
    """Two outcomes that noise of +-1 confuses: half the coin is learned, or log(2) / 2 nats."""
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.LatticeNoise(1.0, [-1, 1], [0.5, 0.5]),))
    attack = fresh_response(COIN, law, "kernel", 0)
    assert attack.nats == pytest.approx(np.log(2) / 2, abs=0.05)
    assert attack.lower <= np.log(2) / 2


def test_seeds_repeat_an_attack():
    noise = rpac.GaussianNoise(1.0)
    one, two, other = (fresh_response(COIN, noise, "kernel", seed) for seed in (0, 0, 1))
    assert one == two
    assert one != other


def test_numbers_are_guessed_in_units_of_their_spread():
    outputs = line()
    frame = frame_of(outputs, np.eye(1), 0.5)
    table = world_table(outputs, frame, "gaussian")
    assert np.asarray(table.secrets).std(axis=0) == pytest.approx([1.0], rel=1e-5)
    assert np.exp(np.asarray(table.log_p)) == pytest.approx(outputs.weights, rel=1e-5)
    assert np.asarray(table.points) == pytest.approx(frame.points, rel=1e-5)


def test_members_are_guessed_where_there_are_any():
    people = rpac.simulate(rpac.Subsets(np.arange(6.0), worlds=20), np.mean)
    frame = frame_of(people, np.eye(1), 0.5)
    follower = Follower.of("bernoulli", FullGaussian(), people, frame, 0)
    np.testing.assert_array_equal(np.asarray(follower.table.secrets), people.masks)
    outputs = line()
    message = r"half-samples for a Bernoulli decoder; got Outputs\(worlds=8.*decoder=\"kernel\""
    with pytest.raises(rpac.InputError, match=message):
        world_table(outputs, frame_of(outputs, np.eye(1), 0.5), "bernoulli")
