"""Training of classifiers in small: what is learned, what is seeded, how records are changed."""

import re

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import equinox as eqx
import jax
import jax.numpy as jnp

from rpac.learned import classifier
from rpac.learned.classifier import (
    Settings,
    architecture,
    halved,
    mirrored,
    optimiser_of,
    shifted,
    train,
    trained_logits,
)
from rpac.learned.networks import NETWORKS, Convolution, Dense, ImageNetwork, TextNetwork


def bright(n, seed=0):
    """Images of 8 x 8 pixels, dark or bright: what a network can learn in a few steps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.integers(0, 120, (n, 8, 8, 1)) + 120 * y[:, None, None, None]
    return x.astype(np.uint8), y


def little(key):
    """A network of one block for them."""
    block = (Convolution.random(key, 1, 4, normalised=True),)
    head = (Dense.random(key, 64, 8), Dense.random(key, 8, 2))
    return ImageNetwork((block,), head, side=4, rate=0.2, mean=0.5, deviation=0.25)


def test_a_few_steps_learn_and_progress_is_told():
    told = []
    x, y = bright(128)
    how = Settings(epochs=6, batch=32, rate=1e-2)
    network = train(little(jax.random.key(0)), x, y, how, 0, lambda *args: told.append(args))
    assert [done for done, _, _ in told] == list(range(1, 25))
    assert {steps for _, steps, _ in told} == {24}
    losses = [loss for _, _, loss in told]
    assert np.mean(losses[-4:]) < 0.5 * np.mean(losses[:4])
    logits = np.asarray(network(jnp.asarray(x))[0])
    assert (logits.argmax(axis=1) == y).mean() > 0.9


def test_logits_are_evaluated_with_moments_of_the_training_records(monkeypatch):
    """A test record is judged alike alone and among others: nothing is normalised by the batch."""
    monkeypatch.setitem(NETWORKS, "little", little)
    x, y = bright(96)
    test, _ = bright(10, seed=1)
    how = Settings(epochs=2, batch=32, rate=1e-2)
    whole = trained_logits("little", x, y, test, how, 3)
    assert whole.shape == (10, 2)
    assert whole.dtype == np.float64
    alone = np.concatenate([trained_logits("little", x, y, test[[i]], how, 3) for i in (0, 7)])
    assert alone == pytest.approx(whole[[0, 7]], abs=1e-4)
    again = trained_logits("little", x, y, test, how, 3)
    np.testing.assert_array_equal(whole, again)
    assert not np.allclose(whole, trained_logits("little", x, y, test, how, 4))


def test_a_network_is_known_by_its_shapes():
    assert architecture("mnist") == architecture("mnist") != architecture("cifar10")
    assert re.search(r"3136, ?128", architecture("mnist"))


def test_a_batch_larger_than_the_records_is_all_of_them():
    x, y = bright(12)
    told = []
    how = Settings(epochs=3, batch=500)
    train(little(jax.random.key(0)), x, y, how, 0, lambda *args: told.append(args[1]))
    assert told == [3, 3, 3]


def test_the_learning_rate_rises_and_falls():
    """AdamW with a constant gradient moves by the learning rate: one cycle is seen in its steps."""
    how = Settings(epochs=1, rate=0.1, decay=0.0)
    optimiser, weight = optimiser_of(how, 40), jnp.zeros(())
    memory, sizes = optimiser.init(weight), []
    for _ in range(40):
        update, memory = optimiser.update(jnp.ones(()), memory, weight)
        sizes.append(-float(update))
    top = int(np.argmax(sizes))
    assert 8 <= top <= 12  # a quarter of the way
    assert max(sizes) == pytest.approx(0.1, rel=0.05)
    assert sizes[0] < 0.01
    assert sizes[-1] < 0.005
    assert (np.diff(sizes[: top + 1]) > 0).all()
    assert (np.diff(sizes[top:]) < 0).all()


def test_coarse_images_give_features_of_the_same_shape():
    image = np.full((1, 32, 32, 3), 200, np.uint8)
    coarse = halved(image)
    assert coarse.shape == (1, 16, 16, 3)
    assert (coarse == 200).all()

    def logits(x):
        return NETWORKS["cifar100"](jax.random.key(0))(x)[0]

    shapes = [eqx.filter_eval_shape(logits, x).shape for x in (coarse, image)]
    assert shapes == [(1, 100), (1, 100)]


def test_images_are_moved_and_mirrored_but_not_made_up():
    rng = np.random.default_rng(0)
    images = rng.integers(1, 256, (40, 8, 8, 3), dtype=np.uint8)
    turned = mirrored(rng, images)
    same = (turned == images).all(axis=(1, 2, 3))
    assert 5 < same.sum() < 35
    assert (turned[~same] == images[~same][:, :, ::-1]).all()
    moved = shifted(rng, images, 2)
    corners = [(a, b) for a in range(-2, 3) for b in range(-2, 3)]
    for one, origin in zip(moved, images, strict=True):
        around = np.pad(origin, ((2, 2), (2, 2), (0, 0)))
        assert any((around[2 + a : 10 + a, 2 + b : 10 + b] == one).all() for a, b in corners)


def test_epochs_on_coarse_images_come_first():
    x, y = np.zeros((6, 32, 32, 3), np.uint8), np.arange(6)
    how = Settings(epochs=3, coarse=2, batch=3)
    batches = list(classifier._batches(np.random.default_rng(0), x, y, how, 3))
    assert [records.shape[1] for records, _ in batches] == [16, 16, 16, 16, 32, 32]
    for first, second in zip(batches[::2], batches[1::2], strict=True):
        assert sorted([*first[1], *second[1]]) == list(range(6))


def test_words_are_learned_too():
    """Two words, two classes: the mean of word vectors tells them apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 64)
    x = np.full((64, 6), -1, np.int32)
    x[:, :3] = (y + 1)[:, None]
    key = jax.random.key(0)
    words = 0.05 * jax.random.normal(key, (4, 8))
    network = TextNetwork(words, (Dense.random(key, 8, 2),), 0.0, 0.2)
    trained = train(network, x, y, Settings(epochs=10, batch=16, rate=5e-2), 0)
    assert (np.asarray(trained(jnp.asarray(x))[0]).argmax(axis=1) == y).all()
