"""The record of a trial: marked, sealed, and in words."""

import pickle

import pytest

import rpac
from rpac._base.sealed import publish
from rpac.front.trial import MARK, Trial


def test_it_is_marked_and_escaped_and_says_what_was_found():
    found = Trial("f", "made-up rows", "a number", seconds=0.5, runs=8, agrees=True)
    assert found.fine
    assert str(found).splitlines()[0] == MARK
    assert ("time", "0.5 s a call of the function alone, 8 calls: about 4 s") in found.lines()
    assert ("columns read", "not looked for") in found.lines()
    bad = Trial("f", "x", traceback="<b>row 17</b>", changed=("pay",), reads=(), problems=("p",))
    assert "&lt;b&gt;row 17" in bad._repr_html_()
    assert ("its table", "changed: pay") in bad.lines()
    assert ("columns read", "none") in bad.lines()
    assert repr(bad) == "Trial(an error; print it: owner only)"
    assert repr(Trial("f", "x", problems=("p",))) == "Trial(1 problems; print it: owner only)"


def test_it_can_be_neither_sent_nor_published():
    with pytest.raises(rpac.InputError, match="sealed Trial that stay in this process"):
        pickle.dumps(Trial("f", "x"))
    with pytest.raises(rpac.InputError, match="public values; got sealed Trial"):
        publish(Trial("f", "x"))
