"""Ten questions on Adult at one success, asked of rpac and of its neighbours: error, time, needs.

Everybody may guess right at most 55 times in 100 whether somebody is in the table. A library of
pure epsilon gets the epsilon that allows this success, one that accounts Gaussian noise its
distance; each is asked with the best of its own mechanisms that we found, and told what it asks
for: the true bounds, and what else it needs. Errors are root mean squares against the table's own
answer, over all releases and numbers; of a logistic regression its accuracy on people it has not
seen. Under *sample* the secret is another: which half of a public pool was drawn.

    python -m benchmarks.which_tool [--releases 200] [--worlds 512] [ten wider plot]

RPAC_NEIGHBOURS and RPAC_SMARTNOISE name the Pythons that `make neighbours` makes; without them
their columns stay empty. Figures are kept in `which_tool.json`, from which `plot` draws.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import rpac
from benchmarks import black_boxes
from benchmarks.neighbours import BOUNDS, CENTRES, cpu
from benchmarks.presence import ADULT
from rpac import statistics as st
from rpac.advantage import distance_to_epsilon, success_to_distance, success_to_epsilon
from rpac.front.methods import held_method, proposed

SUCCESS, FEW = 0.55, 200
"""The success that is allowed, and the size below which a group's average is not judged."""
EDGES = (0, 20, 35, 40, 41, 50, 60, 100)
KEPT = Path(__file__).with_name("which_tool.json")
PICTURE = Path("docs") / "comparison.svg"
WIDER = (1, 2, 5, 10, 20, 50, 100)
BLOCKS = 400
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """One of the ten.

    Attributes:
        name: As the page says it.
        unit: Of its error.
        asked: A statistic, or a function of the table.
        read: The column whose bounds matter; "" for none.
        judged: Which of its numbers are judged: an index of them.
    """

    name: str
    unit: str
    asked: Any
    read: str = ""
    judged: Any = ...


def adult(people: int | None = None) -> pd.DataFrame:
    """Return Adult with whole numbers alone; groups are numbered, as all tools take them."""
    raw = pd.read_csv(ADULT)
    raw = raw if people is None else raw.sample(people, random_state=0)
    return pd.DataFrame({
        "hours": raw["hours_per_week"], "age": raw["age"], "gain": raw["capital_gain"],
        "education": raw["education_num"] - 1, "rich": raw["income"] == ">50K",
        "cell": 2 * (raw["education_num"] - 1) + (raw["sex"] == "Male"),
        "bin": np.searchsorted(EDGES, raw["hours_per_week"], side="right") - 1,
    }).astype(np.int32).reset_index(drop=True)  # fmt: skip


def questions(frame: pd.DataFrame) -> list[Question]:
    """Return the eight that have names, in the order of the page."""
    groups, sizes = range(32), np.bincount(frame["cell"], minlength=32)
    large = np.flatnonzero(sizes >= min(FEW, sizes.max()))
    return [
        Question("count", "people", st.group_by("rich", st.count(), keys=[1]), judged=[0]),
        Question("counts by education", "people",
                 st.group_by("education", st.count(), keys=range(16)), judged=slice(16)),
        Question("mean of hours", "hours", st.mean("hours"), "hours"),
        Question("mean of age", "years", st.mean("age"), "age"),
        Question("mean of capital gain", "dollars", st.mean("gain"), "gain"),
        Question("median of age", "years", st.median("age"), "age"),
        Question("histogram of hours", "people", st.histogram("hours", EDGES), judged=slice(7)),
        Question("mean of hours by education and sex", "hours",
                 st.group_by("cell", st.mean("hours"), keys=groups), "hours", large),
    ]  # fmt: skip


def numbers(answer: Any) -> Floats:
    """Return an answer of whatever form as its numbers."""
    listed = list(answer.values()) if isinstance(answer, dict) else answer
    return np.ravel(np.asarray(listed, np.float64))


def error(answers: Any, truth: Floats, judged: Any = ...) -> float:
    """Return the root mean square error over releases and numbers."""
    off = np.array([numbers(answer) for answer in answers])[:, judged] - truth[judged]
    return float(np.sqrt(np.square(off).mean()))


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = cpu()
    return run(), cpu() - start


# --- rpac -----------------------------------------------------------------------------------------


def by_name(frame: pd.DataFrame, asked: Question, releases: int, wider: int = 0) -> list[float]:
    """Return error and seconds under *person*; `wider`: with caps, so many times as wide."""
    caps = {name: [CENTRES[name] + max(wider, 1) * (bound - CENTRES[name]) for bound in both]
            for name, both in BOUNDS.items() if wider}  # fmt: skip
    people = rpac.Presence(frame, unit="rows", caps=caps, middle=dict(CENTRES) if wider else None)
    budget, truth = rpac.SuccessRate(SUCCESS), numbers(asked.asked(frame))
    answers, seconds = timed(
        lambda: [rpac.privatize(asked.asked, people, budget).value for _ in range(releases)]
    )
    return [error(answers, truth, asked.judged), seconds / releases]


