"""Attacks: lower bounds on what a release leaks. The other side of the sandwich."""

from rpac.attack.adaptive import AdaptiveAnalyst
from rpac.attack.auditing import ATTACKS, Audit, audit, audit_presence
from rpac.attack.base import Attack, Finding, Game, Games, Play, Sampler
from rpac.attack.bayes import Bayes, Inference, Informed, Membership, Roc, roc
from rpac.attack.decoder import Learned, SoftmaxDecoder
from rpac.attack.duel import Duel, Evidence, somebody, stranger
from rpac.attack.everybody import Exposure, exposure
from rpac.attack.interval import clopper_pearson, mean_limits
from rpac.attack.likelihood import DeclaredLaw, Decoder, FittedLaw
from rpac.attack.marks import Failure, Precision
from rpac.attack.pool import PoolMembership
from rpac.attack.published import Lesson, Reading, outsider
from rpac.attack.scores import LiRA, OneRun, Threshold, lira, one_run

__all__ = [
    "ATTACKS",
    "AdaptiveAnalyst",
    "Attack",
    "Audit",
    "Bayes",
    "DeclaredLaw",
    "Decoder",
    "Duel",
    "Evidence",
    "Exposure",
    "Failure",
    "Finding",
    "FittedLaw",
    "Game",
    "Games",
    "Inference",
    "Informed",
    "Learned",
    "Lesson",
    "LiRA",
    "Membership",
    "OneRun",
    "Play",
    "PoolMembership",
    "Precision",
    "Reading",
    "Roc",
    "Sampler",
    "SoftmaxDecoder",
    "Threshold",
    "audit",
    "audit_presence",
    "clopper_pearson",
    "exposure",
    "lira",
    "mean_limits",
    "one_run",
    "outsider",
    "roc",
    "somebody",
    "stranger",
]
