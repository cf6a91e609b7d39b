"""What only the owner of the data may see of a release, gathered for the sealed report."""

from __future__ import annotations

from rpac._base.types import Json
from rpac.answers.release import Release
from rpac.attack.auditing import Audit
from rpac.attack.everybody import exposure
from rpac.cli.question import Ask
from rpac.noise.base import Law
from rpac.release.presence import Studied
from rpac.report import plan as planning
from rpac.report import record as records
from rpac.report.page import Sealed
from rpac.worlds.outputs import Outputs


def planned(ask: Ask, outputs: Outputs, noise: Law | None = None) -> planning.Plan:
    """Return the plan under *sample*, from the noise of a release where there is one."""
    full = planning.full_answer(ask.source, ask.mechanism)
    if full is not None and full.size != outputs.dim:
        full = None
    return planning.plan(outputs, ask.budget, ask.method, noise=noise, full=full, left=ask.left)


def sealed_part(ask: Ask, made: Release, found: Audit | None, left: float | None) -> Sealed:
    """Return what only the owner may see: exposure, plan, audit, what was charged."""
    charged = None if made.receipt is None else made.receipt.nats
    told = None if found is None else records.audit_summary(found)
    if ask.person:
        shown = exposed(made)
        people = None if shown is None else shown["units"]
        return Sealed(made.certificate, people, [], None, told, charged, left, shown)
    worst = [] if found is None else ask.named(found.worst_units)
    plan = None if made.sealed is None else planned(ask, *made.sealed).to_dict()
    return Sealed(made.certificate, int(ask.source.units.size), worst, plan, told, charged, left)


def exposed(made: Release) -> Json | None:
    """Return everybody's own figure as a histogram; None where no sealed part is left."""
    if not isinstance(made.sealed, Studied):
        return None
    found = exposure(made.sealed)
    return {"units": found.units, "clipped": found.clipped, "histogram": found.histogram}
