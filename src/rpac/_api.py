"""The front door: every public name, sorted."""

from rpac import advantage, contracts, oracles
from rpac.budget import Bits, Nats, ResidualEntropy, SuccessRate
from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import AutoPAC
from rpac.calibrate.methods import calibrate
from rpac.certificate import Certificate, certify
from rpac.errors import (
    BudgetExceeded,
    CertificateError,
    ContractError,
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

__all__ = [
    "AutoPAC",
    "Bits",
    "BudgetExceeded",
    "Calibrator",
    "Certificate",
    "CertificateError",
    "ContractError",
    "Draws",
    "GaussianNoise",
    "GaussianReference",
    "GridNoise",
    "InputError",
    "LabelChannel",
    "LatticeNoise",
    "MechanismError",
    "MixtureReference",
    "Nats",
    "Noise",
    "Outputs",
    "Reference",
    "Release",
    "ResidualEntropy",
    "RpacError",
    "Source",
    "Subsets",
    "SuccessRate",
    "TableReference",
    "Worlds",
    "advantage",
    "calibrate",
    "certify",
    "contracts",
    "oracles",
    "privatize",
    "simulate",
    "tabulate",
    "vectorized",
]
