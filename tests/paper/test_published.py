"""What is printed, and which of it can be true. The limits are worked out here by other means."""

import numpy as np
import pytest
from scipy.optimize import brentq

from rpac.paper import published
from rpac.paper.published import Claim, ceiling, claims, judge, verdicts

CLASSES = {"mnist": 10, "cifar10": 10, "cifar100": 100, "ag_news": 4}
RECORDS = {"mnist": 10_000, "cifar10": 10_000, "cifar100": 10_000, "ag_news": 7_600}


def balanced(dataset):
    return np.arange(RECORDS[dataset]) % CLASSES[dataset]


def fano(nats, k):
    """Return a with log k - h(a) - (1 - a) log(k - 1) = nats, by a root finder."""

    def left(a):
        h = -a * np.log(a) - (1 - a) * np.log1p(-a)
        return np.log(k) - h - (1 - a) * np.log(k - 1) - nats

    return brentq(left, 1 / k + 1e-9, 1 - 1e-12)


def incompatible(dataset, **judged):
    found = verdicts(dataset, **judged)
    return {(c.method, c.budget) for c, v in found.items() if v.word == "incompatible"}


def test_every_printed_figure_is_read():
    sizes = {d: len(claims(d)) for d in (*CLASSES, "iris", "rice")}
    assert sizes == {"mnist": 45, "cifar10": 63, "cifar100": 66, "ag_news": 69, "iris": 28,
                     "rice": 28}  # fmt: skip
    iris = next(c for c in claims("iris") if c.method == "SR-PAC" and c.budget == 0.062)
    assert (iris.power, iris.success, iris.left) == (0.007379, 0.5695, 20.889)  # 0.062 and 0.0625
    assert published.budgets("mnist")[0] == 0.25


@pytest.mark.parametrize(("nats", "k"), [(0.25, 10), (0.02, 4), (1.0, 100), (2.0, 10)])
def test_ceiling_is_fanos(nats, k):
    assert ceiling(nats, np.arange(60 * k) % k) == pytest.approx(fano(nats, k), abs=1e-9)


def test_uneven_labels_have_a_higher_ceiling():
    labels = np.repeat([0, 1], [900, 100])
    assert ceiling(0.0, labels) >= 0.9  # who always says 0 is right so often
    assert ceiling(0.01, labels) < 0.95


def test_accuracy_that_no_method_can_reach():
    flagged = {d: incompatible(d, labels=balanced(d)) for d in CLASSES}
    assert flagged["cifar10"] == set()
    assert flagged["mnist"] == {("SR-PAC", b) for b in (0.25, 0.5, 1.0)}
    assert flagged["cifar100"] == {("SR-PAC", b) for b in (0.5, 1.0)}
    assert flagged["ag_news"] == {("SR-PAC", b) for b in (0.02, 0.06, 0.08, 0.25, 0.5)}
    for dataset, rows in flagged.items():  # by the inequality itself, without room for error
        for c in claims(dataset):
            over = c.accuracy is not None and c.accuracy > fano(
                min(c.budget, np.log(CLASSES[dataset]) - 1e-9), CLASSES[dataset]
            )
            assert over or (c.method, c.budget) not in rows


def test_three_standard_errors_and_rounding_are_allowed():
    labels = balanced("mnist")
    most = ceiling(1.0, labels)
    room = 3 * np.sqrt(most * (1 - most) / 10_000) + 5e-4
    inside = Claim("mnist", "SR-PAC", 1.0, accuracy=most + 0.99 * room)
    outside = Claim("mnist", "SR-PAC", 1.0, accuracy=most + 1.01 * room)
    assert judge(inside, labels).word == "compatible"
    assert judge(outside, labels).word == "incompatible"
    assert "ceiling" in judge(outside, labels).why


def test_noise_that_leaks_more_than_its_budget():
    made = Claim("iris", "DP", 0.5, power=0.01)
    assert judge(made, leaked=lambda power: 0.524).word == "compatible"
    assert judge(made, leaked=lambda power: 0.526).word == "incompatible"
    assert judge(made).word == "compatible"  # nothing to hold it against


def test_more_left_to_know_than_there_was():
    flagged = {d: incompatible(d) for d in ("iris", "rice", "mnist", "cifar10", "cifar100")}
    assert {m for m, _ in flagged["rice"]} == {"SR-PAC"}
    assert len(flagged["rice"]) == 7
    assert {b for _, b in flagged["iris"]} == {0.008, 0.062, 0.125}
    assert flagged["mnist"] == flagged["cifar10"] == flagged["cifar100"] == set()
