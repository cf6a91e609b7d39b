"""Statistics by name, for tables of any kind: the same numbers, bit for bit, from each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from rpac._base.checks import array, in_range, number, refuse
from rpac._base.types import Floats
from rpac.errors import RpacError
from rpac.person.source import Asked, Presence
from rpac.questions import contributed, groups, linear
from rpac.questions.contributed import Adds, Cells
from rpac.questions.linear import Columns, Sums
from rpac.worlds import tables as frames
from rpac.worlds.flatten import Form, flatten
from rpac.worlds.source import Source, Subsets


@final
@dataclass(frozen=True, eq=False)
class Statistic:
    """A function of some columns of a table.

    Missing entries are skipped, as in SQL. Sums and counts over a half-sample are scaled to all
    units by the public inclusion rate, after the noise.

    Attributes:
        name: As it is written, such as "mean(income)".
        columns: The columns of numbers it reads.
        compute: Numbers of those columns, by name, to the (d,) answer.
        labels: Names of the d numbers; empty for a single number.
        whole: Whether they are integers.
        extensive: Whether they grow with the number of units, as sums and counts do.
        group: A further column that is read as it is, for `group_by`; or several.
        adds: How it is made of sums over people, for `rpac.Presence`; None where it is not.
        cells: The public groups that it answers for; None for all rows.
        sums: How it is made of sums over rows; None where it is not.
        inner: The name of the statistic of each group.
    """

    name: str
    columns: tuple[str, ...]
    compute: Callable[..., Any]
    labels: tuple[Any, ...] = ()
    whole: bool = False
    extensive: bool = False
    group: groups.Grouping = None
    adds: Adds | None = None
    cells: Cells | None = None
    sums: Sums | None = None
    inner: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that it looks at: worlds are made of these alone."""
        return tuple(dict.fromkeys([*self.columns, *groups.columns_of(self.group)]))

    def on_half_samples(self, source: Subsets) -> Any:
        """Return the (m, d) answers on all half-samples by a matrix product; None: one by one."""
        if self.sums is None or source.frame is None:
            return None
        read, places = {name: frames.numbers(source.frame, name) for name in self.columns}, None
        if self.group is not None:
            places = groups.places(groups.entries(source.frame, self.group), self.labels[:-1])
        return linear.answers(self.sums, source, read, places, len(self.labels))

    def asked(self, source: Presence) -> Asked | None:
        """Return the statistic as contributions of single people; None if it is none."""
        if self.adds is None:
            return None
        return contributed.asked(source, self.adds, self.announce(source), self.cells)

    def __call__(self, world: Any) -> Any:
        """Return the answer on one world."""
        frame = frames.table(world)
        read = {name: frames.numbers(frame, name) for name in self.columns}
        with np.errstate(all="ignore"):  # what overflows is refused as a whole
            if self.group is not None:
                return self.compute(read, groups.entries(frame, self.group))
            return self.compute(read, len(frame))

    def announce(self, source: Source) -> Form:
        """Return the form of the answers; refuse a source that lacks a column."""
        frame = source.frame if isinstance(source, Subsets) else None
        if frame is not None:
            for column in self.columns:
                frames.numbers(frame, column)
            frames.require_columns(frame, groups.columns_of(self.group))
        if isinstance(source, Presence) and source.entries is not None:
            for column in self.reads:
                source.entries.check(column)
        scale = 1 / source.rate if self.extensive and isinstance(source, Subsets) else 1.0
        empty: Any = np.zeros(len(self.labels), np.int64 if self.whole else np.float64)
        blank = dict(zip(self.labels, empty.tolist(), strict=True)) or (0 if self.whole else 0.0)
        form, _ = flatten(blank)
        names = tuple(groups.in_words(self.name, one) for one in self.labels) or (self.name,)
        if isinstance(self.group, tuple):
            build = groups.table(self.group, self.labels, self.inner, source, whole=self.whole)
            form = replace(form, name="table", layout=(self.group, self.labels), rebuild=build)
        return Form(
            form.name,
            form.layout,
            self.whole,
            lambda v: form.rebuild(v * scale),
            scale=scale,
            labels=names,
        )

    def __repr__(self) -> str:
        return self.name


