"""Draws of the information density log q(B) - log w(Y). Estimates, not part of any bound."""

from __future__ import annotations

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.references import GaussianReference, TableReference
from rpac.noise.base import TOTAL, integer_table, look_up, system_uniforms
from rpac.noise.channel import Channel
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise

_DRAWS = 20_000


def channel_densities(prior: Floats, released: Floats, channel: Channel) -> Floats:
    """Return draws under a channel, for (rows,) priors and the (K,) masses of what is released."""
    rows = look_up(integer_table(prior), system_uniforms(_DRAWS))
    found = channel.at(rows, system_uniforms(_DRAWS))
    return np.asarray(np.log(channel.tables[rows, found] / float(TOTAL) / released[found]))


def lattice_densities(starts: Ints, law: Floats, weights: Floats, axis: LatticeNoise) -> Floats:
    """Return draws on one axis, from what `exact.lattice_law` returns."""
    worlds = look_up(integer_table(weights), system_uniforms(_DRAWS))
    cells = axis.at(system_uniforms(_DRAWS)) - axis.offsets[0]
    return np.asarray(np.log(axis.dense[cells] / law[starts[worlds] + cells]))


def open_densities(
    codes: Ints, noise: GridNoise, reference: GaussianReference | TableReference
) -> Floats:
    """Return draws for an open distribution under a reference."""
    shift = noise.at(system_uniforms(*codes.shape))
    log_q = noise.log_density((shift * noise.steps) @ noise.basis.T)
    if isinstance(reference, TableReference):
        return np.asarray(log_q - reference.log_density(codes + shift))
    log_q += np.log(noise.scales).sum()  # from mass to density in units of the scale
    return np.asarray(log_q - reference.log_density((codes + shift) / noise.scales))
