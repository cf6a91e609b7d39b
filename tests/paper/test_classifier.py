"""The base classifiers: their architectures, their training in small, and what is kept of it."""

import json
import time
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import SHARED

from rpac.errors import InputError
from rpac.paper.classifier import SETTINGS, Settings, classify, halved, mirrored, shifted
from rpac.paper.data import Dataset, load
from rpac.paper.networks import NETWORKS, Convolution, dropout

DATA = SHARED / "data"
needs_data = pytest.mark.skipif(
    not (DATA / "mnist.npz").exists(), reason="data not found beside the checkout, nor RPAC_SHARED"
)
SMALL = {
    "mnist": (Settings(epochs=4, batch=32), 256),
    "cifar10": (Settings(epochs=6, batch=32, shift=2, flip=True), 256),
    "cifar100": (Settings(epochs=6, coarse=4, batch=20, shift=2, flip=True), 60),
    "ag_news": (Settings(epochs=4, batch=64, rate=4e-3), 256),
}


@pytest.fixture(scope="module")
def small():
    """A slice of each dataset, read once."""
    held = {}

    def get(name):
        if name not in held:
            held[name] = load(name, DATA).first(SMALL[name][1], 200)
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
    network = NETWORKS["ag_news"](jax.random.key(0))
    few, padded = jnp.array([[5, 9]]), jnp.array([[5, 9, -1, -1]])
    unknown = jnp.array([[5, 9, 0, 0]])
    assert network(few)[0] == pytest.approx(np.asarray(network(padded)[0]), abs=1e-6)
    assert not jnp.allclose(network(few)[0], network(unknown)[0])


def test_coarse_images_give_features_of_the_same_shape():
    network = NETWORKS["cifar100"](jax.random.key(0))
    image = np.full((1, 32, 32, 3), 200, np.uint8)
    coarse = halved(image)
    assert coarse.shape == (1, 16, 16, 3)
    assert (coarse == 200).all()
    assert network(coarse)[0].shape == network(image)[0].shape == (1, 100)


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
def test_a_few_steps_learn_and_are_repeated_by_the_seed(small, tmp_path, name):
    losses = []
    how = SMALL[name][0]
    data = small(name)

    def watch(done, steps, loss):
        assert steps == how.epochs * (len(data.train_y) // how.batch)
        assert done == len(losses) + 1
        losses.append(loss)

    one = classify(name, data, tmp_path / "a", progress=watch, settings=how)
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert one.values.shape == (200, len(data.classes))
    assert one.values.dtype == np.float64
    assert np.isfinite(one.values).all()
    assert one.accuracy == (one.values.argmax(axis=1) == data.test_y).mean()
    assert one.made["epochs"] == how.epochs
    assert set(one.made["versions"]) == {"jax", "equinox", "optax", "numpy"}
    two = classify(name, data, tmp_path / "b", settings=how)
    assert (one.values == two.values).all()


@needs_data
def test_what_is_learnt_holds_on_other_digits(tmp_path):
    data = load("mnist", DATA).first(1500, 500)
    assert classify("mnist", data, tmp_path, settings=Settings(3, batch=32)).accuracy > 0.85


def test_logits_are_kept_and_found_by_what_they_follow_from(tmp_path):
    calls = []

    def watch(*step):
        calls.append(step)

    how = Settings(epochs=1, batch=32)
    first = classify("mnist", digits(), tmp_path, progress=watch, settings=how)
    trained = len(calls)
    start = time.perf_counter()
    again = classify("mnist", digits(), tmp_path, progress=watch, settings=how)
    assert time.perf_counter() - start < 1
    assert len(calls) == trained == 2
    assert (again.values == first.values).all()
    assert (again.labels == first.labels).all()
    assert again.made == first.made == json.loads(json.dumps(first.made))
    other = classify("mnist", digits(), tmp_path, seed=1, settings=how)
    assert not np.allclose(other.values, first.values)
    classify("mnist", digits(1), tmp_path, settings=how)
    classify("mnist", digits(), tmp_path, settings=replace(how, rate=2e-3))
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_a_damaged_file_is_refused_with_the_next_move(tmp_path, damage):
    how = Settings(epochs=1, batch=32)
    classify("mnist", digits(), tmp_path, settings=how)
    (path,) = tmp_path.iterdir()
    raw = bytearray(path.read_bytes())
    if damage == "changed":
        raw[200] ^= 0xFF
        path.write_bytes(raw)
    elif damage == "other":
        np.savez(path, values=np.zeros((2, 2)))
    else:
        path.write_bytes(raw[: len(raw) // 2 if damage == "cut" else 0])
    with pytest.raises(InputError, match="Delete it, and it is made again"):
        classify("mnist", digits(), tmp_path, settings=how)
    path.unlink()
    assert classify("mnist", digits(), tmp_path, settings=how).values.shape == (20, 10)


def test_a_name_without_a_network_or_with_other_data_is_refused(tmp_path):
    with pytest.raises(InputError, match="a classifier among"):
        classify("iris", digits(name="iris"), tmp_path)
    with pytest.raises(InputError, match="data of 'mnist'"):
        classify("cifar10", digits(), tmp_path)


def test_every_network_has_settings():
    assert set(SETTINGS) == set(NETWORKS)
