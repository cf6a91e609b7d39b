"""Tables of a study: CSV for programs, Markdown for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from rpac.paper.published import count_text
from rpac.paper.study import CHANNELS, COLUMNS, Row, Study
from rpac.pictures.text import columns

PUBLISHED = ("dataset", "method", "budget", "accuracy", "power", "left", "entropy", "success",
             "verdict", "why")  # fmt: skip
_LOGITS = ("budget", "method", "power", "ratio", "error", "limit", "accuracy", "ceiling",
           "attack", "certified",
           "published_accuracy", "published_power", "verdict")  # fmt: skip
_MEANS = ("budget", "method", "power", "ratio", "attack", "certified", "lira", "person",
          "success_bound", "published_power", "published_success", "verdict")  # fmt: skip
_HEADS = {
    "ratio": "power / Auto-PAC",
    "error": "error / variance, after the best linear map",
    "limit": "its rate-distortion limit",
    "ceiling": "highest accuracy",
    "attack": "leaks at least",
    "certified": "leaks at most",
    "lira": "LiRA success",
    "person": "member success at most",
    "success_bound": "success that the budget allows",
    "published_accuracy": "printed accuracy",
    "published_power": "printed power",
    "published_success": "printed success",
    "verdict": "printed row",
}


def to_csv(study: Study) -> str:
    """Return all rows, every column, six digits."""
    return _csv(COLUMNS, (row.cells() for row in study.rows))


def published_csv(study: Study) -> str:
    """Return the verdict on every printed row."""
    return _csv(PUBLISHED, _printed(study))


def markdown(study: Study) -> str:
    """Return a page: how it was made, a table for each secret, and the printed rows."""
    lines = [f"# {study.dataset}", "", *(f"- {k}: {_plain(v)}" for k, v in study.made.items()), ""]
    lines.append(f"![{study.dataset}: panels]({study.dataset}.png)")
    for secret in study.secrets:
        rows = [row for row in study.rows if row.secret == secret]
        lines += ["", f"## Secret: {secret} ({rows[0].entropy:.4g} nats)", ""]
        lines += _table(_MEANS if study.of_means else _LOGITS, _in_order(rows))
    lines += ["", "## Printed rows", "", f"{count_text(study.verdicts)}.", ""]
    bad = [row for row in _printed(study) if row["verdict"] == "incompatible"]
    if bad:
        lines += _grid(("budget", "method", "why"), bad)
    return "\n".join([*lines, ""])


def summary(study: Study) -> str:
    """Return what a terminal shows, about the paper's own secret."""
    shown = ("equilibrium", "auto-pac", *CHANNELS, "sr-pac", "dp", "labels")
    rows = [r for r in study.rows if r.method in shown and r.secret == study.secrets[0]]
    names = _MEANS if study.of_means else _LOGITS
    body = [[_short(row.cells()[name]) for name in names] for row in _in_order(rows)]
    return columns([_HEADS.get(name, name) for name in names], body)


def _plain(value: Any) -> str:
    """Return a setting as people write it; those left open are left out."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{k} {_plain(v)}" for k, v in value.items() if v is not None)


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows by budget, and within it as they were measured."""
    return sorted(rows, key=lambda row: row.budget)


def _table(columns: Sequence[str], rows: Iterable[Row]) -> list[str]:
    found = []
    for row in rows:
        cells = row.cells()
        if row.note:
            cells["method"] = f"{row.method}: {row.note}"
        found.append(cells)
    return _grid(columns, found)


def _grid(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> list[str]:
    heads = [_HEADS.get(name, name) for name in columns]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in rows:
        lines.append(f"| {' | '.join(_short(row[name]) for name in columns)} |")
    return lines


def _printed(study: Study) -> list[dict[str, Any]]:
    return [
        {**{name: getattr(claim, name, None) for name in PUBLISHED},
         "verdict": verdict.word, "why": verdict.why}
        for claim, verdict in study.verdicts.items()
    ]  # fmt: skip


def _csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_digits(row[name]) for name in columns])
    return text.getvalue()


def _digits(cell: Any) -> Any:
    return f"{cell:.6g}" if isinstance(cell, float) else "" if cell is None else cell


def _short(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else "" if cell is None else str(cell)
