"""Exact trade-off curves under *person*: level and values together, on the grid, against the claim.

For random tables and neighbours (units in several groups and numbers, several rows a unit) all that
can be released is written down with its exact probability, with and without a unit, on steps so
coarse that this can be done. The largest P(A) - e^epsilon Q(A) over all events, both ways, must not
exceed that of two Gaussians at the claimed distance.

    python -m benchmarks.curves [--tables 1000] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pytest
from tests.person.test_mechanism import EPSILONS, coarse, curves, table
from tests.person.trace import alone, gaussian_delta

from rpac.person.contributions import Column, Term
from rpac.person.split import spent

SHAPES = (
    {"terms": (Term("x", (1,)),), "groups": 1},
    {"terms": (Term("x", (1,)), Term("n", (0,))), "groups": 1},
    {"terms": (Term("x", (1,)),), "groups": 2},
    {"terms": (Term("x", (1,)), Term("u", (0,), once=True, share=0.1)), "groups": 1},
)
"""One or two numbers, in one or two groups."""


def excess(rng: np.random.Generator) -> tuple[float, float]:
    """Return how far a random case is above its claim, and how much there was to see."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    n = int(rng.integers(1, 8))
    values = np.round(np.exp(rng.normal(0.5, 1.0, n)) * rng.choice([-1, 1], n, p=[0.2, 0.8]), 1)
    units = np.sort(rng.integers(0, max(1, n - 2) + 1, n))
    units[0] = 0
    rows = table(values, rng.integers(0, shape["groups"], n), units)
    case = alone(rows, float(rng.uniform(1.5, 4.0)), columns=(Column("x", 1.0, 0.0),), **shape)
    with pytest.MonkeyPatch.context() as patch:
        coarse(patch, 2)
        found = curves(patch, case, EPSILONS)
    claim = gaussian_delta(EPSILONS, spent(case[3], case[0]) ** 0.5)
    return float((found - claim).max()), float(found.max())


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--tables", type=int, default=1_000)
    given.add_argument("--seed", type=int, default=0)
    told = given.parse_args()
    start, rng = time.perf_counter(), np.random.default_rng(told.seed)
    found = np.array([excess(rng) for _ in range(told.tables)])
    above = int((found[:, 0] > 1e-12).sum())
    print(f"{told.tables} tables and neighbours, {len(EPSILONS)} points of the curve, both ways: "
          f"{above} above the claim (largest excess {found[:, 0].max():.2g}); largest "
          f"P(A) - e^epsilon Q(A) seen {found[:, 1].max():.3f}, median "
          f"{np.median(found[:, 1]):.3f} "
          f"({time.perf_counter() - start:.0f} s)")  # fmt: skip
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
