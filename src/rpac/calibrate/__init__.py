"""Calibrators propose noise for a budget. They are untrusted: only `certify` counts."""

from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import AutoPAC

__all__ = ["AutoPAC", "Calibrator"]