def halves(frame: pd.DataFrame, mechanism: Any, releases: int, worlds: int) -> tuple[Floats, float]:
    """Return (releases, d) answers under *sample*, and the seconds of one release.

    What `privatize` does, step by step, so that the worlds are asked once for all releases.
    """
    source, budget = rpac.Subsets(frame, unit="rows", worlds=worlds), rpac.SuccessRate(SUCCESS)
    start = cpu()
    outputs = rpac.simulate(source, mechanism)
    law = rpac.tabulate(outputs, proposed(outputs, budget, held_method(source, "equilibrium")))
    assert rpac.certify(outputs, law).worst_unit_success <= SUCCESS
    seconds = cpu() - start
    rng = np.random.default_rng(0)
    drawn = outputs.values[rng.integers(worlds, size=releases)] + law.sample(releases, rng)
    return drawn * (outputs.form.scale if outputs.form else 1.0), seconds


# --- neighbours -----------------------------------------------------------------------------------


def strength(success: float, wider: int = 1) -> dict[str, float]:
    """Return what a release may spend at a success, in the units of every neighbour."""
    distance = success_to_distance(success)
    return {
        "epsilon": success_to_epsilon(success), "distance": distance, "wider": wider,
        "approximate": distance_to_epsilon(distance, 1e-5),
        "approximate, half": distance_to_epsilon(distance / 2**0.5, 1e-5),
    }  # fmt: skip


