"""Methods side by side along a grid of budgets: power, certified interval, derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.progress import progress
from rpac._base.types import Floats
from rpac.budget import as_budget
from rpac.calibrators.base import Calibrator
from rpac.calibrators.equilibrium import Equilibrium
from rpac.calibrators.utility import SquaredError
from rpac.certificate.certificate import Certificate
from rpac.front.bias import DRAWN_IN, bias
from rpac.front.certify import certify
from rpac.front.methods import along as along_budgets
from rpac.front.methods import calibrator, exact_noise, needs_no_noise
from rpac.front.outlook import along
from rpac.noise.base import Law, Releasable
from rpac.noise.codebook import Codebook
from rpac.noise.grid import GridNoise, tabulate
from rpac.person.source import Presence
from rpac.pictures.plots import comparison_figure
from rpac.pictures.text import columns, columns_html
from rpac.worlds.outputs import Outputs

Measure = Callable[[Floats, Floats], float]
USUAL = ("equilibrium", "auto-pac")
"""Methods that are compared unless somebody says which; the channel beside them where it may be."""
WORTH = 0.01
"""Share of the error that a channel must gain over noise to be proposed."""
_DRAWS = 20_000
_FEW, _NUMBERS = 16, 1 << 26
"""Draws of a utility, at least; and numbers that they hold together, about at most."""
COLUMNS = (
    "method", "budget", "power", "shrunk", "keeps", "limit", "bound", "lower", "grade",
    "gaussianity_gap", "utility", "priv", "util", "coherent",
)  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """A table of methods and budgets.

    Attributes:
        rows: One dict for each method and budget, with the columns of `COLUMNS`: `power` is
            E|B|^2 in the answer's own units (for labels: probability of a change; for channels:
            E|Y - Z|^2); `shrunk` is what is left of it after the best linear map, and `keeps` how
            much of a world's distance from the mean a release keeps on average: 1 for noise, less
            for code words, which are guesses; `limit` is what no channel of that leakage goes
            below, over stated candidates (`rpac.Equilibrium.limit`), for channels that minimise
            squared error; `bound` and `lower` enclose the leakage;
            `gaussianity_gap` is what a Gaussian reference would charge beyond `bound`; `utility`
            is the user's measure, higher where better; `priv` and `util` are dMI/dbudget and
            -dpower/dbudget; `coherent` is False where a smaller budget provably leaks more than a
            larger one.
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

    @property
    def notes(self) -> list[str]:
        """What to know of it in words: the bias of channels, and where one is proposed."""
        drawn_in = [row for row in self.rows if row.get("keeps", math.nan) < 1 - 1e-9]
        if not drawn_in:
            return []
        least = min(row["keeps"] for row in drawn_in)
        found = [f"{DRAWN_IN}: it keeps {least:.0%} of the distance or more; noise keeps all of it"]
        gains = [row for row in drawn_in if self._gains(row)]
        served = [row for row in gains if self._serves(row)]
        less = "less error than noise, even after its best linear shrinkage"
        if served:
            found.append(f"proposed if that is no harm: {_places(served)}: {less}")
        if missed := [row for row in gains if not self._serves(row)]:
            found.append(f"not proposed: {_places(missed)}: {less}, but no more of your utility")
        return found

    def _noise(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        return [r for r in self.rows if r["keeps"] == 1 and r["budget"] == row["budget"]]

    def _gains(self, row: dict[str, Any]) -> bool:
        """Whether a channel errs less than all noise at its budget."""
        noise = self._noise(row)
        return bool(noise) and row["shrunk"] < (1 - WORTH) * min(r["shrunk"] for r in noise)

    def _serves(self, row: dict[str, Any]) -> bool:
        """Whether a channel does better by the user's measure, where one was given."""
        given = not math.isnan(row["utility"])
        return not given or row["utility"] > max(r["utility"] for r in self._noise(row))

    def _body(self) -> list[list[Any]]:
        return [[row[name] for name in self.names] for row in self.rows]

    def __str__(self) -> str:
        return "\n".join([columns(self.names, self._body()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{note}</p>" for note in self.notes)
        return columns_html(self.names, self._body()) + notes


def _places(rows: list[dict[str, Any]]) -> str:
    """Return which methods at which budgets, in words."""
    at: dict[str, list[str]] = {}
    for row in rows:
        at.setdefault(row["method"], []).append(f"{row['budget']:.4g}")
    return "; ".join(f"{name} at {', '.join(nats)} nats" for name, nats in at.items())


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
    methods: Sequence[str | Calibrator] | Mapping[str, str | Calibrator] = USUAL,
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
        methods: Names or calibrators, or a dict of calibrators by the names that the table gives
            them; by default the equilibrium, Auto-PAC and, where code words may be found (not for
            half-samples, nor labels), the channel.
        utility: `utility(values, released)` of (n, d) outputs and their noisy versions, such as
            an accuracy: the higher the better; estimated from draws with a seed.
        draws: Judging draws of each certificate.
        seed: Study randomness of the utility.
    """
    if isinstance(budgets, Presence):
        move = "Pass them as a pair: rpac.compare((mechanism, source), budgets)."
        raise refuse("budgets beside a question about presence", "rpac.Presence", move)
    if isinstance(outputs, tuple):
        return Comparison(along(*outputs, budgets))
    methods = _with_channel(outputs) if methods is USUAL else methods
    if not len(budgets) or not len(methods):
        raise refuse("budgets and methods", f"{len(budgets)} and {len(methods)}", "Give some.")
    if not outputs.exact:
        raise refuse("finite worlds to compare on", "draws", "Each noise needs draws of its own.")
    rows: list[dict[str, Any]] = []
    for name, method in progress(_named(methods), len(methods), "comparing"):
        block = []
        for budget, noise in zip(budgets, curve(outputs, budgets, method), strict=True):
            law = tabulate(outputs, noise)
            certificate = certify(outputs, law, draws=draws)
            errs = bias(outputs, law)
            block.append({
                "method": name,
                "budget": as_budget(budget).nats(outputs.entropy),
                "power": float(certificate.noise.get("power", errs.error)),
                "shrunk": errs.shrunk,
                "keeps": errs.keeps,
                "limit": _limit(outputs, law, method),
                "bound": certificate.bound,
                "lower": certificate.lower,
                "grade": certificate.grade,
                "gaussianity_gap": gaussianity_gap(outputs, law, certificate),
                "utility": _measured(utility, outputs, noise, seed),
            })  # fmt: skip
        rows += _with_slopes(block)
    return Comparison(rows)


def _named(
    methods: Sequence[str | Calibrator] | Mapping[str, str | Calibrator],
) -> list[tuple[str, str | Calibrator]]:
    """Return what a table calls each method: what its user does, or what it calls itself."""
    if isinstance(methods, Mapping):
        return list(methods.items())
    return [(m if isinstance(m, str) else repr(m), m) for m in methods]


def _with_channel(outputs: Outputs) -> tuple[str, ...]:
    """Return the usual methods, and the channel beside them where words may be found."""
    words = outputs.kind != "label" and not outputs.halves
    return (*USUAL, "channel") if words else USUAL


def _limit(outputs: Outputs, law: Releasable, method: str | Calibrator) -> float:
    """Return the rate-distortion limit beside a channel, in the answer's own units; else NaN."""
    solver = calibrator(method)
    if not isinstance(law, Codebook) or not isinstance(solver, Equilibrium) or outputs.wide:
        return math.nan
    even = np.ptp(outputs.scale) == 0 and isinstance(solver.utility, SquaredError)
    return solver.limit(outputs, law).limit * float(outputs.scale[0]) ** 2 if even else math.nan


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
    return float(utility(outputs.values[rows], noise.applied(outputs, rows, rng)))


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
