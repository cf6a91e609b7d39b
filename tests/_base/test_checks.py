"""Every generic check: what it lets through, and what its refusal says."""

import math

import numpy as np
import pytest

import rpac
from rpac._base import checks
from rpac._base.checks import (
    array,
    count,
    finite,
    in_range,
    number,
    plain_text,
    positive_definite,
    probabilities,
    refuse,
)


def test_refusals_have_one_form_and_the_type_that_is_asked_for():
    error = refuse("a thing", 3, "Do that.")
    assert isinstance(error, rpac.InputError)
    assert str(error) == "Expected a thing; got 3. Do that."
    assert isinstance(refuse("a", "b", "C.", rpac.LedgerError), rpac.LedgerError)


def test_what_passes_comes_back_plain():
    assert number(np.float32(1.5), "x") == 1.5
    assert type(number(np.int64(3), "x")) is float
    assert count(np.int32(4), "n", least=1) == 4
    assert in_range(0.5, "x", 0.0, 1.0) == 0.5
    assert plain_text("people\u2003of\u00a0Ulm", "dataset") == "people\u2003of\u00a0Ulm"
    assert array([[1, 2], [3, 4]], "values", 2).dtype == np.float64
    assert probabilities([1, 3e-7], "p", size=2).sum() == pytest.approx(1.0, abs=1e-15)
    assert (positive_definite(4.0, "cov") == [[4.0]]).all()


REFUSED = [
    (lambda: number(np.True_, "x"), "Expected a finite number for `x`; got np.True_"),
    (lambda: number("1", "x"), "got '1'"),
    (lambda: number(math.inf, "x"), "got inf"),
    (lambda: number(np.nan, "x"), "got nan"),
    (lambda: count(2.0, "n", least=1), "Expected a whole `n` of at least 1; got 2.0"),
    (lambda: count(np.True_, "n", least=0), "got np.True_"),
    (lambda: count(0, "n", least=1), "got 0"),
    (lambda: in_range(1.0, "x", 0.0, 1.0), "Expected `x` between 0.0 and 1.0; got 1.0"),
    (lambda: plain_text(None, "analyst"), "Expected printable text for `analyst`; got None"),
    (lambda: plain_text("a\nb", "analyst"), r"got 'a\\nb'"),
    (lambda: array("abc", "v", 1), "Expected numbers in `v`; got str"),
    (lambda: array([], "v", 1), r"with 1 axes and at least one entry; got shape \(0,\)"),
    (lambda: array([1.0, math.nan, math.inf], "v", 1), "got 2 NaN or infinite"),
    (lambda: probabilities([0.5, 0.5], "p", size=3), "Expected 3 weights in `p`; got 2"),
    (lambda: probabilities([0.5, 0.0, 0.5], "p", size=3, positive=True), "positive weights in `p`"),
    (lambda: probabilities([1.5, -0.5], "p", size=2), "non-negative weights in `p`; got a least"),
    (lambda: probabilities([0.5, 0.6], "p", size=2), "Expected `p` that sum to 1; got 1.1"),
    (lambda: positive_definite([[1, 2]], "cov"), r"Expected a symmetric matrix.*\(1, 2\)"),
    (lambda: positive_definite([[1, 2], [2, 1]], "cov"), "got a least eigenvalue of -1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=message):
        call()


def test_large_arrays_are_looked_at_row_by_row(monkeypatch):
    monkeypatch.setattr(checks, "_MANY", 4)
    x = np.ones((3, 5))
    assert finite(x)
    x[2, 4] = np.inf
    assert not finite(x)
    with pytest.raises(rpac.errors.InputError, match="got 1 NaN or infinite"):
        array(x, "x", 2)
    assert not finite(x[2])
