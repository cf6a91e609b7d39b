"""Worlds in the coordinates of a game, in which the noise they are played with has unit size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.types import Floats
from rpac.calibrators.closed_form import auto_pac_variances
from rpac.noise.base import Noise
from rpac.worlds.outputs import Outputs


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """Orthonormal axes, and the unit of each.

    Attributes:
        axes: (d, r) orthonormal directions.
        sigmas: (r,) standard deviations that count as 1.
        points: (m, r) worlds in these coordinates.
        drop: Whether what lies outside the axes is not released.
    """

    axes: Floats
    sigmas: Floats
    points: Floats
    drop: bool = False

    def noise(self, draws: Floats) -> Floats:
        """Return (n, d) noise in these coordinates, (n, r)."""
        return np.asarray(draws @ self.axes / self.sigmas)

    def matrix(self, unit: Floats) -> Floats:
        """Return an (r, r) covariance of these coordinates in the units of the outputs."""
        return np.asarray(unit * np.outer(self.sigmas, self.sigmas))


def frame_of(outputs: Outputs, axes: Floats, nats: float, *, drop: bool = False) -> Frame:
    """Return the frame of some (d, r) axes in which Auto-PAC's noise has unit variance on each."""
    plan = outputs.planning
    along = (plan.values - outputs.center) @ axes
    spectrum = plan.weights @ np.square(along - plan.weights @ along)
    sigmas = np.sqrt(auto_pac_variances(np.maximum(spectrum, 1e-12 * spectrum.max()), nats))
    return Frame(axes, sigmas, along / sigmas, drop)


def frame_under(outputs: Outputs, axes: Floats, noise: Noise) -> Frame:
    """Return the frame of some (d, r) axes in which this noise has unit variance on each."""
    sigmas = np.sqrt(np.maximum(np.einsum("di,dj,ji->i", axes, noise.cov, axes), 1e-300))
    return Frame(axes, sigmas, (outputs.values - outputs.center) @ axes / sigmas)
