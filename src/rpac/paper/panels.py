"""The paper's panels, drawn again from a study."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpac.paper.study import CHANNELS, MATCHED, Study
from rpac.pictures.plots import blank_figure

_STYLE = {
    "confident-auto-pac": ("0.6", "v:"),
    "proportional": ("tab:brown", "d:"),
    "efficient-pac": ("tab:green", "^-"),
    "auto-pac": ("tab:orange", "s-"),
    "dp": ("tab:red", "x-"),
    "success-rate": ("tab:cyan", "P-"),
    "labels": ("tab:pink", "h-"),
    "channel-argmax": ("tab:olive", ">-"),
    "channel": ("black", "<-"),
    "equilibrium": ("tab:blue", "o--"),
    "sr-pac": ("tab:purple", "*"),
}
"""Colour and mark of each method, in the order in which they are drawn over each other."""


_SIZE = {"sr-pac": 11, "equilibrium": 4}


def panels(study: Study) -> Any:
    """Return a figure: accuracy, error, power, targets; of means power, targets, success.

    Budgets fall from left to right, as in the paper: privacy grows to the right.
    """
    drawn = [_power, _targets]
    drawn = [*drawn, _success] if study.of_means else [_accuracy, _error, *drawn]
    rows, wide = len(study.secrets), len(drawn)
    figure = blank_figure(figsize=(5.0 * wide + 2.0, 4.4 * rows), layout="constrained")
    lines = figure.subplots(rows, wide, squeeze=False)
    for line, secret in zip(lines, study.secrets, strict=True):
        for axes, draw in zip(line, drawn, strict=True):
            draw(axes, study, secret)
            axes.grid(visible=True, which="major", alpha=0.3)
        _legend(line)
        line[0].set_title(f"{study.dataset}: {secret}", loc="left")
    return figure


def _legend(line: Any) -> None:
    """Name what is drawn, once for a row of panels and beside them, where it covers nothing."""
    named: dict[str, Any] = {}
    for axes in line:
        handles, labels = axes.get_legend_handles_labels()
        named = dict(zip(labels, handles, strict=True)) | named
    line[-1].legend(named.values(), named, frameon=False, fontsize=8, loc="center left",
                    bbox_to_anchor=(1.01, 0.5))  # fmt: skip


def _each(study: Study, secret: str, name: str) -> Any:
    """Yield method, style, budgets and a column, wherever it was measured."""
    for method, style in _STYLE.items():
        x = np.array(study.column(secret, method, "budget"), float)
        y = np.array(study.column(secret, method, name), float)
        order = np.argsort(x)
        if len(x) and not np.isnan(y).all():
            yield method, style, x[order], y[order]


def _lines(axes: Any, study: Study, secret: str, name: str, skip: tuple[str, ...] = ()) -> None:
    for method, (color, mark), x, y in _each(study, secret, name):
        if method not in skip:
            axes.plot(x, y, mark, color=color, markersize=_SIZE.get(method, 5), label=method)
    axes.set_xlabel("budget (nats)")
    if not axes.xaxis_inverted():
        axes.invert_xaxis()


def _accuracy(axes: Any, study: Study, secret: str) -> None:
    _lines(axes, study, secret, "accuracy")
    _lines_once(axes, study, secret, "ceiling", "highest that the budget allows")
    _printed(axes, study, secret, "accuracy")
    axes.set(ylabel="accuracy on the test records", ylim=(0, 1.02))


def _error(axes: Any, study: Study, secret: str) -> None:
    """Draw squared errors after the best linear map, and how low they could be."""
    _lines(axes, study, secret, "error")
    x = np.array(study.column(secret, "channel", "budget"), float)
    limit = np.array(study.column(secret, "channel", "limit"), float)
    order = np.argsort(x)
    axes.plot(x[order], limit[order], "k--", linewidth=1.2, label="rate-distortion limit")
    axes.set(ylabel="squared error / variance", yscale="log",
             title="after the best linear map")  # fmt: skip


def _power(axes: Any, study: Study, secret: str) -> None:
    _lines(axes, study, secret, "power", skip=("labels", *CHANNELS))
    axes.set(ylabel="noise power E|B|$^2$", yscale="log")
    if study.of_means:
        axes.set_xscale("log")
    _printed(axes, study, secret, "power")


def _targets(axes: Any, study: Study, secret: str) -> None:
    """Draw what is left to know: the target on one axis, attack and certificate on the other."""
    entropy = next(row.entropy for row in study.rows if row.secret == secret)
    ends: list[float] = []
    for method, (color, mark), x, bound in _each(study, secret, "certified"):
        if method in (*MATCHED, "labels"):
            continue
        lower = np.array(study.column(secret, method, "attack"))[np.argsort(
            study.column(secret, method, "budget"))]  # fmt: skip
        left = entropy - x
        axes.plot(left, entropy - bound, mark, color=color, markersize=_SIZE.get(method, 5),
                  label=method)  # fmt: skip
        axes.vlines(left, entropy - bound, entropy - lower, color=color, alpha=0.35)
        ends += [left.min(), left.max()]
    axes.plot([min(ends), max(ends)], [min(ends), max(ends)], "--", color="0.4", label="target")
    axes.set(xlabel="target: entropy - budget (nats)",
             ylabel="left to know (nats)",
             title="marks: certified; lines: up to what attacks leave")  # fmt: skip


def _success(axes: Any, study: Study, secret: str) -> None:
    _lines(axes, study, secret, "lira")
    _lines_once(axes, study, secret, "success_bound", "highest that the budget allows")
    _printed(axes, study, secret, "success")
    axes.axhline(0.5, color="0.4", linestyle="--", linewidth=1)
    axes.set(ylabel="LiRA success on the most exposed member", xscale="log")


def _lines_once(axes: Any, study: Study, secret: str, name: str, label: str) -> None:
    """Draw a limit that is the same for all methods."""
    found = {r.budget: getattr(r, name) for r in study.rows if r.secret == secret and r.comparable}
    x = sorted(found)
    axes.plot(x, [found[b] for b in x], "k--", linewidth=1.2, label=label)


def _printed(axes: Any, study: Study, secret: str, name: str) -> None:
    """Mark what the paper prints for SR-PAC; hollow where it cannot be true of its budget."""
    noisy = {row.budget for row in study.rows if row.comparable}
    if secret != study.secrets[0]:
        return  # the paper has the first secret alone
    for word, fill in (("compatible", "tab:purple"), ("incompatible", "none")):
        made = [c for c, v in study.verdicts.items() if v.word == word and c.method == "SR-PAC"]
        points = [(c.budget, getattr(c, name)) for c in made if c.budget in noisy]
        points = [(x, y) for x, y in points if y is not None]
        if points:
            axes.scatter(*zip(*points, strict=True), marker="D", s=22, facecolors=fill, zorder=3,
                         edgecolors="tab:purple", label=f"printed SR-PAC, {word}")  # fmt: skip
