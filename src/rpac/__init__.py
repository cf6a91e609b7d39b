"""Automatic privatization with a certificate that holds."""

from typing import Any

from rpac._api import *  # noqa: F403
from rpac._api import LATER
from rpac._api import __all__ as _now

__all__ = sorted([*_now, *LATER])  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load on first use what most programs never touch."""
    if name not in LATER:
        raise AttributeError(f"module 'rpac' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(LATER[name])
    return module if LATER[name] == f"rpac.{name}" else getattr(module, name)
