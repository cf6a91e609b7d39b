"""Mechanisms from outside: estimators with `fit`, and shell commands that print numbers."""

from __future__ import annotations

import copy
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, final, get_args

import numpy as np

from rpac._base.checks import in_range, refuse
from rpac._base.types import Floats
from rpac.person.source import Presence
from rpac.questions.made_up import made_up
from rpac.worlds import tables as frames
from rpac.worlds.chunks import overheard
from rpac.worlds.files import reader
from rpac.worlds.flatten import Form, flatten
from rpac.worlds.source import Source, Subsets

What = Literal[
    "coefficients", "predictions", "probabilities", "classes", "centres", "components", "variances"
]
WHATS = (*get_args(What),)
AT = ("predictions", "probabilities", "classes")
"""What is asked at public points."""
NEEDS = MappingProxyType({
    "coefficients": "coef_", "predictions": "predict", "probabilities": "predict_proba",
    "classes": "predict", "centres": "cluster_centers_", "components": "components_",
    "variances": "explained_variance_",
})  # fmt: skip
"""What an estimator must have once it is fitted."""
_TRIED = 80
"""Rows of the made-up table on which an estimator is tried."""


class _Lacking(AttributeError):
    """A fitted estimator has not got what is asked for."""


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimator in the manner of scikit-learn, fitted on each world.

    A Pipeline or a ColumnTransformer gets data frames with the columns by name, numbers and text
    as they are; any other estimator an array of numbers. What follows from the estimator and from
    declarations is said at once: it is tried on a made-up table first.

    Args:
        estimator: Anything with `fit(X, y)`; a copy is fitted. One with a `random_state` gets 0,
            and so do the steps inside of it, so that it is a function of the world.
        features: Columns of X.
        target: Column of y, numbers or text; None for clustering and transformers.
        what: "coefficients" (intercept, then `coef_`), "predictions" (numbers), "probabilities"
            (`predict_proba`) or "classes" (`predict`, as a label) at public points; "centres"
            (`cluster_centers_`, in lexicographic order: labels carry no meaning), "components"
            (`components_`, each with the sign that makes its largest entry positive) or
            "variances" (`explained_variance_`). Of a Pipeline those of its last step.
        at: Public points: (n, features) entries, or a table with the columns of `features`. One
            point for classes.
        classes: Entries that the target may have, for probabilities: their order is that of the
            answer, and one that is in no row of a world has 0. As fitted, if left out.
    """

    estimator: Any
    features: Sequence[str]
    target: str | None = None
    what: What = "coefficients"
    at: Any = None
    classes: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.what not in WHATS:
            listed = ", ".join(f'"{name}"' for name in WHATS[:-1])
            raise refuse(f'{listed} or "{WHATS[-1]}"', repr(self.what), "Pick one.")
        if not hasattr(self.estimator, "fit"):
            raise refuse("an estimator with `fit`", type(self.estimator).__name__, "Pass one.")
        if (self.what in AT) != (self.at is not None):
            given = "without" if self.at is None else "with"
            raise refuse(
                f"public points `at` for {', '.join(AT)} only",
                f"{self.what!r} {given} points",
                "Give points for these, and for nothing else.",
            )
        if self.what in AT and not hasattr(self.estimator, NEEDS[self.what]):
            raise self._lacking()
        points = None if self.at is None else self._points()
        if self.what == "classes" and points != 1:
            move = "Ask one point a question (a Session adds them up), or for probabilities."
            raise refuse("one public point for classes: one label", points, move)
        if self.classes is not None and (self.what != "probabilities" or len(self.classes) < 2):
            got = f"{len(self.classes)} for {self.what!r}"
            raise refuse("two `classes` or more, for probabilities only", got, "Leave them out.")

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that it looks at: worlds are made of these alone."""
        return tuple(dict.fromkeys([*self.features, *([self.target] if self.target else [])]))

    @property
    def framed(self) -> bool:
        """Whether the estimator picks columns by name, and so gets frames: public, by its type."""
        inside: Mapping[str, Any] = getattr(self.estimator, "get_params", dict)()
        return any(name.rpartition("__")[2] in ("steps", "transformers") for name in inside)

    def _points(self) -> int:
        """Return how many public points there are; refuse what has not one entry a feature."""
        if frames.is_table(self.at):
            where = frames.table(self.at)
            frames.require_columns(where, tuple(self.features))
            return len(where)
        try:
            widths = {len(row) for row in self.at}
        except TypeError:
            widths = set()
        if widths != {len(self.features)}:
            got, move = f"{type(self.at).__name__} of another shape", "Such as at=[[20.0], [60.0]]."
            raise refuse(f"points `at` of {len(self.features)} entries each", got, move)
        return len(self.at)

    def announce(self, source: Source) -> Form | None:
        """Refuse what no data would change; tell the form where no answer may tell it."""
        if isinstance(source, Presence):
            return self._declared(source)
        if isinstance(source, Subsets) and source.frame is not None:
            frames.require_columns(source.frame, self.reads)
            self._types(source.frame)
        self._tried(source)
        return None

    def _types(self, frame: Any) -> None:
        """Refuse text where only numbers will do."""
        for name in () if self.framed else self.features:
            if not _numeric(frame, name):
                got, move = type(frame[name].dtype).__name__, "Convert it, or pass a Pipeline that "
                move += "encodes it (ColumnTransformer): those take text."
                raise refuse(f"numbers in column {name!r}", got, move)
        if self.target is None or _numeric(frame, self.target):
            return
        got = type(frame[self.target].dtype).__name__
        if _kind(self.estimator) == "regressor":
            raise refuse(f"numbers in column {self.target!r}", got, "Convert it to numbers.")
        if self.what == "predictions":
            move = "Ask what='classes' (one point) or what='probabilities'."
            raise refuse(f"numbers to predict in column {self.target!r}", got, move)

    def _declared(self, source: Presence) -> Form | None:
        """Return the form of the answers, if it follows from what was passed and declared."""
        for name in self.reads:
            if source.entries is not None:
                source.entries.check(name)
        if self.what == "classes":
            move = "Ask what='probabilities' with classes=[...], or use rpac.Subsets."
            raise refuse("numbers under the promise person", "what='classes'", move)
        if self.what == "probabilities" and self.classes is None:
            move = "Say classes=[...]: the entries that the target may have, in order."
            raise refuse("declared classes under the promise person", "none", move)
        self._read_as_declared(source)
        answer = self._tried(source)
        labels = self._labels(np.shape(answer))
        if not labels or (self.what == "centres" and source.example is None):
            return None
        if source.example is not None and np.size(source.example) not in (1, len(labels)):
            got = f"{np.size(source.example)} numbers"
            raise refuse(f"a `middle` of one number, or of {len(labels)}", got, "Match the answer.")
        shape = (len(labels),) if answer is None else np.shape(answer)
        return replace(flatten(np.zeros(shape))[0], labels=labels)

    def _read_as_declared(self, source: Presence) -> None:
        """Refuse declared text where only numbers will do: every answer would be the middle."""
        plain = [] if self.framed else [*self.features]
        plain += [self.target] if self.target and _kind(self.estimator) == "regressor" else []
        for name in (name for name in plain if source.declared(name).type == "text"):
            raise refuse(f"numbers in column {name!r}", "text, as declared", "Convert it.")

    def assumed(self, source: Presence) -> tuple[str, ...]:
        """Return what is taken for granted of private rows: a note beside the answer."""
        sized = self.what == "coefficients" and _kind(self.estimator) == "classifier"
        if not sized or self.target is None or source.declared(self.target).domain is not None:
            return ()
        said = f"schema={{{self.target!r}: {{'domain': [...]}}}}"
        return (f"two classes are assumed of {self.target!r}: with more {said} is needed",)

    def _labels(self, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Return the names of the numbers of an answer, whose shape is () where nobody knows it."""
        known: tuple[str, ...] = ()
        if self.what == "coefficients":
            known = ("intercept", *self.features)
        elif self.what in AT:
            known = tuple(f"point {i + 1}" for i in range(self._points()))
            if self.classes is not None:
                known = tuple(f"{point}: {name}" for point in known for name in self.classes)
        size = int(np.prod(shape)) if shape else len(known)
        return known if size == len(known) else tuple(f"number {i + 1}" for i in range(size))

    def _tried(self, source: Source) -> Any:
        """Return the answer on a made-up table; None if it fails there, which proves nothing.

        Raises:
            InputError: If the estimator was fitted, and has not got what is asked for.
        """
        try:
            with overheard():
                return self(self._made_up(source))
        except _Lacking:
            pass
        except Exception:  # code of the estimator, on entries that it may not know
            return None
        raise self._lacking() from None

    def _made_up(self, source: Source) -> Any:
        """Return a made-up table; its target has the declared classes, or 0 and 1, in turn."""
        import narwhals as nw

        private = isinstance(source, Presence)  # of half-samples entries would be the pool's own
        public = made_up(source, self.reads, size=_TRIED) if private else None
        backend = cast(Any, reader())
        if public is None:  # numbers, which all but few estimators take
            columns = dict.fromkeys(self.reads, np.random.default_rng(0).normal(size=_TRIED))
            public = nw.from_dict(columns, backend=backend).to_native()
        if self.target is None:
            return public
        known = source.declared(self.target).domain if isinstance(source, Presence) else None
        usual = (0.0, 1.0) if _kind(self.estimator) == "classifier" else None
        classes, frame = self.classes or known or usual, frames.table(public)
        if classes is None:
            return public
        entries = [classes[i % len(classes)] for i in range(len(frame))]
        column = nw.new_series(self.target, entries, backend=cast(Any, frame.implementation))
        return frame.with_columns(column).to_native()

    def _lacking(self) -> Exception:
        kinds = {"predictions": "predict", "probabilities": "predict_proba"}
        can = [f"what={w!r}" for w, need in kinds.items() if hasattr(self.estimator, need)]
        move = f"Next: {' or '.join(can)} with at=..." if can else "Fit another estimator."
        name = type(self.estimator).__name__
        return refuse(f"an estimator with {NEEDS[self.what]}", name, move)

    def __call__(self, world: Any) -> Any:
        """Return the answer on one world."""
        frame = frames.table(world)
        model = _seeded(copy.deepcopy(self.estimator))
        x = self._features(frame)
        model.fit(*([x] if self.target is None else [x, _entries(frame, self.target)]))
        found = _part(model, NEEDS[self.what])
        if self.what in AT:
            return self._answer(found(self._where(frame)), model)
        return _PLAIN[self.what](model, np.asarray(found, np.float64))

    def _features(self, frame: Any) -> Any:
        """Return X: a frame of the world's own library, or an array of numbers."""
        if not self.framed:
            return np.column_stack([frames.numbers(frame, name) for name in self.features])
        return _frame({name: _entries(frame, name) for name in self.features}, frame)

    def _where(self, frame: Any) -> Any:
        """Return the public points, in the form of X."""
        if frames.is_table(self.at):
            return self._features(frames.table(self.at))
        rows = [list(row) for row in self.at]
        if not self.framed:
            return np.asarray(rows, np.float64)
        columns = (np.array(column) for column in zip(*rows, strict=True))
        plain = (c.astype(np.float64 if c.dtype.kind in "biuf" else str) for c in columns)
        return _frame(dict(zip(self.features, plain, strict=True)), frame)

    def _answer(self, found: Any, model: Any) -> Any:
        if self.what == "classes":
            return str(np.ravel(found)[0])
        if self.what == "predictions" or self.classes is None:
            return np.asarray(found)
        fitted = {str(name): column for name, column in zip(model.classes_, found.T, strict=True)}
        none = np.zeros(len(found))
        return np.stack([fitted.get(str(name), none) for name in self.classes], axis=1)


def _part(model: Any, name: str) -> Any:
    """Return an attribute of a fitted estimator; of a Pipeline or a search, of what is inside."""
    for inside in (model, getattr(model, "best_estimator_", None)):
        last = getattr(inside, "steps", [(None, None)])[-1][1]
        for one in (inside, last):
            if hasattr(one, name):
                return getattr(one, name)
    raise _Lacking(name)


def _coefficients(model: Any, found: Floats) -> Floats:
    return np.concatenate([np.ravel(_part(model, "intercept_")), np.ravel(found)])


def _sorted(_: Any, found: Floats) -> Floats:
    return np.asarray(found[np.lexsort(found.T[::-1])])


def _signed(_: Any, found: Floats) -> Floats:
    """Return components with signs of their own: the largest entry of each is positive."""
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1)
    return np.where(largest < 0, -found, found)


