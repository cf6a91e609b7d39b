"""The likelihood-ratio attack as its definition reads: one world, one target at a time."""

import math

import numpy as np


def log_normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - math.log(sd)


def loop_lira(scores, masks, *, online):
    """Return what `rpac.attack.lira` returns."""
    out = np.empty(scores.shape)
    for i in range(scores.shape[0]):
        others = np.arange(scores.shape[0]) != i
        for t in range(scores.shape[1]):
            outside = scores[others & ~masks[:, t], t]
            mean, sd = outside.mean(), outside.std()
            if online:
                inside = scores[others & masks[:, t], t]
                out[i, t] = log_normal(scores[i, t], inside.mean(), inside.std())
                out[i, t] -= log_normal(scores[i, t], mean, sd)
            else:
                out[i, t] = (scores[i, t] - mean) / sd
    return out
