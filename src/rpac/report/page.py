"""The report: one HTML file that needs no network, from a record and its certificate."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rpac._base.text import at_most
from rpac._base.types import Json
from rpac.certificate.certificate import Certificate
from rpac.pictures import svg
from rpac.report import wording


def render(body: Json, certificate: Certificate, worst: list[Json] | None = None) -> str:
    """Return the report as HTML.

    Args:
        body: The record of a release.
        certificate: Its certificate.
        worst: For the owner's sealed version: the most exposed units. None: the public version,
            which names nobody.
    """
    pages = Environment(
        loader=PackageLoader("rpac", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"number": number, "at_most": at_most}
    return pages.get_template("report.html.j2").render(
        record=body,
        certificate=certificate,
        lines=certificate.figures(),
        columns=list(body["answer"][0]) if body["answer"] else [],
        figures=figures(body, certificate),
        worst=None if worst is None else sorted(worst, key=lambda row: -row["success"]),
        character=wording.character(certificate.bound),
        guide=wording.GUIDE,
    )


def figures(body: Json, certificate: Certificate) -> dict[str, str]:
    """Return the drawings of a record as SVG, by name; empty where there is nothing to draw."""
    audit, plan = body.get("audit"), body.get("plan")
    column = first_number(body["answer"])
    return {
        "sandwich": svg.sandwich(
            certificate.lower,
            certificate.bound,
            budget=plan["nats"] if plan else None,
            attack=audit["lower"] if audit else None,
        ),
        "noise": (
            svg.noise_against_budget(plan["curve"], plan["nats"], plan["chosen"]) if plan else ""
        ),
        "intervals": "" if column is None else svg.intervals(body["answer"], column),
    }


def first_number(rows: list[Json]) -> str | None:
    """Return the first column that holds a number with its intervals; None if there is none."""
    names = rows[0] if rows else ()
    return next(
        (name for name in names if any(isinstance(row.get(name), dict) for row in rows)), None
    )


def number(value: Any) -> str:
    """Return a value for people: thousands apart, six digits.

    >>> number(1234567), number(0.12345678), number(None), number("lab")
    ('1,234,567', '0.123457', '', 'lab')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
