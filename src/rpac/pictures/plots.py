"""Figures of matplotlib from plain numbers. Needs the extra `plot`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpac._base.checks import array, refuse
from rpac.pictures.axis import BEYOND, settling

_MANY_TICKS = 6
"""Budgets from which their ticks are turned."""


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
    ticks = sorted(set(budgets))
    for axes in (left, right):
        axes.set_xticks(ticks, [f"{b:.3g}" for b in ticks], minor=False)
        axes.tick_params(axis="x", rotation=45 if len(ticks) > _MANY_TICKS else 0)
        _plain_numbers(axes.yaxis)
        axes.xaxis.minorticks_off()
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def _plain_numbers(axis: Any) -> None:
    """Write a log axis in plain numbers; a short one on 2 and 5 times powers of ten too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.4g}"))
    axis.set_minor_formatter(NullFormatter())


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


def release_figure(
    rows: Sequence[Mapping[str, Any]],
    told: Mapping[str, Any],
    nats: Mapping[str, Any] | None = None,
) -> Any:
    """Return the picture of a release: the answer with its intervals, and what it gives away.

    Args:
        rows: Of each number "name", "value", and its "noise" and "sampling" ends, if there are any;
            those that are "noisy" do not settle the axis. Each "column" has a panel of its own.
        told: How often somebody guesses right "before" and "after", and "what".
        nats: "attack", "lower", "bound" and "budget", where an audit was made: the sandwich.
    """
    panels = [
        [row for row in rows if row.get("column", "") == column]
        for column in dict.fromkeys(row.get("column", "") for row in rows)
    ] or [[]]
    parts = 2 if nats is None else 3
    height = max(2.6, 0.4 + sum(0.8 + 0.32 * len(panel) for panel in panels))
    figure = blank_figure(figsize=(4.8 + 3.2 * (parts - 1), height), layout="constrained")
    grid = figure.add_gridspec(
        len(panels), parts, width_ratios=[1.5, *[1.0] * (parts - 1)],
        height_ratios=[2.5 + len(panel) for panel in panels],
    )  # fmt: skip
    for place, panel in enumerate(panels):
        _error_bars(figure.add_subplot(grid[place, 0]), panel, first=place == 0)
    guess, *rest = (figure.add_subplot(grid[:, part]) for part in range(1, parts))
    bars = guess.barh(
        [1, 0], [100 * told["before"], 100 * told["after"]], color=["0.7", "tab:blue"]
    )
    guess.bar_label(bars, fmt="%.3g %%", padding=3)
    guess.axvline(50, color="0.5", linewidth=1, linestyle=":")
    guess.set_yticks([1, 0], ["before", "after,\nat most"])
    guess.set(xlim=(0, 125), xticks=[0, 50, 100], xlabel="guessed right (%)")
    what = textwrap.fill(told["what"], 26)
    guess.set_title(f"what it gives away:\n{what}", fontsize=9, loc="left")
    for axes in rest:
        _between(axes, nats or {})
    return figure


