"""Calibrators propose noise for a budget. They are untrusted: only `certify` counts."""

from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import AutoPAC
from rpac.calibrate.meet import meet_budget

__all__ = ["AutoPAC", "Calibrator", "meet_budget"]
