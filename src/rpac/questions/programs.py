"""Mechanisms from outside: estimators with `fit`, and shell commands that print numbers."""

from __future__ import annotations

import copy
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import in_range, refuse
from rpac.person.source import Presence
from rpac.worlds import tables as frames
from rpac.worlds.flatten import Form, flatten
from rpac.worlds.source import Source, Subsets

What = Literal["coefficients", "predictions", "centres"]


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimator in the manner of scikit-learn, fitted on each world.

    Args:
        estimator: Anything with `fit(X, y)`; a copy is fitted. One with a `random_state` gets 0,
            so that it is a function of the world.
        features: Columns of X.
        target: Column of y; None for clustering.
        what: "coefficients" (intercept, then `coef_`), "predictions" at public points, or
            "centres" (`cluster_centers_`, in lexicographic order: labels carry no meaning).
        at: (n, features) public points for predictions.
    """

    estimator: Any
    features: Sequence[str]
    target: str | None = None
    what: What = "coefficients"
    at: Any = None

    def __post_init__(self) -> None:
        if self.what not in ("coefficients", "predictions", "centres"):
            raise refuse('"coefficients", "predictions" or "centres"', repr(self.what), "Pick one.")
        if not hasattr(self.estimator, "fit"):
            raise refuse("an estimator with `fit`", type(self.estimator).__name__, "Pass one.")
        if (self.what == "predictions") != (self.at is not None):
            given = "without" if self.at is None else "with"
            raise refuse(
                "public points `at` for predictions only",
                f"{self.what!r} {given} points",
                "Give points for predictions, and for nothing else.",
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that it looks at: worlds are made of these alone."""
        return tuple(dict.fromkeys([*self.features, *([self.target] if self.target else [])]))

    def announce(self, source: Source) -> Form | None:
        """Refuse a source that lacks a column; tell the form where no answer may tell it."""
        if isinstance(source, Presence):
            return self._declared(source)
        if isinstance(source, Subsets) and source.frame is not None:
            for name in self.reads:
                frames.numbers(source.frame, name)
        return None

    def _declared(self, source: Presence) -> Form | None:
        """Return the form, if it follows from what was passed: coefficients of one target."""
        for name in self.reads:
            if source.entries is not None:
                source.entries.check(name)
        if self.what == "centres" or source.example is not None:
            return None
        labels = ("intercept", *self.features)
        if self.what == "predictions":
            labels = tuple(f"point {i + 1}" for i in range(len(self.at)))
        return replace(flatten(np.zeros(len(labels)))[0], labels=labels)

    def __call__(self, world: Any) -> Any:
        """Return the answer on one world."""
        frame = frames.table(world)
        x = np.column_stack([frames.numbers(frame, name) for name in self.features])
        model = copy.deepcopy(self.estimator)
        if "random_state" in getattr(model, "get_params", dict)():
            model.set_params(random_state=0)
        args = [x] if self.target is None else [x, frames.numbers(frame, self.target)]
        model.fit(*args)
        if self.what == "predictions":
            return np.asarray(model.predict(np.asarray(self.at, np.float64)))
        if self.what == "centres":
            centres = np.asarray(model.cluster_centers_)
            return centres[np.lexsort(centres.T[::-1])]
        return np.concatenate([np.ravel(model.intercept_), np.ravel(model.coef_)])


@final
@dataclass(frozen=True)
class Command:
    """A shell command that reads the world as a CSV file and prints numbers.

    Args:
        text: The command; `{file}` is replaced by the path of the CSV, else it gets the rows on
            standard input. What it prints is split at spaces, commas and lines; all must be
            numbers, equally many in every world.
        timeout: Seconds a world may take.
    """

    text: str
    timeout: float = 60.0

    def __post_init__(self) -> None:
        in_range(self.timeout, "timeout", 0.0, 1e6)
        if not self.text.strip():
            raise refuse("a shell command", repr(self.text), "Such as \"awk -F, '...' {file}\".")

    def __call__(self, world: Any) -> Any:
        """Return the answer on one world."""
        frame = frames.table(world)
        try:
            with tempfile.TemporaryDirectory(prefix="rpac-") as folder:
                path = Path(folder) / "world.csv"
                frame.write_csv(str(path))
                printed = self._printed(str(path), path.read_text(encoding="utf-8"))
        except OSError:  # where no file may be written, all rows come by a pipe
            printed = self._printed("/dev/stdin", frame.write_csv())
        found = [float(word) for word in printed.replace(",", " ").split()]
        return found[0] if len(found) == 1 else np.array(found)

    def _printed(self, path: str, rows: str) -> str:
        return subprocess.run(
            self.text.replace("{file}", shlex.quote(path)),
            shell=True,
            check=True,
            input=rows,
            capture_output=True,
            timeout=self.timeout,
            text=True,
        ).stdout
