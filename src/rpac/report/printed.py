"""A released answer as it is printed on a terminal: a table, its error bars named below."""

from __future__ import annotations

from typing import Any

from rpac._base.types import Json
from rpac.answers import precision
from rpac.certificate.certificate import FACTS
from rpac.pictures.text import columns
from rpac.report import wording

TIDIED = "(counts are shown not below 0; the record has what was released)"
"""What is said below counts that were made presentable."""
NOTHING = "no row: HAVING or LIMIT left none of those that were released"
"""What is said of a table without rows, which was charged all the same."""


def answer_text(rows: list[Json], *, whole: bool = False) -> str:
    """Return the answer as a table: beside each number its two intervals, named below.

    Args:
        rows: As the record has them.
        whole: Whether counts are shown rounded and not below 0.
    """
    if not rows:
        return NOTHING
    if whole:
        rows = [{name: _whole(cell) for name, cell in row.items()} for row in rows]
    head = [name or "key" for name in rows[0]]
    table = columns(head, [[_cell(cell) for cell in row.values()] for row in rows])
    table += f"\n\n{TIDIED}" if whole else ""
    cells = [cell for row in rows for cell in row.values() if isinstance(cell, dict)]
    if any("fact" in cell for cell in cells):
        table += f"\n\n* {FACTS}"
    if not any(cell.get("noise") for cell in cells):
        return table
    if not any("sampling" in cell for cell in cells):
        return f"{table}\n\n{wording.RELATIVE}\n{wording.NOISE_ONLY}"
    return (
        f"{table}\n\n{wording.RELATIVE}\n"
        "[ ] holds the answer on the drawn sample, without its noise (95 %)\n"
        "( ) holds the mean answer over all samples: noise and sampling together (95 %)"
    )


def _whole(cell: Any) -> Any:
    """Return a count not below 0; everything else as it is. Counts are whole when released."""
    known = isinstance(cell, dict) and isinstance(cell.get("value"), int) and "noise" in cell
    return cell | {"value": max(0, cell["value"])} if known else cell


def _cell(cell: Any) -> str:
    if not isinstance(cell, dict):
        return str(cell)
    if "fact" in cell:
        return f"{_number(cell['value'])}  *"
    said = precision.of(cell)
    noise, sampling = (", ".join(map(_number, cell.get(n) or ())) for n in ("noise", "sampling"))
    found = _number(cell["value"]) + (f"  {said}" if said else "")
    found += f"  [{noise}]" if noise else ""
    return found + (f"  ({sampling})" if sampling else "")


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
