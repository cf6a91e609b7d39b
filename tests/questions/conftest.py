"""The staff of a small firm: a table that the questions are asked about."""

import numpy as np

RNG = np.random.default_rng(3)
ROWS = {
    "person": RNG.integers(0, 40, 120).tolist(),
    "dept": RNG.choice(["ops", "lab", "Büro ☂"], 120).tolist(),
    "pay": np.round(RNG.lognormal(10, 0.5, 120), 2).tolist(),
    "age": RNG.integers(18, 70, 120).tolist(),
}
