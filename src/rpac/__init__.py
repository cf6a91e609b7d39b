"""Automatic privatization with a certificate that holds."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_VERBS = frozenset({"calibrate", "simulate"})
"""Functions that share their name with the module they live in."""

if TYPE_CHECKING:
    from rpac._api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Load on first use: the command line answers `--help` before NumPy is there."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'rpac' has no attribute {name!r}")
    if name not in _VERBS and find_spec(f"rpac.{name}") is not None:
        return import_module(f"rpac.{name}")
    api = import_module("rpac._api")
    if name == "__all__":
        return sorted([*api.__all__, *api.LATER])
    if name in api.__all__:
        return getattr(api, name)
    if name in api.LATER:
        return getattr(import_module(api.LATER[name]), name)
    raise AttributeError(f"module 'rpac' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names too, those that are not loaded yet included."""
    return sorted({*globals(), *__getattr__("__all__")})


class _Front(ModuleType):
    """Keeps the verbs: importing a module would put itself in their place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _VERBS):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Travel by name: functions that use `rpac` go to other processes."""
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _Front
