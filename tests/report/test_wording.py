"""What a budget means in words: right at its thresholds, and rounded to the safe side."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.advantage import nats_to_success
from rpac.errors import BudgetExceeded, BudgetSpent, InputError
from rpac.front.outlook import Figure
from rpac.person.source import INSTEAD
from rpac.report import wording
from rpac.report.plan import CURVE
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("success", "said"),
    [(0.5, "50"), (0.54, "54"), (0.5401, "54.1"), (0.53941, "54"), (0.5499999, "55"),
     (0.999, "99.9"), (0.9991, "100"), (1.0, "100")],
)  # fmt: skip
def test_a_success_is_rounded_up(success, said):
    text = wording.before_and_after(success)
    assert text == (
        "Somebody who wonders whether a given person was in the sample guesses right 50 % of the "
        f"time without this answer, at most {said} % with it. {wording.ALONE}"
    )
    assert float(said) >= 100 * success - 1e-9


@pytest.mark.parametrize("nats", [1e-6, 0.01, 0.1, math.log(2), 3.0])
def test_nats_bound_any_yes_or_no_guess(nats):
    (said,) = re.findall(r"at most ([\d.]+) % with it", wording.any_guess(nats))
    truth = 100 * float(nats_to_success(nats))
    assert truth <= float(said) + 1e-9 <= truth + 0.1 + 1e-8
    assert "any yes-or-no fact about the sample" in wording.any_guess(nats)


def test_certain_knowledge_is_a_hundred_percent():
    assert "at most 100 % with it" in wording.any_guess(math.log(2))


@pytest.mark.parametrize(
    ("nats", "kind"),
    [(1e-9, "very careful"), (0.01, "very careful"), (0.0100009, "very careful"),
     (0.01001, "careful"), (0.1, "careful"), (0.1001, "moderate"), (0.3, "moderate"),
     (0.3001, "loose"), (1.0, "loose"), (1.001, "very loose"), (50.0, "very loose")],
)  # fmt: skip
def test_budgets_have_a_character(nats, kind):
    assert wording.character(nats).split(":")[0] == kind


def test_a_meaning_is_taken_from_the_sharpest_figure():
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [1 / 3] * 3)
    certificate = rpac.certify(rpac.Outputs([0, 1]), noise)
    assert certificate.worst_unit_success is None
    assert wording.meaning(certificate) == wording.any_guess(certificate.bound)
    source = rpac.Subsets(range(8), worlds=8)
    halves = rpac.privatize(sum, source, 0.5, method="auto-pac").certificate
    assert wording.meaning(halves) == wording.before_and_after(halves.worst_unit_success)


def test_advice_names_options_where_a_budget_is_the_reason():
    spent = BudgetSpent("0.5", "0.2", "the ledger", 0.2)
    assert wording.advice(spent) == "(--budget; rpac ledger LEDGER --cap NATS.)"
    assert wording.advice(BudgetExceeded(2.0, 1.0)).startswith("Raise --budget, ask for fewer")
    assert wording.advice(InputError("Expected a; got b. Do c.")) == ""
    assert wording.advice(ValueError()) == ""


def test_the_documentation_has_the_same_guide():
    page = (ROOT / "docs" / "choose.md").read_text()
    rows = re.findall(r"^\| up to ([\d.]+) \| (.*?)( \(the default\))? \|$", page, re.M)
    assert [(float(limit), text) for limit, text, _ in rows] == list(wording.GUIDE)
    assert [float(limit) for limit, _, default in rows if default] == [wording.DEFAULT_NATS]
    rows = re.findall(r"^\| up to (\d+) % \| (.*?)( \(the default\))? \|$", page, re.M)
    assert [(float(limit) / 100, text) for limit, text, _ in rows] == list(wording.PERSON_GUIDE)
    assert [float(limit) / 100 for limit, _, d in rows if d] == [wording.DEFAULT_SUCCESS]


@pytest.mark.parametrize(
    ("success", "kind"),
    [(0.5, "very careful"), (0.52, "very careful"), (0.53, "careful"), (0.55, "careful"),
     (0.6, "moderate"), (0.7, "loose"), (0.71, "very loose"), (1.0, "very loose")],
)  # fmt: skip
def test_a_success_on_a_person_has_a_character(success, kind):
    assert wording.care(success).split(":")[0] == kind
    assert set(wording.SUCCESSES) == {limit for limit, _ in wording.PERSON_GUIDE}


def test_what_a_release_means_for_a_person():
    people = rpac.Presence([[1.0], [2.0]])
    made = rpac.privatize(rpac.statistics.count(), people, rpac.SuccessRate(0.55)).certificate
    assert wording.meaning(made) == (
        "If a coin decided whether somebody's rows are in the data, whoever knows everybody else's "
        "rows would guess it right 50 % of the time without this answer, at most 55 % with it. "
        "That is by this answer alone: answers about the same people add up."
    )
    given = replace(made, promise="person, given the level", worst_unit_success=None)
    assert ", at most 55 % with it, but for what the noise level tells. That is by this answer" in (
        wording.meaning(given)
    )
    entries = replace(made, secret=INSTEAD)
    assert "a coin decided which of two entries somebody has, whoever" in wording.meaning(entries)


def test_every_budget_of_the_ladder_is_drawn_too():
    assert set(wording.LADDER) < set(CURVE)
    assert list(CURVE) == sorted(CURVE)


def test_the_matched_epsilon_is_said_where_there_is_one(made):
    person = rpac.privatize(rpac.statistics.count(), rpac.Presence([1.0, 2.0]), 0.0079)
    assert "epsilon 0.933 at delta 0.00001" in wording.matched(person.certificate)
    given = replace(person.certificate, promise="person, given the level")
    assert wording.matched(given).startswith("This is no differential privacy")
    sample = replace(made.certificate, worst_unit_success=0.75)
    assert "Matched epsilon: 1.1. " in wording.matched(sample)
    assert "one person's membership; this promise implies none" in wording.matched(sample)
    from_nats = wording.matched(replace(made.certificate, worst_unit_success=None, bound=0.1))
    assert "any yes-or-no fact of the sample" in from_nats
    assert wording.matched(replace(made.certificate, worst_unit_success=1.0)) == ""


def test_known_bounds_are_compared_where_they_were_declared():
    count = Figure("number of rows", 3.98, "", 14.1, 3.979)
    (said,) = wording.known_bounds([count])
    assert said.startswith("number of rows: standard deviation 3.98 here; differential privacy")
    assert "14.1 (Laplace) or 3.979 (Gaussian) at equal success" in said
    pay = Figure("sum of pay", 4.0, "level of pay", 14.0, 4.0)
    quantile = Figure("0.5 quantile of pay", 9.0, "people in rank", None, None)
    first, second = wording.known_bounds([count, pay])
    assert (first, second[:29]) == (said, "Where no bounds were declared")
    assert wording.known_bounds([pay, quantile]) == []  # nothing was declared: nothing is said
    assert wording.known_bounds([]) == []


@pytest.mark.parametrize(("asked", "after"), [("count()", "59.93"), ("mean(x)", "59.33")])
def test_what_is_told_of_a_value_is_said_beside_it(asked, after):
    people = rpac.Presence(pd.DataFrame({"x": np.linspace(1, 9, 500)}), "rows")
    made = rpac.privatize(rpac.statistics.parse(asked), people, rpac.SuccessRate(0.55))
    said, *rest = wording.uncovered(made.certificate)
    assert said.endswith(
        f"twice the distance: right at most {after} % of the time, if a coin decided"
    )
    assert rest == list(made.certificate.not_covered[1:])
    exact = 4 - 3 * 0.158 * (asked == "mean(x)")
    told = 100 * rpac.advantage.distance_to_success(exact**0.5 * made.certificate.distance)
    assert 0 <= float(after) - told < 0.01


def test_a_sample_has_no_such_caveat(made):
    assert wording.uncovered(made.certificate) == list(made.certificate.not_covered)
