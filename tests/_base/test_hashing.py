"""Hashes follow content, in any process."""

import array
import copy
import datetime
import hmac
import os
import subprocess
import sys
import uuid
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac._base.hashing import digest, fingerprint, keyed, process_key


def test_versions_follow_content(tmp_path):
    frame = pd.DataFrame({"p": [1, 2, 3], "t": ["a", "b", None]})
    same = pd.DataFrame({"p": [1, 2, 3], "t": ["a", "b", None]})
    assert fingerprint(frame) == fingerprint(same)
    assert fingerprint(frame) != fingerprint(frame.assign(p=[1, 2, 4]))
    cases = [1, 2.5, "x", b"x", None, True, 1j, [1, 2], (1, [2, "a"]), {"a": 1}, np.arange(3),
             np.array(["a", None], object), {1, 2}]  # fmt: skip
    marks = [fingerprint(case) for case in cases]
    assert marks == [fingerprint(case) for case in cases]
    assert fingerprint(np.int64(3)) == fingerprint(3)
    with pytest.raises(rpac.InputError, match="whose content can be hashed; got generator"):
        fingerprint(x for x in [1])
    draws = rpac.Draws(lambda rng: rng.normal(), clip=(0, 1))
    assert draws.version != rpac.Draws(lambda rng: rng.normal(), clip=(0, 2)).version
    assert rpac.Worlds([1, 2]).secret != rpac.Worlds([1, 2], [0.3, 0.7]).secret


def test_a_digest_keeps_its_parts_apart():
    """Shapes, kinds and borders count: no two different lists of parts are one text."""
    cases = [
        ("a", "b"), ("ab",), ("a", "b", ""), (np.arange(4),), (np.arange(4.0),), (3,), (3.0,),
        (np.arange(4).reshape(2, 2),), (np.arange(2), np.arange(2, 4)),
    ]  # fmt: skip
    marks = [digest(*case) for case in cases]
    assert len(set(marks)) == len(cases)
    table = np.arange(6).reshape(2, 3)
    assert digest(np.asfortranarray(table)) == digest(table)


def test_numbers_are_compared_exactly_and_whatever_their_type():
    ones = [1, 1.0, True, np.bool_(1), np.int8(1), np.float32(1), Fraction(1), Decimal("1.0")]
    assert len({fingerprint(one) for one in ones}) == 1
    assert fingerprint(2**53) != fingerprint(2**53 + 1)
    assert (
        fingerprint(2**53 + 1)
        == fingerprint(Fraction(2**53 + 1))
        == fingerprint(np.int64(2**53 + 1))
    )
    assert fingerprint(Decimal("0.1")) == fingerprint(Fraction(1, 10)) != fingerprint(0.1)
    odd = [np.nan, np.inf, -np.inf, 0.0, 1j, "1", b"1", None]
    assert len({fingerprint(value) for value in odd}) == len(odd)
    assert fingerprint(Decimal("nan")) == fingerprint(Decimal("sNaN")) == fingerprint(np.nan)
    assert fingerprint(Decimal("-inf")) == fingerprint(-np.inf)
    assert fingerprint(np.str_("a")) == fingerprint("a")


def test_order_and_hash_seeds_do_not_count():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": "b"}) != fingerprint({"b": "a"})
    assert fingerprint({1, "a", None}) == fingerprint(frozenset([None, "a", 1]))
    program = (
        "from rpac._base.hashing import fingerprint as f\n"
        "class C:\n    def __init__(self): self.names = {'x', 'y', 'z', 'w'}\n"
        "print(f([C(), {'a', 'b', 'c'}, {'k': {1, 'k'}}]))"
    )
    marks = {
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(marks) == 1


class Kept:
    def __init__(self, x):
        self.x = x


def test_objects_are_what_they_are_rebuilt_from():
    pairs = [
        (Kept(1), Kept(2)), (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
        (uuid.UUID(int=1), uuid.UUID(int=2)), (slice(1), slice(2)), (int, float), (len, sum),
        (OrderedDict(a=1), OrderedDict(a=2)),
        (array.array("d", [1.0]), array.array("d", [2.0])), (deque([1]), deque([2])),
    ]  # fmt: skip
    for one, other in pairs:
        assert fingerprint(one) == fingerprint(copy.deepcopy(one)) != fingerprint(other)
    assert fingerprint(Kept) == fingerprint(Kept)
    assert fingerprint(Ellipsis) == fingerprint(Ellipsis)
    loop = []
    loop.append(loop)
    for wrong in (loop, lambda: 1, Kept(lambda: 1)):
        with pytest.raises(rpac.InputError, match="whose content can be hashed"):
            fingerprint(wrong)


def test_versions_of_worlds_do_not_depend_on_their_order():
    one, other = rpac.Worlds([1, 2, 3], [0.2, 0.3, 0.5]), rpac.Worlds([3, 1, 2], [0.5, 0.2, 0.3])
    assert (one.version, one.secret) == (other.version, other.secret)
    assert one.secret != rpac.Worlds([1, 2, 3], [0.3, 0.2, 0.5]).secret
    assert rpac.Worlds([1, 1, 2]).version != rpac.Worlds([1, 2, 2]).version


def test_what_is_shown_of_a_hash_needs_the_key():
    assert keyed(b"k", "m") == hmac.new(b"k", b"m", "sha256").hexdigest() != keyed(b"l", "m")
    assert process_key() == process_key()
    assert len(process_key()) == 32
    outputs = rpac.Outputs([1.0, 2.0])
    assert outputs.digest[:12] not in repr(outputs)
    made = rpac.certify(outputs, rpac.tabulate(outputs, rpac.GaussianNoise(1.0)), draws=0)
    assert made.outputs["fingerprint"] == keyed(process_key(), outputs.digest)
