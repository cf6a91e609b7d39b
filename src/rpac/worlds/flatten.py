"""The form of an answer: how what a mechanism returns becomes a vector, and how it is rebuilt."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats
from rpac.errors import MechanismError

UNSCALED = 1.0
"""The factor of answers that are released in their own units."""
_PLAIN = frozenset({"builtins", "numpy", "datetime", "decimal", "fractions", "uuid"})
"""Homes of types whose values can serve as names, beside pandas."""
_MOVE = "Return a number, a label, an array, a dict of numbers or a data frame of numbers."


@dataclass(frozen=True, eq=False)
class Form:
    """What one answer looks like.

    Attributes:
        name: "scalar", "label", "array", "dict" or "frame".
        layout: Shape, keys or columns; equal for all worlds, or the mechanism is refused.
        whole: Whether the numbers are integers.
        rebuild: Turns a (d,) vector into an answer of this form.
        scale: Public factor, a number or (d,), from a world's numbers to those of all units:
            sums and counts over a half-sample are doubled. `rebuild` applies it.
        labels: Names of the d numbers, where they have any.
        settle: For answers whose rows are ordered by released numbers: turns those, (d,), into a
            `rebuild` that keeps their order, for error bars beside them.
    """

    name: str
    layout: tuple[Any, ...]
    whole: bool
    rebuild: Callable[[Floats], Any]
    scale: Any = UNSCALED
    labels: tuple[str, ...] = ()
    settle: Callable[[Floats], Callable[[Floats], Any]] | None = None


def flatten(answer: Any) -> tuple[Form, Any]:
    """Return the form of an answer and its numbers, (d,), or its label.

    Raises:
        MechanismError: If the answer holds anything but numbers.
    """
    if answer is None:
        raise refuse(
            "an answer from the mechanism", "None", "Did it forget to return?", MechanismError
        )
    if isinstance(answer, str):
        return Form("label", ("text",), whole=False, rebuild=lambda v: v), answer
    if isinstance(answer, bool | np.bool_):
        return Form("label", ("bool",), whole=False, rebuild=lambda v: v == "True"), str(answer)
    if hasattr(answer, "index") and hasattr(answer, "to_dict") and np.ndim(answer) == 1:
        return _flatten_series(answer)
    if isinstance(answer, Mapping):
        return _flatten_dict(answer)
    if hasattr(answer, "columns") or hasattr(answer, "column_names"):
        return _flatten_frame(answer)
    return _flatten_array(answer)


def _numbers(values: Any) -> tuple[Floats, bool]:
    """Return values as floats, and whether they were integers."""
    try:
        raw = np.asarray(values)
    except ValueError:  # ragged lists
        raise refuse("numbers from the mechanism", "a ragged list", _MOVE, MechanismError) from None
    if raw.dtype.kind not in "biuf":
        raise refuse("numbers from the mechanism", _kind_in_words(raw), _MOVE, MechanismError)
    if raw.size == 0:
        raise refuse("at least one number from the mechanism", "none", _MOVE, MechanismError)
    flat = raw.astype(np.float64).ravel()
    if not np.isfinite(flat).all():
        raise refuse(
            "finite numbers from the mechanism",
            "NaN or infinity",
            "Handle missing values inside the mechanism.",
            MechanismError,
        )
    return flat, raw.dtype.kind in "biu"


def _kind_in_words(raw: Any) -> str:
    """Return what an array holds, without its width: that of text would tell the longest entry."""
    return {"U": "text", "S": "bytes", "O": "objects", "M": "dates", "m": "durations"}.get(
        raw.dtype.kind, f"{type(raw.dtype).__name__} data"
    )


def _flatten_array(answer: Any) -> tuple[Form, Floats]:
    flat, whole = _numbers(answer)
    if isinstance(answer, numbers.Number | np.generic) or np.ndim(answer) == 0:
        cast: Callable[[Floats], Any] = (lambda v: int(v[0])) if whole else (lambda v: float(v[0]))
        return Form("scalar", (), whole=whole, rebuild=cast), flat
    shape = np.shape(answer)
    return Form(
        "array", shape, whole=whole, rebuild=lambda v: _typed(v, whole=whole).reshape(shape)
    ), flat


def _typed(values: Floats, *, whole: bool) -> Any:
    return np.rint(values).astype(np.int64) if whole else np.asarray(values)


def _flatten_dict(answer: Mapping[Any, Any]) -> tuple[Form, Floats]:
    keys = tuple(answer)
    flat, whole = _numbers([answer[key] for key in keys])
    if flat.size != len(keys):
        raise refuse("one number under each key", "arrays", _MOVE, MechanismError)
    return Form(
        "dict",
        keys,
        whole=whole,
        rebuild=lambda v: dict(zip(keys, _typed(v, whole=whole).tolist(), strict=True)),
    ), flat


def _flatten_series(answer: Any) -> tuple[Form, Floats]:
    """Keep the index of a pandas Series: its order may not depend on the world."""
    import pandas as pd  # type: ignore[import-untyped]

    flat, whole = _numbers(answer.to_numpy())
    index, name = answer.index, answer.name

    def rebuild(values: Floats) -> Any:  # pandas' own type: another's code would see the release
        return pd.Series(_typed(values, whole=whole), index=index, name=name)

    layout = (name, _names_of(index), tuple(index))
    return Form("series", layout, whole=whole, rebuild=rebuild), flat


def _names_of(index: Any) -> tuple[Any, ...]:
    """Return all that an index shows beside its entries: names, and values that none may have."""
    levels = getattr(index, "levels", None) or [getattr(index, "categories", ())]
    return tuple(getattr(index, "names", ())), tuple(tuple(level) for level in levels)


def _flatten_frame(answer: Any) -> tuple[Form, Floats]:
    import narwhals as nw

    frame = nw.from_native(answer, eager_only=True)
    columns = [_numbers(frame[name].to_numpy()) for name in frame.columns]
    whole = all(w for _, w in columns)
    table = np.stack([c for c, _ in columns], axis=1)

    def rebuild(values: Floats) -> Any:
        cells = _typed(values, whole=whole).reshape(table.shape)
        data = {name: cells[:, i] for i, name in enumerate(frame.columns)}
        native = nw.from_dict(data, backend=frame.implementation).to_native()
        if index is not None:
            native.index = index
        return native

    index = getattr(answer, "index", None)  # pandas has one; it must not depend on the world
    rows = None if index is None else (_names_of(index), tuple(index))
    layout = (str(frame.implementation), tuple(frame.columns), len(frame), rows)
    return Form("frame", layout, whole=whole, rebuild=rebuild), table.ravel()


def _same(one: Any, other: Any) -> bool:
    """Compare names as they are shown: those of the first world stand for all."""
    if one is other:
        return True
    if type(one) is tuple and type(other) is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    if type(one).__module__ not in _PLAIN and not type(one).__module__.startswith("pandas."):
        return False  # it may say of itself what it likes
    return type(one) is type(other) and repr(one) == repr(other) and bool(one == other)


def common_form(forms: list[Form]) -> Form:
    """Return the one form of all answers; whole only if all are.

    Raises:
        MechanismError: If the form differs between worlds: its shape would tell the secret.
    """
    first = forms[0]
    same = all(f.name == first.name and _same(f.layout, first.layout) for f in forms)
    if not same:
        raise refuse(
            "the same form of answer in every world",
            "forms that differ",
            "Fix the shape, keys or columns in the mechanism.",
            MechanismError,
        )
    return next((f for f in forms if not f.whole), first)
