"""The front door: every public name, sorted."""

from rpac import advantage, contracts, oracles
from rpac.budget import Bits, Nats, ResidualEntropy, SuccessRate
from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import (
    AutoPAC,
    ConfidentAutoPAC,
    EfficientPAC,
    Isotropic,
    Proportional,
)
from rpac.calibrate.dp import DPGaussian, DPLaplace
from rpac.calibrate.equilibrium import Equilibrium
from rpac.calibrate.methods import calibrate
from rpac.certificate import Certificate, certify
from rpac.curves import Comparison, compare, curve
from rpac.errors import (
    BudgetExceeded,
    CertificateError,
    ContractError,
    ExactRelease,
    InputError,
    MechanismError,
    RpacError,
)
from rpac.noise import GaussianNoise, GridNoise, LabelChannel, LatticeNoise, Noise, tabulate
from rpac.outputs import Outputs
from rpac.reference import GaussianReference, MixtureReference, Reference, TableReference
from rpac.release import Release, privatize
from rpac.simulate import simulate, vectorized
from rpac.source import Draws, Source, Subsets, Worlds
from rpac.utility import Smooth, SquaredError, Utility, Weighted, selectivity

__all__ = [
    "AutoPAC",
    "Bits",
    "BudgetExceeded",
    "Calibrator",
    "Certificate",
    "CertificateError",
    "Comparison",
    "ConfidentAutoPAC",
    "ContractError",
    "DPGaussian",
    "DPLaplace",
    "Draws",
    "EfficientPAC",
    "Equilibrium",
    "ExactRelease",
    "GaussianNoise",
    "GaussianReference",
    "GridNoise",
    "InputError",
    "Isotropic",
    "LabelChannel",
    "LatticeNoise",
    "MechanismError",
    "MixtureReference",
    "Nats",
    "Noise",
    "Outputs",
    "Proportional",
    "Reference",
    "Release",
    "ResidualEntropy",
    "RpacError",
    "Smooth",
    "Source",
    "SquaredError",
    "Subsets",
    "SuccessRate",
    "TableReference",
    "Utility",
    "Weighted",
    "Worlds",
    "advantage",
    "calibrate",
    "certify",
    "compare",
    "contracts",
    "curve",
    "oracles",
    "privatize",
    "selectivity",
    "simulate",
    "tabulate",
    "vectorized",
]
