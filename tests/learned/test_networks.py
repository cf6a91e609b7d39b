"""The base classifiers' layers against plain definitions, and their sizes against the paper."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import equinox as eqx
import jax
import jax.numpy as jnp

from rpac.learned.networks import (
    NETWORKS,
    VOCABULARY,
    Convolution,
    Dense,
    ImageNetwork,
    TextNetwork,
    dropout,
    pool,
)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("cifar10", [(27, 32), 32, (288, 64), 64, (4096, 128), 128, (128, 10), 10]),
        ("mnist", [(9, 32), (2, 32), (288, 64), (2, 64), (3136, 128), 128, (128, 10), 10]),
        (
            "cifar100",
            [
                *[(27, 64), (576, 64), (576, 128), (1152, 128), (1152, 256), (2304, 256)],
                *[(2, 64), (2, 64), (2, 128), (2, 128), (2, 256), (2, 256)],
                *[(4096, 512), 512, (512, 256), 256, (256, 100), 100],
            ],
        ),
        ("ag_news", [(30_001, 300), (300, 256), 256, (256, 4), 4]),
    ],
)
def test_networks_have_as_many_weights_as_in_the_paper(name, shapes):
    """(2, c) is scale and shift of a normalisation, which leaves its convolution no bias."""
    made = eqx.filter_eval_shape(NETWORKS[name], jax.random.key(0))
    counted = sum(leaf.size for leaf in jax.tree.leaves(made))
    assert counted == sum(int(np.prod(shape)) for shape in shapes)


def test_a_convolution_is_a_convolution():
    layer = Convolution.random(jax.random.key(1), 5, 7, normalised=False)
    x = jax.random.normal(jax.random.key(2), (2, 6, 8, 5))
    kernel = layer.patch.reshape(3, 3, 5, 7)
    plain = jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    assert layer(x, None)[0] == pytest.approx(np.maximum(plain, 0), abs=1e-4)


def test_normalisation_takes_the_batch_or_what_it_is_given():
    layer = Convolution.random(jax.random.key(1), 2, 3, normalised=True)
    x = 3 + jax.random.normal(jax.random.key(2), (50, 6, 6, 2))
    plain = replace(layer, shift=jnp.full(3, 50.0))  # so high that nothing is cut off
    out, moments = plain(x, None)
    assert out.mean(axis=(0, 1, 2)) == pytest.approx(np.full(3, 50.0), abs=1e-3)
    assert out.std(axis=(0, 1, 2)) == pytest.approx(np.ones(3), abs=1e-3)
    assert plain(x[:1], moments)[0] == pytest.approx(np.asarray(out[:1]), abs=1e-3)


def test_dropout_keeps_the_mean_and_is_off_in_evaluation():
    x = jnp.ones((400, 100))
    dropped = dropout(x, 0.3, jax.random.key(0))
    assert float(dropped.mean()) == pytest.approx(1, abs=0.02)
    assert float((dropped == 0).mean()) == pytest.approx(0.3, abs=0.02)
    assert (dropout(x, 0.3, None) == x).all()


def test_padding_is_no_word():
    words = jax.random.normal(jax.random.key(0), (10, 4))
    network = TextNetwork(words, (Dense(jnp.eye(4), jnp.zeros(4)),), 0.3, 0.5)
    means = network(jnp.array([[5, 9, -1, -1], [5, 9, 0, 0], [-1, -1, -1, -1]]))[0]
    assert means[0] == pytest.approx(np.asarray(words[5] + words[9]) / 2, abs=1e-6)
    assert means[1] == pytest.approx(np.asarray(words[5] + words[9] + 2 * words[0]) / 4, abs=1e-6)
    assert (means[2] == 0).all()


def test_pooling_takes_the_largest_of_four():
    x = np.random.default_rng(0).normal(size=(2, 6, 4, 3)).astype(np.float32)
    found = np.asarray(pool(jnp.asarray(x)))
    assert found.shape == (2, 3, 2, 3)
    for i in range(3):
        for j in range(2):
            square = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            np.testing.assert_array_equal(found[:, i, j], square.max(axis=(1, 2)))


def test_layers_keep_the_power_of_rectified_inputs():
    """He's rule: a normal input, rectified, comes out with the power it had before."""
    x = jax.nn.relu(jax.random.normal(jax.random.key(0), (500, 400)))
    out = Dense.random(jax.random.key(1), 400, 300)(x)
    assert float(jnp.square(out).mean()) == pytest.approx(1.0, rel=0.1)


def test_pixels_are_standardised_before_the_first_layer():
    """A network that only averages: grey images give the grey, standardised."""
    head = (Dense(jnp.full((4, 1), 0.25), jnp.zeros(1)),)
    network = ImageNetwork((), head, side=2, rate=0.0, mean=0.5, deviation=0.25)
    pixels = jnp.full((1, 2, 2, 1), 255, jnp.uint8)
    logits, seen = network(pixels)
    assert float(logits[0, 0]) == pytest.approx((1.0 - 0.5) / 0.25)
    assert seen == ()


def test_dropout_acts_in_training_alone_and_by_its_strength():
    head = (Dense(jnp.eye(8), jnp.zeros(8)), Dense(jnp.eye(8), jnp.zeros(8)))
    network = TextNetwork(jnp.ones((3, 8)), head, 0.9, 0.0)
    x, key = jnp.array([[1, 2]]), jax.random.key(2)
    np.testing.assert_array_equal(network(x)[0], np.ones((1, 8)))
    np.testing.assert_array_equal(network(x, key, strength=0.0)[0], np.ones((1, 8)))
    assert (np.asarray(network(x, key)[0]) == 0).any()


def test_every_network_gives_logits_of_its_classes():
    classes = {"mnist": 10, "cifar10": 10, "cifar100": 100, "ag_news": 4}
    shapes = {"mnist": (2, 28, 28, 1), "ag_news": (2, 64)}
    assert classes.keys() == NETWORKS.keys()
    for name, many in classes.items():
        kind = jnp.int32 if name == "ag_news" else jnp.uint8
        x = jnp.zeros(shapes.get(name, (2, 32, 32, 3)), kind)
        made = eqx.filter_eval_shape(
            lambda x, name=name: NETWORKS[name](jax.random.key(0))(x)[0], x
        )
        assert made.shape == (2, many)
    assert VOCABULARY == 30_000
