"""Train the paper's base classifiers, and keep the logits of their test records.

Logits are what the experiments release. They are made once and kept in a file that is named by
everything they follow from: network, settings, seed and data.
"""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from rpac._base.checks import count, refuse
from rpac._base.hashing import digest, fingerprint
from rpac._base.progress import progress as bar
from rpac._base.types import Floats, Ints, Json
from rpac.learned.networks import NETWORKS, VOCABULARY, Moments
from rpac.paper.data import Dataset

Progress = Callable[[int, int, float], None]
_LENGTH = 64
"""Words of an article that are read."""
_MEASURED = 2048
"""Training records on which the moments of normalised layers are measured."""
_BLOCK = 250


@final
@dataclass(frozen=True)
class Settings:
    """How a network is trained: AdamW along one cycle of the learning rate.

    Attributes:
        epochs: Passes over the training records.
        coarse: Of these, how many come first on images of half the height and width. Where there
            are any, dropout too starts easy: it grows from none to its full rate.
        batch: Records a step.
        rate: Largest learning rate.
        decay: Weight decay.
        shift: Images are shifted by at most so many pixels, over zeros.
        flip: Images are mirrored at random.
    """

    epochs: int
    coarse: int = 0
    batch: int = 128
    rate: float = 1e-3
    decay: float = 1e-2
    shift: int = 0
    flip: bool = False


SETTINGS = {
    "mnist": Settings(epochs=3),
    "cifar10": Settings(epochs=7, batch=64, flip=True),
    "cifar100": Settings(epochs=6, coarse=5, batch=64, rate=1.5e-3, shift=2, flip=True),
    "ag_news": Settings(epochs=4, batch=256, rate=4e-3, decay=1e-1),
}


@final
@dataclass(frozen=True)
class Logits:
    """What a base classifier answers on every test record.

    Attributes:
        values: (n, classes) logits.
        labels: (n,) true classes.
        made: Seed, epochs, seconds of training and versions of what trained it.
    """

    values: Floats
    labels: Ints
    made: Json

    @property
    def accuracy(self) -> float:
        """Share of records whose largest logit is their class's."""
        return float((self.values.argmax(axis=1) == self.labels).mean())


def classify(
    name: str,
    data: Dataset,
    cache: str | Path,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    settings: Settings | None = None,
) -> Logits:
    """Return the logits of all test records under the paper's classifier of that name.

    Args:
        name: "mnist", "cifar10", "cifar100" or "ag_news".
        data: The dataset of that name; only its training part is trained on.
        cache: Folder in which logits are kept and looked up.
        seed: Of the first weights, of dropout and of the order of records.
        progress: Called after every step with steps done, steps in all and the loss; a bar is
            shown on a terminal without it.
        settings: How to train; the defaults of `SETTINGS` if None.

    Raises:
        InputError: If data or name do not fit, or the file kept in `cache` is damaged.
    """
    if name not in NETWORKS or data.name != name:
        raise refuse(
            f"a classifier among {tuple(NETWORKS)} and data of its name",
            f"{name!r} and data of {data.name!r}",
            "Load the data with rpac.paper.data.load(name, folder).",
        )
    how, seed = settings or SETTINGS[name], count(seed, "seed", least=0)
    content = fingerprint([data.train_x, data.train_y, data.test_x, data.test_y])
    network = eqx.tree_pformat(eqx.filter_eval_shape(NETWORKS[name], jax.random.key(0)))
    key = digest(name, network, str(seed), json.dumps(asdict(how)), content)
    path = Path(cache) / f"{name}-{key[:16]}.npz"
    if path.exists():
        return _kept(path)
    start = time.perf_counter()
    values = _logits(data, how, seed, progress)
    made = {
        "name": name,
        "seed": seed,
        **asdict(how),
        "seconds": round(time.perf_counter() - start, 1),
        "versions": {package: version(package) for package in _PACKAGES},
    }
    logits = Logits(values, data.test_y, made)
    _keep(logits, path)
    return logits


_PACKAGES = ("jax", "equinox", "optax", "numpy")


