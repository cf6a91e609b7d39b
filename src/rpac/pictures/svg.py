"""Figures as SVG text, for reports: no library, no network, colours from the page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from rpac._base.types import Json
from rpac.pictures.axis import BEYOND, settling
from rpac.pictures.text import at_most

MOST = 500
"""Rows of an answer that are drawn; what is left out is said."""
_FINEST = 1e-5
"""Share of the largest number that an axis spans at least: what differs by less looks alike."""
WIDTH = 640
"""Of every figure, in its own units; the page scales it."""


def _svg(name: str, label: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg id="{name}" class="figure" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x: Sequence[float], y: Sequence[float], kind: str) -> str:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline class="{kind}" points="{points}"/>'


def _circle(x: float, y: float, radius: int, kind: str) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


_STYLE = """
.rpac-figure { width: 100%; max-width: 40rem; height: auto; display: block; }
.rpac-figure text { fill: currentColor; font: 15px sans-serif; }
.rpac-figure polyline { fill: none; stroke: currentColor; stroke-width: 1.5; }
.rpac-figure .grid { stroke: #8886; stroke-width: 1; }
.rpac-figure .strong { stroke-width: 3; }
.rpac-figure .dashed { stroke-dasharray: 6 4; }
.rpac-figure .curve { stroke: #4c7fe0; stroke-width: 2.5; }
.rpac-figure .wide { stroke: #888a; stroke-width: 10; stroke-linecap: round; }
.rpac-figure .narrow { stroke: #4c7fe0; stroke-width: 4; stroke-linecap: round; }
.rpac-figure .band { fill: #4c7fe066; }
.rpac-figure .bar, .rpac-figure .small { fill: #4c7fe0; }
.rpac-figure .track { fill: #8884; }
.rpac-figure .dot { fill: currentColor; }
"""
"""For a page that is not ours: colours that can be read on white and on black."""


def inline(figure: str) -> str:
    """Return a figure for a page that has no style for it, such as a notebook's."""
    if not figure:
        return ""
    bare = re.sub(r'^<svg id="[^"]*" class="figure"', '<svg class="rpac-figure"', figure)
    return f"<style>{_STYLE}</style>{bare}"


def gauge(accounts: Sequence[Json]) -> str:
    """Return how much of each account is spent: "label", "spent" and "cap" in nats."""
    parts = []
    for i, account in enumerate(accounts):
        y, share = 30 + 52 * i, min(account["spent"] / max(account["cap"], 1e-9), 1.0)
        left = max(account["cap"] - account["spent"], 0.0)
        parts += [
            _text(30, y, _fitting(str(account["label"]), 34)),
            _text(WIDTH - 30, y, f"{left:.4g} of {account['cap']:.4g} nats left", "end"),
            f'<rect class="track" x="30" y="{y + 8}" width="{WIDTH - 60}" height="16"/>',
            f'<rect class="bar" x="30" y="{y + 8}" width="{(WIDTH - 60) * share:.1f}" '
            'height="16"/>',
        ]
    said = "What is spent of each account of the ledger"
    return _svg("gauge", said, 20 + 52 * len(accounts), parts) if accounts else ""


def sandwich(lower: float, bound: float, *, budget: float | None, attack: float | None) -> str:
    """Return the sandwich: what attacks reach, where the truth lies, what is certified."""
    top = 1.12 * max(bound, budget or 0.0, 1e-12)
    left, right = 20.0, WIDTH - 20.0

    def at(nats: float) -> float:
        return left + (right - left) * max(nats, 0.0) / top

    floor = max(lower, attack or 0.0)
    parts = [
        f'<rect class="band" x="{at(floor):.1f}" y="64" height="34" '
        f'width="{max(at(bound) - at(floor), 2):.1f}"/>',
        _line([left, right], [112, 112], "axis"),
        _line([at(bound)] * 2, [56, 112], "strong"),
        _text(max(at(bound), 300), 48, f"certified: at most {at_most(bound, 4)}", "end"),
    ]
    if attack is not None:
        parts.append(_circle(at(attack), 81, 6, "dot"))
        parts.append(_text(left, 20, f"attacks reach at least {attack:.4g} (dot)"))
    if budget is not None:
        parts.append(_line([at(budget)] * 2, [56, 112], "dashed"))
    for nats in _round_numbers(top):
        parts.append(_line([at(nats)] * 2, [112, 118], "axis"))
        parts.append(_text(at(nats), 136, f"{nats:g}", "middle"))
    parts.append(_text((left + right) / 2, 162, "nats that the release leaks", "middle"))
    said = f"The release leaks between {floor:.4g} and {at_most(bound, 4)} nats"
    return _svg("sandwich", said, 172, parts)


def histogram(bars: Sequence[Json]) -> str:
    """Return how many people are guessed how well: bars of low, high and people."""
    most = max([bar["people"] for bar in bars] or [0])
    wide = (WIDTH - 60) / max(len(bars), 1)
    parts = [_line([30, WIDTH - 30], [170, 170], "axis")]
    for i, bar in enumerate(bars):
        high = 130 * bar["people"] / max(most, 1)
        parts.append(
            f'<rect class="bar" x="{30 + i * wide:.1f}" y="{170 - high:.1f}" '
            f'width="{max(wide - 2, 1):.1f}" height="{high:.1f}"/>'
        )
        if i % max(len(bars) // 4, 1) == 0:
            parts.append(_text(30 + i * wide, 190, f"{100 * bar['low']:.4g} %", "middle"))
    if bars:
        parts.append(_text(WIDTH - 30, 190, f"{100 * bars[-1]['high']:.4g} %", "middle"))
    parts.append(_text(30, 26, f"people; the largest bar is {most:,}"))
    parts.append(_text(WIDTH / 2, 214, "how often their presence is guessed right", "middle"))
    said = f"How well presence is guessed, for {sum(bar['people'] for bar in bars):,} people"
    return _svg("exposure", said, 224, parts)


def _round_numbers(top: float) -> list[float]:
    """Return three to five multiples of 1, 2 or 5 times a power of ten, from 0 up to `top`."""
    ten = 10.0 ** math.floor(math.log10(top / 2))
    step = next(ten * lead for lead in (1, 2, 5) if top / (ten * lead) < 5)
    return [float(f"{i * step:.6g}") for i in range(int(top / step) + 1)]


def noise_against_budget(
    curve: Sequence[Sequence[float]], budget: float, chosen: float | None
) -> str:
    """Return noise, in shares of the answer's own spread, against the budget; both on log axes."""
    points = [(b, n) for b, n in curve if n > 0]
    if len(points) < 2:
        return ""
    known = [*points, *([(budget, chosen)] if chosen else [])]
    xs, ys = [math.log10(b) for b, _ in known], [math.log10(n) for _, n in known]
    low, high = min(ys) - 0.1, max(ys) + 0.1
    span, rise = (max(xs) - min(xs)) or 1.0, high - low

    def at(b: float, n: float) -> tuple[float, float]:
        x = 70 + (WIDTH - 100) * (math.log10(b) - min(xs)) / span
        return x, 250 - 212 * (math.log10(n) - low) / rise

    places = [at(b, n) for b, n in points]
    parts = [_line([70, WIDTH - 20], [250, 250], "axis"), _line([70, 70], [28, 250], "axis")]
    for share in _decades(low, high):
        y = at(points[0][0], share)[1]
        parts += [_line([70, WIDTH - 20], [y, y], "grid"), _text(62, y + 5, f"{share:g} x", "end")]
    parts.append(_line([x for x, _ in places], [y for _, y in places], "curve"))
    for (b, _), (x, y) in zip(points, places, strict=True):
        parts.append(_circle(x, y, 3, "small"))
        parts.append(_text(x, 270, f"{b:g}", "middle"))
    if chosen:
        x, y = at(budget, chosen)
        low_left = x > WIDTH / 2  # the curve falls: its lower left and upper right are free
        parts.append(_circle(x, y, 7, "dot"))
        place = (x - 14, y + 20, "end") if low_left else (x + 12, y - 10, "start")
        parts.append(_text(*place[:2], f"chosen: {budget:.3g} nats", place[2]))
    parts.append(_text(WIDTH / 2, 296, "budget: nats that may leak", "middle"))
    parts.append(_text(70, 18, "noise, in shares of how far samples differ"))
    said = "Noise falls as the budget grows; the chosen budget is marked"
    return _svg("noise-against-budget", said, 304, parts)


def _decades(low: float, high: float) -> list[float]:
    steps = [10.0**k * lead for k in range(-6, 7) for lead in (1, 3)]
    return [s for s in steps if low <= math.log10(s) <= high]


def intervals(
    rows: Sequence[Json], column: str, most: int = MOST, *, from_zero: bool = False
) -> str:
    """Return the numbers of one column with their intervals, one line a row.

    Numbers that are "noisy" do not settle the axis; where they leave it there is an arrow.

    Args:
        rows: Of the answer; a cell has "value", "noise", maybe "sampling" and "noisy".
        column: Whose numbers are drawn.
        most: So many rows are drawn.
        from_zero: Whether they are bars from 0, as counts are.
    """
    drawable = [row for row in rows if _drawable(row.get(column))]
    shown = drawable[:most]
    if not shown:
        return ""
    axis = column if shown == drawable else f"{column}, the first {most} of {len(drawable)} rows"
    ends = settling([row[column] for row in shown]) + ([0.0] if from_zero else [])
    ticks = _ticks(min(ends), max(ends))

    def at(value: float) -> float:
        share = (value - ticks[0]) / (ticks[-1] - ticks[0])
        return 30 + (WIDTH - 60) * min(max(share, 0.0), 1.0)

    bottom = 44 + 46 * len(shown)
    parts = [_line([at(tick)] * 2, [20, bottom - 16], "grid") for tick in ticks]
    for i, row in enumerate(shown):
        y, cell = 44 + 46 * i, row[column]
        keys = [str(v) for v in row.values() if not isinstance(v, dict)]
        parts.append(_text(30, y - 16, _fitting(", ".join(keys) or column)))
        if from_zero:
            left, right = sorted((at(0.0), at(cell["value"])))
            parts.append(
                f'<rect class="band" x="{left:.1f}" y="{y - 8}" width="{right - left:.1f}" '
                'height="16"/>'
            )
        for kind, name in ("wide", "sampling"), ("narrow", "noise"):
            if name in cell:
                pair = cell[name] or cell["noise"]
                parts.append(_line([at(pair[0]), at(pair[1])], [y, y], kind))
        if ticks[0] <= cell["value"] <= ticks[-1]:
            parts.append(_circle(at(cell["value"]), y, 5, "dot"))
        parts += _arrows(cell, y, ticks)
    parts.append(_line([30, WIDTH - 30], [bottom - 16, bottom - 16], "axis"))
    for i, tick in enumerate(ticks):  # on a phone there is room for every second one
        kind = "label odd" if i % 2 else "label"
        parts.append(_text(at(tick), bottom + 4, _tick(tick), "middle", kind))
    parts.append(_text(WIDTH / 2, bottom + 30, _fitting(axis), "middle"))
    below = 42
    if any('class="bar arrow"' in part for part in parts):
        parts.append(_text(WIDTH / 2, bottom + 58, BEYOND, "middle"))
        below = 70
    both = any("sampling" in row[column] for row in shown)
    said = f"Released values of {column} with {'two intervals' if both else 'an interval'} each"
    return _svg("intervals", said, bottom + below, parts)


def _ticks(low: float, high: float) -> list[float]:
    """Return two to eight round numbers, from one below to one above."""
    size = max(abs(low), abs(high))
    span = max(high - low, _FINEST * size) or 1.0
    ten = 10.0 ** math.floor(math.log10(span / 3))
    step = next(ten * lead for lead in (1, 2, 5, 10) if span / (ten * lead) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{i * step:.9g}") for i in range(first, max(last, first + 1) + 1)]


def _tick(value: float) -> str:
    """Return a round number as it fits below an axis."""
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e7 and value == int(value) else f"{value:.8g}"


def _fitting(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


def _drawable(cell: Any) -> bool:
    known = isinstance(cell, dict) and cell.get("noise")
    parts = [cell["value"], *cell["noise"]] if known else ["-"]
    return all(isinstance(part, int | float) for part in parts)


def _arrows(cell: Json, y: float, ticks: Sequence[float]) -> list[str]:
    """Return arrows where a number leaves the axis."""
    ends = [x for name in ("noise", "sampling") for x in (cell.get(name) or ())] + [cell["value"]]
    found = []
    for gone, x, by in (min(ends) < ticks[0], 30, -12), (max(ends) > ticks[-1], WIDTH - 30, 12):
        corners = f"{x},{y - 8} {x + by},{y} {x},{y + 8}"
        found += [f'<polygon class="bar arrow" points="{corners}"/>'] if gone else []
    return found
