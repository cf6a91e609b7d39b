"""The paper's base classifiers, in JAX: three convolutional networks and a bag of words.

Networks take whole batches. Convolutions are matrix products over gathered 3 x 3 patches, which a
CPU computes faster than XLA's own convolution. Batch normalisation keeps no running mean: what it
saw is returned with the logits, and evaluation is given moments measured on training records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp

Moments: TypeAlias = tuple[Any, ...]
"""Mean and variance, (2, channels), of each normalised layer."""


@final
class Dense(eqx.Module):
    """A fully connected layer: (n, inputs) to (n, outputs)."""

    weight: Any
    bias: Any

    @staticmethod
    def random(key: Any, inputs: int, outputs: int) -> Dense:
        """Return a layer whose outputs keep the power of rectified inputs."""
        scale = math.sqrt(2 / inputs)
        return Dense(scale * jax.random.normal(key, (inputs, outputs)), jnp.zeros(outputs))

    def __call__(self, x: Any) -> Any:
        """Return x W + b."""
        return x @ self.weight + self.bias


@final
class Convolution(eqx.Module):
    """3 x 3 convolution with zero padding, batch normalisation where asked for, and ReLU.

    Attributes:
        patch: Weights of a flattened patch, (9 channels in, channels out).
        scale: (channels,) of the normalisation; None for none.
        shift: (channels,) added before the ReLU.
    """

    patch: Any
    scale: Any
    shift: Any

    @staticmethod
    def random(key: Any, inputs: int, outputs: int, *, normalised: bool) -> Convolution:
        """Return a layer whose outputs keep the power of rectified inputs."""
        patch = math.sqrt(2 / (9 * inputs)) * jax.random.normal(key, (9 * inputs, outputs))
        return Convolution(patch, jnp.ones(outputs) if normalised else None, jnp.zeros(outputs))

    def __call__(self, x: Any, moments: Any | None) -> tuple[Any, Any]:
        """Return (n, h, w, channels out), and the moments normalised by: the batch's if None."""
        high, wide = x.shape[1:3]
        padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        corners = [(i, j) for i in range(3) for j in range(3)]
        shifted = [padded[:, i : i + high, j : j + wide] for i, j in corners]
        patches = jnp.concatenate(shifted, axis=-1)
        x = (patches.reshape(-1, patches.shape[-1]) @ self.patch).reshape(*x.shape[:3], -1)
        if self.scale is None:
            return jax.nn.relu(x + self.shift), ()
        if moments is None:
            moments = jnp.stack([x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))])
        gain = self.scale * jax.lax.rsqrt(moments[1] + 1e-5)
        return jax.nn.relu((x - moments[0]) * gain + self.shift), moments


