"""Channels of labels."""

import numpy as np
import pytest

import rpac


def test_label_channel():
    channel = rpac.LabelChannel.randomized_response(4, 0.7)
    labels = np.random.default_rng(0).integers(0, 4, 40_000)
    released = channel.sample(labels, np.random.default_rng(1))
    assert (released == labels).mean() == pytest.approx(0.7, abs=0.02)
    assert channel.power == pytest.approx(0.3)
    assert channel.describe()["classes"] == 4
    assert "LabelChannel(classes=4" in repr(channel)


def test_a_subclassed_channel_is_refused():
    class Open(rpac.LabelChannel):
        def at(self, labels, uniforms):
            return labels

    outputs = rpac.Outputs(["a", "b"])
    with pytest.raises(rpac.InputError, match="Expected labels with a LabelChannel"):
        rpac.certify(outputs, Open([[0.5, 0.5], [0.5, 0.5]]))


def test_a_channel_answers_what_every_law_answers():
    channel = rpac.LabelChannel([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    outputs = rpac.Outputs(["a", "c", "b", "a"])
    codes = outputs.codes(channel)
    assert codes.tolist() == [[0], [2], [1], [0]]
    assert (channel.rank, channel.error()) == (1, {})
    assert channel.decode(np.array([2])).tolist() == [2.0]
    assert channel.log_likelihood(codes, np.array([1])) == pytest.approx(
        np.log([0.2, 0.25, 0.8, 0.2])
    )
    seen = np.bincount([int(channel.noisy(np.array([0]))[0]) for _ in range(4_000)], minlength=3)
    assert np.abs(seen / 4_000 - [0.7, 0.2, 0.1]).max() < 0.05
    made = channel.applied(outputs, np.zeros(4_000, int), np.random.default_rng(0))
    assert np.abs(np.bincount(made[:, 0].astype(int)) / 4_000 - [0.7, 0.2, 0.1]).max() < 0.05
    assert channel.digest == channel.describe()["digest"]


def test_only_labels_go_through_a_channel():
    channel = rpac.LabelChannel(np.eye(2))
    assert rpac.tabulate(rpac.Outputs(["a", "b"]), channel) is channel
    for outputs in (rpac.Outputs(["a", "b", "c"]), rpac.Outputs([0.0, 1.0])):
        with pytest.raises(rpac.InputError, match="LabelChannel of as many rows; got Outputs.*Lab"):
            rpac.tabulate(outputs, channel)
