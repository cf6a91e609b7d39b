"""Objects that stay as they were made: what was certified is what is released."""

from __future__ import annotations

from types import FunctionType, MethodType

import numpy as np

from rpac._base.checks import refuse

_BEHAVIOUR = (FunctionType, MethodType, property)


class Frozen:
    """An object that stays as it was made: no attribute changes once `freeze` was called."""

    def freeze(self, *arrays: str) -> None:
        """Make the named arrays read-only, and the object with them."""
        for name in arrays:
            kept = np.array(getattr(self, name))
            kept.setflags(write=False)
            object.__setattr__(self, name, kept)
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
        for kept in state.values():  # a copy's arrays are as read-only as the original's
            if isinstance(kept, np.ndarray):
                kept.setflags(write=False)
        self.__dict__.update(state)
