"""What a question about presence will cost and how noisy it will be: from public things alone.

Nothing here reads a row. Noise of a column without caps is a public factor times a level that is
found when the question is asked; beside it stands what differential privacy would add at the same
success with bounds that would have to be known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.advantage import (
    distance_to_epsilon,
    distance_to_nats,
    distance_to_success,
    success_to_epsilon,
)
from rpac.budget import SuccessRate, as_distance
from rpac.front.presence import ask
from rpac.person.contributions import Linear, Term
from rpac.person.mechanism import _deviation, bound_of, scales_of
from rpac.person.source import Asked, Presence
from rpac.person.split import Split, split

DELTA = 1e-5
"""The delta at which an epsilon is stated."""
SPREAD = 1_000.0
"""How far the largest is taken to lie above the floor, in advice about a level."""


@final
@dataclass(frozen=True)
class Figure:
    """The noise of one number, before anything is drawn.

    Attributes:
        number: What it is: a sum, a count, a quantile.
        noise: Standard deviation; for columns with a level, of a level of 1; of a quantile, how
            many people its rank is off, in each step of the search.
        times: What it is multiplied by, such as "level of pay"; empty if by nothing.
        laplace: The same of Laplace noise at the same success of all numbers together, with known
            bounds: times the largest that one person adds, where that is no public number. None
            for quantiles.
        gaussian: The same of Gaussian noise.
    """

    number: str
    noise: float
    times: str
    laplace: float | None
    gaussian: float | None


@final
@dataclass(frozen=True)
class Outlook:
    """A price, and the noise of each number. None of it depends on a row.

    Attributes:
        distance: Delta.
        nats: What is charged.
        success: What anybody's presence can be guessed at, at most.
        epsilon: At delta = 1e-5; None *given the level*, which is no differential privacy.
        groups: How many groups each number has.
        drawn: What is drawn, each with its share of the price.
        numbers: The noise of each number.
        people: How many people above the floor a level needs where the largest is 1,000 floors;
            None where no level is drawn.
        a_factor: How many more for each further factor of ten.
        notes: What a reader should know of the answer.
        promise: Which one the answer would have.
    """

    distance: float
    nats: float
    success: float
    epsilon: float | None
    groups: int
    drawn: list[Json]
    numbers: list[Figure]
    people: float | None
    a_factor: float | None
    notes: tuple[str, ...] = ()
    promise: str = "person"

    def to_dict(self) -> Json:
        """Return it as plain data."""
        return asdict(self)


def outlook(mechanism: Any, source: Presence, budget: Any) -> Outlook:
    """Return price and noise of a question, before anything is read or spent.

    Args:
        mechanism: As for `privatize`.
        source: Whom it is asked; its rows are not read.
        budget: As for `privatize`.
    """
    distance = as_distance(budget)
    asked = ask(mechanism, source)
    question = asked.question
    shares = split(distance, question)
    rate = isinstance(budget, SuccessRate) and budget.prior == 0.5
    success = float(budget.rate) if rate else distance_to_success(distance)
    if asked.given is not None:  # its noise comes from the rows
        nats = distance_to_nats(distance)
        return Outlook(
            distance, nats, success, None, 1, [], [], None, None, asked.notes, asked.promise
        )
    needs = math.log(SPREAD) / shares.beta if question.levels else None
    return Outlook(
        distance, distance_to_nats(distance), success, distance_to_epsilon(distance, DELTA),
        question.groups, _drawn(question, shares), _figures(asked, shares, success), needs,
        math.log(10.0) / shares.beta if question.levels else None, asked.notes,
    )  # fmt: skip


def level_names(question: Linear) -> list[str]:
    """Return what levels are drawn of."""
    return ["rows" if j is None else question.columns[j].name for j in question.levels]


def _drawn(question: Linear, shares: Split) -> list[Json]:
    """Return what is drawn, in order, with its share of the price: they sum to 1."""
    whole = shares.delta**2
    found = [("middle of " + question.columns[j].name, shares.middle) for j in question.sought]
    found += [("level of " + name, shares.level) for name in level_names(question)]
    found += [("sums and counts", shares.values)] if question.terms else []
    found += [
        (_quantile_name(question, i), c)
        for i, c in enumerate(shares.quantiles)
    ]  # fmt: skip
    return [{"what": what, "share": c * c / whole} for what, c in found]


def _quantile_name(question: Linear, i: int) -> str:
    part = question.quantiles[i]
    return f"{part.level:g} quantile of {question.columns[part.column].name}"


def _figures(asked: Asked, shares: Split, success: float) -> list[Figure]:
    question, times = asked.question, asked.times
    ones: dict[int | None, float] = dict.fromkeys(question.levels, 1.0)
    scales = scales_of(question, ones, shares.values).tolist()
    found = []
    for i, (term, scale) in enumerate(zip(question.terms, scales, strict=True)):
        most = bound_of(question, term, ones) * question.moves * times
        known = (most * factor for factor in _known_bounds(question, i, shares.delta, success))
        found.append(Figure(term.name, scale * times, _times(question, term), *known))
    for i, (part, c) in enumerate(zip(question.quantiles, shares.quantiles, strict=True)):
        noise = _deviation(part.level, len(part.grid), question.moves, c)
        found.append(Figure(_quantile_name(question, i), noise, "people in rank", None, None))
    return found


def _known_bounds(question: Linear, i: int, distance: float, success: float) -> list[float]:
    """Return Laplace and Gaussian noise of one term, for a bound of 1.

    All numbers together allow the success: they share epsilon, or the square of the distance, as
    the question's own terms share theirs.
    """
    every = [term.share for term in question.terms] + [q.share for q in question.quantiles]
    square = every[i] / math.fsum(every)
    part = math.sqrt(every[i]) / math.fsum(map(math.sqrt, every))
    many = question.touches
    return [
        math.sqrt(2) * many / (success_to_epsilon(success) * part),
        math.sqrt(many / square) / distance,
    ]


def _times(question: Linear, term: Term) -> str:
    """Return which levels the noise of a term is multiplied by."""
    if not any(term.powers):
        return "level of rows" if question.rows is None and not term.once else ""
    parts = []
    for j, power in enumerate(term.powers):
        if power and j in question.levels:
            squared = " squared" if power == 2 else ""
            parts.append(f"level of {question.columns[j].name}{squared}")
    return " x ".join(parts)


def along(mechanism: Any, source: Presence, budgets: Sequence[Any]) -> list[Json]:
    """Return a row for every budget and number: price, noise, and that of known bounds."""
    if not len(budgets):
        raise refuse("at least one budget", list(budgets), "Such as [rpac.SuccessRate(0.55)].")
    rows = []
    for budget in budgets:
        found = outlook(mechanism, source, budget)
        price = {
            "success": found.success, "distance": found.distance, "nats": found.nats,
            "epsilon": found.epsilon,
        }  # fmt: skip
        rows += [price | asdict(figure) for figure in found.numbers]
    return rows
