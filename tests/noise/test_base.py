"""Integer tables: they are the law, and what is looked up is exact."""

import numpy as np
import pytest

import rpac
from rpac.noise.base import (
    TOTAL,
    Releasable,
    integer_table,
    look_up,
    study_uniforms,
    system_uniforms,
)
from rpac.noise.codebook import Codebook
from rpac.noise.grid import GridNoise
from rpac.noise.label import LabelChannel


def test_tables_sum_to_two_to_the_63_and_keep_symmetry():
    noise = rpac.LatticeNoise.gaussian(1.0, 1024.0)
    assert int(noise.table.sum(dtype=np.uint64)) == TOTAL
    assert (noise.table == noise.table[::-1]).all()
    assert noise.offsets[-1] > 8 * 1024
    assert noise.power == pytest.approx(1024.0**2, rel=1e-12)
    assert 0 <= noise.excess < 1e-13
    tiny = rpac.LatticeNoise(1.0, [0, 1], [1.0, 1e-25])
    assert tiny.offsets.tolist() == [0]


def test_look_up_is_exact_at_the_edges():
    table = integer_table(np.array([0.25, 0.5, 0.25]))
    quarter = TOTAL // 4
    edges = np.array([0, quarter - 1, quarter, 3 * quarter - 1, 3 * quarter, TOTAL - 1], np.uint64)
    assert look_up(table, edges).tolist() == [0, 0, 1, 1, 2, 2]


def test_uniforms_fill_their_range_and_differ_every_time():
    first, second = (system_uniforms(1_000) for _ in range(2))
    assert not (first == second).any()
    assert int(first.max()) < TOTAL
    assert first.max() > TOTAL // 2 > first.min()
    assert system_uniforms(3, 4).shape == (3, 4)
    made = [study_uniforms(np.random.default_rng(7), 5) for _ in range(2)]
    assert (made[0] == made[1]).all()


def test_every_law_answers_the_same_questions():
    """Whoever releases, attacks or prints a law need not ask which kind it is."""
    kinds = [GridNoise, LabelChannel, Codebook]
    assert all(issubclass(kind, Releasable) for kind in kinds)
    for question in ("power", "digest", "rank", "encode", "noisy", "decode", "log_likelihood",
                     "error", "applied", "describe"):  # fmt: skip
        assert all(hasattr(kind, question) for kind in kinds), question
