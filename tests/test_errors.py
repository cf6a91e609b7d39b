"""Errors: types a caller may catch, messages with a next move."""

import pytest

import rpac
from rpac import errors


def test_every_error_of_the_package_is_an_rpac_error():
    names = [name for name in vars(errors) if isinstance(getattr(errors, name), type)]
    for name in names:
        kind = getattr(errors, name)
        expected = UserWarning if name == "ExactRelease" else errors.RpacError
        assert issubclass(kind, expected), name
        assert kind.__doc__


@pytest.mark.parametrize(("kind", "plain"), [
    (errors.InputError, ValueError), (errors.MechanismError, RuntimeError),
    (errors.CertificateError, ValueError), (errors.ContractError, AssertionError),
    (errors.LedgerError, RuntimeError),
])  # fmt: skip
def test_they_are_what_python_would_raise_too(kind, plain):
    assert issubclass(kind, plain)


def test_an_exceeded_budget_says_by_how_much():
    error = rpac.BudgetExceeded(0.31, 0.25)
    assert (error.bound, error.budget) == (0.31, 0.25)
    assert "at most 0.25 nats; got a certified bound of 0.31 nats" in str(error)
    rate = rpac.BudgetExceeded(0.61, 0.55, "success on every unit", "")
    assert "success on every unit of at most 0.55; got a certified bound of 0.61." in str(rate)


def test_a_spent_budget_says_what_is_left():
    error = rpac.BudgetSpent("0.200000000", "0.100000000", "analyst 'ann'", 0.1)
    assert error.remaining == 0.1
    assert "what is left for analyst 'ann'; got 0.200000000 nats" in str(error)
