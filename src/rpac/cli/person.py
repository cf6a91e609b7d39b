"""What `plan` and `compare` say under the promise *person*: public figures, whatever the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.budget import Nats, SuccessRate, as_distance
from rpac.certificate.certificate import PROMISES
from rpac.cli.question import Ask
from rpac.front.outlook import SPREAD, Outlook, along, outlook
from rpac.ledger.entries import NANO, exact_nano
from rpac.pictures.text import at_most, columns
from rpac.report import wording

OTHER = (
    f"sample     --protect sample protects {PROMISES['sample']}; its plan shows "
    "figures of that pool"
)
KNOWN = (
    "(standard deviations, in every group. Laplace and Gaussian: differential privacy at the same "
    "success,\n with bounds that would have to be known: where ours is times a level, theirs is "
    "times the largest\n that anybody adds. An average has the noise of its sum, divided by the "
    "number of its rows.)"
)


def plan(ask: Ask) -> tuple[str, Json]:
    """Return what a release would cost and add: text, and plain data."""
    made = outlook(ask.mechanism, ask.source, ask.budget)
    nats = math.ceil(exact_nano(made.nats)) / NANO
    left = ask.left
    meaning = wording.on_a_person(made.success, given=made.promise != "person")
    lines = [
        f"question   {ask.text}",
        f"promise    {made.promise}: {PROMISES[made.promise]}",
        f"price      {_price(made, nats)}: {wording.care(made.success)}",
        f"meaning    {meaning}",
        *_named("drawn", [f"{part['what']}: {100 * part['share']:.3g} % of the price"
                          for part in made.drawn]),
        *_named("levels", _needs(made, ask.source.size)),
        *_named("notes", made.notes),
        OTHER,
        "",
        *_table(made),
    ]  # fmt: skip
    remaining = None if left is None else (left, left - nats)
    body: Json = {"question": ask.text, "meaning": meaning} | made.to_dict()
    body |= {"nats": nats, "declared_size": ask.source.size, "remaining": remaining}
    return "\n".join(lines), body


def _table(made: Outlook) -> list[str]:
    if not made.numbers:
        return [
            "The noise comes from the data: it is known when it is released, and not protected."
        ]
    head = ("number", "+- noise", "Laplace", "Gaussian")
    return [columns(head, [_cells(row) for row in made.to_dict()["numbers"]]), "", KNOWN]


def _price(made: Outlook, nats: float) -> str:
    known = f"Delta {at_most(made.distance, 4)}, {at_most(nats)} nats, success "
    known += f"{at_most(100 * made.success, 4)} %"
    if made.epsilon is None:
        return f"{known}, given the noise level, on an account of its own"
    return f"{known}, epsilon {at_most(made.epsilon, 3)} at delta 0.00001"


def _named(label: str, texts: Sequence[str]) -> list[str]:
    """Return lines under one label."""
    return [f"{'' if i else label:<11}{text}" for i, text in enumerate(texts)]


def _needs(made: Outlook, size: int | None) -> list[str]:
    """Return how many people a level needs, and a warning if fewer were declared."""
    if made.people is None or made.a_factor is None:
        return []
    people, more = math.ceil(made.people), math.ceil(made.a_factor)
    said = [
        f"a level needs about {people:,} people above its floor if the largest is {SPREAD:,.0f} "
        f"floors, {more:,} more for each further factor of ten"
    ]
    if size is not None and size < people:
        said.append(
            f"TOO FEW: you declared {size:,}. Declare --caps, or a higher floor with --schema: "
            "otherwise answers are drawn towards the middle"
        )
    return said


def too_few(ask: Ask) -> list[str]:
    """Return a plan's warning, if fewer people were declared than a level needs: rows or none."""
    if not ask.person or ask.source.size is None:
        return []
    made = outlook(ask.mechanism, ask.source, ask.budget)
    return _needs(made, ask.source.size)[1:]


def _cells(row: Json) -> list[str]:
    times = row["times"]
    beside = "" if not times else " x largest"
    if row["laplace"] is None:
        return [row["number"], f"{row['noise']:.4g} {times}", "-", "-"]
    known = [f"{row[name]:.4g}{beside}" for name in ("laplace", "gaussian")]
    return [row["number"], f"{row['noise']:.4g}" + (f" x {times}" if times else ""), *known]


def compare(ask: Ask, budgets: str | None) -> tuple[str, list[Json]]:
    """Return price and noise along budgets: text, and plain data."""
    rows = along(ask.mechanism, ask.source, _budgets(budgets))
    head = ("success", "Delta", "nats", "epsilon", "number", "+- noise", "Laplace", "Gaussian")
    told = [[*_priced(row), *_cells(row)] for row in rows]
    text = [f"promise    person: {PROMISES['person']}", OTHER, "", columns(head, told), "", KNOWN]
    return "\n".join(text), rows


def _priced(row: Json) -> list[str]:
    """Return what a budget allows, rounded up as in a plan."""
    epsilon = "-" if row["epsilon"] is None else at_most(row["epsilon"], 3)
    price = [at_most(row["distance"], 4), at_most(row["nats"], 4)]
    return [at_most(row["success"], 4), *price, epsilon]


def _budgets(text: str | None) -> list[Any]:
    """Return budgets: numbers between 0.5 and 1 are success rates, others nats."""
    if text is None:
        return [SuccessRate(rate) for rate in wording.SUCCESSES]
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise refuse("numbers in --budgets", repr(text), "Such as 0.52,0.55.") from None
    found = [SuccessRate(x) if 0.5 < x < 1 else Nats(x) for x in numbers]
    for budget in found:
        as_distance(budget)
    return found


def beside_a_sample(success: float) -> str:
    """Return what the other promise would add to a count, at the same success."""
    if not 0.5 < success < 1:
        return "person     --protect person protects whether somebody is in the data at all"
    noise = 1 / as_distance(SuccessRate(success))
    return (
        f"person     --protect person protects {PROMISES['person']}; at this success a count of "
        f"people would have noise +- {noise:.4g}, a sum with caps that times the cap"
    )
