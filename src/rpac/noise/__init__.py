"""Noise: the laws that may be added to an output, and their integer tables."""

from rpac.noise.base import Noise
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise

__all__ = [
    "Codebook", "GaussianNoise", "GridNoise", "LabelChannel", "LatticeNoise", "Noise", "tabulate",
]  # fmt: skip
