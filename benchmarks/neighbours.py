"""diffprivlib on the tables of `benchmarks.black_boxes`, in a Python of its own.

`make neighbours` makes it.

    python neighbours.py NAME DATA.npz EPSILONS REPEATS

It is given what it asks for: the true bounds and the largest norm of the rows. Prints answers as
JSON, a list for every epsilon; an empty list where it has no such function.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np


def logistic(x: Any, y: Any, epsilon: float) -> list[float]:
    from diffprivlib.models import LogisticRegression

    norm = float(np.linalg.norm(x, axis=1).max())
    made = LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=200).fit(x, y)
    return [*made.intercept_, *made.coef_[0]]


def centres(x: Any, y: Any, epsilon: float) -> list[list[float]]:
    from diffprivlib.models import KMeans

    bounds = x[:, :3].min(axis=0), x[:, :3].max(axis=0)
    return KMeans(3, epsilon=epsilon, bounds=bounds).fit(x[:, :3]).cluster_centers_.tolist()


def forest(x: Any, y: Any, epsilon: float) -> list[float]:
    from diffprivlib.models import RandomForestClassifier

    bounds = x.min(axis=0), x.max(axis=0)
    points = [[(a - 40) / 15, (e - 10) / 3, 0, 0, 0, 1, m, 1]
              for a in (25, 40, 55) for e in (9, 13) for m in (0.0, 1.0)]  # fmt: skip
    made = RandomForestClassifier(20, epsilon=epsilon, bounds=bounds, classes=[0.0, 1.0])
    return made.fit(x, y).predict_proba(points)[:, 1].tolist()


KNOWN = {"logistic regression": logistic, "k-means centres": centres,
         "forest probabilities": forest}  # fmt: skip


def main(name: str, data: str, epsilons: str, repeats: str) -> None:
    warnings.filterwarnings("ignore")
    with np.load(data) as held:
        x, y = held["x"], held["y"]
    found = []
    if name in KNOWN:
        found = [[KNOWN[name](x, y, epsilon) for _ in range(int(repeats))]
                 for epsilon in json.loads(epsilons)]  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
