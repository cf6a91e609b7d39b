"""Hashes follow content, in any process."""

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac._base.hashing import digest, fingerprint


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
