"""The report: one HTML file that needs no network, from a record and its certificate."""

from __future__ import annotations

from typing import Any

from rpac._base.types import Json
from rpac.certificate.certificate import Certificate
from rpac.pictures import svg as figures
from rpac.report import wording


def render(body: Json, certificate: Certificate, worst: list[Json] | None = None) -> str:
    """Return the report as HTML.

    Args:
        body: The record of a release.
        certificate: Its certificate.
        worst: For the owner's sealed version: the most exposed units. None: the public version,
            which names nobody.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("rpac", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["number"] = _number
    return pages.get_template("report.html.j2").render(
        record=body,
        certificate=certificate,
        lines=certificate.figures(),
        columns=list(body["answer"][0]) if body["answer"] else [],
        figures=_figures(body, certificate),
        worst=None if worst is None else sorted(worst, key=lambda row: -row["success"]),
        character=wording.character(certificate.bound),
        guide=wording.GUIDE,
    )


def _figures(body: Json, certificate: Certificate) -> Json:
    audit, plan = body.get("audit"), body.get("plan")
    drawn = {
        "sandwich": figures.sandwich(
            certificate.lower,
            certificate.bound,
            budget=plan["nats"] if plan else None,
            attack=audit["lower"] if audit else None,
        )
    }
    if plan:
        drawn["noise"] = figures.noise_against_budget(plan["curve"], plan["nats"], plan["chosen"])
    numbers = {name for row in body["answer"] for name, cell in row.items() if _is_number(cell)}
    first = next((name for row in body["answer"][:1] for name in row if name in numbers), None)
    if first is not None:
        drawn["intervals"] = figures.intervals(body["answer"], first)
    return {"noise": "", "intervals": ""} | drawn


def _is_number(cell: Any) -> bool:
    return isinstance(cell, dict)


def _number(value: Any) -> str:
    """Return a value for people: thousands apart, six digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
