"""Train the paper's base classifiers, and keep the logits of their test records.

Logits are what the experiments release. They are made once and kept in a file that is named by
everything they follow from: network, settings, seed and data.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.hashing import digest, fingerprint
from rpac._base.types import Floats, Ints, Json
from rpac.learned.classifier import Progress, Settings, architecture, trained_logits
from rpac.learned.networks import NETWORKS, VOCABULARY
from rpac.paper.data import Dataset
from rpac.paper.download import keep

_LENGTH = 64
"""Words of an article that are read."""
_PACKAGES = ("jax", "equinox", "optax", "numpy")
SETTINGS = {
    "mnist": Settings(epochs=3),
    "cifar10": Settings(epochs=7, batch=64, flip=True),
    "cifar100": Settings(epochs=6, coarse=5, batch=64, rate=1.5e-3, shift=2, flip=True),
    "ag_news": Settings(epochs=4, batch=256, rate=4e-3, decay=1e-1),
}


@final
@dataclass(frozen=True)
class Logits:
    """What a base classifier answers on every test record.

    Attributes:
        values: (n, classes) logits.
        labels: (n,) true classes.
        made: Seed, epochs, seconds of training and versions of what trained it.
    """

    values: Floats
    labels: Ints
    made: Json

    @property
    def accuracy(self) -> float:
        """Share of records whose largest logit is their class's."""
        return float((self.values.argmax(axis=1) == self.labels).mean())


def classify(
    name: str,
    data: Dataset,
    cache: str | Path,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    settings: Settings | None = None,
) -> Logits:
    """Return the logits of all test records under the paper's classifier of that name.

    Args:
        name: "mnist", "cifar10", "cifar100" or "ag_news".
        data: The dataset of that name; only its training part is trained on.
        cache: Folder in which logits are kept and looked up.
        seed: Of the first weights, of dropout and of the order of records.
        progress: Called after every step with steps done, steps in all and the loss; a bar is
            shown on a terminal without it.
        settings: How to train; the defaults of `SETTINGS` if None.

    Raises:
        InputError: If data or name do not fit, or the file kept in `cache` is damaged.
    """
    if name not in NETWORKS or data.name != name:
        raise refuse(
            f"a classifier among {tuple(NETWORKS)} and data of its name",
            f"{name!r} and data of {data.name!r}",
            "Load the data with rpac.paper.data.load(name, folder).",
        )
    how, seed = settings or SETTINGS[name], count(seed, "seed", least=0)
    content = fingerprint([data.train_x, data.train_y, data.test_x, data.test_y])
    key = digest(name, architecture(name), str(seed), json.dumps(asdict(how)), content)
    path = Path(cache) / f"{name}-{key[:16]}.npz"
    if path.exists():
        return _kept(path)
    start = time.perf_counter()
    x, test = _arrays(data)
    values = trained_logits(name, x, data.train_y, test, how, seed, progress)
    made = {
        "name": name,
        "seed": seed,
        **asdict(how),
        "seconds": round(time.perf_counter() - start, 1),
        "versions": {package: version(package) for package in _PACKAGES},
    }
    logits = Logits(values, data.test_y, made)
    raw = io.BytesIO()
    np.savez(raw, values=logits.values, labels=logits.labels, made=json.dumps(made))
    keep(raw.getvalue(), path)
    return logits


def _kept(path: Path) -> Logits:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as z:
            return Logits(z["values"], z["labels"], json.loads(str(z["made"])))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as fault:
        raise refuse(
            f"logits in {path}", f"a damaged file ({fault})", "Delete it, and it is made again."
        ) from None


def _arrays(data: Dataset) -> tuple[Any, Any]:
    """Return training and test records as the networks take them."""
    if data.name == "ag_news":
        known = vocabulary(data.train_x)
        return numbered(data.train_x, known), numbered(data.test_x, known)
    if data.train_x.ndim == 3:
        return data.train_x[..., None], data.test_x[..., None]
    return data.train_x, data.test_x


def vocabulary(texts: list[str]) -> dict[str, int]:
    """Return the most frequent lower-cased words and their numbers, from 1 on.

    >>> vocabulary(["The cat", "the dog"])
    {'the': 1, 'cat': 2, 'dog': 3}
    """
    seen = Counter(word for text in texts for word in text.lower().split())
    return {word: i for i, (word, _) in enumerate(seen.most_common(VOCABULARY), start=1)}


def numbered(texts: list[str], known: dict[str, int]) -> Any:
    """Return (n, 64) numbers of the first words: 0 if not in the vocabulary, -1 after the last.

    >>> numbered(["The black cat"], {"the": 1, "cat": 2})[0, :5]
    array([ 1,  0,  2, -1, -1], dtype=int32)
    """
    numbers = np.full((len(texts), _LENGTH), -1, dtype=np.int32)
    for row, text in zip(numbers, texts, strict=True):
        words = text.lower().split()[:_LENGTH]
        row[: len(words)] = [known.get(word, 0) for word in words]
    return numbers
