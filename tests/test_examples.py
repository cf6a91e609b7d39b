"""Examples run, in a reduced form."""

import pytest

pytest.importorskip("sklearn")


def test_weights_of_a_network_are_released_end_to_end(capsys):
    from examples.weights import main

    release, accuracy = main(hidden=24, worlds=16, iterations=8, nats=1.0)
    told = capsys.readouterr().out
    assert release.value.size == 64 * 24 + 24 * 24 + 24 * 10 + 2 * 24 + 10
    assert release.certificate.bound <= 1.0
    assert 0.0 <= accuracy <= 1.0
    assert f"{release.value.size} weights of 16 networks" in told
    assert release.sealed[1].span.rank == 15
