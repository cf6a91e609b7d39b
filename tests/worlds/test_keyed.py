"""Worlds by keyed bits: of the unit's own id alone, in exactly half of the worlds."""

from hashlib import md5

import numpy as np
import pytest

from rpac.worlds.keyed import BLOCK, blocks, keyed_bits, salt, scaled
from rpac.worlds.members import Members


def test_the_bits_are_those_of_the_hash_first_pair_first():
    ids = ["ann", "bob"]
    bits = keyed_bits(ids, 200, seed=3)
    assert bits.shape == (2, 25)
    for name, row in zip(ids, bits, strict=True):
        whole = b"".join(md5(f"3:{b}:{name}".encode()).digest() for b in (0, 1))
        assert row.tobytes() == whole[:25]
    members = Members(bits, 400, paired=True)
    for pair in (0, 7, 8, 127, 128, 199):
        here = [bits[u, pair // 8] >> 7 - pair % 8 & 1 for u in range(2)]
        assert members.world(pair).tolist() == [bool(bit) for bit in here]
        assert members.world(pair + 200).tolist() == [not bit for bit in here]


def test_nobody_elses_membership_changes_when_somebody_joins():
    ids = [str(i) for i in range(50)]
    assert np.array_equal(keyed_bits(ids, 64, 0), keyed_bits([*ids, "new"], 64, 0)[:50])
    assert not np.array_equal(keyed_bits(ids, 64, 0), keyed_bits(ids, 64, 1))


def test_bits_are_even_and_independent():
    bits = np.unpackbits(keyed_bits([str(i) for i in range(4_000)], 64, 0), axis=1)
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(bits.size)
    signs = 2.0 * bits - 1
    gram = signs.T @ signs / len(signs) - np.eye(64)
    assert np.abs(gram).max() < 6 / np.sqrt(len(signs))


def test_each_hash_serves_its_block():
    assert [len(blocks(pairs)) for pairs in (1, BLOCK, BLOCK + 1, 256)] == [1, 1, 2, 2]
    assert salt(7, 0) == "7:0:"


def test_totals_speak_of_half_of_all_units_whatever_a_world_holds():
    values = np.array([[[10.0, 5.0, 100.0]], [[20.0, 5.0, 100.0]], [[0.0, 0.0, 0.0]]])
    found = scaled(values, np.array([1, 0, 2]), np.array([20, 40, 0]), 60)
    assert found[:, 0].tolist() == [[15.0, 5.0, 225.0], [15.0, 5.0, 56.25], [0.0, 0.0, 0.0]]


def test_bits_are_fetched_once_and_when_they_are_looked_at():
    asked = []

    def load():
        asked.append(1)
        return keyed_bits(["a", "b", "c"], 8, 0)

    members = Members.later(load, 3, 16, "seed 0")
    assert members.units == 3
    assert len(members) == 16
    assert members.digest == Members.later(lambda: 1 / 0, 3, 16, "seed 0").digest
    assert members.digest != Members.later(lambda: 1 / 0, 3, 16, "seed 1").digest
    assert asked == []
    assert np.array_equal(members.matrix(), Members(load(), 16, paired=True).matrix())
    members.world(3)
    assert len(asked) == 2
    with pytest.raises(ValueError, match="read-only"):
        members.bits[0, 0] = 1
    with pytest.raises(AttributeError, match="nothing"):
        _ = members.nothing
