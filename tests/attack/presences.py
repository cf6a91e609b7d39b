"""Questions under the promise *person* that attacks are tried on."""

import numpy as np
import pandas as pd

import rpac
from rpac import statistics as st

RNG = np.random.default_rng(5)
VISITS = pd.DataFrame({
    "id": RNG.integers(0, 40, 120),
    "pay": RNG.lognormal(3, 1, 120).round(2),
    "age": RNG.integers(18, 80, 120),
    "ward": RNG.choice(["a", "b", "c"], 120),
})  # fmt: skip
VISITS.loc[0, "pay"] = 4_000.0
VISITS.loc[[3, 9], "pay"] = np.nan
BY_WARD = ["a", "b", "c"]


def mean_age(rows):
    """A function that is asked by blocks."""
    return float(np.nanmean(rows["age"]))


CASES = {
    "mean": (st.mean("pay"), {"unit": "rows"}),
    "sum": (st.sum("pay"), {"unit": "id"}),
    "many groups": (st.group_by("ward", st.mean("pay"), BY_WARD), {"unit": "id"}),
    "count": (st.count(), {"unit": "id"}),
    "caps": (st.mean("age"), {"unit": "id", "caps": {"age": (0, 100), "rows": 4}}),
    "moments": (st.covariance("pay", "age"), {"unit": "id", "middle": {"pay": 20, "age": 40}}),
    "median": (st.group_by("ward", st.median("age"), BY_WARD), {"unit": "id"}),
    "blocks": (mean_age, {"unit": "id", "way": "blocks", "blocks": 12, "middle": 40.0}),
    "instead": (st.mean("pay"), {"unit": "rows", "instead": {"pay": [0, 9_999]}}),
    "instead of a group": (st.group_by("ward", st.count(), BY_WARD),
                           {"unit": "rows", "instead": {"ward": BY_WARD}}),
}  # fmt: skip


def released(name, rate=0.7, frame=VISITS, **more):
    """Return a release of a case."""
    question, how = CASES[name]
    return rpac.privatize(question, rpac.Presence(frame, **how), rpac.SuccessRate(rate), **more)
