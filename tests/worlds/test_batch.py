"""Several questions as one: side by side, each answer in its own form."""

import numpy as np
import pytest

import rpac
from rpac.worlds.batch import stacked
from rpac.worlds.flatten import Form

SOURCE = rpac.Worlds([1.0, 2.0, 4.0])


def test_answers_come_back_as_a_list_of_forms():
    parts = [rpac.simulate(SOURCE, f) for f in (lambda x: x, lambda x: {"a": x, "b": -x})]
    whole = stacked(parts)
    assert whole.values.tolist() == [[1, 1, -1], [2, 2, -2], [4, 4, -4]]
    assert whole.rebuild(np.array([5.0, 6.0, 7.0])) == [5.0, {"a": 6.0, "b": 7.0}]
    assert whole.statement == parts[0].statement
    assert whole.kind == "real"


def test_scales_and_masks_are_kept():
    people = rpac.Subsets(np.arange(8.0), worlds=8)
    one = rpac.simulate(people, np.mean)
    form = Form("scalar", (), whole=False, rebuild=float, scale=2.0)
    two = rpac.Outputs(one.values, masks=one.masks, form=form)
    whole = stacked([one, two])
    assert whole.scale.tolist() == [1.0, 2.0]
    assert (whole.masks == people.masks).all()


@pytest.mark.parametrize("parts", [
    [],
    [rpac.Outputs(["a", "b"])],
    [rpac.Outputs([1.0, 2.0]), rpac.Outputs([1.0, 2.0], [0.3, 0.7])],
    [rpac.Outputs([1.0, 2.0], clip=(np.zeros(1), np.ones(1)))],
])  # fmt: skip
def test_what_cannot_stand_side_by_side_is_refused(parts):
    with pytest.raises(rpac.InputError, match="numeric outputs of several questions on the same"):
        stacked(parts)
