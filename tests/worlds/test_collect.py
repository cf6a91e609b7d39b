"""Large answers are put in their place as they come; small ones as before."""

import numpy as np
import pytest

import rpac
from rpac.errors import InputError, MechanismError, TooLarge, Withheld
from rpac.worlds import collect
from rpac.worlds.chunks import rows_of

LARGE = 1 << 14
WORLDS = rpac.Worlds([1.0, 2.0, 3.0])


def collected(answers, worlds):
    """Collect answers that come one at a time."""
    each = enumerate(answers)
    return collect.collected(((range(i, i + 1), rows_of([a])) for i, a in each), worlds)


def wide(x):
    return np.arange(float(LARGE)) * x


def test_large_answers_are_held_once_and_equal_small_ones():
    answers = (wide(x) for x in (1.0, 2.0))
    form, table = collected(answers, 2)
    assert form.layout == (LARGE,)
    assert not table.flags.writeable
    assert (table == np.stack([wide(1.0), wide(2.0)])).all()
    assert (rpac.simulate(WORLDS, wide).values[2] == wide(3.0)).all()


def test_they_are_whole_only_if_all_are():
    answers = [np.arange(LARGE), np.arange(LARGE)]
    assert collected(answers, 2)[0].whole
    assert not collected([answers[0], answers[1] + 0.5], 2)[0].whole


def test_chunks_come_in_any_order():
    parts = [(range(2, 4), rows_of([3.0, 4.0])), (range(0, 2), rows_of([1.0, 2.0]))]
    assert collect.collected(parts, 4)[1].ravel().tolist() == [1.0, 2.0, 3.0, 4.0]
    large = [(range(1, 3), rows_of([wide(2.0), wide(3.0)])), (range(1), rows_of([wide(1.0)]))]
    table = collect.collected(large, 3)[1]
    assert (table == np.stack([wide(x) for x in (1.0, 2.0, 3.0)])).all()
    one = [(range(2), rows_of(np.ones((2, 3))))]
    assert collect.collected(one, 2)[1].shape == (2, 3)


def test_labels_are_collected_as_they_are():
    form, labels = collected([np.str_("a"), np.str_("b")], 2)
    assert (form.name, labels.tolist()) == ("label", ["a", "b"])


def test_forms_must_agree():
    with pytest.raises(MechanismError, match="same form of answer"):
        collected([wide(1.0), wide(1.0)[:-1]], 2)


def test_a_folder_keeps_them_on_the_disk(tmp_path):
    outputs = rpac.simulate(WORLDS, wide, store=tmp_path)
    assert isinstance(outputs.values.base.base, np.memmap)
    assert list(tmp_path.iterdir()) == []
    assert outputs.digest == rpac.simulate(WORLDS, wide).digest
    release = rpac.privatize(wide, WORLDS, 0.2, store=tmp_path)
    assert release.value.shape == (LARGE,)
    with pytest.raises(InputError, match="a folder in `store`"):
        rpac.simulate(WORLDS, wide, store=tmp_path / "none")


def test_too_many_numbers_are_refused_after_the_first_answer(monkeypatch):
    """One call, no allocation, in its own words; a release says no size, which rows may decide."""
    calls = []

    def counted(x):
        calls.append(x)
        return wide(x)

    monkeypatch.setenv("RPAC_MEMORY", "100 kB")
    with pytest.raises(TooLarge, match=r"Expected 3 answers of 16384 .* got 393 kB.*store=FOLDER"):
        rpac.simulate(WORLDS, counted)
    assert len(calls) == 1
    for ask in (rpac.privatize, lambda f, w, b: rpac.Session(w, 1.0).ask(f, b)):
        with pytest.raises(Withheld):
            ask(wide, WORLDS, 0.2)


def test_a_mechanism_cannot_raise_it_in_its_own_words():
    def sly(x):
        raise TooLarge(f"the secret is {x}")

    with pytest.raises(MechanismError, match="an exception on some"):
        rpac.simulate(WORLDS, sly)
    with pytest.raises(Withheld):
        rpac.privatize(sly, WORLDS, 0.2)