def _keep(logits: Logits, path: Path) -> None:
    """Write the logits under another name first, so that half a file is never read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as file:
        np.savez(file, values=logits.values, labels=logits.labels, made=json.dumps(logits.made))
    os.replace(part, path)


def _kept(path: Path) -> Logits:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as z:
            return Logits(z["values"], z["labels"], json.loads(str(z["made"])))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as fault:
        raise refuse(
            f"logits in {path}", f"a damaged file ({fault})", "Delete it, and it is made again."
        ) from None


def _logits(data: Dataset, how: Settings, seed: int, progress: Progress | None) -> Floats:
    """Train, and return (n, classes) logits of the test records."""
    x, test = _arrays(data)
    network = NETWORKS[data.name](jax.random.key(seed))
    trained = train(network, x, data.train_y, how, seed, progress)
    rows = np.random.default_rng(seed).permutation(len(x))[:_MEASURED]
    moments = _measure(trained, [x[part] for part in _blocks(rows)])
    made = [_answer(trained, test[part], moments) for part in _blocks(np.arange(len(test)))]
    return np.concatenate([np.asarray(block, np.float64) for block in made])


def _blocks(rows: Ints) -> list[Ints]:
    return np.array_split(rows, max(1, len(rows) // _BLOCK))


def _arrays(data: Dataset) -> tuple[Any, Any]:
    """Return training and test records as the networks take them."""
    if data.name == "ag_news":
        known = vocabulary(data.train_x)
        return numbered(data.train_x, known), numbered(data.test_x, known)
    if data.train_x.ndim == 3:
        return data.train_x[..., None], data.test_x[..., None]
    return data.train_x, data.test_x


def vocabulary(texts: list[str]) -> dict[str, int]:
    """Return the most frequent lower-cased words and their numbers, from 1 on.

    >>> vocabulary(["The cat", "the dog"])
    {'the': 1, 'cat': 2, 'dog': 3}
    """
    seen = Counter(word for text in texts for word in text.lower().split())
    return {word: i for i, (word, _) in enumerate(seen.most_common(VOCABULARY), start=1)}


def numbered(texts: list[str], known: dict[str, int]) -> Any:
    """Return (n, 64) numbers of the first words: 0 if not in the vocabulary, -1 after the last.

    >>> numbered(["The black cat"], {"the": 1, "cat": 2})[0, :5]
    array([ 1,  0,  2, -1, -1], dtype=int32)
    """
    numbers = np.full((len(texts), _LENGTH), -1, dtype=np.int32)
    for row, text in zip(numbers, texts, strict=True):
        words = text.lower().split()[:_LENGTH]
        row[: len(words)] = [known.get(word, 0) for word in words]
    return numbers


def train(
    network: Any, x: Any, y: Ints, how: Settings, seed: int, progress: Progress | None = None
) -> Any:
    """Return the network trained on records x with classes y.

    Args:
        network: A module called with (batch, key), which returns logits and moments.
        x: (n, ...) records as it takes them.
        y: (n,) classes.
        how: Settings; a last batch that is not full is left out of an epoch.
        seed: Of order, augmentation and dropout.
        progress: Called after every step with steps done, steps in all and the loss.
    """
    batch = min(how.batch, len(x))
    steps = how.epochs * (len(x) // batch)
    optimiser = optimiser_of(how, steps)
    weights, still = eqx.partition(network, eqx.is_inexact_array)
    state = (weights, optimiser.init(weights), jax.random.key(seed))
    batches = _batches(np.random.default_rng(seed), x, y, how, batch)
    if progress is None:
        batches = bar(batches, steps, "training")
    for done, (records, classes) in enumerate(batches, start=1):
        strength = done / steps if how.coarse else 1.0
        state, loss = _step(how, steps, still, state, strength, records, classes)
        if progress is not None:
            progress(done, steps, float(loss))
    return eqx.combine(state[0], still)


def optimiser_of(how: Settings, steps: int) -> Any:
    """Return AdamW whose learning rate rises, then falls to nothing, over the steps."""
    cycle = optax.cosine_onecycle_schedule(max(steps, 4), how.rate, pct_start=0.25)
    return optax.chain(optax.clip_by_global_norm(5.0), optax.adamw(cycle, weight_decay=how.decay))


def _batches(
    rng: np.random.Generator, x: Any, y: Ints, how: Settings, batch: int
) -> Iterator[tuple[Any, Ints]]:
    """Yield shuffled records, changed as the settings say, and their classes."""
    for epoch in range(how.epochs):
        order = rng.permutation(len(x))[: len(x) // batch * batch]
        for rows in order.reshape(-1, batch):
            records = x[rows]
            if how.flip:
                records = mirrored(rng, records)
            if how.shift:
                records = shifted(rng, records, how.shift)
            yield halved(records) if epoch < how.coarse else records, y[rows]


def mirrored(rng: np.random.Generator, images: Any) -> Any:
    """Return the images, each mirrored left to right with probability one half."""
    turned = rng.random(len(images)) < 0.5
    return np.where(turned[:, None, None, None], images[:, :, ::-1], images)


def shifted(rng: np.random.Generator, images: Any, most: int) -> Any:
    """Return the images, each shifted by at most so many pixels either way, over zeros."""
    high, wide = images.shape[1:3]
    padded = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    corners = rng.integers(0, 2 * most + 1, (len(images), 2))
    return np.stack(
        [one[i : i + high, j : j + wide] for one, (i, j) in zip(padded, corners, strict=True)]
    )


def halved(images: Any) -> Any:
    """Return the means of 2 x 2 pixels, (n, h / 2, w / 2, channels)."""
    n, high, wide, channels = images.shape
    return images.reshape(n, high // 2, 2, wide // 2, 2, channels).mean(
        axis=(2, 4), dtype=np.float32
    )


@partial(jax.jit, static_argnames=("how", "steps", "still"), donate_argnames="state")
def _step(
    how: Settings, steps: int, still: Any, state: Any, strength: Any, x: Any, y: Any
) -> tuple[Any, Any]:
    """Return weights, memory and key after one step, and the mean cross-entropy before it."""
    weights, memory, key = state
    key, one = jax.random.split(key)

    def loss(tree: Any) -> Any:
        logits, _ = eqx.combine(tree, still)(x, one, strength=strength)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    value, gradient = jax.value_and_grad(loss)(weights)
    update, memory = optimiser_of(how, steps).update(gradient, memory, weights)
    return (optax.apply_updates(weights, update), memory, key), value


@eqx.filter_jit
def _answer(network: Any, x: Any, moments: Moments | None) -> Any:
    return network(x, None, moments)[0]


@eqx.filter_jit
def _seen(network: Any, x: Any) -> Any:
    return network(x)[1]


def _measure(network: Any, blocks: list[Any]) -> Moments:
    """Return the mean, over blocks of training records, of what the normalised layers saw."""
    seen = [_seen(network, block) for block in blocks]
    return tuple(jax.tree.map(lambda *parts: jnp.stack(parts).mean(axis=0), *seen))
