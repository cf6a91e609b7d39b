"""How certificates and releases look, in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpac.certificate import Certificate
    from rpac.reveal import Release


def at_most(limit: float, digits: int = 6) -> str:
    """Return a limit to so many digits, rounded up: what is printed as an upper bound is one.

    >>> at_most(0.12345649), at_most(55.0), at_most(100 * 0.53941, 3)
    ('0.123457', '55', '54')
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(
        limit * (1 - 1e-13)  # arithmetic's own error is not a reason to print another digit
    )
    return f"{float(rounded):.{digits}g}"


def rows(certificate: Certificate) -> list[tuple[str, str]]:
    """Return the certificate as label and text, in the order people read."""
    c = certificate
    how = "proved" if c.grade == "proved" else f"confidence {c.confidence:.9g}"
    figure = "charged" if c.charged else "planning figure: ideal noise, not a released law"
    density = ", ".join(f"{100 * float(q):g} % {v:.4g}" for q, v in c.density_quantiles.items())
    lines = [
        ("secret", c.secret),
        ("prior", c.prior),
        ("adversary", c.adversary),
        ("leaks at most", f"{at_most(c.bound)} nats ({how}; {figure})"),
        ("leaks at least", f"{c.lower:.6g} nats"),
        (
            "a yes-or-no guess",
            "right 50 % of the time before, at most "
            f"{at_most(100 * c.success_rate(0.5), 4)} % after",
        ),
        (
            "information density",
            f"{density} (estimated quantiles, nats)" if density else "not drawn",
        ),
        ("noise power", f"{c.noise['power']:.6g}"),
        *((("not covered" if i == 0 else ""), text) for i, text in enumerate(c.not_covered)),
    ]
    if c.worst_unit_success is not None:
        rate = f"at most {at_most(100 * c.worst_unit_success, 4)} %"
        lines.insert(6, ("any one's membership", f"guessed right 50 % before, {rate} after"))
    if c.residual_entropy is not None:
        lines.insert(5, ("left to know", f"{c.residual_entropy:.6g} of {c.entropy:.6g} nats"))
    return lines


def text(certificate: Certificate) -> str:
    """Return the certificate as aligned lines."""
    return "\n".join(f"{label:>19}  {value}" for label, value in rows(certificate))


def html_table(certificate: Certificate) -> str:
    """Return the certificate as an HTML table."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for label, value in rows(certificate)
    )
    return f"<table><caption>rpac certificate</caption>{cells}</table>"


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


def columns_html(head: Sequence[str], body: Iterable[Iterable[object]]) -> str:
    """Return a table as HTML."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    rest = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
        for line in cells(body)
    )
    return f"<table><tr>{top}</tr>{rest}</table>"


def release_rows(release: Release) -> list[tuple[str, str]]:
    """Return a release as label and text: the answer, its error bars, its receipt."""
    found = [("released", str(release.value))]
    names = ("without its noise", "mean of all worlds")
    for name, pair in zip(names, (release.noise_interval, release.sampling_interval), strict=True):
        if pair is not None:
            found.append((name, f"{pair[0]} to {pair[1]} (95 %)"))
    return found + ([] if release.receipt is None else [("booked", str(release.receipt))])


def release_text(release: Release) -> str:
    """Return a release as aligned lines, its certificate below."""
    lines = [f"{label:>19}  {value}" for label, value in release_rows(release)]
    return "\n".join([*lines, text(release.certificate)])


def release_html(release: Release) -> str:
    """Return a release as HTML: the answer, then its certificate."""
    lines = "<br>".join(
        f"<b>{html.escape(label)}</b> <code>{html.escape(value)}</code>"
        for label, value in release_rows(release)
    )
    return f"<p>{lines}</p>{html_table(release.certificate)}"


def ledger_lines(accounts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the accounts of a ledger as label and text."""
    return [
        (
            _account(a["kind"], a["name"]),
            f"{a['spent']:.9f} nats spent"
            + ("" if a["cap"] is None else f", {a['cap'] - a['spent']:.9f} of {a['cap']:.9f} left"),
        )
        for a in accounts
        if a["kind"] != "version" or a["name"] != "@"
    ]


def _account(kind: str, name: str) -> str:
    """Return an account in words; of a version's hash the first twelve characters."""
    if kind == "version":
        dataset, _, version = name.rpartition("@")
        return f"version {dataset}{'@' if dataset else ''}{version[:12] or '(none)'}"
    return f"{kind} {name}" if name else kind


def ledger_text(name: str, accounts: list[dict[str, Any]]) -> str:
    """Return a ledger as aligned lines."""
    lines = ledger_lines(accounts)
    width = max(len(label) for label, _ in lines)
    return "\n".join([f"ledger {name}"] + [f"{label:>{width}}  {text}" for label, text in lines])


def ledger_html(name: str, accounts: list[dict[str, Any]]) -> str:
    """Return a ledger as an HTML table."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
        f"<td>{html.escape(text)}</td></tr>"
        for label, text in ledger_lines(accounts)
    )
    return f"<table><caption>rpac ledger {html.escape(name)}</caption>{cells}</table>"
