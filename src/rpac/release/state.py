"""The state of a session: the adversary's posterior over the worlds, and how it moves."""

from __future__ import annotations

import math
from hashlib import sha256

import numpy as np

from rpac._base.types import Floats


def packed(log_posterior: Floats, charges: int, answers: int) -> bytes:
    """Return a session's state: every charge changes it, with an answer or without."""
    return log_posterior.tobytes() + np.array([charges, answers], np.int64).tobytes()


def unpacked(state: bytes) -> tuple[Floats, int, int]:
    """Return posterior, charges and answers of a state."""
    charges, answers = np.frombuffer(state[-16:], np.int64).tolist()
    return np.frombuffer(state[:-16], np.float64), charges, answers


def state_hash(state: bytes) -> str:
    """Return what the books seal of a state."""
    return sha256(state).hexdigest()


def updated(log_prior: Floats, log_likelihood: Floats) -> Floats:
    """Return the exact log posterior over (m,) worlds."""
    joint = log_prior + log_likelihood
    joint -= np.maximum.reduce(joint)  # `max` and `sum` without their wrappers
    joint -= math.log(np.add.reduce(np.exp(joint)))
    return joint
