"""Meet a budget from the safe side, with draws of its own: the last step of every calibrator."""

from __future__ import annotations

import math

from rpac.certificate import code_box
from rpac.leakage import box_bound, grid_leakage, open_bound
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import tabulate
from rpac.outputs import Outputs
from rpac.reference.fit import fit_reference

_TOLERANCE = 1e-4
_OPEN_MARGIN = 0.97


def predicted_bound(outputs: Outputs, noise: GaussianNoise, delta: float) -> float:
    """Return the bound a certificate of the tabulated noise will have, or an estimate of it.

    Finite worlds: the least proved bound, so no error. Draws: an estimate from the planning half
    alone, which leaves the judging half untouched.
    """
    law = tabulate(outputs, noise)
    codes = law.encode(outputs.planning.values)
    if outputs.exact:
        return min(grid_leakage(codes, outputs.weights, law, delta=delta, draws=0).proved.values())
    half, box = len(codes) // 2, code_box(outputs, law)
    reference = fit_reference(codes[:half], law, box, delta)
    judged = open_bound(codes[half:], law, reference, box, delta) / _OPEN_MARGIN
    return min(judged, box_bound(law, box))


def meet_budget(
    outputs: Outputs, noise: GaussianNoise, nats: float, delta: float = 1e-6
) -> GaussianNoise:
    """Return `noise` scaled up as little as needed for the predicted bound to meet the budget.

    Gaussian leakage falls with scale, so bisection on the scale is safe; noise that meets the
    budget already is returned as it is.
    """
    low, high, growth = 1.0, 1.0, 1.001
    while predicted_bound(outputs, noise.scaled(high), delta) > nats:
        low, high, growth = high, high * growth, min(growth * growth, 16.0)
    while math.log(high / low) > _TOLERANCE:
        middle = math.sqrt(low * high)
        if predicted_bound(outputs, noise.scaled(middle), delta) > nats:
            low = middle
        else:
            high = middle
    return noise.scaled(high)
