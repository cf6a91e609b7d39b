"""The front door: every public name, sorted. Those in `LATER` are loaded on first use."""

from rpac import advantage
from rpac.budget import Bits, Nats, ResidualEntropy, SuccessRate
from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import (
    AutoPAC,
    ConfidentAutoPAC,
    EfficientPAC,
    Isotropic,
    Proportional,
)
from rpac.calibrate.equilibrium import Equilibrium
from rpac.calibrate.methods import calibrate
from rpac.certificate import Certificate, certify
from rpac.errors import (
    BudgetExceeded,
    BudgetSpent,
    CertificateError,
    ContractError,
    ExactRelease,
    InputError,
    LedgerError,
    MechanismError,
    RpacError,
)
from rpac.guard import guarded
from rpac.noise import GaussianNoise, GridNoise, LabelChannel, LatticeNoise, Noise, tabulate
from rpac.outputs import Outputs
from rpac.reference import GaussianReference, MixtureReference, Reference, TableReference
from rpac.release import privatize
from rpac.reveal import Release
from rpac.simulate import simulate, vectorized
from rpac.source import Draws, Source, Subsets, Worlds
from rpac.utility import Smooth, SquaredError, Utility, Weighted, selectivity

LATER = {
    "Adjustment": "rpac.calibrate.settings",
    "Audit": "rpac.attack.audit",
    "Comparison": "rpac.curves",
    "Constraint": "rpac.calibrate.settings",
    "DPGaussian": "rpac.calibrate.dp",
    "DPLaplace": "rpac.calibrate.dp",
    "Database": "rpac.sql",
    "Ledger": "rpac.ledger",
    "Session": "rpac.session",
    "SlicedStackelberg": "rpac.calibrate.sliced",
    "Stackelberg": "rpac.calibrate.stackelberg",
    "Training": "rpac.calibrate.settings",
    "attack": "rpac.attack",
    "audit": "rpac.attack.audit",
    "compare": "rpac.curves",
    "contracts": "rpac.contracts",
    "curve": "rpac.curves",
    "decoder_attack": "rpac.calibrate.stackelberg",
    "joint_play": "rpac.calibrate.composition",
    "oracles": "rpac.oracles",
    "posterior_weights": "rpac.calibrate.composition",
    "programs": "rpac.programs",
    "residual": "rpac.residual",
    "sliced_privacy": "rpac.calibrate.sliced",
    "statistics": "rpac.statistics",
}

__all__ = [
    "AutoPAC",
    "Bits",
    "BudgetExceeded",
    "BudgetSpent",
    "Calibrator",
    "Certificate",
    "CertificateError",
    "ConfidentAutoPAC",
    "ContractError",
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
    "LedgerError",
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
    "guarded",
    "privatize",
    "selectivity",
    "simulate",
    "tabulate",
    "vectorized",
]
