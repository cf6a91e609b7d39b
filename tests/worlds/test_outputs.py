"""Outputs: kinds, priors, and a face that shows no row."""

import math
import pickle

import numpy as np
import pytest

import rpac


def test_kinds():
    assert rpac.Outputs([1, 2]).kind == "count"
    assert rpac.Outputs([1.0, 2.0]).kind == "real"
    assert rpac.Outputs(["a", "b"]).kind == "label"
    assert rpac.Outputs(np.array(["a", "b"], dtype=object)).kind == "label"
    assert rpac.Outputs([3, 3, 5], kind="category").labels == (3, 5)
    assert rpac.Outputs([1.0, 2.0], kind="count").kind == "count"
    assert rpac.Outputs([1, 2], kind="real").kind == "real"


def test_shapes_and_prior():
    outputs = rpac.Outputs([[1.0, 2.0], [3.0, 4.0]], weights=[0.25, 0.75])
    assert outputs.values.shape == (2, 2)
    assert outputs.dim == 2
    assert outputs.exact
    assert outputs.center.tolist() == [2.5, 3.5]
    assert outputs.entropy == pytest.approx(-0.25 * math.log(0.25) - 0.75 * math.log(0.75))
    assert outputs.rebuild(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert rpac.Outputs([1.0, 2.0]).rebuild(np.array([1.5])) == 1.5
    assert rpac.Outputs(["x", "y"]).rebuild(np.array([1.0])) == "y"


def test_sealed():
    outputs = rpac.Outputs([123.456, 654.321])
    for face in (repr(outputs), str(outputs), outputs._repr_html_()):
        assert "123" not in face.replace(outputs.digest[:12], "")
        assert "worlds=2" in face
    with pytest.raises(rpac.InputError, match="Expected sealed Outputs that stay in this process"):
        pickle.dumps(outputs)


def test_digest_tells_values_weights_and_kinds_apart():
    digests = {
        rpac.Outputs([1, 2]).digest,
        rpac.Outputs([1.0, 2.0]).digest,
        rpac.Outputs([1.0, 3.0]).digest,
        rpac.Outputs([1.0, 2.0], [0.4, 0.6]).digest,
        rpac.Outputs(["a", "b"]).digest,
        rpac.Outputs(["a", "c"]).digest,
    }
    assert len(digests) == 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rpac.Outputs([]), "Expected `values` with 2 axes and at least one entry"),
        (lambda: rpac.Outputs([1.0]), "Expected at least 2 worlds; got 1"),
        (lambda: rpac.Outputs([[[1.0]], [[2.0]]]), "Expected `values` with 2 axes"),
        (lambda: rpac.Outputs([1.0, math.nan]), "Expected finite numbers in `values`; got 1 NaN"),
        (lambda: rpac.Outputs([1.0, math.inf]), "Replace them first"),
        (lambda: rpac.Outputs([object(), object()]), "Expected numbers in `values`; got ndarray"),
        (lambda: rpac.Outputs([1, 2], [0.5, 0.6]), "Expected `weights` that sum to 1; got 1.1"),
        (lambda: rpac.Outputs([1, 2], [1.0, 0.0]), "Expected positive weights"),
        (lambda: rpac.Outputs([1, 2], [1.0]), "Expected 2 weights in `weights`; got 1"),
        (
            lambda: rpac.Outputs([1, 2], kind="colour"),
            'Expected kind "real", "count" or "category"',
        ),
        (lambda: rpac.Outputs([1.5, 2], kind="count"), "Expected whole numbers for counts"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=message):
        call()
