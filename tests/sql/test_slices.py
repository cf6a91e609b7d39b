"""Sums by bytes of membership, put together to worlds: against plain sums over members."""

import duckdb
import numpy as np
import pytest

from rpac.sql.slices import Part, by_bit, by_byte, count_bytes, count_words, unfolded
from rpac.worlds.keyed import keyed_bits
from rpac.worlds.members import Members

PARTS = [Part("n", "count(*)"), Part("v", "sum(y)"), Part("l", "min(y)"), Part("c", "count(y)")]


@pytest.mark.parametrize("worlds", [2, 16, 20, 128])
def test_every_world_has_the_sums_and_least_values_of_its_members(worlds):
    rng = np.random.default_rng(worlds)
    pairs, n = worlds // 2, 300
    bits = keyed_bits([str(i) for i in range(40)], pairs, 1)
    units, groups = rng.integers(0, 40, n), rng.choice([0, 2], n)  # nobody is in group 1
    values = np.where(rng.random(n) < 0.1, np.nan, rng.integers(-99, 99, n))
    table = {"g": groups, "y": values}
    wide = np.zeros((40, 8 * count_words(pairs)), np.uint8)
    wide[:, : bits.shape[1]] = bits
    words = wide.view(">u8").astype(np.uint64)[units]
    table |= {f"w{i}": words[:, i] for i in range(words.shape[1])}
    with duckdb.connect() as con:
        con.register("t", table)
        con.execute("CREATE TABLE r AS SELECT * REPLACE (CASE WHEN isnan(y) THEN NULL ELSE y END "
                    "AS y) FROM t")  # fmt: skip
        rows = con.execute(by_bit(by_byte("r", ["g"], PARTS, pairs), ["g"], PARTS, "DOUBLE"))
        found = np.array(rows.fetchall(), np.float64)
    sums = unfolded(found[:, 0], found[:, 1], found[:, 2:], (worlds, 3, 4))
    assert sums.shape == (worlds, 3, 4)
    members = Members(bits, worlds, paired=True)
    for w in range(worlds):
        inside = members.world(w)[units]
        for g in range(3):
            mine = values[inside & (groups == g)]
            there = mine[~np.isnan(mine)]
            whole = [mine.size, there.sum(), there.min(initial=np.inf), there.size]
            expected = [x if there.size and np.isfinite(x) else np.nan for x in whole]
            assert np.nan_to_num(sums[w, g, 0]) == mine.size
            if there.size:
                assert sums[w, g].tolist() == expected


def test_a_least_value_is_put_together_by_its_least_and_the_rest_by_sums():
    assert [part.again for part in PARTS] == ["sum", "sum", "min", "sum"]
    assert [count_bytes(pairs) for pairs in (1, 8, 9, 64)] == [1, 1, 2, 8]
