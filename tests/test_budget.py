"""Budgets in four units, and what is not one."""

import math
from decimal import Decimal

import numpy as np
import pytest

import rpac
from rpac.advantage import nats_to_success
from rpac.budget import as_budget, as_distance
from rpac.release.presence import Inquiry
from rpac.release.release import Request


def test_units():
    assert rpac.Bits(1.0).nats() == pytest.approx(math.log(2))
    assert rpac.Nats(np.float32(0.5)).nats() == 0.5
    assert rpac.SuccessRate(0.75).nats() == pytest.approx(
        0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    )
    assert rpac.ResidualEntropy(5.0).nats(6.0) == pytest.approx(1.0)
    assert as_budget(rpac.Bits(2)) == rpac.Bits(2)
    assert as_budget(1) == rpac.Nats(1)


@pytest.mark.parametrize("bad", [0, -1, 0.0, -0.0])
@pytest.mark.parametrize("unit", [rpac.Nats, rpac.Bits, rpac.ResidualEntropy, as_budget])
def test_budgets_that_are_not_positive(unit, bad):
    with pytest.raises(rpac.InputError, match=r"Expected a positive budget in .*; got .*above 0"):
        unit(bad)


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, True, np.True_, None, [1.0], Decimal(1), 1j]
)
@pytest.mark.parametrize("unit", [rpac.Nats, rpac.Bits, rpac.ResidualEntropy, as_budget])
def test_budgets_that_are_not_numbers(unit, bad):
    with pytest.raises(
        rpac.InputError, match=r"Expected a finite number for `budget in .*; got .*Pass a pl"
    ):
        unit(bad)


def test_text_is_no_budget_whatever_was_meant():
    """A reader who types "0.55" means a success of 55 %: a plain number would allow 85 %."""
    with pytest.raises(rpac.InputError, match=r"a budget; got '0.55'. Such as rpac.SuccessRate"):
        as_budget("0.55")


@pytest.mark.parametrize(
    ("rate", "prior", "message"),
    [
        (0.5, 0.5, "a success `rate` above 0.5 and below 1; got 0.5. Such as 0.55: 0.5 is a blind"),
        (0.4, 0.5, "above 0.5 and below 1; got 0.4. Such as"),
        (1.0, 0.5, "above 0.5 and below 1; got 1.0. Such as"),
        (55, 0.5, "above 0.5 and below 1; got 55. 55 % is 0.55."),
        (0.6, 0.0, "`prior` between 0.0 and 1.0; got 0.0"),
    ],
)
def test_success_rates_outside_their_range(rate, prior, message):
    with pytest.raises(rpac.InputError, match=message):
        rpac.SuccessRate(rate, prior)


def test_residual_entropy_needs_a_known_and_larger_entropy():
    with pytest.raises(
        rpac.InputError,
        match="known entropy; got an open distribution with Res",
    ):
        rpac.ResidualEntropy(1.0).nats(None)
    with pytest.raises(rpac.InputError, match="Expected residual entropy below the secret's 1 nat"):
        rpac.ResidualEntropy(1.0).nats(1.0)


@pytest.mark.parametrize("bad", [0, -1, math.nan, True, "much"])
def test_every_entry_point_refuses_a_bad_budget(bad):
    outputs = rpac.Outputs([0.0, 1.0])
    source = rpac.Worlds([0.0, 1.0])
    for call in (
        lambda: rpac.calibrate(outputs, bad),
        lambda: rpac.certify(outputs, rpac.GaussianNoise(1.0), budget=bad),
        lambda: rpac.privatize(lambda x: x, source, bad),
    ):
        with pytest.raises(rpac.InputError, match="Expected a"):
            call()
    assert rpac.certify(outputs, rpac.GaussianNoise(1.0), draws=100).attempt == 1  # nothing booked


