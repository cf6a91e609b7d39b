"""References: densities w on the output space. Each gives an upper bound L(q, w) on leakage."""

from rpac.reference.base import Reference
from rpac.reference.gaussian import GaussianReference
from rpac.reference.mixture import MixtureReference
from rpac.reference.table import TableReference

__all__ = ["GaussianReference", "MixtureReference", "Reference", "TableReference"]
