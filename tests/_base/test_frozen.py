"""What is frozen stays as it was made, and so do its copies."""

import copy
import pickle

import numpy as np
import pytest

import rpac
from rpac._base.frozen import Frozen, fixed


class Box(Frozen):
    def __init__(self, values, name):
        self.values, self.name = values, name
        self.freeze("values")


def test_attributes_and_arrays_stay():
    mine = np.arange(3.0)
    box = Box(mine, "a")
    with pytest.raises(rpac.InputError, match="Expected Box that stays as it was made; got a new"):
        box.name = "b"
    with pytest.raises(rpac.InputError, match="a new `more`. Make another"):
        box.more = 1
    with pytest.raises(rpac.InputError, match="stays as it was made; got no `_frozen`"):
        del box._frozen
    with pytest.raises(ValueError, match="read-only"):
        box.values[0] = 9
    mine[0] = 9  # the caller's own array is theirs still
    assert box.values.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_copies_are_as_frozen(copied):
    box = copied(Box(np.arange(3.0), "a"))
    with pytest.raises(rpac.InputError, match="stays as it was made"):
        box.name = "b"
    with pytest.raises(ValueError, match="read-only"):
        box.values[0] = 9


def test_until_it_is_frozen_it_may_change():
    class Draft(Frozen):
        pass

    draft = Draft()
    draft.name = "a"
    draft.name = "b"
    del draft.name
    assert not hasattr(draft, "name")
    draft.freeze()
    with pytest.raises(rpac.InputError, match="Draft that stays as it was made; got no `name`"):
        del draft.name


class Law(Frozen):
    def __init__(self):
        self.freeze()

    def draw(self):
        return 1

    @property
    def words(self):
        return 2


@pytest.mark.parametrize("name", ["draw", "words"])
def test_what_hides_a_method_is_not_called(name):
    law = Law()
    law.unhidden()
    law.__dict__["note"] = 3  # hides nothing
    law.unhidden()
    law.__dict__[name] = lambda: 9
    with pytest.raises(
        rpac.InputError, match=f"Expected Law as its type has it; got its own `{name}`"
    ):
        law.unhidden()


@pytest.mark.parametrize("shape", [(3,), (2, 2), (0,), (2, 0), ()])
def test_fixed_numbers_cannot_be_made_writable(shape):
    plain = fixed(np.ones(shape))
    assert (plain.shape, plain.dtype, plain.sum()) == (shape, float, np.ones(shape).sum())
    with pytest.raises(ValueError, match="read-only"):
        plain[...] = 2
    if plain.size:
        with pytest.raises(ValueError, match="WRITEABLE"):
            plain.setflags(write=True)
