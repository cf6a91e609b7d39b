"""The private level: how much one unit adds, at most, found without anybody being seen.

Every x_u, the most that unit u adds to one number of a column, is raised to a public floor x0 and
put on a public menu r_0 = x0 < r_1 < ... < r_K of ratio about e^(beta / B): l(x) is the least k
with x <= r_k, by bisection among integers. With l_(1) >= l_(2) >= ... , and 0 beyond the last,

    m(D) = min over j >= 1 of  l_(j) + B (j - 1).

Without u the ordered list l' has l_(j+1) <= l'_(j) <= l_(j). So m(D without u) <= m(D); and with
j the minimiser of l', m(D) <= l_(j+1) + B j <= l'_(j) + B (j - 1) + B = m(D without u) + B. Hence
m moves by at most B when anybody joins or leaves, whatever the data; and by at most B when one's
entry is replaced: m(D without u) <= m <= m(D without u) + B holds before and after. Nothing in this
asks how l is made: any fixed function of what u adds does, so that a database may take logarithms.

Published is k = m + round((B / c_m) Z), clamped to the menu: two Gaussians at distance at most c_m,
rounded and clamped. The level is the menu's entry, times a public factor.
"""

from __future__ import annotations

import math

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.person.gaussian import rounded_gaussian
from rpac.schema import FINE

PER_BETA = 8
"""Entries of the menu in a factor of e^beta: the integer B."""
LARGEST = 2.0**53
"""The last entry of a menu, in steps."""


def menu(floor: float, beta: float) -> Ints:
    """Return the menu in steps, rising: public, from a floor in steps of at least 2^FINE.

    Where entries are less than a step apart some are equal, and the first of them is meant.
    """
    entries = np.ceil(floor * np.exp(np.arange(last_entry(floor, beta) + 1) * (beta / PER_BETA)))
    return np.asarray(np.minimum(entries, 2 * LARGEST), np.int64)


def last_entry(floor: float, beta: float) -> int:
    """Return the place of a menu's last entry."""
    return math.ceil(PER_BETA / beta * math.log(LARGEST / floor))


def place(reach: Ints, entries: Ints) -> int:
    """Return m of what units add, (units,) in steps, on a menu: it moves by at most PER_BETA."""
    found = np.searchsorted(entries[:-1], reach, side="left")  # beyond the last entry: the last
    found = -np.sort(-found)[: len(entries) // PER_BETA + 2]
    lowest = found + PER_BETA * np.arange(len(found))
    return int(min([*lowest, PER_BETA * len(reach)]))


def draw_level(exact: int, size: int, c_m: float) -> int:
    """Return the noisy place of the level on its menu, at distance c_m: release randomness.

    Args:
        exact: m, which moves by at most PER_BETA.
        size: Entries of the menu.
        c_m: Distance.
    """
    sigma = math.ceil(PER_BETA / c_m * 2**16), 2**16
    return min(max(exact + rounded_gaussian(sigma), 0), size - 1)


def floor_steps(floor: float, exponent: int) -> float:
    """Return a floor in steps of its column: 2^FINE at least."""
    return math.ldexp(floor, FINE - exponent)


def grid_of_middles(exponent: int, a_factor: int) -> Floats:
    """Return a public rising grid of candidates on both sides of 0, `a_factor` of them a doubling.

    From 2^-FINE floors to what a row may be at most.
    """
    powers = np.arange(-4 * a_factor, (52 - FINE) * a_factor + 1) / a_factor
    positive = np.exp2(powers + exponent)
    return np.concatenate([-positive[::-1], [0.0], positive])
