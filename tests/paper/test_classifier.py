"""The base classifiers: their architectures, their training in small, and what is kept of it."""

import json
import time
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rpac.errors import InputError
from rpac.learned.networks import NETWORKS, Convolution, Dense, TextNetwork, dropout
from rpac.paper import classifier
from rpac.paper.classifier import SETTINGS, Settings, classify, halved, mirrored, shifted
from rpac.paper.data import Dataset, load
from tests.conftest import SHARED

DATA = SHARED / "data"
needs_data = pytest.mark.skipif(
    not (DATA / "mnist.npz").exists(), reason="data not found beside the checkout, nor RPAC_SHARED"
)
SMALL = {
    "mnist": (Settings(epochs=2, batch=32), 512),
    "cifar10": (Settings(epochs=6, batch=32, flip=True), 64),
    "cifar100": (Settings(epochs=8, coarse=8, batch=20, shift=2, flip=True), 20),
    "ag_news": (Settings(epochs=4, batch=32, rate=4e-3), 64),
}
"""Settings and training records of runs of a few steps."""


@pytest.fixture(scope="module")
def small():
    """A slice of each dataset, read once."""
    held = {}

    def get(name):
        if name not in held:
            held[name] = load(name, DATA).first(SMALL[name][1], 250)
        return held[name]

    return get


def digits(seed=0, name="mnist", n=64):
    """Images that nothing was written on: enough for what does not look at them."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8), rng.integers(0, 10, n)
    return Dataset(name, x, y, x[:20], y[:20], tuple("0123456789"))


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


@needs_data
@pytest.mark.parametrize("name", list(SMALL))
def test_a_few_steps_learn(small, tmp_path, name):
    losses = []
    how = SMALL[name][0]
    data = small(name)

    def watch(done, steps, loss):
        assert steps == how.epochs * (len(data.train_y) // how.batch)
        assert done == len(losses) + 1
        losses.append(loss)

    one = classify(name, data, tmp_path, progress=watch, settings=how)
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert one.values.shape == (250, len(data.classes))
    assert one.values.dtype == np.float64
    assert np.isfinite(one.values).all()
    assert one.accuracy == (one.values.argmax(axis=1) == data.test_y).mean()
    assert one.made["epochs"] == how.epochs
    if name == "mnist":  # the one that a few steps teach something about other records
        assert one.accuracy > 0.6
    assert set(one.made["versions"]) == {"jax", "equinox", "optax", "numpy"}


@needs_data
@pytest.mark.parametrize("name", ["cifar10", "ag_news"])
def test_the_seed_repeats_a_run(small, tmp_path, name):
    """One run with images that are mirrored, one with dropout, under settings used above."""
    data = small(name)
    runs = [
        classify(name, data, tmp_path / folder, seed=seed, settings=SMALL[name][0]).values
        for folder, seed in (("a", 0), ("b", 0), ("b", 1))
    ]
    assert (runs[0] == runs[1]).all()
    assert not np.allclose(runs[0], runs[2])


def test_epochs_on_coarse_images_come_first():
    x, y = np.zeros((6, 32, 32, 3), np.uint8), np.arange(6)
    how = Settings(epochs=3, coarse=2, batch=3)
    batches = list(classifier._batches(np.random.default_rng(0), x, y, how, 3))
    assert [records.shape[1] for records, _ in batches] == [16, 16, 16, 16, 32, 32]
    for first, second in zip(batches[::2], batches[1::2], strict=True):
        assert sorted([*first[1], *second[1]]) == list(range(6))


@pytest.fixture
def runs(monkeypatch):
    """Runs of training, which here returns noise of the seed: what is tested is what is kept."""
    made = []

    def noise(data, how, seed, progress):
        made.append((data.name, how, seed))
        return np.random.default_rng(seed).normal(size=(len(data.test_y), 10))

    monkeypatch.setattr(classifier, "_logits", noise)
    return made


def test_logits_are_kept_and_found_by_what_they_follow_from(tmp_path, runs):
    first = classify("mnist", digits(), tmp_path)
    start = time.perf_counter()
    again = classify("mnist", digits(), tmp_path)
    assert time.perf_counter() - start < 1
    assert runs == [("mnist", SETTINGS["mnist"], 0)]
    assert (again.values == first.values).all()
    assert (again.labels == first.labels).all()
    assert again.made == first.made == json.loads(json.dumps(first.made))
    classify("mnist", digits(), tmp_path, seed=1)
    classify("mnist", digits(1), tmp_path)
    classify("mnist", digits(), tmp_path, settings=replace(SETTINGS["mnist"], rate=2e-3))
    classify("cifar10", digits(name="cifar10"), tmp_path)
    assert len(runs) == len(list(tmp_path.iterdir())) == 5


def test_another_network_is_another_key(tmp_path, runs, monkeypatch):
    classify("mnist", digits(), tmp_path)
    monkeypatch.setitem(NETWORKS, "mnist", NETWORKS["cifar10"])
    classify("mnist", digits(), tmp_path)
    assert len(runs) == 2


def test_a_damaged_file_is_refused_with_the_next_move(tmp_path, runs):
    whole = classify("mnist", digits(), tmp_path)
    (path,) = tmp_path.iterdir()
    raw = path.read_bytes()
    flipped = bytes([*raw[:300], raw[300] ^ 0xFF, *raw[301:]])
    for damaged in (raw[: len(raw) // 2], flipped, b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="Delete it, and it is made again"):
            classify("mnist", digits(), tmp_path)
    np.savez(path, values=whole.values)  # sound, but not all of it
    with pytest.raises(InputError, match="Delete it, and it is made again"):
        classify("mnist", digits(), tmp_path)
    path.unlink()
    assert (classify("mnist", digits(), tmp_path).values == whole.values).all()
    assert len(runs) == 2


def test_a_name_without_a_network_or_with_other_data_is_refused(tmp_path):
    with pytest.raises(InputError, match="a classifier among"):
        classify("iris", digits(name="iris"), tmp_path)
    with pytest.raises(InputError, match="data of 'mnist'"):
        classify("cifar10", digits(), tmp_path)


def test_every_network_has_settings():
    assert set(SETTINGS) == set(NETWORKS)
