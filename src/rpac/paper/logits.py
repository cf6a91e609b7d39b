"""Logits of a classifier: the secret is the test record behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.calibrators.equilibrium import Equilibrium
from rpac.calibrators.utility import ArgMax, SquaredError
from rpac.front.bias import bias
from rpac.front.methods import calibrate, needs_no_noise
from rpac.noise.base import Law, Noise
from rpac.noise.codebook import Codebook
from rpac.noise.label import LabelChannel
from rpac.paper import published
from rpac.paper.study import CHANNELS, CLOSED_FORMS, Row, Settings, few, judged, noises
from rpac.worlds.outputs import Outputs

SECRET = "test record"
MOST_NATS = 5.0
"""Budget up to which channels are measured: more would take thousands of words."""


def tasks(name: str, logits: Floats, labels: Ints, settings: Settings) -> list[tuple[Any, ...]]:
    """Return what to run: every method, at every budget of the paper that needs noise.

    Args:
        name: Of the dataset.
        logits: (n, K) outputs of the classifier on the n test records: the worlds.
        labels: (n,) true labels.
        settings: How much to measure.
    """
    grid = few(published.budgets(name), settings.budgets)
    noisy = [b for b in grid if b < math.log(len(logits))]
    made = (name, logits, labels, settings)
    return [
        (method_rows, "equilibrium", noisy, *made),
        *((method_rows, method, noisy, *made) for method in CLOSED_FORMS),
        *((method_rows, "sr-pac", [b], *made) for b in few(noisy, settings.sr_pac)),
        *((channel_rows, method, b, *made) for b in noisy if b <= MOST_NATS for method in CHANNELS),
        (label_rows, noisy, *made),
        (bare_rows, [b for b in grid if b not in noisy], name, logits, labels),
    ]


def method_rows(
    method: str,
    budgets: Sequence[float],
    name: str,
    logits: Floats,
    labels: Ints,
    settings: Settings,
) -> list[Row]:
    """Return one method at these budgets."""
    outputs = _worlds(logits)
    least = {b: float(noise.power) for b, noise in noises(outputs, budgets, "auto-pac")}
    found = []
    for budget, noise in noises(outputs, budgets, method):
        draws = settings.draws if method in CLOSED_FORMS else None
        noise, certificate, attack = judged(outputs, noise, budget, settings, draws)
        found.append(Row(
            *_start(name, logits), method=method, budget=budget, power=float(noise.power),
            ratio=float(noise.power) / least[budget], certified=certificate.bound,
            grade=certificate.grade, attack=attack, ceiling=published.ceiling(budget, labels),
            accuracy=accuracy(logits, labels, noise, settings), error=_error(outputs, noise),
        ))  # fmt: skip
    return found


def channel_rows(
    method: str, budget: float, name: str, logits: Floats, labels: Ints, settings: Settings
) -> list[Row]:
    """Return a channel to code words at one budget; its accuracy is exact, as its leakage is."""
    outputs = _worlds(logits)
    if needs_no_noise(outputs, budget):
        return []
    utility = ArgMax() if method == "channel-argmax" else SquaredError()
    solver = Equilibrium(family="channel", utility=utility, seed=settings.seed)
    book, least = calibrate(outputs, budget, solver), calibrate(outputs, budget, "auto-pac").power
    assert isinstance(book, Codebook)
    _, certificate, attack = judged(outputs, book, budget, settings, 0)
    right = book.matrix * (labels[:, None] == book.words.argmax(axis=1))
    limit = Equilibrium(seed=settings.seed).limit(outputs, book).limit / outputs.spread.sum()
    return [Row(
        *_start(name, logits), method=method, budget=budget, power=book.power,
        ratio=book.power / least, accuracy=float(right.sum() / len(labels)),
        certified=certificate.bound, grade=certificate.grade, attack=attack,
        ceiling=published.ceiling(budget, labels), error=_error(outputs, book), limit=float(limit),
    )]  # fmt: skip


def _error(outputs: Outputs, law: Law) -> float:
    """Return the squared error after the best linear map, in shares of the variance."""
    return bias(outputs, law).shrunk / float(outputs.spread.sum())


def accuracy(logits: Floats, labels: Ints, noise: Any, settings: Settings) -> float:
    """Return how often the noisy logits name the right class, over all records and trials.

    Equal seeds draw equal numbers, so that methods differ by shape and size of noise alone.
    """
    assert isinstance(noise, Noise)
    rng = np.random.default_rng([settings.seed, 5])
    hits = 0
    for _ in range(settings.trials):
        hits += int(((logits + noise.sample(len(logits), rng)).argmax(axis=1) == labels).sum())
    return hits / (settings.trials * len(logits))


def label_rows(
    budgets: Sequence[float], name: str, logits: Floats, labels: Ints, settings: Settings
) -> list[Row]:
    """Return the accuracy of releasing the predicted label through the best channel.

    Exact: a channel has no sampling error, and neither has its accuracy on these records.
    """
    predicted = logits.argmax(axis=1)
    outputs = _worlds(predicted.astype(str), kind="category")
    names = np.array([int(label) for label in outputs.labels])
    found = []
    for budget in budgets:
        if needs_no_noise(outputs, budget):
            found += bare_rows([budget], name, logits, labels, method="labels")
            continue
        channel = calibrate(outputs, budget)
        assert isinstance(channel, LabelChannel)
        _, certificate, attack = judged(outputs, channel, budget, settings, 0)
        right = channel.matrix[outputs.values[:, 0].astype(int)] * (labels[:, None] == names)
        found.append(Row(
            *_start(name, logits), method="labels", budget=budget, power=channel.power,
            accuracy=float(right.sum() / len(labels)), certified=certificate.bound,
            grade=certificate.grade, attack=attack, ceiling=published.ceiling(budget, labels),
        ))  # fmt: skip
    return found


def bare_rows(
    budgets: Sequence[float],
    name: str,
    logits: Floats,
    labels: Ints,
    method: str = "all",
) -> list[Row]:
    """Return rows of budgets that no release can exceed: noise is not needed."""
    base = float((logits.argmax(axis=1) == labels).mean())
    return [
        Row(*_start(name, logits), method=method, budget=b, note="no noise needed", power=0.0,
            accuracy=base, ceiling=published.ceiling(b, labels))
        for b in budgets
    ]  # fmt: skip


def _worlds(values: Any, kind: str | None = None) -> Outputs:
    said = f"which of {len(values)} test records was classified"
    return Outputs(values, kind=kind, statement=said)


def _start(name: str, logits: Floats) -> tuple[str, str, float]:
    return name, SECRET, math.log(len(logits))
