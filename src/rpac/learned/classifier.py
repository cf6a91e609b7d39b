"""Train a base classifier, and read off its logits (JAX).

What a record is, and where the logits are kept, is the business of `rpac.paper.classifier`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from rpac._base.progress import progress as bar
from rpac._base.types import Floats, Ints
from rpac.learned.networks import NETWORKS, Moments

Progress: TypeAlias = Callable[[int, int, float], None]
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


def architecture(name: str) -> str:
    """Return the shapes of a network's layers as text: equal for equal networks."""
    return str(eqx.tree_pformat(eqx.filter_eval_shape(NETWORKS[name], jax.random.key(0))))


def trained_logits(
    name: str,
    x: Any,
    y: Ints,
    test: Any,
    how: Settings,
    seed: int,
    progress: Progress | None = None,
) -> Floats:
    """Return (n, classes) logits of test records under a network trained on others.

    Args:
        name: One of `NETWORKS`.
        x: (m, ...) training records, as the network takes them.
        y: (m,) their classes.
        test: (n, ...) test records.
        how: Settings of the training.
        seed: Of the first weights, of dropout and of the order of records.
        progress: Called after every step with steps done, steps in all and the loss.
    """
    trained = train(NETWORKS[name](jax.random.key(seed)), x, y, how, seed, progress)
    rows = np.random.default_rng(seed).permutation(len(x))[:_MEASURED]
    moments = _measure(trained, [x[part] for part in _blocks(rows)])
    made = [_answer(trained, test[part], moments) for part in _blocks(np.arange(len(test)))]
    return np.concatenate([np.asarray(block, np.float64) for block in made])


def _blocks(rows: Ints) -> list[Ints]:
    return np.array_split(rows, max(1, len(rows) // _BLOCK))


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
