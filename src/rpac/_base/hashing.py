"""Hashes of arrays and text, and of what data contain: the version under which they are booked."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from rpac._base.checks import refuse


def digest(*parts: Any) -> str:
    """Return a SHA-256 over arrays, numbers and text, shapes and kinds included."""
    h = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            h.update(repr(part).encode())
        else:
            x = np.ascontiguousarray(part)
            h.update(repr((x.dtype.str, x.shape)).encode() + x.tobytes())
    return h.hexdigest()


def fingerprint(value: Any) -> str:
    """Return a SHA-256 of the content of data: equal for equal data, in any process."""
    if hasattr(value, "columns") or hasattr(value, "column_names"):
        return _frame(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return digest(value)
    if isinstance(value, numbers.Real | np.number):
        return digest(repr(float(value)))
    if value is None or isinstance(value, str | bytes | numbers.Number):
        return digest(repr(value))
    if isinstance(value, Mapping):
        return digest("dict", *(fingerprint(part) for pair in value.items() for part in pair))
    if isinstance(value, list | tuple | np.ndarray):
        return digest("list", *(fingerprint(part) for part in value))
    import joblib

    try:
        return str(joblib.hash(value, hash_name="sha1"))
    except Exception:
        raise refuse(
            "a secret whose content can be hashed",
            type(value).__name__,
            "Books need the version of the data: pass arrays, frames, numbers, text or dicts.",
        ) from None


def _frame(value: Any) -> str:
    import narwhals as nw

    frame = nw.from_native(value, eager_only=True)
    parts = [part for name in frame.columns for part in (name, _column(frame[name].to_numpy()))]
    return digest("frame", *parts)


def _column(values: Any) -> str:
    """Return the hash of a column: text is objects in some kinds, text in others."""
    return fingerprint(values.tolist() if values.dtype.kind in "UT" else values)
