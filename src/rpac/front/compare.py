"""Methods side by side along a grid of budgets: power, certified interval, derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats
from rpac.budget import as_budget
from rpac.calibrators.base import Calibrator
from rpac.certificate.certificate import Certificate
from rpac.front.certify import certify
from rpac.front.methods import along as along_budgets
from rpac.front.methods import calibrator, exact_noise, needs_no_noise
from rpac.front.outlook import along
from rpac.noise.base import Law, Releasable
from rpac.noise.grid import GridNoise, tabulate
from rpac.person.source import Presence
from rpac.pictures.plots import comparison_figure
from rpac.pictures.text import columns, columns_html
from rpac.worlds.outputs import Outputs

Measure = Callable[[Floats, Floats], float]
_DRAWS = 20_000
_FEW, _NUMBERS = 16, 1 << 26
"""Draws of a utility, at least; and numbers that they hold together, about at most."""
COLUMNS = (
    "method", "budget", "power", "bound", "lower", "grade", "gaussianity_gap", "utility",
    "priv", "util", "coherent",
)  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """A table of methods and budgets.

    Attributes:
        rows: One dict for each method and budget, with the columns of `COLUMNS`: `power` is
            E|B|^2 in the answer's own units (for labels: probability of a change); `bound` and
            `lower` enclose the leakage;
            `gaussianity_gap` is what a Gaussian reference would charge beyond `bound`; `utility`
            is the user's measure; `priv` and `util` are dMI/dbudget and -dpower/dbudget;
            `coherent` is False where a smaller budget provably leaks more than a larger one.
            For questions about presence: one dict for each budget and number, as in `along`.
    """

    rows: list[dict[str, Any]]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.rows[0]) if self.rows else list(COLUMNS)

    def frame(self, backend: Any = "pandas") -> Any:
        """Return a data frame: "pandas", "polars" or "pyarrow", if installed."""
        import narwhals as nw

        data = {name: [row[name] for row in self.rows] for name in self.names}
        return nw.from_dict(data, backend=backend).to_native()

    def column(self, method: str, name: str) -> Floats:
        """Return one column of one method, in the order of its budgets."""
        return np.array([row[name] for row in self.rows if row["method"] == method])

    def plot(self) -> Any:
        """Return a figure of power and of leakage against the budget (needs matplotlib)."""
        if "method" not in self.names:
            got = ", ".join(self.names)
            raise refuse("methods to draw", got, "Print it, or draw columns of .frame().")
        return comparison_figure(self.rows)

    def _body(self) -> list[list[Any]]:
        return [[row[name] for name in self.names] for row in self.rows]

    def __str__(self) -> str:
        return columns(self.names, self._body())

    def _repr_html_(self) -> str:
        return columns_html(self.names, self._body())


def curve(
    outputs: Outputs, budgets: Sequence[Any], method: str | Calibrator = "equilibrium"
) -> list[Law]:
    """Return the noise of one method at every budget; a method may share work between them."""
    solver = calibrator(method)
    nats = [as_budget(b).nats(outputs.entropy) for b in budgets]
    order = sorted(range(len(nats)), key=nats.__getitem__)
    noisy = [i for i in order if not needs_no_noise(outputs, nats[i])]
    laws = along_budgets(outputs, [nats[i] for i in noisy], solver) if noisy else []
    found = dict(zip(noisy, laws, strict=True))
    return [found[i] if i in found else exact_noise(outputs) for i in range(len(nats))]


def compare(
    outputs: Outputs | tuple[Any, Presence],
    budgets: Sequence[Any],
    methods: Sequence[str | Calibrator] = ("equilibrium", "auto-pac"),
    utility: Measure | None = None,
    *,
    draws: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Return power, utility and certified interval of every method at every budget.

    Args:
        outputs: Finite worlds; or a pair (mechanism, `Presence`), for what its budgets cost and
            add to each number, from public things alone: there is no method to choose.
        budgets: At least one; bare numbers are nats.
        methods: Names or calibrators.
        utility: `utility(values, released)` of (n, d) outputs and their noisy versions, such as
            an accuracy; estimated from draws with a seed.
        draws: Judging draws of each certificate.
        seed: Study randomness of the utility.
    """
    if isinstance(budgets, Presence):
        move = "Pass them as a pair: rpac.compare((mechanism, source), budgets)."
        raise refuse("budgets beside a question about presence", "rpac.Presence", move)
    if isinstance(outputs, tuple):
        return Comparison(along(*outputs, budgets))
    if not len(budgets) or not len(methods):
        raise refuse("budgets and methods", f"{len(budgets)} and {len(methods)}", "Give some.")
    if not outputs.exact:
        raise refuse("finite worlds to compare on", "draws", "Each noise needs draws of its own.")
    rows: list[dict[str, Any]] = []
    for method in methods:
        name = method if isinstance(method, str) else repr(method)
        block = []
        for budget, noise in zip(budgets, curve(outputs, budgets, method), strict=True):
            law = tabulate(outputs, noise)
            certificate = certify(outputs, law, draws=draws)
            block.append({
                "method": name,
                "budget": as_budget(budget).nats(outputs.entropy),
                "power": float(certificate.noise["power"]),
                "bound": certificate.bound,
                "lower": certificate.lower,
                "grade": certificate.grade,
                "gaussianity_gap": gaussianity_gap(outputs, law, certificate),
                "utility": _measured(utility, outputs, noise, seed),
            })  # fmt: skip
        rows += _with_slopes(block)
    return Comparison(rows)


