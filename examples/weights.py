"""The weights of a neural network, released: 64 possible training sets, one of which was drawn.

    python -m examples.weights              # 100,000 weights and more, about a minute
    python -m examples.weights 24 16 20     # hidden units, worlds, iterations: a small one

Who was in the drawn half of the handwritten digits is the secret; the pool of them is public. The
released network is used as any other: what was added to its weights is noise along the few
directions in which the 64 networks differ, so that what they agree on survives.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

import rpac


def digits() -> tuple[Any, Any]:
    """Return images, (1797, 64) in units of 1, and their digits."""
    from sklearn.datasets import load_digits

    images, names = load_digits(return_X_y=True)
    return images / 16.0, names


def network(hidden: int, iterations: int) -> Any:
    """Return a network that is trained in the same order from the same start, whatever the data."""
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((hidden, hidden), max_iter=iterations, random_state=0, alpha=1e-3)


def weights(rows: Any, hidden: int, iterations: int) -> Any:
    """Return all weights of a network that was trained on rows of (image, digit)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped early on purpose
        fitted = network(hidden, iterations).fit(rows[:, :-1], rows[:, -1].astype(int))
    return np.concatenate([part.ravel() for part in (*fitted.coefs_, *fitted.intercepts_)])


def rebuilt(vector: Any, hidden: int, images: Any, names: Any) -> Any:
    """Return the network that has these weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = network(hidden, 1).fit(images, names)
    at = 0
    for parts in (made.coefs_, made.intercepts_):
        for i, part in enumerate(parts):
            parts[i] = vector[at : at + part.size].reshape(part.shape)
            at += part.size
    return made


def main(hidden: int = 290, worlds: int = 64, iterations: int = 8, nats: float = 1.0) -> Any:
    """Train, release and use; return the release and its accuracy."""
    images, names = digits()
    train, test = slice(0, 1400), slice(1400, None)
    pool = np.column_stack([images, names])[train]
    source = rpac.Subsets(pool, worlds=worlds)
    started = time.perf_counter()
    release = rpac.privatize(lambda rows: weights(rows, hidden, iterations), source, nats)
    spent = time.perf_counter() - started
    used = rebuilt(release.value, hidden, images[train], names[train])
    accuracy = used.score(images[test], names[test])
    print(f"{release.value.size} weights of {worlds} networks, {spent:.0f} s in all")
    print(f"certified: at most {release.certificate.bound:.3f} nats about the drawn half")
    print(f"membership of anybody: at most {release.certificate.worst_unit_success:.3f}")
    print(f"accuracy of the released network on digits it has not seen: {accuracy:.3f}")
    return release, accuracy


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
