"""What a budget means, in words, and what to do when the answer is no."""

from __future__ import annotations

import math

from rpac.advantage import distance_to_success, nats_to_success, success_to_epsilon
from rpac.answers.precision import CAUTION, TOO_NOISY
from rpac.certificate.certificate import VALUE_NOT_COVERED, Certificate
from rpac.errors import BudgetExceeded, BudgetSpent, Withheld
from rpac.front.outlook import Figure
from rpac.person.source import INSTEAD, SECRET
from rpac.person.split import LEVELS
from rpac.pictures.text import at_most

DELTA = 1e-5
"""The delta at which an epsilon is stated."""
ALONE = "That is by this answer alone: answers about the same people add up."
"""What a meaning ends with."""
DEFAULT_NATS = 0.1
"""The budget about a sample where nothing is said."""
DEFAULT_SUCCESS = 0.55
"""The same about a person."""
SUCCESSES = (0.52, 0.55, 0.6, 0.7)
"""Success rates that a comparison shows."""
LADDER = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Budgets a plan shows beside the one that was asked for."""
NOISE_ONLY = (
    "[ ] holds the answer without its noise (95 %; noise only: what one person adds above the "
    "level or\nthe caps is cut off, and nothing may say how much that was)"
)
"""What is said below an answer about presence."""
RELATIVE = (
    f"+- half of [ ], in shares of the number: beyond {100 * CAUTION:g} % use it with caution, "
    f"beyond {100 * TOO_NOISY:g} % do not publish it"
)
"""What is said below numbers with error bars."""
GUIDE = (
    (0.01, "very careful: many releases, or people who would be harmed"),
    (0.1, "careful: a good start for a published table"),
    (0.3, "moderate: a few releases to partners"),
    (1.0, "loose: a single release of little harm"),
)
"""Budgets about a sample in nats, each with what it is meant for."""
PERSON_GUIDE = (
    (0.52, "very careful: many releases, or people who would be harmed"),
    (0.55, "careful: a good start for a published table"),
    (0.6, "moderate: a few releases to partners"),
    (0.7, "loose: a single release of little harm"),
)
"""Success rates on a person, each with what it is meant for."""


def before_and_after(success: float) -> str:
    """Return what one release changes for somebody who wonders about one person."""
    return (
        "Somebody who wonders whether a given person was in the sample guesses right 50 % of the "
        f"time without this answer, at most {at_most(100 * success, 3)} % with it. {ALONE}"
    )


def any_guess(nats: float) -> str:
    """Return the same from nats alone: for any yes-or-no question about the sample."""
    success = at_most(100 * float(nats_to_success(nats)), 3)
    return (
        "Somebody who guesses any yes-or-no fact about the sample, and is right 50 % of the time "
        f"without this answer, is right at most {success} % with it. {ALONE}"
    )


def on_a_person(success: float, secret: str = SECRET, *, given: bool = False) -> str:
    """Return what one release changes for somebody who wonders whether a person is in the data.

    The coin is named because 50 % is a fact of the game, not of what anybody knows beforehand.

    Args:
        success: How often they are right after it, at most.
        secret: Presence, or what a person's entries are.
        given: Whether the noise level itself is left out of account.
    """
    asks = (
        "whether somebody's rows are in the data"
        if secret != INSTEAD
        else "which of two entries somebody has"
    )
    but = ", but for what the noise level tells" if given else ""
    return (
        f"If a coin decided {asks}, whoever knows everybody else's rows would guess it right 50 % "
        f"of the time without this answer, at most {at_most(100 * success, 3)} % with it{but}. "
        f"{ALONE}"
    )


def meaning(certificate: Certificate) -> str:
    """Return what a certificate means for one person, by the sharpest figure it has."""
    if certificate.promise != "sample" and certificate.distance is not None:
        found = certificate.worst_unit_success or distance_to_success(certificate.distance)
        given = certificate.promise != "person"
        return on_a_person(found, certificate.secret, given=given)
    if certificate.worst_unit_success is not None:
        return before_and_after(certificate.worst_unit_success)
    return any_guess(certificate.bound)


def character(nats: float) -> str:
    """Return how a budget is meant, from the guide."""
    named = [text for limit, text in GUIDE if nats <= limit * 1.0001]
    return named[0] if named else "very loose: says a lot about the sample"


def care(success: float) -> str:
    """Return how a success rate on a person is meant, from the guide."""
    named = [text for limit, text in PERSON_GUIDE if success <= limit + 1e-6]
    return named[0] if named else "very loose: says a lot about each person"


def matched(certificate: Certificate, *, rows: bool = False) -> str:
    """Return the epsilon of differential privacy at the same success, in words; or that none is.

    Args:
        certificate: Of a release.
        rows: Whether each row counts as one person.
    """
    one = "one row, which counts as one person" if rows else "all rows of one person"
    if certificate.promise == "person":
        epsilon = at_most(certificate.epsilon(DELTA), 3)
        return (
            f"This is differential privacy with epsilon {epsilon} at delta 0.00001, for adding or "
            f"removing {one}."
        )
    if certificate.promise != "sample":
        return "This is no differential privacy, since the noise level comes from the data."
    success = certificate.worst_unit_success
    named = "one person's membership" if success is not None else "any yes-or-no fact of the sample"
    success = float(nats_to_success(certificate.bound)) if success is None else success
    if not 0.5 < success < 1:
        return ""
    epsilon = at_most(success_to_epsilon(success), 3)
    return (
        f"Matched epsilon: {epsilon}. Differential privacy of that epsilon (delta 0) would allow "
        f"the same success on {named}; this promise implies none."
    )


def known_bounds(figures: list[Figure]) -> list[str]:
    """Return what differential privacy would add with known bounds, a sentence a number.

    From declared caps alone, which are public; where some numbers have none it says so.

    Args:
        figures: The noise of each number, before anything is drawn: from `outlook`.
    """
    told = [
        f"{one.number}: standard deviation {one.noise:.4g} here; differential privacy with the "
        f"declared bounds would add {one.laplace:.4g} (Laplace) or {one.gaussian:.4g} (Gaussian) "
        "at equal success."
        for one in figures
        if not one.times and one.laplace is not None and one.gaussian is not None
    ]
    if told and len(told) < len(figures):
        told.append(
            "Where no bounds were declared, what differential privacy would add with known ones is "
            "not said."
        )
    return told


def uncovered(certificate: Certificate) -> list[str]:
    """Return what a certificate does not cover; of a person's value also what may be guessed.

    Another value in place of one's own is at twice the distance, but for what finds a level, which
    it moves no further than presence does (docs/mathematics.md).
    """
    return [
        f"{text}: right at most {_of_a_value(certificate)} % of the time, if a coin decided"
        if text in VALUE_NOT_COVERED and certificate.distance is not None
        else text
        for text in certificate.not_covered
    ]


def _of_a_value(certificate: Certificate) -> str:
    """Return how often one of two entries in the same place is told, in percent, rounded up."""
    alone = certificate.promise == "person" and certificate.outputs.get("kind") == "contributions"
    level = LEVELS if alone and certificate.noise.get("levels") else 0.0
    distance = math.sqrt(4 - 3 * level) * (certificate.distance or 0.0)
    return at_most(100 * distance_to_success(distance), 4)


def advice(error: Exception) -> str:
    """Return which options help when a release was refused for its budget."""
    if isinstance(error, BudgetSpent):
        return "(--budget; rpac ledger LEDGER --cap NATS.)"
    if isinstance(error, BudgetExceeded) and not isinstance(error, Withheld):
        return "Raise --budget, ask for fewer numbers, or take another --method."
    return ""