def pool(x: Any) -> Any:
    """Return the largest of each 2 x 2 square, (n, h / 2, w / 2, channels)."""
    n, high, wide, channels = x.shape
    return x.reshape(n, high // 2, 2, wide // 2, 2, channels).max(axis=(2, 4))


def dropout(x: Any, rate: Any, key: Any | None) -> Any:
    """Return x with a share of its entries at zero and the rest scaled up; x without a key."""
    if key is None:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def _perceptron(head: Sequence[Dense], x: Any, rate: Any, key: Any | None) -> Any:
    for i, layer in enumerate(head[:-1]):
        one = None if key is None else jax.random.fold_in(key, i)
        x = dropout(jax.nn.relu(layer(x)), rate, one)
    return head[-1](x)


@final
class ImageNetwork(eqx.Module):
    """Blocks of convolutions, each ending in 2 x 2 max-pooling, and a perceptron on top.

    Attributes:
        blocks: Convolutions, block by block.
        head: Fully connected layers; the last returns logits.
        side: Height and width of the feature map the head takes.
        rate: Dropout after each hidden layer of the head.
        mean: Of pixels in [0, 1], subtracted.
        deviation: Of pixels in [0, 1], divided by.
    """

    blocks: tuple[tuple[Convolution, ...], ...]
    head: tuple[Dense, ...]
    side: int = eqx.field(static=True)
    rate: float = eqx.field(static=True)
    mean: float = eqx.field(static=True)
    deviation: float = eqx.field(static=True)

    def __call__(
        self, x: Any, key: Any | None = None, moments: Moments | None = None, strength: Any = 1.0
    ) -> tuple[Any, Moments]:
        """Return (n, classes) logits of (n, h, w, channels) pixels in 0..255, and moments.

        Args:
            x: Images. Coarser ones than the head was made for give coarser features, which are
                repeated to its size.
            key: Of dropout; None evaluates.
            moments: Of the normalised layers; None takes the batch's own.
            strength: Share of the dropout rate that is applied.
        """
        x = (x.astype(jnp.float32) / 255 - self.mean) / self.deviation
        seen: list[Any] = []
        for block in self.blocks:
            for layer in block:
                x, one = layer(x, None if moments is None else moments[len(seen)])
                seen.append(one)
            x = pool(x)
        times = self.side // x.shape[1]
        x = jnp.repeat(jnp.repeat(x, times, axis=1), times, axis=2)
        x = x.reshape(x.shape[0], -1)
        return _perceptron(self.head, x, strength * self.rate, key), tuple(seen)


@final
class TextNetwork(eqx.Module):
    """The mean of word vectors, and a perceptron on top.

    Attributes:
        words: (vocabulary + 1, width) vectors; row 0 is for every word out of the vocabulary.
        head: Fully connected layers; the last returns logits.
        rate: Dropout after each hidden layer of the head.
        word_rate: Share of words left out of the mean in training.
    """

    words: Any
    head: tuple[Dense, ...]
    rate: float = eqx.field(static=True)
    word_rate: float = eqx.field(static=True)

    def __call__(
        self, x: Any, key: Any | None = None, moments: Moments | None = None, strength: Any = 1.0
    ) -> tuple[Any, Moments]:
        """Return (n, classes) logits of (n, length) word numbers, -1 for padding, and nothing."""
        there = (x >= 0).astype(jnp.float32)
        if key is not None:
            key, one = jax.random.split(key)
            there = there * jax.random.bernoulli(one, 1 - self.word_rate, x.shape)
        share = there / jnp.maximum(there.sum(axis=1, keepdims=True), 1.0)
        mean = jnp.einsum("nl,nlk->nk", share, self.words[jnp.maximum(x, 0)])
        return _perceptron(self.head, mean, strength * self.rate, key), ()


def _head(key: Any, widths: Sequence[int], last: float = 1.0) -> tuple[Dense, ...]:
    """Return layers of these widths; the weights of the last are scaled by `last`."""
    keys = jax.random.split(key, len(widths) - 1)
    *hidden, top = (Dense.random(k, *ends) for k, ends in zip(keys, pairwise(widths), strict=True))
    return (*hidden, Dense(last * top.weight, top.bias))


def _blocks(
    key: Any, widths: Sequence[int], depth: int, *, normalised: bool
) -> tuple[tuple[Convolution, ...], ...]:
    """Return blocks of `depth` convolutions from widths[i] to widths[i + 1] channels."""
    return tuple(
        tuple(
            Convolution.random(
                jax.random.fold_in(key, depth * i + j),
                outputs if j else inputs,
                outputs,
                normalised=normalised,
            )
            for j in range(depth)
        )
        for i, (inputs, outputs) in enumerate(pairwise(widths))
    )


def _images(
    key: Any,
    channels: Sequence[int],
    head: Sequence[int],
    *,
    depth: int = 1,
    normalised: bool,
    last: float = 1.0,
    **fixed: Any,
) -> ImageNetwork:
    """Return blocks of `depth` convolutions with these channels, and a head of these widths."""
    one, two = jax.random.split(key)
    blocks = _blocks(one, channels, depth, normalised=normalised)
    return ImageNetwork(blocks, _head(two, head, last), **fixed)


def cifar10_network(key: Any) -> ImageNetwork:
    """Return two Conv-ReLU-MaxPool blocks of 32 and 64 channels, then 128 units, then 10 logits."""
    return _images(
        key, (3, 32, 64), (4096, 128, 10), normalised=False,
        side=8, rate=0.0, mean=0.5, deviation=0.5,
    )  # fmt: skip


def cifar100_network(key: Any) -> ImageNetwork:
    """Return three blocks of two Conv-BatchNorm-ReLU, 64/128/256, and 4096-512-256-100."""
    return _images(
        key, (3, 64, 128, 256), (4096, 512, 256, 100), depth=2, normalised=True, last=0.1,
        side=4, rate=0.5, mean=0.5, deviation=0.5,
    )  # fmt: skip


def mnist_network(key: Any) -> ImageNetwork:
    """Return two Conv-BatchNorm-ReLU-MaxPool blocks of 32 and 64, 128 units with dropout, 10."""
    return _images(
        key, (1, 32, 64), (3136, 128, 10), normalised=True,
        side=7, rate=0.5, mean=0.1307, deviation=0.3081,
    )  # fmt: skip


def ag_news_network(key: Any) -> TextNetwork:
    """Return the mean of 300-wide vectors of 30,000 words, then 300-256-4 with dropout."""
    one, two = jax.random.split(key)
    words = 0.05 * jax.random.normal(one, (VOCABULARY + 1, 300))
    return TextNetwork(words, _head(two, (300, 256, 4)), 0.3, 0.5)


VOCABULARY = 30_000
NETWORKS = {
    "mnist": mnist_network,
    "cifar10": cifar10_network,
    "cifar100": cifar100_network,
    "ag_news": ag_news_network,
}
