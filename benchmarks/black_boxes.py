"""Functions that nobody takes apart, by blocks and leaving one out: accuracy, time and memory.

A logistic regression of income on eight features, centres of clusters, probabilities of a random
forest at public points and a shell command, on Adult. Each is run once on its blocks (or once for
everybody who is left out), and then released many times at each success: what is shown is over
these releases. Beside it stand the answer without noise and, where it has the like, diffprivlib at
the epsilon that allows the same success; it needs a Python of its own (`make neighbours`), named by
RPAC_NEIGHBOURS.

    python -m benchmarks.black_boxes [--people 1000] [--jobs 2] [name ...]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import rpac
from benchmarks.presence import ADULT
from rpac.advantage import success_to_distance, success_to_epsilon
from rpac.calibrators.worst_unit import propose
from rpac.front.presence import ask
from rpac.person import leave_one_out, mechanism
from rpac.person.split import split
from rpac.questions.functions import asked, floor_of

SUCCESSES, RELEASES, FOREST = (0.52, 0.55, 0.6, 0.7), 40, 20
NAMES = ("age", "education_num", "hours_per_week", "gain", "loss", "male", "married", "white")
CENTRES = [[-0.9, 0.0, 0.0], [0.2, 0.0, 0.2], [1.4, 0.0, -0.4]]
"""Public starts of three clusters: a centre keeps its place, so that answers are aligned."""
Floats = npt.NDArray[np.float64]


def table(people: int | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return people to learn from and people to judge by, with features on public scales."""
    raw = pd.read_csv(ADULT)
    made = pd.DataFrame({
        "age": (raw["age"] - 40) / 15, "education_num": (raw["education_num"] - 10) / 3,
        "hours_per_week": (raw["hours_per_week"] - 40) / 12,
        "gain": np.log1p(raw["capital_gain"]) / 10, "loss": np.log1p(raw["capital_loss"]) / 10,
        "male": raw["sex"] == "Male", "married": raw["marital_status"] == "Married-civ-spouse",
        "white": raw["race"] == "White", "rich": raw["income"] == ">50K",
    }).astype(float)  # fmt: skip
    learn = made[raw["split"] == "train"].sample(frac=1, random_state=0)
    return learn.head(people or len(learn)), made[raw["split"] == "test"]


# --- the functions --------------------------------------------------------------------------------


def _logistic(names: tuple[str, ...]) -> Callable[..., Any]:
    def logistic(rows: Any) -> Any:
        made = LogisticRegression(C=1.0, max_iter=200).fit(rows[list(names)], rows["rich"])
        return np.concatenate([made.intercept_, made.coef_[0]])

    return logistic


def _centres(start: list[list[float]]) -> Callable[..., Any]:
    def centres(rows: Any) -> Any:
        x = rows[["age", "education_num", "hours_per_week"]].to_numpy()
        return KMeans(3, init=np.array(start), n_init=1, max_iter=20).fit(x).cluster_centers_

    return centres


def _forest(names: tuple[str, ...], at: list[list[float]], size: int) -> Callable[..., Any]:
    def forest(rows: Any) -> Any:
        made = RandomForestClassifier(size, min_samples_leaf=5, random_state=0)
        made.fit(rows[list(names)].to_numpy(), rows["rich"])
        return made.predict_proba(at)[:, list(made.classes_).index(1.0)]

    return forest


@dataclass(frozen=True)
class Box:
    """A function, with what is declared of it and how its answers are judged.

    Attributes:
        mechanism: The function.
        middle: An answer such as its own.
        judge: From an answer, the one without noise and the people to judge by to a figure.
        figure: What that is.
        caps: Of its answers, if they are public.
    """

    mechanism: Any
    middle: Any
    judge: Callable[[Floats, Floats, pd.DataFrame], float]
    figure: str
    caps: tuple[float, float] | None = None


def accuracy(answer: Floats, _: Floats, test: pd.DataFrame) -> float:
    """Return how many of the people to judge by are sorted right."""
    found = answer[0] + test[list(NAMES)].to_numpy() @ answer[1:] > 0
    return float((found == test["rich"].to_numpy(bool)).mean())


def distance(answer: Floats, plain: Floats, _: pd.DataFrame) -> float:
    """Return the root mean square difference from the answer without noise."""
    return float(np.sqrt(np.square(np.ravel(answer) - np.ravel(plain)).mean()))


def boxes() -> dict[str, Box]:
    points = [[(a - 40) / 15, (e - 10) / 3, 0, 0, 0, 1, m, 1]
              for a in (25, 40, 55) for e in (9, 13) for m in (0.0, 1.0)]  # fmt: skip
    awk = ("awk -F, 'NR==1{for(i=1;i<=NF;i++)c[$i]=i;next}{n++;h+=$c[\"hours_per_week\"];"
           "l+=($c[\"hours_per_week\"]>0.4)}END{print h/n, l/n}' {file}")  # fmt: skip
    return {
        "logistic regression": Box(_logistic(NAMES), np.zeros(9), accuracy, "accuracy"),
        "k-means centres": Box(_centres(CENTRES), np.array(CENTRES), distance, "rms error"),
        "forest probabilities": Box(_forest(NAMES, points, FOREST), np.full(12, 0.5), distance,
                                    "rms error", (0.0, 1.0)),
        "shell command": Box(rpac.programs.Command(awk), np.zeros(2), distance, "rms error"),
    }  # fmt: skip


# --- releases -------------------------------------------------------------------------------------


