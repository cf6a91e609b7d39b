"""Means of Iris and Rice: the secret is who of a pool of 30 is in the sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rpac._base.types import Bools, Floats
from rpac.advantage import nats_to_epsilon, nats_to_success
from rpac.attack.auditing import audit
from rpac.budget import SuccessRate
from rpac.calibrators.closed_form import auto_pac_variances, principal
from rpac.calibrators.dp import DPGaussian
from rpac.front.certify import certify
from rpac.front.methods import calibrate
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import tabulate
from rpac.paper import published
from rpac.paper.published import POOL
from rpac.paper.study import CLOSED_FORMS, MATCHED, Row, Settings, few, judged, noises
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import simulate
from rpac.worlds.source import Subsets

MEMBERSHIP = "one of the listed membership vectors"
HALVES = "half-sample"
_DELTA = 1e-5
"""Of (epsilon, delta)-differential privacy."""
_GAMES = 10
"""Games of the membership attack for each one of the attack on the world: they are cheap."""


def pool(features: Floats, seed: int) -> Floats:
    """Return 30 records, standardised by the moments of all records: (30, d)."""
    unit = (features - features.mean(axis=0)) / features.std(axis=0)
    return np.asarray(unit[np.random.default_rng(seed).choice(len(unit), POOL, replace=False)])


def membership_vectors(worlds: int, seed: int) -> Bools:
    """Return distinct vectors of fair coins, each with its complement: (worlds, 30).

    They stand for all 2^30; the adversary has the list. What is leaked about a vector of a list,
    itself drawn at random, is on average at most what is leaked about one of all: a mixture of
    laws has at least their mean entropy. Certificates are of the list. With 512 vectors the
    covariance of the means, and with it the leakage, differs by a few per cent.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.random((worlds, POOL)) < 0.5
    drawn = np.unique(np.where(drawn[:, :1], drawn, ~drawn), axis=0)  # one of each pair
    half = rng.permutation(drawn[~drawn.all(axis=1)])[: worlds // 2]
    return np.concatenate([half, ~half])


def outputs_of(records: Floats, secret: str, settings: Settings) -> Outputs:
    """Return the mean of the members on every world of a secret, with who is in it."""
    if secret == HALVES:
        return simulate(Subsets(records, worlds=settings.worlds, seed=settings.seed), _mean)
    masks = membership_vectors(settings.worlds, settings.seed)
    means = masks @ records / masks.sum(axis=1, keepdims=True)
    said = f"which of {len(masks)} membership vectors of {POOL} records was drawn"
    return Outputs(means, statement=said, masks=masks)


def _mean(sample: Floats) -> Floats:
    return np.asarray(sample.mean(axis=0))


def differential_privacy(dim: int, masks: Bools) -> DPGaussian:
    """Return the paper's baseline: Gaussian noise for a clipped sum, divided by its number.

    One record moves the sum by at most the radius. The number of members is taken for public, as
    in the paper, and epsilon is that of the sum; the noise has the mean square over that number.
    """
    inverse = math.sqrt(float(np.mean(1.0 / np.square(masks.sum(axis=1)))))
    return DPGaussian(sensitivity=radius(dim) * inverse, delta=_DELTA)


def radius(dim: int) -> float:
    """Return the public clipping radius: the root mean square norm of standardised records."""
    return math.sqrt(dim)


def clipped(records: Floats) -> Floats:
    """Return records scaled back to the radius where they are longer."""
    norms = np.linalg.norm(records, axis=1, keepdims=True)
    return np.asarray(records * np.minimum(1.0, radius(records.shape[1]) / norms))


def tasks(name: str, features: Floats, settings: Settings) -> list[tuple[Any, ...]]:
    """Return what to run: every method, at every budget of the paper, for both secrets."""
    grid = few(published.budgets(name), settings.budgets)
    records = pool(features, settings.seed)
    few_budgets = few(grid, settings.sr_pac)
    found = [  # the longest first: processes then end together
        (method_rows, "sr-pac", few_budgets, name, records, MEMBERSHIP, settings),
        (method_rows, "success-rate", grid, name, records, HALVES, settings),
    ]
    for secret in (MEMBERSHIP, HALVES):
        for method in (*CLOSED_FORMS, "equilibrium", "dp"):
            found.append((method_rows, method, grid, name, records, secret, settings))
    return found


def method_rows(
    method: str,
    budgets: Sequence[float],
    name: str,
    records: Floats,
    secret: str,
    settings: Settings,
) -> list[Row]:
    """Return one method at these budgets, about one secret."""
    outputs = outputs_of(records, secret, settings)
    least = {b: float(noise.power) for b, noise in noises(outputs, budgets, "auto-pac")}
    if method == "dp":
        outputs = outputs_of(clipped(records), secret, settings)
    found = []
    for budget, noise in _noises(method, outputs, budgets):
        limit = math.inf if method in MATCHED else budget
        noise, certificate, attack = judged(outputs, noise, limit, settings, settings.draws)
        lira = audit((outputs, tabulate(outputs, noise)), ["lira"], certificate=certificate,
                     games=_GAMES * settings.games, seed=settings.seed)  # fmt: skip
        found.append(Row(
            name, secret, float(outputs.entropy or 0.0), method=method, budget=budget,
            power=float(noise.power), ratio=float(noise.power) / least[budget],
            certified=certificate.bound, grade=certificate.grade, attack=attack,
            person=float(certificate.worst_unit_success or math.nan),
            lira=lira.findings[0].estimate, success_bound=success(budget),
            epsilon=nats_to_epsilon(budget, _DELTA if method == "dp" else 0.0),
        ))  # fmt: skip
    return found


def _noises(method: str, outputs: Outputs, budgets: Sequence[float]) -> Any:
    """Return budget and noise; differential privacy and success rates are matched at success."""
    if method == "success-rate":
        return [(b, calibrate(outputs, SuccessRate(success(b)))) for b in budgets]
    if method == "dp":
        assert outputs.masks is not None
        return noises(outputs, budgets, differential_privacy(outputs.dim, outputs.masks))
    return noises(outputs, budgets, method)


def success(budget: float) -> float:
    """Return the highest success on a member, from one half, that so many nats allow."""
    return float(nats_to_success(budget, 0.5))


def leaked_at(features: Floats, settings: Settings) -> Any:
    """Return a function: what Auto-PAC's noise of a given power leaks at least, in nats.

    The paper prints the power of its noise, neither its shape nor the scale of the features. The
    shape taken here is the one with the least log-determinant bound; where outputs are far from
    Gaussian another may leak a little less. Features are standardised.
    """
    outputs = outputs_of(pool(features, settings.seed), MEMBERSHIP, settings)

    @cache
    def least(power: float) -> float:
        return certify(outputs, of_power(outputs, power), draws=settings.draws).lower

    return least


def of_power(outputs: Outputs, power: float) -> GaussianNoise:
    """Return Auto-PAC's noise of this power, which falls as its budget grows."""
    basis, spectrum = principal(outputs)
    low, high = 1e-9, 1e3
    while high / low > 1 + 1e-9:
        nats = math.sqrt(low * high)
        variances = auto_pac_variances(spectrum, nats)
        low, high = (nats, high) if variances.sum() > power else (low, nats)
    return GaussianNoise.on(basis, variances * (power / variances.sum()))
