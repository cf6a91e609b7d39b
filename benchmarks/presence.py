"""Error of answers about everybody, at one success rate, integrated over the laws of what is drawn.

The root mean square error to the table's own answer: for every middle and every level that can be
drawn, the bias of clipping and the variance of the noise, weighted by exact probabilities. Run some
of it with `python -m benchmarks.presence name ...`.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

import rpac
from rpac.advantage import success_to_distance
from rpac.person import level, mechanism
from rpac.person.contributions import Column, Linear, Rows, Term
from rpac.person.split import Split, split
from rpac.questions.contributed import A_DOUBLING, BESIDE, BESIDE_GROUPS

SHARED = Path(os.environ.get("RPAC_SHARED", Path(__file__).resolve().parents[2] / "shared"))
ADULT = SHARED / "data" / "adult.csv.gz"
SUCCESS = 0.55
Floats = npt.NDArray[np.float64]
Table = list[list[object]]


@dataclass(frozen=True)
class Asked:
    """Averages of a column, a group each, with one row a person.

    Attributes:
        values: (n,) the entries.
        groups: (n,) their groups.
        size: Number of groups.
        floor: Of the column.
        delta: The distance.
    """

    values: Floats
    groups: npt.NDArray[np.int64]
    size: int
    floor: float = 1.0
    delta: float = success_to_distance(SUCCESS)

    @property
    def question(self) -> Linear:
        """What is asked, as `rpac.statistics.mean` and its groups ask it."""
        beside = BESIDE if self.size == 1 else BESIDE_GROUPS
        terms = Term("sum", (1,), (0,)), Term("rows", (0,), (0,), share=beside)
        return Linear((Column("x", self.floor, None),), terms, self.size)

    def tally(self) -> tuple[Floats, Floats]:
        """Return the (u,) different entries, and (groups, u) how many there are of each."""
        different, at = np.unique(self.values, return_inverse=True)
        counts = np.bincount(
            self.groups * len(different) + at, minlength=self.size * len(different)
        )
        return different, counts.reshape(self.size, -1).astype(float)


def alone(values: Floats, floor: float = 1.0, delta: float = 0.0) -> Asked:
    """Return the question for one average of everybody."""
    zeros = np.zeros(len(values), np.int64)
    return Asked(values, zeros, 1, floor, delta or success_to_distance(SUCCESS))


def bisected(values: Floats, grid: Floats, sigma: float, quantile: float) -> Iterator[tuple]:
    """Yield (entry, probability) of a noisy quantile: every path down the grid, exactly."""
    rising = np.sort(values)
    votes = np.searchsorted(rising, grid, side="right") - quantile * len(values)
    right = norm.cdf(-votes / sigma)
    states = {(0, len(grid) - 1): 1.0}
    for _ in range(max(1, (len(grid) - 1).bit_length())):
        after: dict[tuple[int, int], float] = {}
        for (low, high), p in states.items():
            at = (low + high) // 2
            ends = [((low, at), 1 - right[at]), ((at + 1, high), right[at])]
            for end, share in ends if low < high else [((low, high), 1.0)]:
                if p * share > 1e-12:
                    after[end] = after.get(end, 0.0) + p * share
        states = after
    for (low, _), p in states.items():
        yield grid[low], p


def middles(asked: Asked, shares: Split) -> Iterator[tuple[float, float]]:
    """Yield the middles that can be drawn, with their probabilities."""
    column = asked.question.columns[0]
    grid = level.grid_of_middles(column.exponent, mechanism.MIDDLE_GRID)
    sigma = mechanism._deviation(0.5, len(grid), 1, shares.middle)
    yield from bisected(asked.values, grid, sigma, 0.5)


def levels(asked: Asked, middle: float, shares: Split) -> tuple[Floats, Floats]:
    """Return the levels that can be drawn around a middle, and their probabilities."""
    question, column = asked.question, asked.question.columns[0]
    rows = Rows(np.arange(len(asked.values)), asked.groups, asked.values[:, None])
    reach = mechanism.reach(question, 0, rows, np.array([middle]))
    entries = level.menu(level.floor_steps(column.floor, column.exponent), shares.beta)
    at, sigma = level.place(reach, entries), level.PER_BETA / shares.level
    k = np.unique(np.clip(np.arange(at - int(8 * sigma), at + int(8 * sigma)), 0, len(entries) - 1))
    ends = np.concatenate([[-np.inf], (k[1:] + k[:-1]) / 2, [np.inf]])
    law = np.diff(norm.cdf((ends - at) / sigma))
    tau = np.ldexp(mechanism.headroom(shares) * entries[k].astype(float), column.exponent - 14)
    return tau, law


def squares(asked: Asked, middle: float, shares: Split) -> Floats:
    """Return (groups,) mean square errors of averages, over levels and noise, for one middle."""
    tau, law = levels(asked, middle, shares)
    scales = np.array([mechanism.scales_of(asked.question, {0: t}, shares.values) for t in tau])
    different, counts = asked.tally()
    away, size = different - middle, counts.sum(axis=1)
    norms = np.hypot(away / scales[:, :1], 1 / scales[:, 1:])
    factor = np.minimum(1, shares.values / norms)
    off = (counts @ away) / size
    bias = ((factor - 1) * away) @ counts.T - (factor - 1) @ counts.T * off
    noise = scales[:, :1] ** 2 + np.square(off) * scales[:, 1:] ** 2
    return law @ ((np.square(bias) + noise) / np.square(size))


def errors(asked: Asked) -> Floats:
    """Return (groups,) root mean square errors of averages."""
    shares = split(asked.delta, asked.question)
    total = sum(p * squares(asked, middle, shares) for middle, p in middles(asked, shares))
    return np.sqrt(total)


def in_standard_errors(asked: Asked) -> Floats:
    """Return errors over the standard errors of the groups' averages."""
    each = [asked.values[asked.groups == g] for g in range(asked.size)]
    return errors(asked) / np.array([x.std() / np.sqrt(len(x)) if len(x) else 1.0 for x in each])


