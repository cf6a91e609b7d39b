"""OpenDP, diffprivlib and SmartNoise on the tables of our benchmarks, in Pythons of their own.

`make neighbours` makes these: their requirements exclude each other's, and ours.

    python neighbours.py "TOOL: QUESTION" DATA.npz STRENGTHS REPEATS

STRENGTHS is a JSON list of what each release may spend, as `benchmarks.which_tool.strength` makes
it. Each tool is given what it asks for: bounds, the largest norm of the rows, the groups, the
number of rows. Prints JSON: for every strength a list of answers (none where there is no such
function), and the processor seconds of one release.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

BOUNDS = {"hours": (1, 99), "age": (17, 90), "gain": (0, 99_999)}
"""Of the columns: what the census's code book says, and what the table has."""
CENTRES = {"hours": 50, "age": 53, "gain": 0}
"""Whole numbers that are taken off beforehand, where that makes the largest entry smaller."""
BESIDE = 0.1
"""Share of the count beside a sum."""
TIMED = 20
"""Releases by which time is taken."""
POINTS = [[(a - 40) / 15, (e - 10) / 3, 0, 0, 0, 1, m, 1]
          for a in (25, 40, 55) for e in (9, 13) for m in (0.0, 1.0)]  # fmt: skip
Data, Strength = dict[str, Any], dict[str, float]
Ask = Callable[[Data, Strength], Any]


def bounds(column: str, s: Strength) -> tuple[int, int]:
    """Return the bounds of a column less what is taken off, or so many times as wide."""
    low, high = (int(s.get("wider", 1)) * (bound - CENTRES[column]) for bound in BOUNDS[column])
    return low, high


# --- diffprivlib: pure epsilon --------------------------------------------------------------------


def logistic(data: Data, s: Strength) -> list[float]:
    from diffprivlib.models import LogisticRegression

    x = data["x"]
    norm = float(np.linalg.norm(x, axis=1).max())
    made = LogisticRegression(epsilon=s["epsilon"], data_norm=norm, max_iter=200).fit(x, data["y"])
    return [*made.intercept_, *made.coef_[0]]


def centres(data: Data, s: Strength) -> list[list[float]]:
    from diffprivlib.models import KMeans

    x = data["x"][:, :3]
    made = KMeans(3, epsilon=s["epsilon"], bounds=(x.min(axis=0), x.max(axis=0)))
    return made.fit(x).cluster_centers_.tolist()


def forest(data: Data, s: Strength) -> list[float]:
    from diffprivlib.models import RandomForestClassifier

    x = data["x"]
    bounds = x.min(axis=0), x.max(axis=0)
    made = RandomForestClassifier(20, epsilon=s["epsilon"], bounds=bounds, classes=[0.0, 1.0])
    return made.fit(x, data["y"]).predict_proba(POINTS)[:, 1].tolist()


def ibm_count(data: Data, s: Strength) -> float:
    from diffprivlib.tools import count_nonzero

    return float(count_nonzero(data["rich"], epsilon=s["epsilon"]))


def ibm_cells(column: str) -> Ask:
    def counted(data: Data, s: Strength) -> list[float]:
        from diffprivlib.tools import histogram

        size = int(data[f"{column} cells"])
        bounds = (-0.5, size - 0.5)
        found, _ = histogram(data[column], epsilon=s["epsilon"], bins=size, range=bounds)
        return [float(n) for n in found]

    return counted


def ibm_mean(column: str) -> Ask:
    def mean(data: Data, s: Strength) -> float:
        from diffprivlib.tools import mean

        values = data[column].astype(float) - CENTRES[column]
        return CENTRES[column] + float(mean(values, epsilon=s["epsilon"], bounds=bounds(column, s)))

    return mean


def ibm_means(data: Data, s: Strength) -> list[float]:
    from diffprivlib.tools import mean

    hours, groups = data["hours"].astype(float), data["cell"]
    return [float(mean(hours[groups == g], epsilon=s["epsilon"], bounds=BOUNDS["hours"]))
            for g in range(int(data["cell cells"]))]  # fmt: skip


def ibm_median(data: Data, s: Strength) -> float:
    from diffprivlib.tools import median

    return float(median(data["age"].astype(float), epsilon=s["epsilon"], bounds=BOUNDS["age"]))


