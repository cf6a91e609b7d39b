"""The optional libraries that train: the extra `neural`."""

from __future__ import annotations

import importlib.util

from rpac._base.checks import refuse

LIBRARIES = ("jax", "optax", "equinox", "flowjax")


def require_neural() -> None:
    """Refuse where the libraries that train are not installed."""
    missing = [name for name in LIBRARIES if not importlib.util.find_spec(name)]
    if missing:
        raise refuse(
            "the libraries that train noise and decoders",
            f"no {', '.join(missing)}",
            "Run: pip install 'rpac[neural]'",
        )
