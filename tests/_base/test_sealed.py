"""Sealed values have no public form."""

import pickle

import pytest

import rpac
from rpac._base.sealed import SealedValue, publish


def test_sealed_values_have_no_public_form():
    sealed = SealedValue(7)
    assert repr(sealed) == "SealedValue(...)"
    assert sealed.open() == 7
    for leak in (pickle.dumps, publish, lambda v: publish({"a": [v]})):
        with pytest.raises(rpac.InputError, match="sealed SealedValue"):
            leak(sealed)
    with pytest.raises(rpac.InputError, match="Expected public values; got set"):
        publish({1, 2})
    with pytest.raises(ValueError, match="not JSON compliant"):
        publish(float("nan"))
