"""How things look in a terminal and in a notebook: aligned lines, tables, limits rounded up."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context


def at_most(limit: float, digits: int = 6) -> str:
    """Return a limit to so many digits, rounded up: what is printed as an upper bound is one.

    >>> at_most(0.12345649), at_most(55.0), at_most(100 * 0.53941, 3)
    ('0.123457', '55', '54')
    """
    # Arithmetic's own error is not a reason to print another digit.
    return f"{rounded_up(limit * (1 - 1e-13), digits):.{digits}g}"


def rounded_up(limit: float, digits: int) -> float:
    """Return a number of so many digits that is no smaller.

    >>> rounded_up(0.1300000000000065, 2)
    0.14
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return float(context.create_decimal_from_float(limit))


def aligned(lines: Iterable[tuple[str, str]]) -> str:
    """Return labels and texts as lines, the labels to the right of a common edge."""
    found = list(lines)
    width = max(len(label) for label, _ in found)
    below = "\n" + " " * (width + 2)  # under the text's own first line
    whole = (f"{label:>{width}}  {below.join(text.splitlines())}".rstrip() for label, text in found)
    return "\n".join(whole)


def lines_html(caption: str, lines: Iterable[tuple[str, str]]) -> str:
    """Return labels and texts as an HTML table."""
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for label, text in lines
    )
    return f"<table><caption>{html.escape(caption)}</caption>{body}</table>"


def cells(rows: Iterable[Iterable[object]]) -> list[list[str]]:
    """Return a table's entries as text, numbers to four digits."""
    return [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in rows]


def columns(head: Sequence[str], body: Iterable[Iterable[object]]) -> str:
    """Return a table as aligned columns."""
    table = [list(head), *cells(body)]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in table
    )


def columns_html(head: Sequence[str], body: Iterable[Iterable[object]], caption: str = "") -> str:
    """Return a table as HTML."""
    top = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in head)
    over = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    rest = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
        for line in cells(body)
    )
    return f"<table>{over}<thead><tr>{top}</tr></thead><tbody>{rest}</tbody></table>"