_PLAIN: Mapping[str, Callable[[Any, Floats], Floats]] = MappingProxyType({
    "coefficients": _coefficients, "centres": _sorted, "components": _signed,
    "variances": lambda _, found: found,
})  # fmt: skip


def _seeded(model: Any) -> Any:
    """Return an estimator whose random states, those of its steps included, are 0."""
    names: Mapping[str, Any] = getattr(model, "get_params", dict)()
    states = {name: 0 for name in names if name.rpartition("__")[2] == "random_state"}
    if states:
        model.set_params(**states)
    return model


def _kind(estimator: Any) -> str | None:
    """Return "classifier", "regressor" or what else an estimator says that it is, if it does."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    if tags is None:
        return getattr(estimator, "_estimator_type", None)
    return getattr(tags(), "estimator_type", None)


def _numeric(frame: Any, name: str) -> bool:
    import narwhals as nw

    return bool(frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean)


def _entries(frame: Any, name: str) -> Any:
    """Return a column as an array: numbers as float64, all else as text."""
    frames.require_columns(frame, (name,))
    if _numeric(frame, name):
        return frames.numbers(frame, name)
    return np.array([None if e is None else str(e) for e in frame[name].to_list()], object)


def _frame(columns: Mapping[str, Any], like: Any) -> Any:
    """Return columns as a frame that scikit-learn reads: of polars if the world's is, or pandas."""
    import narwhals as nw

    backend = "polars" if like.implementation.is_polars() else "pandas"
    plain = {name: column.tolist() for name, column in columns.items()}
    return nw.from_dict(plain, backend=backend).to_native()  # type: ignore[arg-type]


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