def by_keys(frame: pd.DataFrame, column: str, keys: list[str]) -> Asked:
    """Return the question for averages by the entries of some columns."""
    groups = frame.groupby(keys).ngroup().to_numpy()
    return Asked(frame[column].to_numpy(float), groups, int(groups.max()) + 1)


def single(frame: pd.DataFrame) -> Table:
    """Averages, each alone, in standard errors of the mean; then what is allowed."""
    bars = {"hours_per_week": 0.13, "age": 0.13, "education_num": 0.13, "capital_gain": 0.36}
    found = {name: in_standard_errors(alone(frame[name].to_numpy(float)))[0] for name in bars}
    return [[name, found[name], bars[name]] for name in bars]


def grouped(frame: pd.DataFrame) -> Table:
    """Averages of hours with counts by education and sex: the median of groups of 200 and more."""
    asked = by_keys(frame, "hours_per_week", ["education", "sex"])
    large = np.bincount(asked.groups) >= 200
    found = in_standard_errors(asked)
    return [[f"{asked.size} groups, {large.sum()} of them large", np.median(found[large]), 1.0]]


def beside_laplace(frame: pd.DataFrame) -> Table:
    """Root mean square errors, and those of OpenDP's Laplace with the true range as bounds."""
    delta = success_to_distance(SUCCESS)
    hours = alone(frame["hours_per_week"].to_numpy(float))
    count = 1 / (delta * np.sqrt(1 - 1e-9))
    by_education = errors(by_keys(frame, "hours_per_week", ["education"])).mean()
    grid = level.grid_of_middles(0, A_DOUBLING)
    ages = frame["age"].to_numpy(float)
    sigma = mechanism._deviation(0.5, len(grid), 1, delta)
    law = np.array([*bisected(ages, grid, sigma, 0.5)])
    median = float(np.sqrt(law[:, 1] @ np.square(law[:, 0] - np.median(ages))))
    return [
        ["mean hours", errors(hours)[0], 0.014],
        ["count of income >50K", count, 7.05],
        ["counts by education", count, 7.05],
        ["histogram of age, six bins", count, 7.05],
        ["mean hours by education", by_education, 2.5],
        ["median age", median, 1.0],
    ]


def pay(frame: pd.DataFrame | None = None) -> Table:
    """Lognormal pay of some people, floor 1: in standard errors of the mean, and in per cent."""
    rows: Table = []
    for people in (300, 1_000, 2_000, 5_000, 20_000):
        values = np.round(np.random.default_rng(people).lognormal(10.5, 0.6, people))
        asked = alone(values)
        found = errors(asked)[0]
        rows.append([f"{people} people", in_standard_errors(asked)[0], 100 * found / values.mean()])
    return rows


def drawn(frame: pd.DataFrame) -> Table:
    """Answers through the front door, once: all groups answered, and the seconds it took."""
    source = rpac.Presence(frame, unit="rows")
    start = time.perf_counter()
    keys = sorted(frame["education"].unique())
    asked = rpac.statistics.by("education", rpac.statistics.mean("hours_per_week"), keys=keys)
    released = rpac.privatize(asked, source, rpac.SuccessRate(SUCCESS))
    finite = np.isfinite(np.array(list(released.value.values()), float)).sum()
    return [["groups answered", int(finite), time.perf_counter() - start]]


PARTS = {"single": single, "grouped": grouped, "laplace": beside_laplace, "pay": pay}


def main(names: list[str]) -> None:
    """Print the parts that are named; all of them by default."""
    frame = pd.read_csv(ADULT)
    threads = os.environ.get("OMP_NUM_THREADS", "unset")
    print(f"OMP_NUM_THREADS={threads}, Python {platform.python_version()}, NumPy {np.__version__}")
    for name in names or list(PARTS):
        start = time.perf_counter()
        for row in PARTS[name](frame):
            print(name, *(f"{v:.4g}" if isinstance(v, float) else v for v in row), sep=" | ")
        print(f"({name}: {time.perf_counter() - start:.1f} s)")


if __name__ == "__main__":
    main(sys.argv[1:])
