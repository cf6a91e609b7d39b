"""Figures of matplotlib from plain numbers. Needs the extra `plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpac._base.checks import array, refuse


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


def comparison_figure(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return power against budget, and certified leakage against budget, for every method.

    Args:
        rows: With "method", "budget", "power", "bound" and "lower", as in a `Comparison`.
    """
    figure = blank_figure(figsize=(9.6, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for method in dict.fromkeys(row["method"] for row in rows):
        x, power, bound, lower = (
            np.array([row[name] for row in rows if row["method"] == method])
            for name in ("budget", "power", "bound", "lower")
        )
        order = np.argsort(x)
        (line,) = left.loglog(x[order], power[order], "o-", markersize=4, label=method)
        own = [row for row in rows if row["method"] == method]
        limit = np.array([row.get("limit", np.nan) for row in own], float)
        if np.isfinite(limit).any():
            left.loglog(x[order], limit[order], "--", color=line.get_color(), linewidth=1,
                        label="rate-distortion limit")  # fmt: skip
        right.fill_between(x[order], lower[order], bound[order], alpha=0.25, color=line.get_color())
        right.plot(x[order], bound[order], "o-", markersize=4, color=line.get_color(), label=method)
    budgets = [row["budget"] for row in rows]
    limits = [min(budgets), max(budgets)]
    right.plot(limits, limits, "--", color="0.5", linewidth=1, label="budget")
    left.set(xlabel="budget (nats)", ylabel="mean squared error (noise: its power)")
    right.set(xlabel="budget (nats)", ylabel="leakage: certified interval (nats)")
    right.set(xscale="log", yscale="log")
    for axes in (left, right):
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    return figure


def sandwich(
    bars: Sequence[tuple[str, float, float, bool]],
    claims: Mapping[str, float],
    *,
    lower: float,
    limit: float | None,
    title: str,
) -> Any:
    """Return a figure of what attacks reach in nats, below what is claimed.

    Args:
        bars: For each attack its name, lower limit, estimate, and whether it breaks the claim.
        claims: Claims in nats: "certificate", "budget", or both.
        lower: What is leaked at least, in nats.
        limit: The least claim; None if there is none.
        title: The verdict.
    """
    figure = blank_figure(figsize=(7.2, 1.4 + 0.4 * len(bars)), layout="constrained")
    axes = figure.subplots()
    for place, (_, low, reached, breaks) in enumerate(bars):
        color = "tab:red" if breaks else "tab:blue"
        axes.plot([low, reached], [place, place], color=color, linewidth=2)
        axes.plot(reached, place, "o", color=color, markersize=6)
        axes.plot(low, place, "|", color=color, markersize=14)
    for name, style in (("certificate", "-"), ("budget", "--")):
        if name in claims:
            axes.axvline(claims[name], color="0.2", linestyle=style, label=name)
    if limit is not None:
        between = "the truth lies here" if lower <= limit else "beyond the claim"
        axes.axvspan(*sorted([lower, limit]), color="0.85", zorder=0, label=between)
    axes.set_yticks(range(len(bars)), [name for name, *_ in bars])
    axes.set(xlabel="nats: lower limit (|) and estimate (o) of each attack")
    axes.set(xlim=(0, None), ylim=(len(bars) - 0.4, -0.6))  # the first attack on top
    axes.set_title(title, fontsize=10, loc="left")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def blank_figure(**layout: Any) -> Any:
    """Return an empty figure of matplotlib, outside of any window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise refuse("matplotlib", "no such package", "pip install 'rpac[plot]'.") from None
    return Figure(**layout)
