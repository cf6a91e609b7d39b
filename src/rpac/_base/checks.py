"""Every generic check, once. Each refusal reads: Expected ...; got .... Next move."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any
from unicodedata import category

import numpy as np

from rpac._base.types import Floats
from rpac.errors import InputError, RpacError

_MANY = 1 << 22
"""Numbers of an array that are looked at together, at most."""


def refuse(expected: str, got: object, move: str, error: type[RpacError] = InputError) -> RpacError:
    """Return the error to raise, in the one form all messages have."""
    return error(f"Expected {expected}; got {got}. {move}")


def number(value: Any, name: str) -> float:
    """Return a finite float; bools and text are refused."""
    if type(value) is float and math.isfinite(value):
        return value
    plain = isinstance(value, numbers.Real | np.number) and not isinstance(value, bool | np.bool_)
    if not plain or not math.isfinite(value):
        raise refuse(f"a finite number for `{name}`", repr(value), "Pass a plain number.")
    return float(value)


def plain_text(value: Any, name: str) -> str:
    """Return text on one line that can be printed, with spaces of any width; None is refused."""
    if not (isinstance(value, str) and all(c.isprintable() or category(c) == "Zs" for c in value)):
        raise refuse(f"printable text for `{name}`", repr(value), "Pass a plain string.")
    return str(value)


def whole_characters(texts: Iterable[object], name: str) -> None:
    """Refuse text with half of a character (a lone surrogate): no file could hold it."""
    for text in map(str, texts):
        if not text.isascii() and any(category(c) == "Cs" for c in text):
            raise refuse(f"whole characters in `{name}`", ascii(text), "Spell it out.")


def check_callable(mechanism: Any) -> None:
    """Refuse what cannot be called; a text and an estimator are told their way."""
    if callable(mechanism):
        return
    move = "Pass a function."
    if isinstance(mechanism, str):
        move = "Read text with rpac.statistics.parse, or ask in SQL: rpac.Database."
    elif hasattr(mechanism, "fit"):
        move = 'Say what is fitted to what: rpac.programs.Fitted(estimator, ["x"], "y").'
    raise refuse("a callable mechanism", type(mechanism).__name__, move)


def in_range(value: Any, name: str, low: float, high: float) -> float:
    """Return a float strictly between low and high."""
    x = number(value, name)
    if not low < x < high:
        raise refuse(f"`{name}` between {low} and {high}", repr(value), "Choose one inside.")
    return x


def count(value: Any, name: str, *, least: int) -> int:
    """Return an int of at least `least`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise refuse(f"a whole `{name}` of at least {least}", repr(value), "Pass a larger integer.")
    return int(value)


def array(value: Any, name: str, ndim: int) -> Floats:
    """Return a finite, non-empty float64 array with `ndim` axes."""
    try:
        x = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(f"numbers in `{name}`", type(value).__name__, "Convert them first.") from None
    if x.ndim != ndim or x.size == 0:
        raise refuse(
            f"`{name}` with {ndim} axes and at least one entry", f"shape {x.shape}", "Reshape it."
        )
    if not finite(x):
        bad = sum(int(np.count_nonzero(~np.isfinite(row))) for row in x)
        raise refuse(f"finite numbers in `{name}`", f"{bad} NaN or infinite", "Replace them first.")
    return x


def finite(x: Floats) -> bool:
    """Tell whether all numbers of an array are finite; row by row where they are many."""
    if x.size < _MANY or x.ndim < 2:
        return bool(np.logical_and.reduce(np.isfinite(x), axis=None))  # `all` without its wrapper
    return all(map(finite, x))


def probabilities(value: Any, name: str, *, size: int, positive: bool = False) -> Floats:
    """Return weights of the given size that sum to 1 (to 1e-6; renormalised to the last bit)."""
    p = array(value, name, 1)
    if p.shape != (size,):
        raise refuse(f"{size} weights in `{name}`", p.size, "Give one weight to each entry.")
    if (p < 0).any() or (positive and (p == 0).any()):
        sign = "positive" if positive else "non-negative"
        raise refuse(f"{sign} weights in `{name}`", f"a least one of {p.min():g}", "Drop the rest.")
    if abs(p.sum() - 1.0) > 1e-6:
        raise refuse(f"`{name}` that sum to 1", f"{p.sum():.9g}", "Divide them by their sum.")
    return np.asarray(p / p.sum())


def positive_definite(value: Any, name: str) -> Floats:
    """Return a symmetric positive-definite matrix; a plain number is a 1 x 1 matrix."""
    cov = array(np.atleast_2d(value) if np.ndim(value) == 0 else value, name, 2)
    if cov.shape[0] != cov.shape[1] or not np.allclose(cov, cov.T, rtol=1e-9, atol=0):
        raise refuse(f"a symmetric matrix for `{name}`", f"shape {cov.shape}", "Use (A + A.T) / 2.")
    least, most = np.linalg.eigvalsh(cov)[[0, -1]]
    if least <= cov.shape[0] * np.finfo(float).eps * max(most, 0.0):
        raise refuse(
            f"a positive-definite `{name}`",
            f"a least eigenvalue of {least:.3g}",
            "Noise on a subspace only: use GaussianNoise.on(basis, variances).",
        )
    return (cov + cov.T) / 2
