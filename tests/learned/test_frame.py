"""Frames: the units in which a game is played, against the log-determinant."""

import numpy as np
import pytest

import rpac
from rpac.calibrators.closed_form import auto_pac_variances, principal
from rpac.learned.frame import Frame, frame_of, frame_under

RNG = np.random.default_rng(0)
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
OUTPUTS = rpac.Outputs(RNG.normal(size=(50, 3)) * [4.0, 1.0, 0.2] @ TURN + 7.0)


@pytest.mark.parametrize("nats", [0.01, 0.5, 4.0])
def test_unit_noise_in_a_frame_spends_the_budget_by_its_log_determinant(nats):
    basis, spectrum = principal(OUTPUTS)
    frame = frame_of(OUTPUTS, basis, nats)
    assert np.square(frame.sigmas) == pytest.approx(auto_pac_variances(spectrum, nats))
    spent = 0.5 * np.linalg.slogdet(np.eye(3) + np.cov(frame.points.T, bias=True))[1]
    assert spent == pytest.approx(nats)
    assert frame.points @ (basis * frame.sigmas).T + OUTPUTS.center == pytest.approx(OUTPUTS.values)


def test_an_axis_along_which_nothing_differs_keeps_a_sliver_of_noise():
    flat = rpac.Outputs(np.column_stack([RNG.normal(size=20), np.zeros(20)]))
    frame = frame_of(flat, np.eye(2), 0.5)
    assert (frame.sigmas > 0).all()
    assert np.isfinite(frame.points).all()


def test_noise_and_covariances_change_units_and_back():
    basis, _ = principal(OUTPUTS)
    frame = frame_of(OUTPUTS, basis, 0.5)
    noise = rpac.GaussianNoise.on(basis, np.square(frame.sigmas))
    draws = frame.noise(noise.sample(40_000, np.random.default_rng(1)))
    assert np.cov(draws.T) == pytest.approx(np.eye(3), abs=0.05)
    assert frame.matrix(np.eye(3)) == pytest.approx(np.diag(np.square(frame.sigmas)))
    cov = TURN @ np.diag([5.0, 2.0, 1.0]) @ TURN.T
    to_unit = np.diag(1 / frame.sigmas)
    assert frame.matrix(to_unit @ cov @ to_unit) == pytest.approx(cov)


def test_a_frame_under_a_noise_gives_it_unit_variance():
    noise = rpac.GaussianNoise(TURN @ np.diag([9.0, 1.0, 0.25]) @ TURN.T)
    frame = frame_under(OUTPUTS, TURN, noise)
    assert frame.sigmas == pytest.approx([3.0, 1.0, 0.5])
    assert frame.points == pytest.approx((OUTPUTS.values - OUTPUTS.center) @ TURN / [3.0, 1.0, 0.5])


def test_draws_are_framed_by_their_planning_half():
    values = RNG.normal(size=(40, 1))
    clip = (np.array([-9.0]), np.array([9.0]))
    draws = rpac.Outputs(values, clip=clip)
    other = rpac.Outputs(np.concatenate([values[:20], np.full((20, 1), 5.0)]), clip=clip)
    a, b = (frame_of(outputs, np.eye(1), 0.3) for outputs in (draws, other))
    assert a.points.shape == (20, 1)
    np.testing.assert_array_equal(a.points, b.points)


def test_what_is_dropped_is_marked():
    assert not Frame(np.eye(2), np.ones(2), np.zeros((3, 2))).drop
    assert frame_of(OUTPUTS, TURN[:, :2], 0.5, drop=True).drop
