"""Composition by joint games: several mechanisms on one secret, one decoder for all answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import block_diag

from rpac._base.checks import array, refuse
from rpac._base.types import Floats
from rpac.calibrators.closed_form import principal
from rpac.learned.play import Attack
from rpac.learned.stackelberg import Stackelberg
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.worlds.batch import stacked
from rpac.worlds.outputs import Outputs


@final
@dataclass(frozen=True, eq=False)
class JointPlay:
    """Noise for several mechanisms, learned in one game.

    Attributes:
        outputs: The answers of all mechanisms, side by side; certify these.
        noise: The noise of all, independent between mechanisms, on `outputs`.
        parts: The noise of each mechanism.
        attack: The one decoder's figure on all answers together.
    """

    outputs: Outputs
    noise: GaussianNoise
    parts: tuple[GaussianNoise, ...]
    attack: Attack


def joint_play(
    mechanisms: Sequence[Outputs], nats: float, settings: Stackelberg | None = None
) -> JointPlay:
    """Return noise for each mechanism such that all answers together leak at most `nats`.

    Noise is Gaussian, correlated within a mechanism and independent between them.

    Args:
        mechanisms: Outputs of each, on the same worlds.
        nats: The budget of all answers together.
        settings: The game; its family must be "gaussian".
    """
    game = settings or Stackelberg()
    if game.family != "gaussian":
        raise refuse("a Gaussian joint game", repr(game.family), 'Use family="gaussian".')
    whole = stacked(mechanisms)
    bases = [principal(o)[0] for o in mechanisms]
    ranks = tuple(basis.shape[1] for basis in bases)
    play = game.play_blocks(whole, nats, block_diag(*bases), ranks)
    noise = play.noise
    assert isinstance(noise, GaussianNoise)
    return JointPlay(whole, noise, _parts(noise, bases), play.attack)


def _parts(noise: GaussianNoise, bases: Sequence[Floats]) -> tuple[GaussianNoise, ...]:
    """Return the noise of each mechanism: the blocks on the diagonal of the whole covariance."""
    found, row = [], 0
    for basis in bases:
        rows = slice(row, row + len(basis))
        variances, turn = np.linalg.eigh(basis.T @ noise.cov[rows, rows] @ basis)
        found.append(GaussianNoise.on(basis @ turn, variances))
        row = rows.stop
    return tuple(found)


def posterior_weights(outputs: Outputs, law: GridNoise, release: Floats) -> Floats:
    """Return the (m,) posterior of the worlds after a release of this law was seen.

    The sequential form of the joint game: calibrate the next mechanism on
    `Outputs(values[kept], weights[kept])` with the worlds of positive posterior.
    """
    released = law.encode(array(release, "release", 1)[None])[0]
    log_w = np.log(outputs.weights) + law.log_likelihood(outputs.codes(law), released)
    if not np.isfinite(log_w).any():
        raise refuse(
            "a release of this law",
            f"{np.asarray(release).tolist()}, which no world can give",
            "Check that law, outputs and release belong together.",
        )
    weights = np.exp(log_w - log_w.max())
    return np.asarray(weights / weights.sum())