def _error_bars(axes: Any, rows: Sequence[Mapping[str, Any]], *, first: bool) -> None:
    """Draw the numbers of one column; the first panel has the legend."""
    places = list(range(len(rows)))
    for kind, color, width in (("sampling", "0.8", 7), ("noise", "tab:blue", 3)):
        known = [(at, row[kind]) for at, row in zip(places, rows, strict=True) if row.get(kind)]
        label = {"sampling": "mean of all worlds", "noise": "without its noise"}[kind]
        if known:
            at = [place for place, _ in known]
            low, high = zip(*(ends for _, ends in known), strict=True)
            axes.hlines(at, low, high, color=color, linewidth=width, label=f"{label} (95 %)")
    values = [row["value"] for row in rows]
    axes.plot(values, places, "o", color="black", markersize=5, label="released")
    axes.set_yticks(places, [row["name"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.margins(x=0.08)
    _limited(axes, rows)
    named, above = rows[0].get("column", "") if rows else "", 0.0
    if named:
        axes.set_title(textwrap.shorten(named, 60), fontsize=9, loc="left")
        above = 0.35 / (0.4 + 0.32 * len(rows))
    if first:
        place = (0, 1 + above)
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=place, ncols=2)


def _limited(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Let numbers that are not "noisy" settle the axis; what leaves it has an arrow, and a note."""
    if not any(row.get("noisy") for row in rows):
        return
    ends = settling(rows)
    margin = 0.08 * (max(ends) - min(ends)) or 0.08 * abs(ends[0]) or 1.0
    low, high = min(ends) - margin, max(ends) + margin
    axes.set_xlim(low, high)
    left = False
    for place, row in enumerate(rows):
        first, last = row.get("noise") or (row["value"],) * 2
        for beyond, at, sign in ((first < low, low, "<"), (last > high, high, ">")):
            if beyond:
                left = True
                axes.plot(at, place, sign, color="tab:blue", markersize=9, clip_on=False)
    if left:
        axes.set_xlabel(BEYOND, fontsize=8)


def _between(axes: Any, nats: Mapping[str, Any]) -> None:
    """Draw the sandwich: what attacks reach, where the truth lies, what is certified."""
    floor = max(nats["lower"], nats["attack"])
    axes.axvspan(*sorted([floor, nats["bound"]]), ymin=0.3, ymax=0.7, color="tab:blue", alpha=0.3,
                 label="the truth lies here")  # fmt: skip
    axes.axvline(nats["bound"], color="black", label=f"certified: {nats['bound']:.4g}")
    if nats.get("budget") is not None:
        axes.axvline(nats["budget"], color="0.4", linestyle="--", label="budget")
    axes.plot([nats["attack"]], [0.5], "o", color="black", label=f"attacks: {nats['attack']:.4g}")
    axes.set(yticks=[], ylim=(0, 1), xlabel="nats that it leaks")
    axes.set_xlim(0, 1.15 * max(nats["bound"], nats.get("budget") or 0.0, 1e-12))
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))


def gauge(accounts: Sequence[Mapping[str, Any]]) -> Any:
    """Return how much of each account is spent and left.

    Args:
        accounts: Of each its "label", what is "spent" and its "cap" in nats, if it has one.
    """
    figure = blank_figure(figsize=(6.4, 0.9 + 0.4 * len(accounts)), layout="constrained")
    axes, places = figure.subplots(), range(len(accounts))
    caps = [account["cap"] for account in accounts]
    whole = [cap or 0.0 for cap in caps]
    axes.barh(places, whole, color="0.88", label="cap", height=0.6)
    spent = [account["spent"] for account in accounts]
    axes.barh(places, spent, color="tab:blue", label="spent", height=0.6)
    axes.set_yticks(places, [account["label"] for account in accounts])
    axes.set_ylim(len(accounts) - 0.4, -0.6)
    axes.set_xlabel("nats")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def exposure_figure(bars: Sequence[Mapping[str, Any]], claimed: float | None) -> Any:
    """Return how many people are guessed how well. For the owner of the data alone.

    Args:
        bars: With "low", "high" and "people".
        claimed: The success that is certified for anybody, if one is.
    """
    figure = blank_figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    low, high = (100 * np.array([bar[side] for bar in bars]) for side in ("low", "high"))
    axes.bar(low, [bar["people"] for bar in bars], high - low, align="edge", color="tab:blue",
             edgecolor="white")  # fmt: skip
    if claimed is not None:
        axes.axvline(100 * claimed, color="black", label=f"certified: {100 * claimed:.4g} %")
        axes.legend(frameon=False, fontsize=8)
    axes.set(xlabel="how often their presence or membership is guessed right (%)", ylabel="people")
    axes.set_title("sealed: for the owner of the data", fontsize=10, loc="left")
    return figure


def blank_figure(**layout: Any) -> Any:
    """Return an empty figure of matplotlib, outside of any window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise refuse("matplotlib", "no such package", "pip install 'rpac[plot]'.") from None
    return Figure(**layout)