def source(box: Box, learn: pd.DataFrame, way: str, blocks: int | None) -> rpac.Presence:
    caps = None if box.caps is None else {"answer": box.caps}
    return rpac.Presence(learn, "rows", way=way, blocks=blocks, middle=box.middle, caps=caps)


def by_blocks(box: Box, learn: pd.DataFrame, blocks: int, jobs: int) -> Callable[[float], Floats]:
    """Ask the blocks once; return what draws a release at a distance."""
    made = ask(box.mechanism, source(box, learn, "blocks", blocks), jobs)
    rows = made.rows()
    return lambda d: made.numbers(mechanism.draw(made.question, rows, split(d, made.question)))


def left_out(box: Box, learn: pd.DataFrame, jobs: int) -> Callable[[float], Floats]:
    """Ask without everybody once; return what draws a release at a distance."""
    people = source(box, learn, "leave-one-out", None)
    function, _ = asked(box.mechanism, people)
    sealed = leave_one_out.influences(function, people, floor_of(people), jobs)
    moves = sealed.moves * sealed.step

    def drawn(d: float) -> Floats:
        noisy, _ = leave_one_out.draw_given_level(sealed, d, propose(moves, d))
        return function.middle + noisy

    return drawn


def study(name: str, box: Box, people: int | None, way: str, jobs: int, blocks: int) -> None:
    """Print one line: the figure without noise, and at each success."""
    learn, test = table(people)
    plain = np.asarray(box.mechanism(learn), np.float64)
    start = time.perf_counter()
    draws = by_blocks(box, learn, blocks, jobs) if way == "blocks" else left_out(box, learn, jobs)
    seconds = time.perf_counter() - start
    found = []
    for success in SUCCESSES:
        d = success_to_distance(success)
        figures = [box.judge(draws(d).reshape(plain.shape), plain, test) for _ in range(RELEASES)]
        found.append(f"{np.mean(figures):.4f}")
    how = f"{blocks} blocks" if way == "blocks" else way
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    without = f"{box.judge(plain, plain, test):.4f}"
    print(f"| {name}, {box.figure} | {how} | {len(learn):,} | {without} | {' | '.join(found)} "
          f"| {seconds:.0f} s, {most + child:.2f} GB |", flush=True)  # fmt: skip


def neighbours(name: str, box: Box, people: int | None) -> None:
    """Print the same line for diffprivlib, where it has such a function and is installed."""
    if "RPAC_NEIGHBOURS" not in os.environ:
        print(f"| {name} | diffprivlib skipped: RPAC_NEIGHBOURS names no Python |" + " |" * 6)
        return
    learn, test = table(people)
    data = {"x": learn[list(NAMES)].to_numpy(), "y": learn["rich"].to_numpy()}
    spends = [{"epsilon": success_to_epsilon(s)} for s in SUCCESSES]
    answers = asked_of(f"diffprivlib: {name}", data, spends, RELEASES)["answers"]
    plain = np.asarray(box.mechanism(learn), np.float64)
    if not answers:
        print(f"| {name} | diffprivlib has no such function |" + " |" * 6)
        return
    judged = [np.mean([box.judge(fitting(np.array(a), plain), plain, test) for a in each])
              for each in answers]  # fmt: skip
    figures = " | ".join(f"{figure:.4f}" for figure in judged)
    print(
        f"| {name}, {box.figure} | diffprivlib, bounds given | {len(learn):,} |  | {figures} |  |"
    )


def asked_of(
    name: str, data: Mapping[str, Any], spends: list[Any], releases: int
) -> dict[str, Any]:
    """Return a neighbour's answers and seconds, of `neighbours.py` in a Python of its own.

    Without answers where the neighbour has no such function, or its Python is not named.
    """
    variable = "RPAC_SMARTNOISE" if name.startswith("SmartNoise") else "RPAC_NEIGHBOURS"
    if variable not in os.environ:
        return {"answers": [], "seconds": 0.0}
    script = Path(__file__).with_name("neighbours.py")
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder) / "data.npz"
        np.savez(held, **data)
        words = [os.environ[variable], str(script), name, str(held), json.dumps(spends)]
        ran = subprocess.run([*words, str(releases)], capture_output=True, check=False, text=True)
    if ran.returncode:
        raise RuntimeError(f"{name}: {ran.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(ran.stdout))


def fitting(answer: Floats, plain: Floats) -> Floats:
    """Return centres in the order that is nearest to the plain ones; all else as it is."""
    if plain.ndim == 1:
        return answer.reshape(plain.shape)
    from itertools import permutations

    orders = [answer[list(p)] for p in permutations(range(len(plain)))]
    return min(orders, key=lambda made: float(np.square(made - plain).sum()))


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("names", nargs="*")
    given.add_argument("--people", type=int, default=1_000, help="for leaving one out")
    given.add_argument("--blocks", type=int, default=400)
    given.add_argument("--jobs", type=int, default=2)
    told = given.parse_args()
    print(f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}, {told.jobs} processes, "
          f"{RELEASES} releases each\n")  # fmt: skip
    print("| function | way | people | without noise | " + " | ".join(f"{s:.0%}" for s in SUCCESSES)
          + " | time and memory |\n|" + " --- |" * 9)  # fmt: skip
    for name, box in boxes().items():
        if told.names and name not in told.names:
            continue
        study(name, box, None, "blocks", told.jobs, told.blocks)
        neighbours(name, box, None)
        study(name, box, told.people, "leave-one-out", told.jobs, 0)
        study(name, box, told.people, "blocks", told.jobs, math.isqrt(told.people) * 2)
        neighbours(name, box, told.people)


if __name__ == "__main__":
    sys.exit(main())
