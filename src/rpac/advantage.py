"""What nats mean: posterior success, Fano ceilings and matched (epsilon, delta), both ways.

One inequality carries the module. Any attack on Y that succeeds with probability s, where a blind
guess succeeds with probability p (the prior), satisfies binary_kl(s, p) <= MI(X; Y).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from rpac._base.checks import count, refuse
from rpac._base.types import Floats


def binary_kl(success: ArrayLike, prior: ArrayLike) -> Floats:
    """Return KL(Bernoulli(success) || Bernoulli(prior)) in nats, elementwise."""
    s, p = np.asarray(success, np.float64), np.asarray(prior, np.float64)
    if not ((p > 0) & (p < 1)).all() or not ((s >= 0) & (s <= 1)).all():
        raise refuse("success in [0, 1], prior in (0, 1)", f"{s}, {p}", "Pass probabilities.")
    return np.asarray(p * _excess((s - p) / p) + (1 - p) * _excess((p - s) / (1 - p)))


def _excess(x: Floats) -> Floats:
    """Return (1 + x) log(1 + x) - x >= 0; by its series near 0, where the terms would cancel."""
    near = np.abs(x) < 0.01
    y = np.where(near, 0.0, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(y > -1, (1 + y) * np.log1p(y), 0.0) - y
    # x^2 / (1 * 2) - x^3 / (2 * 3) + x^4 / (3 * 4) - ..., to 1e-17 relative
    small = np.where(near, x, 0.0)  # powers of large x overflow
    series = sum((-1) ** k * small**k / ((k - 1) * k) for k in range(2, 11))
    return np.asarray(np.where(near, series, far))


def success_to_nats(success: ArrayLike, prior: ArrayLike = 0.5) -> Floats:
    """Return the least leakage in nats that allows this success, elementwise (0 below the prior).

    >>> round(float(success_to_nats(0.55)), 6)
    0.005008
    """
    s, p = np.asarray(success, np.float64), np.asarray(prior, np.float64)
    return np.where(s <= p, 0.0, binary_kl(s, p))


def nats_to_success(nats: ArrayLike, prior: ArrayLike = 0.5) -> Floats:
    """Return the highest success of any attack at this leakage, elementwise.

    Guarantees:
        Rounded up: no attack on a release that leaks at most `nats` succeeds more often.

    >>> round(float(nats_to_success(0.25)), 4)
    0.8379
    """
    beta, p = np.broadcast_arrays(np.asarray(nats, np.float64), np.asarray(prior, np.float64))
    if not (beta >= 0).all():
        raise refuse("nats of at least 0", beta.min(), "Leakage is never negative.")
    low, high = p.astype(np.float64), np.ones_like(beta)
    for _ in range(64):
        middle = (low + high) / 2
        above = binary_kl(middle, p) > beta
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    up = np.minimum(np.nextafter(high, 2.0) + 1e-14 * (high - p), 1.0)
    return np.where(beta == 0, p, np.where(beta >= -np.log(p), 1.0, up))


def fano_accuracy(nats: ArrayLike, classes: int) -> Floats:
    """Return the highest accuracy over `classes` balanced classes at this leakage."""
    return nats_to_success(nats, 1.0 / count(classes, "classes", least=2))


def fano_nats(accuracy: ArrayLike, classes: int) -> Floats:
    """Return the least leakage in nats that allows this accuracy over balanced classes."""
    return success_to_nats(accuracy, 1.0 / count(classes, "classes", least=2))


def epsilon_to_success(epsilon: float, delta: float = 0.0, prior: float = 0.5) -> float:
    """Return the highest membership success under (epsilon, delta)-differential privacy."""
    if not (epsilon >= 0 and 0 <= delta < 1 and 0 < prior < 1):
        raise refuse(
            "epsilon >= 0, delta in [0, 1), prior in (0, 1)",
            (epsilon, delta, prior),
            "Check their order.",
        )
    vertex = 1 - (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    return max(vertex, prior + (1 - prior) * delta, (1 - prior) + prior * delta)


def success_to_epsilon(success: float, delta: float = 0.0, prior: float = 0.5) -> float:
    """Return the epsilon that allows exactly this membership success; matched, not implied.

    Success that even epsilon = 0 allows gives 0; certain success gives infinity.
    """
    if success <= epsilon_to_success(0.0, delta, prior):
        return 0.0
    return math.inf if success >= 1 else math.log((success - delta) / (1 - success))


def nats_to_epsilon(nats: float, delta: float = 0.0, prior: float = 0.5) -> float:
    """Return the epsilon at which differential privacy allows the success these nats allow."""
    return success_to_epsilon(float(nats_to_success(nats, prior)), delta, prior)


def epsilon_to_nats(epsilon: float, delta: float = 0.0, prior: float = 0.5) -> float:
    """Return the nats that allow the success which (epsilon, delta) allows."""
    return float(success_to_nats(epsilon_to_success(epsilon, delta, prior), prior))


# --- distance: two Gaussians of unit variance, Delta apart ----------------------------------------

_FAR = 40.0
"""Success at this distance is 1 to the last bit."""


def distance_to_success(distance: float, prior: float = 0.5) -> float:
    """Return the success of the best test between two Gaussians at a distance, for a prior.

    Guarantees:
        Rounded up. At even odds it is Phi(distance / 2).

    >>> round(distance_to_success(0.2513), 4)
    0.55
    """
    if not (distance >= 0 and 0 < prior < 1):
        raise refuse("distance >= 0, prior in (0, 1)", (distance, prior), "Check their order.")
    blind = max(prior, 1 - prior)
    if distance == 0:
        return blind
    odds = math.log(prior / (1 - prior)) / distance
    inside, outside = (NormalDist().cdf(distance / 2 + side * odds) for side in (1, -1))
    return min(1.0, max(blind, prior * inside + (1 - prior) * outside) + 1e-15)


def success_to_distance(success: float, prior: float = 0.5) -> float:
    """Return the largest distance that allows at most this success; 0 below a blind guess.

    >>> round(success_to_distance(0.55), 4)
    0.2513
    """
    if not success < 1:
        raise refuse("a success below 1", success, "Certain success protects nobody.")
    low, high = 0.0, _FAR
    for _ in range(80):
        middle = (low + high) / 2
        allowed = distance_to_success(middle, prior) <= success
        low, high = (middle, high) if allowed else (low, middle)
    return low


def distance_to_nats(distance: float) -> float:
    """Return what a distance tells of a coin (is this person in?) at most, in nats, for any prior.

    With prior p and the reference N(p D, 1): I <= p (1-p)^2 D^2 / 2 + (1-p) p^2 D^2 / 2, which is
    p (1-p) D^2 / 2 <= D^2 / 8. Whatever has the trade-off of these Gaussians or a harder one is a
    function of them and of chance (Blackwell), so it tells no more.
    """
    nats = distance * distance / 8
    plain = round(nats, 15)  # 0.8 squared is not 0.64 in floating point
    return plain if plain >= nats * (1 - 1e-15) else nats


def nats_to_distance(nats: float) -> float:
    """Return the distance that is charged these nats."""
    return math.sqrt(8 * nats)


def distance_to_epsilon(distance: float, delta: float = 1e-5) -> float:
    """Return the least epsilon of (epsilon, delta)-differential privacy at a distance, rounded up.

    >>> round(distance_to_epsilon(0.2513), 2)
    0.93
    """
    if not (distance >= 0 and 0 < delta < 1):
        raise refuse("distance >= 0, delta in (0, 1)", (distance, delta), "Check their order.")
    low, high = 0.0, distance * distance / 2 + 40.0 * distance
    if distance == 0 or _hockey_stick(distance, 0.0) <= delta:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        enough = _hockey_stick(distance, middle) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def _hockey_stick(distance: float, epsilon: float) -> float:
    """Return delta(epsilon) of two Gaussians: Phi(D/2 - e/D) - e^e Phi(-D/2 - e/D)."""
    above = math.erfc((epsilon / distance - distance / 2) / math.sqrt(2)) / 2
    tail = math.erfc((distance / 2 + epsilon / distance) / math.sqrt(2)) / 2
    return above - (math.exp(epsilon + math.log(tail)) if tail > 0 else 0.0)


def alternatives_success(distance: float, alternatives: int) -> float:
    """Return the success of any guess among equally likely alternatives, pairwise at a distance."""
    m = count(alternatives, "alternatives", least=2)
    return min(1.0, 1 / m + (1 - 1 / m) * (2 * distance_to_success(distance) - 1))