def gaussianity_gap(outputs: Outputs, law: Releasable, certificate: Certificate) -> float:
    """Return what a Gaussian reference with Y's moments charges beyond the certified bound.

    It is a lower bound on KL(law of Y || that Gaussian); NaN for labels.
    """
    if not isinstance(law, GridNoise) or law.power == 0:
        return math.nan
    codes = outputs.codes(law).astype(np.float64)
    shifted = (codes - outputs.weights @ codes) * np.sqrt(outputs.weights)[:, None]
    variances = np.array([axis.cov[0, 0] / axis.step**2 for axis in law.axes])
    cov = shifted.T @ shifted + np.diag(variances)
    reference = 0.5 * np.linalg.slogdet(2 * math.pi * math.e * cov)[1]
    charged = float(reference) - sum(axis.entropy for axis in law.axes)
    return max(0.0, charged - certificate.bound)


def _measured(utility: Measure | None, outputs: Outputs, noise: Law, seed: int) -> float:
    if utility is None:
        return math.nan
    rng = np.random.default_rng(seed)
    draws = min(_DRAWS, max(_FEW, _NUMBERS // outputs.dim))
    rows = rng.choice(len(outputs.values), size=draws, p=outputs.weights)
    values = outputs.values[rows]
    return float(utility(values, noise.applied(values, rng)))


def _with_slopes(block: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add derivatives along the budgets, and whether the ordering is coherent."""
    order = sorted(range(len(block)), key=lambda i: float(block[i]["budget"]))
    budgets = np.array([block[i]["budget"] for i in order])
    leaks = np.array([0.5 * (block[i]["bound"] + block[i]["lower"]) for i in order])
    power = np.array([block[i]["power"] for i in order])
    distinct = len(order) > 1 and (np.diff(budgets) > 0).all()
    priv = np.gradient(leaks, budgets) if distinct else np.full(len(order), math.nan)
    util = -np.gradient(power, budgets) if distinct else np.full(len(order), math.nan)
    for place, i in enumerate(order):
        later = [block[j]["bound"] for j in order[place + 1 :]]
        coherent = not any(block[i]["lower"] > bound for bound in later)
        block[i] |= {"priv": float(priv[place]), "util": float(util[place]), "coherent": coherent}
    return block
