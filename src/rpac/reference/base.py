"""The noun Reference.

For any density w that integrates to at most 1, and noise B with density q,

    MI(X; Y) <= L(q, w) = E[log q(B) - log w(Z + B)],    with equality iff w is the law of Y.

So a reference costs tightness when it is poor, never soundness; provided it is normalised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rpac._types import Floats


class Reference(ABC):
    """A normalised density on the output space, in units of the noise's own scale.

    Guarantees:
        Subclasses are final and normalised by construction; `certify` builds its own.
    """

    @abstractmethod
    def log_density(self, points: Any) -> Floats:
        """Return log w at (n, r) points."""
