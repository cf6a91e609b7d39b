"""The equilibrium for labels: the rate-distortion channel under Hamming loss (Blahut-Arimoto)."""

from __future__ import annotations

import math

import numpy as np

from rpac._base.types import Floats
from rpac.calibrators.budget_search import meet
from rpac.certificate.exact import channel_leakage
from rpac.noise.label import LabelChannel


def channel(prior: Floats, slope: float) -> Floats:
    """Return the (k, k) channel that minimises P(label changed) + MI / slope."""
    slope = min(slope, 700.0)
    released = prior.copy()
    for _ in range(5_000):
        kernel = released * np.where(np.eye(len(prior), dtype=bool), 1.0, math.exp(-slope))
        matrix = kernel / kernel.sum(axis=1, keepdims=True)
        new = prior @ matrix
        done = np.abs(new - released).max() < 1e-13
        released = new
        if done:
            break
    return np.asarray(matrix)


def label_equilibrium(prior: Floats, nats: float) -> LabelChannel:
    """Return the channel with the fewest changed labels that leaks at most `nats`."""

    def leaks(t: float) -> float:
        table = LabelChannel(channel(prior, math.exp(min(-t, 7.0))))
        return channel_leakage(prior, table) - nats

    t = meet(leaks, tolerance=1e-6 * nats, slope=nats)
    return LabelChannel(channel(prior, math.exp(min(-t, 7.0))))
