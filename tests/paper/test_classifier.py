"""Logits of the base classifiers: from the data, in small, and what is kept of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

from rpac.errors import InputError
from rpac.learned.classifier import Settings
from rpac.learned.networks import NETWORKS, VOCABULARY
from rpac.paper import classifier
from rpac.paper.classifier import SETTINGS, classify, numbered, vocabulary
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


@needs_data
@pytest.mark.parametrize("name", ["mnist", "cifar10", "ag_news"])
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


@pytest.fixture
def runs(monkeypatch):
    """Runs of training, which here returns noise of the seed: what is tested is what is kept."""
    made = []

    def noise(name, x, y, test, how, seed, progress):
        made.append((name, how, seed))
        return np.random.default_rng(seed).normal(size=(len(test), 10))

    monkeypatch.setattr(classifier, "trained_logits", noise)
    return made


def test_logits_are_kept_and_found_by_what_they_follow_from(tmp_path, runs):
    first = classify("mnist", digits(), tmp_path)
    again = classify("mnist", digits(), tmp_path)
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
    with pytest.raises(InputError, match=r"a classifier among .*; got 'iris' and data of 'iris'"):
        classify("iris", digits(name="iris"), tmp_path)
    with pytest.raises(InputError, match="data of 'mnist'"):
        classify("cifar10", digits(), tmp_path)


def test_every_network_has_settings():
    assert set(SETTINGS) == set(NETWORKS)


def test_words_are_numbered_by_how_often_they_come():
    texts = ["b a a", "A c b", "a"]
    known = vocabulary(texts)
    assert known == {"a": 1, "b": 2, "c": 3}
    rows = numbered(["c X a", "", " ".join(["b"] * 70)], known)
    assert rows.shape == (3, 64)
    assert rows[0, :4].tolist() == [3, 0, 1, -1]
    assert (rows[1] == -1).all()
    assert (rows[2] == 2).all()  # what comes after 64 words is not read


def test_rare_words_share_a_number():
    known = vocabulary(["common common", *(f"word{i}" for i in range(VOCABULARY + 5))])
    assert len(known) == VOCABULARY
    assert known["common"] == 1
    assert numbered([f"word{VOCABULARY + 4}"], known)[0, 0] == 0


@pytest.mark.parametrize(
    ("name", "shape", "taken"),
    [("mnist", (4, 28, 28), (4, 28, 28, 1)), ("cifar10", (4, 32, 32, 3), (4, 32, 32, 3))],
)
def test_images_have_a_channel(name, shape, taken):
    x = np.zeros(shape, np.uint8)
    arrays = classifier._arrays(Dataset(name, x, np.arange(4), x[:2], np.arange(2), ()))
    assert [part.shape for part in arrays] == [taken, (2, *taken[1:])]


def test_articles_are_numbered_by_words_of_the_training_part():
    texts, test = ["alpha beta", "alpha"], ["beta gamma"]
    data = Dataset("ag_news", texts, np.arange(2), test, np.arange(1), ())
    rows, unseen = classifier._arrays(data)
    assert rows[0, :2].tolist() == [1, 2]
    assert unseen[0, :3].tolist() == [2, 0, -1]


def test_accuracy_is_of_the_largest_logit():
    values = np.array([[0.0, 2.0], [3.0, 1.0], [0.0, 1.0]])
    assert classifier.Logits(values, np.array([1, 1, 1]), {}).accuracy == pytest.approx(2 / 3)


def test_a_seed_below_zero_is_refused(tmp_path):
    with pytest.raises(InputError, match="a whole `seed` of at least 0; got -1"):
        classify("mnist", digits(), tmp_path, seed=-1)
