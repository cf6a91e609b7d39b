"""The rounded Gaussian on integers, drawn exactly with the operating system's randomness.

A release adds round(sigma Z), Z standard normal: a function of the real Gaussian mechanism's own
noise, so that whatever is computed from it is post-processing, and the Gaussian trade-off curve
holds as it stands. (The *discrete* Gaussian, of masses exp(-k^2 / 2 sigma^2), has another curve.)

Z is drawn by comparisons of uniform numbers alone (Karney, "Sampling exactly from the normal
distribution", 2016): |Z| = k + x, where an integer k has weight exp(-k^2 / 2), and x in [0, 1) is
kept with probability exp(-x (2k + x) / 2). Both come from von Neumann's runs: of uniform numbers
that fall from y, U_1 > U_2 > ... , a run of length n or more has probability y^n / n!, so that its
length is even with probability exp(-y). No logarithm, no exponential, no floating point.

Uniform numbers have 256 bits. That a comparison of two of them comes out otherwise than that of
real ones has probability 2^-250 at most, and a draw makes fewer than 2^20 of them but with
probability far below 2^-200. That x is cut off after 256 bits matters only where one of the ends
(i + 1/2) / sigma between two results lies in the same cell as Z: sigma 2^-256 altogether, about.
So for sigma up to 2^150 a draw is within `ERROR` of the law, in total variation.
"""

from __future__ import annotations

import os

ERROR = 2.0**-100
"""Total variation between one draw and the rounded Gaussian, at most; it adds to a success."""
_BITS = 256
_ONE = 1 << _BITS


def rounded_gaussian(sigma: tuple[int, int]) -> int:
    """Return round(sigma Z), sigma a fraction up to 2^150: release randomness."""
    numerator, denominator = sigma
    size = numerator * _normal()
    whole = (2 * size + denominator * _ONE) // (2 * denominator * _ONE)
    return whole if _uniform() & 1 else -whole


def _uniform() -> int:
    return int.from_bytes(os.urandom(_BITS // 8), "little")


def _normal() -> int:
    """Return |Z| in units of 2^-256."""
    while True:
        k = 0
        while _falls_evenly(_ONE >> 1):
            k += 1
        if not all(_falls_evenly(_ONE >> 1) for _ in range(k * (k - 1))):
            continue
        x = _uniform()
        if all(_falls_evenly(x, k) for _ in range(k + 1)):
            return k * _ONE + x


def _falls_evenly(start: int, k: int | None = None) -> bool:
    """Return True with probability exp(-y), y = start / 2^256.

    With k, each step of the run also needs a coin of probability (2k + y) / (2k + 2), so that the
    probability is exp(-y (2k + y) / (2k + 2)).
    """
    last, even = start, True
    while True:
        now = _uniform()
        if now >= last or (k is not None and not _coin(start, k)):
            return even
        last, even = now, not even


def _coin(x: int, k: int) -> bool:
    """Return True with probability (2k + y) / (2k + 2), y = x / 2^256."""
    face = (_uniform() * (2 * k + 2)) >> _BITS
    return face < 2 * k or (face == 2 * k and _uniform() < x)
