"""What may leave and what may not: public values are plain JSON, sealed ones are their own type."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Generic, NoReturn, TypeVar, final

from rpac._base.checks import refuse

T = TypeVar("T")


class Sealed:
    """Base of everything that would tell the secret. It has no printed, pickled or JSON form."""

    def __reduce__(self) -> NoReturn:
        raise refuse(
            f"sealed {type(self).__name__} that stay in this process",
            "an attempt to pickle them",
            "Save the certificate instead.",
        )


@final
class SealedValue(Sealed, Generic[T]):
    """One sealed value: `open` is the only way to it."""

    def __init__(self, value: T) -> None:
        self._value = value

    def open(self) -> T:
        """Return the value, inside the trusted part."""
        return self._value

    def __repr__(self) -> str:
        return "SealedValue(...)"


def publish(body: Any, *, indent: int | None = None) -> str:
    """Return public JSON: the one writer of certificates, receipts and entries.

    Guarantees:
        It can be written: half of a character (a lone surrogate) is spelled as its escape.

    Raises:
        InputError: If anything sealed, or anything but plain JSON, is in it.
    """
    text = _writer(indent).encode(body)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@cache
def _writer(indent: int | None) -> json.JSONEncoder:
    marks = (",", ":") if indent is None else None
    return json.JSONEncoder(
        indent=indent, ensure_ascii=False, allow_nan=False, default=_refuse_other, separators=marks
    )


def _refuse_other(value: object) -> NoReturn:
    kind = "sealed " if isinstance(value, Sealed) else ""
    raise refuse("public values", f"{kind}{type(value).__name__}", "Publish a certificate instead.")
