"""What settles the axis of released numbers."""

import pytest

from rpac.pictures.axis import settling


@pytest.mark.parametrize("flag", [{}, {"noisy": False}])
def test_values_and_ends_settle_an_axis(flag):
    one = {"value": 3, "noise": (2, 4), "sampling": (0, 9)} | flag
    assert settling([one, {"value": 7, "noise": None}]) == [3, 2, 4, 0, 9, 7]


def test_noise_alone_settles_it_only_where_there_is_nothing_else():
    noisy = {"value": 0, "noise": (-99, 99), "noisy": True}
    assert settling([noisy, {"value": 1}]) == [1]
    assert settling([noisy]) == [0, -99, 99]
    assert settling([]) == []
