"""Objects that stay as they were made: what was certified is what is released."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

import numpy as np

from rpac._base.checks import refuse

_BEHAVIOUR = (FunctionType, MethodType, property)


def fixed(values: Any) -> Any:
    """Return an array that nobody can make writable again: its numbers lie in bytes."""
    plain = np.array(values)
    if plain.size:
        plain = np.frombuffer(plain.tobytes(), plain.dtype).reshape(plain.shape)
    plain.setflags(write=False)
    return plain


class Frozen:
    """An object that stays as it was made: no attribute changes once `freeze` was called."""

    def freeze(self, *arrays: str) -> None:
        """Make the named arrays read-only, and the object with them."""
        for name in arrays:
            object.__setattr__(self, name, fixed(getattr(self, name)))
        object.__setattr__(self, "_frozen", True)

    def unhidden(self) -> None:
        """Refuse an object whose own attributes hide methods or properties of its type.

        Nobody is kept from writing to `__dict__`; what was put there is not to be called.
        """
        kind = type(self)
        hidden = [n for n in vars(self) if isinstance(getattr(kind, n, None), _BEHAVIOUR)]
        if hidden:
            got = f"its own `{hidden[0]}`"
            raise refuse(f"{kind.__name__} as its type has it", got, "Make another.")

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            kind = type(self).__name__
            raise refuse(f"{kind} that stays as it was made", f"a new `{name}`", "Make another.")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if getattr(self, "_frozen", False):
            kind = type(self).__name__
            raise refuse(f"{kind} that stays as it was made", f"no `{name}`", "Make another.")
        object.__delattr__(self, name)

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, kept in state.items():  # a copy's arrays are as read-only as the original's
            self.__dict__[name] = fixed(kept) if isinstance(kept, np.ndarray) else kept
