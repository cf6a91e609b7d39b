"""A proposed law, made anew of plain copies: nothing that its proposer holds is released."""

from __future__ import annotations

from rpac.noise.base import Law
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise

_OWN = (GaussianNoise, LatticeNoise, GridNoise, LabelChannel, Codebook)


def anew(law: Law) -> Law:
    """Return a proposed law made of plain copies of its parts, which its proposer cannot reach.

    What follows from the parts is worked out again. Other types are returned, and refused later.
    """
    if type(law) not in _OWN:
        return law
    assert isinstance(law, _OWN)
    law.unhidden()
    return law._anew()
