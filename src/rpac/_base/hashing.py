"""Hashes of arrays, text and what data contain; and the keyed marks that may be shown of them.

A hash without a key tells data to whoever can list the candidates, and so does a hash of outputs:
`digest` and `fingerprint` stay in the process that has the data. What is printed or written is
`keyed`, which nobody can recompute without the key.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import math
import numbers
import os
from collections.abc import Mapping, Set
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from rpac._base.checks import refuse

_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def digest(*parts: Any) -> str:
    """Return a SHA-256 over arrays, numbers and text, shapes and kinds included."""
    return str(hashed(*parts).hexdigest())


def hashed(*parts: Any, after: Any = None) -> Any:
    """Return the SHA-256 of the same as an object, which may go on after another's parts."""
    h = hashlib.sha256() if after is None else after.copy()
    for part in parts:
        if isinstance(part, str):
            h.update(repr(part).encode())
        else:
            x = np.ascontiguousarray(part)
            h.update(repr((x.dtype.str, x.shape)).encode())
            # Numbers are read where they lie: outputs may be larger than memory.
            h.update(x.data if x.dtype.kind in "iuf" and x.size else x.tobytes())
    return h


def keyed(key: bytes, mark: str) -> str:
    """Return the HMAC-SHA256 of a hash: what may be shown of it."""
    return hmac.new(key, mark.encode(), hashlib.sha256).hexdigest()


@cache
def process_key() -> bytes:
    """Return this process's own key, from the operating system: it is kept nowhere else."""
    return os.urandom(32)


def fingerprint(value: Any) -> str:
    """Return a SHA-256 of the content of data: equal for equal data, in any process.

    Numbers are compared as numbers, exactly, whatever their type; sets and dicts whatever their
    order; other objects by their type and by what they would be rebuilt from.
    """
    try:
        return _content(value)
    except (TypeError, RecursionError):
        raise refuse(
            "a secret whose content can be hashed",
            type(value).__name__,
            "Books need the version of the data: pass arrays, frames, numbers, text or dicts.",
        ) from None


def _content(value: Any) -> str:
    if hasattr(value, "columns") or hasattr(value, "column_names"):
        return _frame(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return digest(value)
    if isinstance(value, numbers.Real | np.bool_ | Decimal):
        return _number(value)
    if isinstance(value, str):
        return digest(repr(str(value)))  # NumPy's own text is written otherwise
    if value is None or isinstance(value, bytes | complex):
        return digest(repr(value))
    return _collection(value)


def _collection(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (digest(_content(name), _content(part)) for name, part in value.items())
        return digest("dict", *sorted(pairs))
    if isinstance(value, Set):
        return digest("set", *sorted(map(_content, value)))
    if isinstance(value, list | tuple | range | np.ndarray):
        return digest("list", *map(_content, value))
    if isinstance(value, _TIMES):
        return digest(type(value).__name__, repr(value))
    return _rebuilt(value)


def _number(value: Any) -> str:
    """Return the hash of a number by its exact value: 2**53 and 2**53 + 1 are two."""
    if isinstance(value, numbers.Integral | np.bool_):
        return digest("number", f"{int(value)}/1")
    try:
        above, below = value.as_integer_ratio()
    except (ValueError, OverflowError):  # not a number, or infinite
        none = isinstance(value, Decimal) and value.is_nan()  # a signalling one is no float
        return digest("number", repr(math.nan if none else float(value)))
    return digest("number", f"{int(above)}/{int(below)}")


def _rebuilt(value: Any) -> str:
    """Return the hash of an object by what it says it can be rebuilt from, as pickling would."""
    if isinstance(value, type) or "<" not in getattr(value, "__qualname__", "<"):
        return digest("name", f"{value.__module__}.{value.__qualname__}")
    parts = value.__reduce_ex__(4)
    if isinstance(parts, str):
        return digest("name", parts)
    made, given, *rest = parts
    after = [_content(list(p) if hasattr(p, "__next__") else p) for p in rest]
    return digest("object", _content(made), _content(given), *after)


def _frame(value: Any) -> str:
    import narwhals as nw

    frame = nw.from_native(value, eager_only=True)
    parts = [part for name in frame.columns for part in (name, _column(frame[name].to_numpy()))]
    return digest("frame", *parts)


def _column(values: Any) -> str:
    """Return the hash of a column: text is objects in some kinds, text in others."""
    return _content(values.tolist() if values.dtype.kind in "UT" else values)