def test_budgets_in_every_unit_of_one_leakage():
    nats = 0.0721
    rate = float(nats_to_success(nats))
    for budget in (
        rpac.Nats(nats),
        rpac.Bits(nats / math.log(2)),
        rpac.SuccessRate(rate),
        rpac.ResidualEntropy(math.log(64) - nats),
    ):
        assert budget.nats(math.log(64)) == pytest.approx(nats, rel=1e-9)


def test_a_success_rate_costs_more_the_further_it_lies_from_its_prior():
    rates = [rpac.SuccessRate(rate, 0.3).nats() for rate in (0.31, 0.5, 0.7, 0.99)]
    assert rates == sorted(rates)
    assert rpac.SuccessRate(0.99, 0.3).nats() < math.log(1 / 0.3)


def test_budgets_are_values():
    assert rpac.Nats(1) == rpac.Nats(1.0)
    assert len({rpac.Nats(1.0), rpac.Nats(1.0), rpac.Bits(1.0)}) == 2
    with pytest.raises(AttributeError):
        rpac.Nats(1.0).value = 2.0
    assert isinstance(rpac.Nats(np.float32(0.5)).nats(), float)
    assert as_budget(np.int64(2)).nats() == 2.0


def test_residual_entropy_and_what_it_leaves_to_be_spent():
    outputs = rpac.Outputs(np.arange(8.0))
    certificate = rpac.certify(
        outputs,
        rpac.calibrate(outputs, rpac.ResidualEntropy(1.5)),
        budget=rpac.ResidualEntropy(1.5),
    )
    assert certificate.residual_entropy >= 1.5
    assert certificate.bound <= math.log(8) - 1.5


def test_budgets_about_a_person_are_distances():
    assert as_distance(rpac.GaussianDP(0.7)) == 0.7
    assert as_distance(rpac.SuccessRate(0.55)) == pytest.approx(0.251322693, rel=1e-8)
    assert as_distance(0.125) == as_distance(rpac.Nats(0.125)) == pytest.approx(1.0)
    assert as_distance(rpac.Bits(0.125 / math.log(2))) == pytest.approx(1.0)
    assert rpac.GaussianDP(1.0).nats() == 0.125
    distance = as_distance(rpac.SuccessRate(0.9, prior=0.8))
    assert rpac.advantage.distance_to_success(distance, 0.8) == pytest.approx(0.9)


def test_budgets_of_one_promise_are_refused_by_the_other():
    with pytest.raises(rpac.InputError, match="a budget about a drawn sample; got GaussianDP"):
        as_budget(rpac.GaussianDP(1.0))
    with pytest.raises(rpac.InputError, match="about a person's presence; got ResidualEntropy"):
        as_distance(rpac.ResidualEntropy(1.0))
    with pytest.raises(rpac.InputError, match="a success above a blind guess; got 0.4"):
        as_distance(rpac.SuccessRate(0.4, prior=0.3))  # guessing "no" succeeds more often
    with pytest.raises(rpac.InputError, match="a positive budget in distance"):
        rpac.GaussianDP(0)


class Wavering(float):
    """A number that reads as less the first time than ever after."""

    def __float__(self):
        self.__dict__["read"] = self.__dict__.get("read", 0) + 1
        return 1e-9 if self.__dict__["read"] == 1 else 5.0


@pytest.mark.parametrize("kind", [rpac.Nats, rpac.Bits, rpac.GaussianDP, rpac.ResidualEntropy])
def test_a_budget_is_read_once(kind):
    budget = kind(Wavering(5.0))
    assert [*vars(budget).values()] == [1e-9]
    assert repr(budget).count("1e-09") == 1


def test_a_bare_number_is_read_once():
    request = Request(len, rpac.Worlds([1.0, 2.0]), Wavering(5.0), "auto-pac", 0.9)
    assert request.nats == request.nats == request.budget == 1e-9
    inquiry = Inquiry(rpac.statistics.count(), rpac.Presence([1.0, 2.0]), Wavering(5.0))
    assert inquiry.distance == inquiry.distance == math.sqrt(8e-9)
