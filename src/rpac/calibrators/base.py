"""The noun Calibrator: a frozen record of settings with one method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from rpac.noise.base import Law
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span


class Calibrator(ABC):
    """Proposes noise. Write `propose`; a mistake in it costs utility, never privacy."""

    @abstractmethod
    def propose(self, outputs: Outputs, nats: float) -> Law:
        """Return noise that should leak at most `nats` on these outputs.

        For draws of an open distribution look only at `outputs.planning`.
        """

    def within(self, span: Span) -> Calibrator | None:
        """Return the calibrator that proposes for worlds in the coordinates of their span.

        Where numbers are many more than worlds, noise is then found in a few coordinates, and
        lifted. None, the default: it must see the numbers themselves.
        """
        return None

    def along(self, outputs: Outputs, budgets: Sequence[float]) -> list[Law]:
        """Return the noise at each of increasing budgets; override it to share work."""
        return [self.propose(outputs, nats) for nats in budgets]


def single_count(outputs: Outputs) -> bool:
    """Tell whether each output is one count: noise then keeps to the lattice of whole numbers."""
    return outputs.kind == "count" and outputs.dim == 1
