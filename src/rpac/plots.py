"""Pictures. Needs the extra `plot` (matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rpac._checks import array, refuse
from rpac.advantage import success_to_nats

if TYPE_CHECKING:
    from rpac.attack.audit import Audit
    from rpac.curves import Comparison


def noise_against_budget(
    budgets: Sequence[float],
    scales: Mapping[str, Sequence[float]],
    *,
    signal: float,
    chosen: float | None = None,
) -> Any:
    """Return a figure of the noise's standard deviation against the budget, on log axes.

    Args:
        budgets: Budgets in nats, positive.
        scales: For each method its noise's root power at those budgets.
        signal: How far the answer itself varies between worlds (root power), for scale.
        chosen: The budget to mark.
    """
    x = array(budgets, "budgets", 1)
    figure = blank_figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for name, y in scales.items():
        axes.loglog(x, array(y, name, 1), "o-", markersize=4, label=name)
    axes.axhline(signal, color="0.5", linestyle="--", linewidth=1)
    axes.annotate(
        "spread of the answer over worlds",
        (x.min(), signal),
        xytext=(4, 4),
        textcoords="offset points",
        color="0.35",
        fontsize=9,
    )
    if chosen is not None:
        axes.axvline(chosen, color="0.5", linestyle=":", linewidth=1)
        axes.annotate(
            f"chosen: {chosen:g} nats",
            (chosen, 0.03),
            rotation=90,
            fontsize=9,
            xytext=(-4, 0),
            textcoords="offset points",
            color="0.35",
            ha="right",
            va="bottom",
            xycoords=("data", "axes fraction"),
        )
    axes.set_xlabel("budget: leaked information (nats)")
    axes.set_ylabel("noise: standard deviation (root power)")
    axes.set_xticks(np.asarray(x), [f"{b:.2g}" for b in x], minor=False, fontsize=8)
    axes.minorticks_off()
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    return figure


def comparison_figure(comparison: Comparison) -> Any:
    """Return power against budget, and certified leakage against budget, for every method."""
    figure = blank_figure(figsize=(9.6, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for method in dict.fromkeys(row["method"] for row in comparison.rows):
        x, power, bound, lower = (
            comparison.column(method, name) for name in ("budget", "power", "bound", "lower")
        )
        order = np.argsort(x)
        (line,) = left.loglog(x[order], power[order], "o-", markersize=4, label=method)
        right.fill_between(x[order], lower[order], bound[order], alpha=0.25, color=line.get_color())
        right.plot(x[order], bound[order], "o-", markersize=4, color=line.get_color(), label=method)
    budgets = [row["budget"] for row in comparison.rows]
    limits = [min(budgets), max(budgets)]
    right.plot(limits, limits, "--", color="0.5", linewidth=1, label="budget")
    left.set(xlabel="budget (nats)", ylabel="noise power")
    right.set(xlabel="budget (nats)", ylabel="leakage: certified interval (nats)")
    right.set(xscale="log", yscale="log")
    for axes in (left, right):
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    return figure


def sandwich(audit: Audit) -> Any:
    """Return a figure of what attacks reach in nats, below what is claimed."""
    found = [f for f in audit.findings if f.covered]
    figure = blank_figure(figsize=(7.2, 1.4 + 0.4 * len(found)), layout="constrained")
    axes = figure.subplots()
    for place, f in enumerate(found):
        color = "tab:red" if f.attack in audit.alarms else "tab:blue"
        reached = f.estimate if f.measure == "nats" else 0.0
        if f.prior is not None and f.prior < 1:
            reached = float(success_to_nats(f.estimate, f.prior))
        reached = max(reached, f.nats)  # a success rate may understate what its log score shows
        axes.plot([f.nats, reached], [place, place], color=color, linewidth=2)
        axes.plot(reached, place, "o", color=color, markersize=6)
        axes.plot(f.nats, place, "|", color=color, markersize=14)
    for name, style in (("certificate", "-"), ("budget", "--")):
        if name in audit.claims:
            axes.axvline(audit.claims[name], color="0.2", linestyle=style, label=name)
    if audit.limit is not None:
        between = "the truth lies here" if audit.lower <= audit.limit else "beyond the claim"
        ends = sorted([audit.lower, audit.limit])
        axes.axvspan(*ends, color="0.85", zorder=0, label=between)
    axes.set_yticks(range(len(found)), [f.attack for f in found])
    axes.set(xlabel="nats: lower limit (|) and estimate (o) of each attack", ylim=(-0.6, None))
    axes.invert_yaxis()
    axes.set_title(audit.verdict.split(":")[0], fontsize=10, loc="left")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8)
    return figure


def blank_figure(**layout: Any) -> Any:
    """Return an empty figure of matplotlib, outside of any window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise refuse("matplotlib", "no such package", "pip install 'rpac[plot]'.") from None
    return Figure(**layout)
