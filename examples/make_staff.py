"""Write a made-up table of people: who they are, where they work, what they earn."""

import csv
import sys
from pathlib import Path

import numpy as np


def write(path, people=5_000, seed=7):
    """Write `people` rows."""
    rng = np.random.default_rng(seed)
    departments = rng.choice(["operations", "research", "sales"], people, p=[0.5, 0.2, 0.3])
    base = {"operations": 10.2, "research": 10.6, "sales": 10.4}
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "department", "age", "salary"])
        for i, department in enumerate(departments):
            salary = round(float(rng.lognormal(base[department], 0.35)), 2)
            rows.writerow([i, department, int(rng.integers(18, 66)), salary])


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else "staff.csv")