# --- OpenDP: Gaussian noise, accounted as zCDP; rho is half the square of the distance ------------


def _opendp(kind: Any = int) -> tuple[Any, Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp, (dp.vector_domain(dp.atom_domain(T=kind)), dp.symmetric_distance())


def _spends(measured: Any, s: Strength) -> Any:
    """Return the measurement, whose own account says that it spends what was given."""
    assert measured.map(1) <= s["distance"] ** 2 / 2 * (1 + 1e-6)
    return measured


def open_count(data: Data, s: Strength) -> float:
    dp, space = _opendp()
    counted = space >> dp.t.then_count() >> dp.m.then_gaussian(scale=1 / s["distance"])
    return float(_spends(counted, s)(data["rich"][data["rich"] > 0]))


def open_cells(column: str) -> Ask:
    def counted(data: Data, s: Strength) -> list[float]:
        dp, space = _opendp()
        cells = list(range(int(data[f"{column} cells"])))
        exact = space >> dp.t.then_count_by_categories(
            cells, null_category=False, MO=dp.L2Distance[float]
        )
        noisy = exact >> dp.m.then_gaussian(scale=1 / s["distance"])
        return [float(n) for n in _spends(noisy, s)(data[column])]

    return counted


def _shares(column: str, s: Strength) -> tuple[float, float]:
    """Return the scales of a sum and of the count beside it."""
    most = max(map(abs, bounds(column, s)))
    return most / (s["distance"] * math.sqrt(1 - BESIDE)), 1 / (s["distance"] * math.sqrt(BESIDE))


def _open_mean(values: Any, column: str, s: Strength) -> float:
    dp, space = _opendp()
    off, (wide, narrow) = CENTRES[column], _shares(column, s)
    added = space >> dp.t.then_clamp(bounds(column, s)) >> dp.t.then_sum()
    people = space >> dp.t.then_count()
    noisy = dp.m.then_gaussian(scale=wide), dp.m.then_gaussian(scale=narrow)
    both = dp.c.make_composition([added >> noisy[0], people >> noisy[1]])
    total, size = _spends(both, s)(values - np.int32(off))
    return float(off + total / max(size, 1))


def open_mean(column: str) -> Ask:
    return lambda data, s: _open_mean(data[column], column, s)


def open_means(data: Data, s: Strength) -> list[float]:
    """Return each group's mean: nobody is in two groups, so what one spends all may spend.

    (The Polars interface has this as one query; it took seconds a release.)
    """
    hours, cells = data["hours"], data["cell"]
    return [_open_mean(hours[cells == g], "hours", s) for g in range(int(data["cell cells"]))]


def open_median(data: Data, s: Strength) -> float:
    dp, space = _opendp()
    low, high = BOUNDS["age"]
    return float(dp.binary_search_chain(
        lambda scale: space >> dp.m.then_private_quantile(
            dp.max_divergence(), candidates=list(range(low, high + 1)), alpha=0.5, scale=scale),
        d_in=1, d_out=s["epsilon"], T=float,
    )(data["age"]))  # fmt: skip


# --- SmartNoise: SQL, with the Laplace noise of its default or with Gaussian noise ----------------

_READERS: dict[str, Any] = {}


def _reader(data: Data, epsilon: float, mechanism: str) -> Any:
    import pandas as pd
    import snsql
    from snsql import Mechanism, Privacy, Stat

    name = f"{epsilon} {mechanism}"
    if name not in _READERS:
        told: dict[str, Any] = {
            key: {"type": "int"} for key in ("education", "cell", "bin", "rich")
        }
        for key in BOUNDS:
            low, high = bounds(key, {})
            told[key] = {"type": "int", "lower": low, "upper": high}
        columns = {key: data[key] - CENTRES.get(key, 0) for key in told}
        table = {"rows": len(data["hours"]), "row_privacy": True, "censor_dims": False} | told
        privacy = Privacy(epsilon=epsilon, delta=1e-5)
        if mechanism == "gaussian":
            privacy.mechanisms.map |= dict.fromkeys(Stat, Mechanism.gaussian)
        meta = {"": {"main": {"adult": table}}}
        _READERS[name] = snsql.from_df(pd.DataFrame(columns), privacy=privacy, metadata=meta)
    return _READERS[name]


def _remember() -> None:
    """Keep the scales that SmartNoise searches for: the same each time, and most of its time."""
    from snsql.sql._mechanisms.gaussian import Gaussian

    search, found = Gaussian._compute_noise_scale, {}

    def scale(self: Any) -> None:
        key = self.epsilon, self.delta, self.lower, self.upper, self.max_contrib
        if key not in found:
            search(self)
            found[key] = self.scale
        self.scale = found[key]

    Gaussian._compute_noise_scale = scale


def smart(words: str, column: str = "", parts: int = 1, mechanism: str = "gaussian") -> Ask:
    """Return a question in SQL; an average is two parts that share what may be spent."""

    def asked(data: Data, s: Strength) -> list[float]:
        found = s["epsilon"] / parts
        if mechanism == "gaussian":
            found = s["approximate" if parts == 1 else "approximate, half"]
        rows = _reader(data, found, mechanism).execute(words)[1:]
        return [float(row[-1]) + CENTRES.get(column, 0) for row in sorted(rows)]

    return asked


def _average(column: str, by: str = "", mechanism: str = "gaussian") -> Ask:
    shown, last = (f"{by}, ", f" GROUP BY {by}") if by else ("", "")
    words = f"SELECT {shown}AVG({column}) AS answer FROM main.adult{last}"
    return smart(words, column, 2, mechanism)


COUNT = "SELECT COUNT(*) AS answer FROM main.adult WHERE rich = 1"
CELLS = "SELECT {0}, COUNT(*) AS answer FROM main.adult GROUP BY {0}"
KNOWN: dict[str, Ask] = {
    "diffprivlib: logistic regression": logistic,
    "diffprivlib: k-means centres": centres,
    "diffprivlib: forest probabilities": forest,
    "diffprivlib: count": ibm_count,
    "diffprivlib: counts by education": ibm_cells("education"),
    "diffprivlib: mean of hours": ibm_mean("hours"),
    "diffprivlib: mean of age": ibm_mean("age"),
    "diffprivlib: mean of capital gain": ibm_mean("gain"),
    "diffprivlib: median of age": ibm_median,
    "diffprivlib: histogram of hours": ibm_cells("bin"),
    "diffprivlib: mean of hours by education and sex": ibm_means,
    "OpenDP: count": open_count,
    "OpenDP: counts by education": open_cells("education"),
    "OpenDP: mean of hours": open_mean("hours"),
    "OpenDP: mean of age": open_mean("age"),
    "OpenDP: mean of capital gain": open_mean("gain"),
    "OpenDP: median of age": open_median,
    "OpenDP: histogram of hours": open_cells("bin"),
    "OpenDP: mean of hours by education and sex": open_means,
    "SmartNoise: count": smart(COUNT),
    "SmartNoise: counts by education": smart(CELLS.format("education")),
    "SmartNoise: mean of hours": _average("hours"),
    "SmartNoise: mean of age": _average("age"),
    "SmartNoise: mean of capital gain": _average("gain", mechanism="laplace"),
    "SmartNoise: histogram of hours": smart(CELLS.format("bin")),
    "SmartNoise: mean of hours by education and sex": _average("hours", "cell"),
}
"""Each question with the best of the tool's own mechanisms; SmartNoise has no Gaussian noise as
wide as that of capital gain."""


def cpu() -> float:
    """Return the processor seconds of this process and its children: machines are busy."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(name: str, data: str, strengths: str, repeats: str) -> None:
    warnings.filterwarnings("ignore")
    with np.load(data) as held:
        read = {key: held[key] for key in held.files}
    answers: list[Any] = []
    seconds = 0.0
    if name in KNOWN:
        given, ask = json.loads(strengths), KNOWN[name]
        ask(read, given[0])  # imports are not of a release
        start = cpu()
        for _ in range(TIMED):
            ask(read, given[0])
        seconds = (cpu() - start) / TIMED
        if "snsql" in sys.modules:
            _remember()
        answers = [[ask(read, s) for _ in range(int(repeats))] for s in given]
    print(json.dumps({"answers": answers, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
