"""Outputs: kinds, priors, and a face that shows no row."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.worlds.flatten import Form


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


def test_outputs_are_complete_when_made_and_stay_so():
    mine = np.arange(6.0).reshape(3, 2)
    outputs = rpac.Outputs(mine, masks=np.eye(3, dtype=bool), statement="which one")
    mine[0] = 99.0
    assert outputs.values[0].tolist() == [0.0, 1.0]
    for name in ("values", "weights", "masks", "clip", "form", "statement", "exact", "kind"):
        with pytest.raises(rpac.InputError, match=f"stays as it was made; got a new `{name}`"):
            setattr(outputs, name, None)
    with pytest.raises(ValueError, match="read-only"):
        outputs.values[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        outputs.weights[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        outputs.masks[0, 0] = False


def test_another_prior_or_statement_is_another_object():
    outputs = rpac.Outputs([[0.0], [1.0], [5.0]])
    outputs.digest, outputs.spread  # noqa: B018  (worked out once)
    other = outputs.under([0.5, 0.25, 0.25])
    assert other.digest != outputs.digest
    assert other.spread == pytest.approx([4.25])
    assert outputs.weights.tolist() == [1 / 3] * 3
    said = outputs.stating("something else")
    assert (said.statement, said.digest) == ("something else", outputs.digest)
    assert outputs.statement == "which of 3 worlds was drawn"
    with pytest.raises(rpac.InputError, match="Expected 3 weights"):
        outputs.under([0.5, 0.5])


def test_draws_are_clipped_and_halved():
    low, high = np.array([0.0]), np.array([4.0])
    outputs = rpac.Outputs(np.arange(10.0), clip=(low, high))
    assert not outputs.exact
    assert outputs.entropy is None
    assert outputs.center.tolist() == [2.0]
    assert outputs.values.max() == 4.0
    assert outputs.planning.values[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert outputs.planning.planning is not None
    assert outputs.planning.planning.values.shape == (5, 1)  # a half is not halved again
    assert outputs.judging[:, 0].tolist() == [4.0] * 5
    finite = rpac.Outputs(np.arange(4.0))
    assert finite.planning is finite


def test_worlds_are_encoded_once_for_a_law():
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(8, 2)))
    one, two = (rpac.tabulate(outputs, rpac.GaussianNoise(s * np.eye(2))) for s in (1.0, 2.0))
    first = outputs.codes(one)
    assert outputs.codes(one) is first
    assert outputs.codes(two) is not first
    assert (outputs.codes(one) == first).all()
    assert outputs.under(np.full(8, 1 / 8)).codes(one) is outputs.codes(one)


def test_the_scale_is_that_of_the_answer():
    assert rpac.Outputs([[0.0, 1.0], [2.0, 3.0]]).scale.tolist() == [1.0, 1.0]
    frame = pd.DataFrame({"id": range(40), "pay": np.arange(40.0)})
    source = rpac.Subsets(frame, unit="id", worlds=8)
    total = rpac.simulate(source, rpac.statistics.sum("pay"))
    assert total.scale.tolist() == [2.0]  # of all units, not of half of them


def test_error_bars_stand_in_the_order_of_the_answer():
    """Answers whose rows are sorted by released numbers settle the order of what is beside them."""

    def settle(beside):
        order = np.argsort(beside)
        return lambda values: values[order].tolist()

    form = Form("table", (), whole=False, rebuild=lambda v: sorted(v.tolist()), settle=settle)
    outputs = rpac.Outputs(np.eye(3), form=form)
    assert outputs.rebuild(np.array([3.0, 1.0, 2.0])) == [1.0, 2.0, 3.0]
    low = outputs.rebuild(np.array([30.0, 10.0, 20.0]), beside=np.array([1.0, 3.0, 2.0]))
    assert low == [30.0, 20.0, 10.0]


def test_numbers_on_which_all_worlds_agree():
    values = np.array([[1.0, 0.1, 5.0, 0.0], [2.0, 0.1 + 1e-17, 5.0 + 1e-9, 0.0]])
    assert rpac.Outputs(values).constant.tolist() == [False, True, False, True]
    counts = rpac.Outputs([[10**14, 3], [10**14 + 1, 3]])  # whole numbers have no rounding
    assert counts.constant.tolist() == [False, True]
    box = np.zeros(1), np.ones(1)
    assert not rpac.Outputs([0.5] * 4, clip=box).constant.any()  # of an open distribution


def test_numbers_have_names():
    assert rpac.Outputs([1.0, 2.0]).names == ["answer"]
    assert rpac.Outputs(np.eye(2)).names == ["number 1", "number 2"]
    source = rpac.Worlds([1.0, 2.0])
    assert rpac.simulate(source, lambda x: {"a": x, "b": 0.0}).names == ["a", "b"]


def test_masks_fit_the_worlds():
    with pytest.raises(rpac.InputError, match="Expected masks of 2 worlds; got 3. Give one row"):
        rpac.Outputs([1.0, 2.0], masks=np.eye(3, dtype=bool))
    assert rpac.Outputs([1.0, 2.0]).masks is None
