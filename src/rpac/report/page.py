"""The report: one HTML file that needs no network, from a record and its certificate."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, final

from jinja2 import Environment, PackageLoader, StrictUndefined

from rpac._base.types import Json
from rpac.advantage import distance_to_success
from rpac.answers import precision
from rpac.answers.face import drawn
from rpac.certificate.certificate import Certificate
from rpac.person.source import ROWS
from rpac.pictures import svg
from rpac.pictures.text import at_most
from rpac.report import wording


@final
@dataclass(frozen=True)
class Sealed:
    """What only the owner of the data may see of a release.

    Attributes:
        certificate: The whole certificate, with what was achieved.
        units: Number of units in the pool; under *person* in the groups of the question, None if
            nobody was looked at.
        worst: The most exposed units, by name.
        plan: From `Plan.to_dict`.
        audit: From `audit_summary`; None if nothing was attacked.
        charged: Nats that were charged; None without a ledger.
        remaining: Nats left in the ledger; None without one.
        exposure: Under *person*: `clipped`, how many were cut down to the level, and `histogram`,
            bars of everybody's success: low, high, people. None if nobody was looked at.
    """

    certificate: Certificate
    units: int | None
    worst: list[Json]
    plan: Json | None = None
    audit: Json | None = None
    charged: float | None = None
    remaining: float | None = None
    exposure: Json | None = None


@final
@dataclass(frozen=True)
class Imprint:
    """What a report says of itself.

    Attributes:
        author: Who publishes; empty if nobody is named.
        date: When the report was written.
        version: Of rpac.
        record: Name of the record's file; empty where it is not known.
    """

    author: str = ""
    date: str = ""
    version: str = ""
    record: str = ""

    @property
    def line(self) -> str:
        """Who wrote it, when and by what; empty where nothing is said."""
        by = f"rpac {self.version}" if self.version else ""
        return ", ".join(part for part in (self.author, self.date, by) if part)


def render(
    body: Json,
    certificate: Certificate,
    sealed: Sealed | None = None,
    imprint: Imprint = Imprint(),  # noqa: B008
) -> str:
    """Return the report as HTML.

    Args:
        body: The record of a release.
        certificate: Its certificate, as the record has it.
        sealed: For the owner's version. None: the public version, which says what was requested,
            and of nobody in particular.
        imprint: Author, date and version, and the record's name.
    """
    pages = Environment(
        loader=PackageLoader("rpac", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"number": number, "at_most": at_most, "relative": _relative}
    shown = certificate if sealed is None else sealed.certificate
    worst = [] if sealed is None else sorted(sealed.worst, key=lambda row: -row["success"])
    return pages.get_template("report.html.j2").render(
        record=body,
        certificate=shown,
        sealed=sealed,
        lines=shown.figures(),
        columns=list(body["answer"][0]) if body["answer"] else [],
        figures=figures(body, sealed),
        worst=worst,
        promise=shown.protects,
        person=shown.promise != "sample",
        counted=_counted(body["answer"]),
        exposure=None if sealed is None else sealed.exposure,
        character=_character(shown),
        guide=wording.GUIDE,
        imprint=imprint,
        noted=any(_relative(cell) for row in body["answer"] for cell in row.values()),
        file=shlex.quote(imprint.record) if imprint.record else "RECORD",
        matched=wording.matched(shown, rows=body["about"].get("unit") == ROWS),
        rows=body["about"].get("unit") == ROWS,
        uncovered=wording.uncovered(shown),
        caution=f"{100 * precision.CAUTION:g} %",
        noisy=f"{100 * precision.TOO_NOISY:g} %",
    )


def _relative(cell: Any) -> str:
    return precision.of(cell, "±")


def _character(certificate: Certificate) -> str:
    """Return how a budget is meant, by its own guide."""
    if certificate.promise == "sample" or certificate.distance is None:
        return wording.character(certificate.bound)
    return wording.care(distance_to_success(certificate.distance))


def figures(body: Json, sealed: Sealed | None) -> dict[str, str]:
    """Return the drawings of a report as SVG, by name; empty where there is nothing to draw."""
    column = first_number(body["answer"])
    rows, bars = precision.marked(body["answer"]), _counted(body["answer"])
    found = {"intervals": "" if column is None else svg.intervals(rows, column, from_zero=bars)}
    if sealed is None:
        return found
    if sealed.exposure is not None:
        return found | {"exposure": svg.histogram(sealed.exposure["histogram"])}
    if sealed.certificate.promise != "sample":
        return found
    made, plan, audit = sealed.certificate, sealed.plan, sealed.audit
    return found | {
        "sandwich": svg.sandwich(
            made.lower,
            made.bound,
            budget=made.requested.get("nats"),
            attack=audit["lower"] if audit else None,
        ),
        "noise": (
            svg.noise_against_budget(plan["curve"], plan["nats"], plan["chosen"]) if plan else ""
        ),
    }


def _counted(rows: list[Json]) -> bool:
    """Whether the numbers that are drawn are counts of several groups, without sampling."""
    column = first_number(rows)
    cells = [] if column is None else [_parts(row[column]) for row in rows]
    whole = all(isinstance(cell.get("value"), int) and "sampling" not in cell for cell in cells)
    return whole and len(cells) > 1


def first_number(rows: list[Json]) -> str | None:
    """Return the first column that holds a number with finite ends; None if there is none."""
    return next(iter(drawn(rows)), None)


def _parts(cell: Any) -> Json:
    return cell if isinstance(cell, dict) else {}


def number(value: Any) -> str:
    """Return a value for people: thousands apart, six digits.

    >>> number(1234567), number(0.12345678), number(13663341.5), number(None), number("lab")
    ('1,234,567', '0.123457', '13,663,300', '', 'lab')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    if isinstance(value, float) and 1e6 <= abs(value) < 1e15:
        value = int(float(f"{value:.6g}"))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
