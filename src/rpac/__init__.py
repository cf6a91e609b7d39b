"""Automatic privatization with a certificate that holds."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__version__ = "0.2.0"

HOMES = {
    "rpac.attack.auditing": ("Audit", "audit"),
    "rpac.budget": ("Bits", "GaussianDP", "Nats", "ResidualEntropy", "SuccessRate"),
    "rpac.calibrators.base": ("Calibrator",),
    "rpac.calibrators.closed_form": (
        "AutoPAC", "ConfidentAutoPAC", "EfficientPAC", "Isotropic", "Proportional",
    ),
    "rpac.calibrators.dp": ("DPGaussian", "DPLaplace"),
    "rpac.calibrators.equilibrium": ("Equilibrium",),
    "rpac.calibrators.utility": (
        "ArgMax", "Loss", "Smooth", "SquaredError", "Utility", "Weighted", "hamming", "selectivity",
    ),
    "rpac.certificate.certificate": ("Certificate",),
    "rpac.certificate.references": (
        "GaussianReference", "MixtureReference", "Reference", "TableReference",
    ),
    "rpac.errors": (
        "BudgetExceeded", "BudgetSpent", "CertificateError", "ContractError", "ExactRelease",
        "InputError", "LedgerError", "MechanismError", "RpacError", "TooLarge",
        "Withheld",
    ),
    "rpac.front.certify": ("certify",),
    "rpac.front.compare": ("Comparison", "compare", "curve"),
    "rpac.front.debug": ("debug",),
    "rpac.front.methods": ("calibrate",),
    "rpac.front.privatize": ("privatize",),
    "rpac.front.session": ("Session",),
    "rpac.front.trial": ("Trial",),
    "rpac.learned.composition": ("joint_play", "posterior_weights"),
    "rpac.learned.settings": ("Adjustment", "Constraint", "Training"),
    "rpac.learned.sliced": ("SlicedStackelberg", "sliced_privacy"),
    "rpac.learned.stackelberg": ("Stackelberg", "decoder_attack"),
    "rpac.ledger.ledger": ("Ledger",),
    "rpac.noise.base": ("Noise",),
    "rpac.noise.codebook": ("Codebook",),
    "rpac.noise.gaussian": ("GaussianNoise",),
    "rpac.noise.grid": ("GridNoise", "tabulate"),
    "rpac.noise.label": ("LabelChannel",),
    "rpac.noise.lattice": ("LatticeNoise",),
    "rpac.person.source": ("Presence",),
    "rpac.answers.release": ("Release",),
    "rpac.report.plan": ("Plan", "plan"),
    "rpac.report.recovery": ("recover",),
    "rpac.schema": ("Declared",),
    "rpac.sql.database": ("Database",),
    "rpac.worlds.executor": ("Executor",),
    "rpac.worlds.guard": ("guarded",),
    "rpac.worlds.outputs": ("Outputs",),
    "rpac.worlds.run": ("simulate", "vectorized"),
    "rpac.worlds.source": ("Draws", "Source", "Subsets", "Worlds"),
}  # fmt: skip
"""Where the public names live, by module; `__init__.pyi` tells type checkers the same."""

MODULES = {
    "advantage": "rpac.advantage",
    "attack": "rpac.attack",
    "contracts": "rpac.contracts",
    "oracles": "rpac.oracles",
    "programs": "rpac.questions.programs",
    "residual": "rpac.residual",
    "statistics": "rpac.questions.statistics",
}
"""Public names that are modules."""

_HOME = {name: home for home, names in HOMES.items() for name in names}
__all__ = sorted([*_HOME, *MODULES])  # noqa: PLE0605  (two plain maps, read once)


def __getattr__(name: str) -> Any:
    """Load on first use: the command line answers `--help` before NumPy is there."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in MODULES:
        return import_module(MODULES[name])
    if not name.startswith("_") and find_spec(f"rpac.{name}") is not None:
        return import_module(f"rpac.{name}")
    raise AttributeError(f"module 'rpac' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names too, those that are not loaded yet included."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
