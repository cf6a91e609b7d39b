"""Automatic privatization with a certificate that holds."""

from rpac._api import *  # noqa: F403
from rpac._api import __all__ as __all__

__version__ = "0.1.0"