def arrays(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a table as what `neighbours.py` reads."""
    cells = {"education cells": 16, "bin cells": len(EDGES) - 1, "cell cells": 32}
    return {name: frame[name].to_numpy() for name in frame} | cells


# --- the ten --------------------------------------------------------------------------------------

TOOLS = {
    "person": "nothing", "person, caps": "bounds", "sample": "that the pool is public",
    "OpenDP": "bounds", "diffprivlib": "bounds, number of rows", "SmartNoise": "bounds",
}  # fmt: skip
"""Who is asked, and what had to be known beside the groups."""


def named(frame: pd.DataFrame, releases: int, worlds: int) -> dict[str, Any]:
    """Return {question: {tool: [error, seconds]}} of the questions that have names."""
    found: dict[str, Any] = {}
    for asked in questions(frame):
        truth = numbers(asked.asked(frame))
        each = {"person": by_name(frame, asked, releases)}
        if asked.read:
            each["person, caps"] = by_name(frame, asked, releases, wider=1)
        drawn, seconds = halves(frame, asked.asked, 1_000, worlds)
        each["sample"] = [error(drawn, truth, asked.judged), seconds]
        for tool in ("OpenDP", "diffprivlib", "SmartNoise"):
            made = black_boxes.asked_of(
                f"{tool}: {asked.name}", arrays(frame), [strength(SUCCESS)], releases
            )
            judged = asked.judged
            for answers in made["answers"]:
                each[tool] = [error(answers, truth[: np.size(answers[0])], judged), made["seconds"]]
        found[asked.name] = {"unit": asked.unit, **each}
        print(line(asked.name, found[asked.name]), flush=True)
    return found


def models(releases: int, worlds: int, people: int | None = None) -> dict[str, Any]:
    """Return the same of the two functions that nobody takes apart."""
    boxes, found = black_boxes.boxes(), {}
    learn, test = black_boxes.table(people)
    data = {"x": learn[list(black_boxes.NAMES)].to_numpy(), "y": learn["rich"].to_numpy()}
    for name, unit in (("logistic regression", "accuracy"), ("k-means centres", "deviations")):
        box, each = boxes[name], {}
        plain = np.asarray(box.mechanism(learn), np.float64)
        judge = _judge(box, plain, test)
        draw, seconds = timed(lambda box=box: black_boxes.by_blocks(box, learn, BLOCKS, 1))
        distance = success_to_distance(SUCCESS)
        each["person"] = [judge([draw(distance) for _ in range(releases)]), seconds]
        drawn, seconds = halves(learn, box.mechanism, releases, worlds)
        each["sample"] = [judge(drawn), seconds]
        for tool in ("OpenDP", "diffprivlib", "SmartNoise"):
            made = black_boxes.asked_of(f"{tool}: {name}", data, [strength(SUCCESS)], releases)
            for answers in made["answers"]:
                each[tool] = [judge(answers), made["seconds"]]
        found[name] = {"unit": unit, "without noise": judge([plain]), **each}
        print(line(name, found[name]), flush=True)
    return found


def _judge(box: black_boxes.Box, plain: Floats, test: pd.DataFrame) -> Callable[[Any], float]:
    """Return what turns answers into a figure: a mean accuracy, or a root mean square."""

    def judged(answers: Any) -> float:
        shaped = [np.reshape(np.asarray(answer, np.float64), plain.shape) for answer in answers]
        each = np.array([box.judge(black_boxes.fitting(a, plain), plain, test) for a in shaped])
        accuracy = box.figure == "accuracy"
        return float(each.mean() if accuracy else np.sqrt(np.square(each).mean()))

    return judged


def line(name: str, found: dict[str, Any]) -> str:
    """Return a line of the table: error and seconds of every tool."""
    cells = [f"{found[tool][0]:.3g} ({found[tool][1]:.2g} s)" if tool in found else "-"
             for tool in TOOLS]  # fmt: skip
    return f"| {name} ({found['unit']}) | {' | '.join(cells)} |"


def ten(releases: int, worlds: int) -> None:
    """Print the table, and keep it."""
    print("| question | " + " | ".join(TOOLS) + " |\n|" + " --- |" * (len(TOOLS) + 1))
    print("| *had to be known* | " + " | ".join(TOOLS.values()) + " |")
    _keep("ten", named(adult(), releases, worlds) | models(releases, worlds))


def wider(releases: int, worlds: int) -> None:
    """Print the error of the mean of hours where bounds are declared too wide."""
    frame = adult()
    hours = next(each for each in questions(frame) if each.name == "mean of hours")
    truth, spends = numbers(hours.asked(frame)), [strength(SUCCESS, k) for k in WIDER]
    found = {"person": [by_name(frame, hours, releases)[0]] * len(WIDER),
             "person, caps": [by_name(frame, hours, releases, k)[0] for k in WIDER]}  # fmt: skip
    for tool in ("OpenDP", "diffprivlib"):
        made = black_boxes.asked_of(f"{tool}: mean of hours", arrays(frame), spends, releases)
        if made["answers"]:
            found[tool] = [error(answers, truth) for answers in made["answers"]]
    print("\n| bounds, times as wide | " + " | ".join(map(str, WIDER)) + " |")
    print("|" + " --- |" * (len(WIDER) + 1))
    print("\n".join(widened(found)))
    _keep("wider", found)


def _keep(name: str, found: dict[str, Any]) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.write_text(json.dumps(kept | {name: found}, indent=1) + "\n")


def table(found: dict[str, Any], at: int) -> list[str]:
    """Return the lines of the page's tables: errors (0) or seconds of a release (1)."""
    rows = []
    for name, each in found.items():
        digits = 3 if at == 0 and each["unit"] == "accuracy" else 2
        cells = [_short(each[tool][at], digits) if tool in each else "" for tool in TOOLS]
        unit = f", {each['unit']}" if at == 0 else ""
        rows.append(f"| {name}{unit} | {' | '.join(cells)} |")
    return rows


def widened(found: dict[str, Any]) -> list[str]:
    """Return the lines of the page's table of wider bounds."""
    return [f"| {tool} | {' | '.join(map(_short, errors))} |" for tool, errors in found.items()]


def _short(value: float, digits: int = 2) -> str:
    """Return so many digits, without an exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{places}f}"


COLOURS = {"person": "#0b5fa5", "person, caps": "#56a3d9", "sample": "#8a8a8a",
           "OpenDP": "#d1495b", "diffprivlib": "#e39b2d", "SmartNoise": "#5b8c5a"}  # fmt: skip
MARKS = dict(zip(COLOURS, "oDsv^P", strict=True))
LEAST = 4e-3
"""Where errors of 0 stand on a logarithmic axis."""


def plot() -> None:
    """Draw the kept figures for the page: errors beside *person*, and against wider bounds."""
    import matplotlib.pyplot as plt

    kept = json.loads(KEPT.read_text())
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10.5, 4.6), width_ratios=(3, 2), facecolor="white"
    )
    _beside(left, kept["ten"])
    for tool, errors in kept["wider"].items():
        right.loglog(WIDER, errors, color=COLOURS[tool], marker=MARKS[tool], markersize=5)
    right.set_xticks(WIDER, labels=[str(k) for k in WIDER])
    right.minorticks_off()
    right.set_xlabel("declared bounds, times as wide as true")
    right.set_ylabel("error of the mean of hours")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="upper center", ncols=len(TOOLS), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(PICTURE, metadata={"Date": None})


def _beside(axis: Any, found: dict[str, Any]) -> None:
    """Draw errors over those of *person*, a row for each question but the one of accuracy."""
    shown = {name: each for name, each in found.items() if each["unit"] != "accuracy"}
    for tool in TOOLS:
        here = [(each[tool][0] / each["person"][0], -i)
                for i, each in enumerate(shown.values()) if tool in each]  # fmt: skip
        x, y = np.array(here).reshape(-1, 2).T
        style = {"color": COLOURS[tool], "marker": MARKS[tool], "label": tool}
        axis.plot(np.maximum(x, LEAST), y, linestyle="", markersize=7, alpha=0.9, **style)
    axis.set_xscale("log")
    axis.set_yticks([-i for i in range(len(shown))], labels=list(shown))
    axis.set_xlabel("error at a success of 55 %, over that of person (left is better)")


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("parts", nargs="*", default=["ten", "wider", "plot"])
    given.add_argument("--releases", type=int, default=200)
    given.add_argument("--worlds", type=int, default=512)
    told = given.parse_args()
    threads = os.environ.get("OMP_NUM_THREADS")
    print(f"OMP_NUM_THREADS={threads}, {told.releases} releases, {told.worlds} worlds\n")
    parts = {"ten": ten, "wider": wider}
    for name in told.parts:
        if name == "plot":
            plot()
        else:
            parts[name](told.releases, told.worlds)


if __name__ == "__main__":
    main()