def _present(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def mean(column: str, empty: float = 0.0) -> Statistic:
    """Return the mean of a column; `empty` where a world has no entry."""
    fill = number(empty, "empty")

    def compute(read: Columns, rows: int) -> float:
        values = _present(read[column])
        return float(values.mean()) if values.size else fill

    adds, sums = contributed.mean(column), linear.mean(column, fill)
    return Statistic(f"mean({column})", (column,), compute, adds=adds, sums=sums)


def sum(column: str) -> Statistic:
    """Return the sum of a column over all units, estimated from half of them."""
    return Statistic(
        f"sum({column})",
        (column,),
        lambda read, rows: float(_present(read[column]).sum()),
        extensive=True,
        adds=contributed.total(column),
        sums=linear.total(column),
    )


def count(column: str | None = None) -> Statistic:
    """Return the number of rows, or of entries in a column, over all units."""
    return Statistic(
        f"count({column or ''})",
        () if column is None else (column,),
        lambda read, rows: rows if column is None else int(_present(read[column]).size),
        whole=True,
        extensive=True,
        adds=contributed.size(column),
        sums=linear.size(column),
    )


def quantile(column: str, level: float = 0.5, empty: float = 0.0) -> Statistic:
    """Return a quantile of a column, interpolated; `empty` where a world has no entry."""
    fill, at = number(empty, "empty"), in_range(level, "level", 0.0, 1.0)

    def compute(read: Columns, rows: int) -> float:
        values = _present(read[column])
        return float(np.quantile(values, at)) if values.size else fill

    adds = contributed.quantile(column, at)
    return Statistic(f"quantile({column}, {at:g})", (column,), compute, adds=adds)


def median(column: str, empty: float = 0.0) -> Statistic:
    """Return the median of a column."""
    return quantile(column, 0.5, empty)


def histogram(column: str, edges: Sequence[float]) -> Statistic:
    """Return counts between public edges, low included, high not; the rest is "other"."""
    cuts = array(edges, "edges", 1) if np.size(edges) > 1 else np.zeros(0)
    if len(cuts) < 2 or not (np.diff(cuts) > 0).all():
        move = f"Such as [0, 10, 20], in text histogram({column}, 0, 10, 20): sorted, and public."
        raise refuse("at least two rising `edges`", repr(edges), move)
    labels = [f"[{a:g}, {b:g})" for a, b in zip(cuts[:-1], cuts[1:], strict=True)]

    def compute(read: Columns, rows: int) -> Any:
        cells = np.searchsorted(cuts, read[column], side="right")
        cells[np.isnan(read[column])] = 0
        found = np.bincount(cells, minlength=len(cuts) + 1)
        return np.append(found[1:-1], found[0] + found[-1])

    listed = ", ".join(f"{cut:g}" for cut in cuts)
    return Statistic(
        f"histogram({column}, {listed})",
        (column,),
        compute,
        (*labels, groups.OTHER),
        whole=True,
        extensive=True,
        adds=contributed.size(None),
        cells=contributed.by_edges(column, cuts),
    )


def group_by(
    column: str | Sequence[str],
    statistic: Statistic,
    keys: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
) -> Statistic:
    """Return a single-number statistic for every key; rows with other keys are "other".

    Args:
        column: Whose entries are compared, as text, with the keys; or several, which name a group
            together: then the answer is a table with a column for each.
        statistic: One that gives a single number, such as `mean("income")`.
        keys: The groups, of several columns a list for each: {"sex": ["f", "m"], "dept": ["a"]}.
            They are public: which exist must not depend on rows.
    """
    group = column if isinstance(column, str) else tuple(column)
    each = groups.listed(group, keys)
    if not isinstance(statistic, Statistic):
        move = f"Such as group_by({column!r}, mean('income'), keys=['a', 'b'])."
        raise refuse("a statistic of each group", repr(statistic)[:80], move)
    if statistic.labels or statistic.group is not None:
        move = 'Group a mean, sum or count; by several columns at once: group_by(("a", "b"), ...).'
        raise refuse("a statistic of one number", statistic.name, move)
    labels = groups.labels(group, each)

    def compute(read: Columns, entries: list[Any]) -> Any:
        places = groups.places(entries, labels[:-1])
        answers = []
        for i in range(len(labels)):
            inside = places == i
            part = {name: values[inside] for name, values in read.items()}
            answers.append(statistic.compute(part, int(inside.sum())))
        return np.array(answers)

    named = group if isinstance(group, str) else f"({', '.join(group)})"
    return Statistic(
        f"group_by({named}, {statistic.name})",
        statistic.columns,
        compute,
        labels,
        whole=statistic.whole,
        extensive=statistic.extensive,
        group=group,
        adds=statistic.adds,
        cells=contributed.by_keys(groups.columns_of(group), each),
        sums=statistic.sums,
        inner=statistic.name,
    )


def correlation(first: str, second: str) -> Statistic:
    """Return Pearson's correlation over rows that have both; 0 where one does not vary."""

    def compute(read: Columns, rows: int) -> float:
        x, y = _complete(read, (first, second))
        if len(x) < 2 or x.std() == 0 or y.std() == 0:
            return 0.0
        return float(np.corrcoef(x, y)[0, 1])

    adds = contributed.correlation(first, second)
    return Statistic(f"correlation({first}, {second})", (first, second), compute, adds=adds)


def variance(column: str) -> Statistic:
    """Return the variance of a column, divided by the number of entries; 0 without any."""

    def compute(read: Columns, rows: int) -> float:
        values = _present(read[column])
        return float(values.var()) if values.size else 0.0

    return Statistic(f"variance({column})", (column,), compute, adds=contributed.variance(column))


def covariance(first: str, second: str) -> Statistic:
    """Return the covariance of two columns over rows that have both; 0 without any."""

    def compute(read: Columns, rows: int) -> float:
        x, y = _complete(read, (first, second))
        return float(((x - x.mean()) * (y - y.mean())).mean()) if len(x) else 0.0

    adds = contributed.covariance(first, second)
    return Statistic(f"covariance({first}, {second})", (first, second), compute, adds=adds)


def ratio(first: str, second: str) -> Statistic:
    """Return the sum of a column over the sum of another; the first where the second is 0."""

    def compute(read: Columns, rows: int) -> float:
        top, bottom = (float(_present(read[name]).sum()) for name in (first, second))
        return top / (bottom or 1.0)

    adds = contributed.ratio(first, second)
    return Statistic(f"ratio({first}, {second})", (first, second), compute, adds=adds)


def regression(target: str, *features: str) -> Statistic:
    """Return least-squares coefficients of a target on features, intercept first.

    Among equally good answers the shortest is taken, so that every world has one.
    """
    if not features:
        raise refuse(
            "at least one feature", f"regression({target})", "Name the columns to regress on."
        )

    def compute(read: Columns, rows: int) -> Any:
        y, *x = _complete(read, (target, *features))
        design = np.column_stack([np.ones_like(y), *x])
        return np.linalg.lstsq(design, y, rcond=None)[0]

    return Statistic(
        f"regression({', '.join((target, *features))})",
        (target, *features),
        compute,
        ("intercept", *features),
    )


def _complete(read: Columns, names: Sequence[str]) -> list[Floats]:
    """Return these columns without the rows that miss an entry in one of them."""
    table = np.stack([read[name] for name in names])
    return list(table[:, ~np.isnan(table).any(axis=0)])


_NAMED: dict[str, Callable[..., Statistic]] = {
    "correlation": correlation,
    "count": count,
    "covariance": covariance,
    "group_by": lambda column, statistic, *keys: group_by(column, statistic, keys or None),
    "histogram": lambda column, *edges: histogram(column, edges),
    "mean": mean,
    "median": median,
    "quantile": quantile,
    "ratio": ratio,
    "regression": regression,
    "sum": sum,
    "variance": variance,
}
_WRITTEN = {
    "correlation": "(x, y)", "count": "() or count(x)", "covariance": "(x, y)",
    "group_by": "(x, mean(y), 'a', 'b')", "histogram": "(x, 0, 10, 20)",
    "quantile": "(x, 0.9)", "ratio": "(x, y)", "regression": "(y, x)",
}  # fmt: skip
"""How each is written, but for those of one column."""
_QUOTE = "Quote what is no plain word, such as 'HS-grad' or '11th'."


def parse(text: str, keys: Mapping[str, Sequence[Any]] | None = None) -> Statistic:
    """Return the statistic that a text such as "group_by(dept, mean(income), a, b)" names.

    Columns and keys that are no plain words are quoted.

    Args:
        text: As it is typed.
        keys: Declared groups by column, for a `group_by` that lists none.

    >>> parse("quantile(income, 0.9)")
    quantile(income, 0.9)
    """
    try:
        found = _built(ast.parse(text.strip(), mode="eval").body, keys or {})
    except RpacError:
        raise
    except (SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError) as error:
        raise _misread(text, error) from None
    if not isinstance(found, Statistic):
        raise _misread(text, None)
    return found


def _misread(text: str, error: BaseException | None) -> RpacError:
    """Return the refusal of a text: by how the statistic that it names is written."""
    name = text.partition("(")[0].strip()
    if name not in _NAMED or isinstance(error, KeyError | RecursionError | MemoryError):
        move = f"Known: {', '.join(_NAMED)}."
        return refuse("a statistic such as mean(income)", repr(text[:80]), move)
    move = "Write it like that."
    if text.count("(") != text.count(")"):
        move = "Its parentheses do not match."
    elif isinstance(error, SyntaxError | ValueError):
        move = _QUOTE
    elif name == "count":
        move = "To count by entry: group_by(x, count(), 'a', 'b')."
    return refuse(f"{name}{_WRITTEN.get(name, '(x)')} of columns x, y", repr(text[:80]), move)


def _built(node: ast.expr, keys: Mapping[str, Sequence[Any]]) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_built(part, keys) for part in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        given = [_built(part, keys) for part in node.args]
        if node.func.id == "group_by" and len(given) == 2:
            several = isinstance(given[0], tuple)
            known = [keys[one] for one in (given[0] if several else given[:1]) if one in keys]
            given += known if several else [entry for one in known for entry in one]
        return _NAMED[node.func.id](*given)
    if isinstance(node, ast.Name):
        return node.id
    return ast.literal_eval(node)
