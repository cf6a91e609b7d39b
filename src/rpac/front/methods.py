"""The verb `calibrate`: from a method's name to noise that meets the budget."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac.budget import SuccessRate, as_budget
from rpac.calibrators.base import Calibrator
from rpac.calibrators.budget_search import DELTA, meet
from rpac.calibrators.closed_form import (
    AutoPAC,
    ConfidentAutoPAC,
    EfficientPAC,
    Isotropic,
    Proportional,
    principal,
)
from rpac.calibrators.equilibrium import Equilibrium
from rpac.certificate.atoms import distinct
from rpac.certificate.person import (
    DRAWS,
    Judge,
    People,
    drawn_limits,
    largest_drawn,
    on_a_person,
    worst_unit,
)
from rpac.errors import ExactRelease
from rpac.learned.sliced import SlicedStackelberg
from rpac.learned.stackelberg import Stackelberg
from rpac.noise.base import Law, Releasable, integer_table, look_up, study_uniforms
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, agreed_law, tabulate
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.members import Members
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Draws, Source, Subsets

METHODS: Mapping[str, Calibrator] = {
    "auto-pac": AutoPAC(),
    "channel": Equilibrium(family="channel"),
    "confident-auto-pac": ConfidentAutoPAC(),
    "efficient-pac": EfficientPAC(),
    "equilibrium": Equilibrium(),
    "isotropic": Isotropic(),
    "proportional": Proportional(),
    "sliced-sr-pac": SlicedStackelberg(),
    "sr-pac": Stackelberg(),
}

_COARSE = 64
"""Steps to a deviation of the grid on which one axis is searched."""
_RANKED = 256
_CROWD = 4_096
"""Units, the most exposed ones, that a search for noise looks at."""
"""Units, those with the largest bounds, on which several axes are searched."""
_STEPS = 200
_LEAST = -30.0
"""Log of the least share of Auto-PAC's power that is looked at."""


def calibrate(outputs: Outputs, budget: Any, method: str | Calibrator = "equilibrium") -> Law:
    """Return noise for these outputs and this budget.

    Args:
        outputs: From `simulate`, or an `Outputs` of your own.
        budget: `Nats`, `Bits`, `SuccessRate` or `ResidualEntropy`; a bare number is nats.
        method: One of `rpac.front.methods.METHODS`, or a `Calibrator`.

    Returns:
        Noise that is expected to meet the budget. It is a proposal: `certify` decides. Where all
        worlds agree on every number it has no power: there is nothing that it could hide.

    >>> import rpac
    >>> rpac.calibrate(rpac.Outputs([-1.0, 1.0]), 0.5)
    GridNoise(dim=1, axes=1, power=0.39...)
    >>> rpac.calibrate(rpac.Outputs([-1.0, 1.0]), 0.5, method="auto-pac")
    GaussianNoise(dim=1, power=0.58...)
    """
    law = proposed(outputs, budget, calibrator(method))
    bare = isinstance(law, Releasable) and law.power == 0
    if bare and not outputs.constant.all():
        warnings.warn(
            f"The budget of {as_budget(budget).nats(outputs.entropy):.4g} nats is at or above the "
            f"entropy of the outputs: no noise is needed. Releasing them bare takes "
            f"allow_exact=True.",
            ExactRelease,
            stacklevel=2,
        )
    return law


def proposed(outputs: Outputs, budget: Any, method: Calibrator) -> Law:
    """Return what `calibrate` returns, without a warning, which would depend on the outputs."""
    limit = as_budget(budget)
    nats = limit.nats(outputs.entropy)
    if outputs.constant.all():
        return exact_noise(outputs)  # a fact of the pool, which no noise hides
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        if outputs.kind == "label" or of_words(method):
            return worst_unit_channel(outputs, limit, method)
        return lifted(worst_unit_noise(outputs.within, limit), outputs)
    if needs_no_noise(outputs, nats):
        return exact_noise(outputs)
    return along(outputs, [nats], method)[0]


def along(outputs: Outputs, budgets: Sequence[float], method: Calibrator) -> list[Law]:
    """Return the noise of a method at increasing budgets: found in the span, where it can be."""
    inner = None if outputs.span is None else method.within(outputs.span)
    if inner is None:
        found = outputs.planning
        if len(budgets) == 1:
            return [method.propose(found, budgets[0])]
        return method.along(found, budgets)
    return [lifted(law, outputs) for law in along(outputs.within, budgets, inner)]


@overload
def lifted(law: Releasable, outputs: Outputs) -> Releasable: ...
@overload
def lifted(law: Law, outputs: Outputs) -> Law: ...
def lifted(law: Law, outputs: Outputs) -> Law:
    """Return a law on worlds in the coordinates of their span as one on the worlds themselves."""
    if outputs.span is None:
        return law
    if isinstance(law, GaussianNoise):
        return law.lifted(outputs.span)
    made = tabulate(outputs.within, law)
    assert isinstance(made, GridNoise | Codebook)
    return tabulate(outputs, made.lifted(outputs.span))


def calibrator(method: str | Calibrator) -> Calibrator:
    """Return the calibrator of a name, or the one given."""
    if isinstance(method, str):
        if method not in METHODS:
            raise refuse(f"a method among {sorted(METHODS)}", repr(method), "Or a Calibrator.")
        return METHODS[method]
    if not isinstance(method, Calibrator):
        raise refuse("a method's name or a Calibrator", repr(method), "Subclass rpac.Calibrator.")
    return method


def held_method(source: Source, method: str | Calibrator) -> Calibrator:
    """Return the calibrator of a name, or the one given, if a source can have it."""
    found = calibrator(method)
    if not isinstance(found, Equilibrium) or found.family != "channel":
        return found
    if isinstance(source, Subsets) and not np.ndim(found.words):
        raise refuse(
            "code words that are given, for half-samples of a table",
            "the method channel without: words found here would be answers about the pool",
            "Pass method=rpac.Equilibrium(family='channel', words=...), or use noise. Labels have "
            "a channel of their own with any method.",
        )
    if isinstance(source, Draws):
        raise refuse("finite worlds for a channel", "rpac.Draws", "Use rpac.Worlds, or noise.")
    return found


def method_name(method: str | Calibrator) -> str:
    """Return what a method is called in a request."""
    return method if isinstance(method, str) else type(method).__qualname__


def needs_no_noise(outputs: Outputs, nats: float) -> bool:
    """Tell whether a bare release stays within the budget."""
    if not outputs.exact:
        return False
    return entropy(distinct(outputs.within.values, outputs.weights)[1]) <= nats


def exact_noise(outputs: Outputs) -> Releasable:
    """Return the law of a bare release: no noise, on a grid finer than the outputs differ."""
    if outputs.kind == "label":
        return LabelChannel(np.eye(len(outputs.labels)))
    if outputs.constant.all():
        return agreed_law(outputs)
    if outputs.span is not None:
        return lifted(exact_noise(outputs.within), outputs)
    basis, spectrum = principal(outputs)
    whole = outputs.kind == "count" and outputs.dim == 1
    step = 1.0 if whole else float(np.sqrt(spectrum.sum())) * 2.0**-36
    axis = LatticeNoise(step, [0], [1.0])
    if whole:
        return GridNoise(np.eye(1), np.zeros(1), (axis,))
    return GridNoise(basis, outputs.center, (axis,) * spectrum.size)


def of_words(method: object) -> bool:
    """Whether a method proposes channels to code words."""
    return isinstance(method, Equilibrium) and method.family == "channel"


def worst_unit_channel(outputs: Outputs, limit: SuccessRate, method: Calibrator) -> Law:
    """Return the channel of labels, or to code words, that keeps every unit's success low.

    Success grows with the nats that a channel may leak, which are met from below.
    """
    method = method if of_words(method) else Equilibrium()
    low, high = np.log(1e-9), np.log(entropy(distinct(outputs.values, outputs.weights)[1]))
    found = method.propose(outputs, float(np.exp(low)))
    for _ in range(40 if outputs.kind == "label" else 16):
        middle = (low + high) / 2
        channel = method.propose(outputs, float(np.exp(middle)))
        stated = worst_unit(outputs, channel, DELTA / 2, 0)
        if stated is not None and stated <= limit.rate:
            low, found = middle, channel
        else:
            high = middle
    return found


def worst_unit_noise(outputs: Outputs, limit: SuccessRate) -> GaussianNoise:
    """Return the least Gaussian noise, of Auto-PAC's shape, that keeps every unit's success low.

    Success falls with the scale of Gaussian noise, so the scale is met from the safe side: on a
    coarser grid for one axis, by draws with a seed for several, so that a plan and its release
    find the same noise. What was found is held against the figure that a certificate will state,
    and stepped up where that asks for more.
    """
    noise = AutoPAC().propose(outputs, max(limit.nats(), 1e-3))
    excess = limit.rate - limit.prior
    room = 2e-3 * excess
    estimate = _coarse_success if noise.variances.size == 1 else _seeded_success

    def met(among: Outputs) -> GaussianNoise:
        def gap(t: float) -> float:
            if t < _LEAST:  # hardly any noise is enough
                return -room
            return estimate(among, noise.scaled(np.exp(t))) - limit.rate + room

        t = max(meet(gap, 4 * room, width=1e-3), _LEAST)
        return noise.scaled(float(np.exp(t)))

    found = met(_exposed(outputs, noise))
    if _many(outputs):
        found = met(_exposed(outputs, noise, found))
    stated = _exact_figure if noise.variances.size == 1 else _seeded_figure
    for _ in range(_STEPS):
        if stated(outputs, found) <= limit.rate:
            break
        found = found.scaled(1.01)
    return found


def _many(outputs: Outputs) -> bool:
    """Whether a search looks at the most exposed units of a pool alone."""
    return outputs.members is not None and outputs.members.units > 4 * _CROWD


def _exposed(outputs: Outputs, *noises: GaussianNoise) -> Outputs:
    """Return the outputs for the units that are most exposed under each of some noises.

    A search among them is a proposal: what it finds is held against the figure for everybody.
    """
    if not _many(outputs):
        return outputs
    found: set[int] = set()
    for noise in noises:
        law = tabulate(outputs, noise)
        people = People.of(outputs.codes(law), outputs.weights, _members(outputs))
        found |= {*np.argsort(-drawn_limits(people, law), kind="stable")[:_CROWD].tolist()}
    return outputs.among(np.array(sorted(found)))


def _members(outputs: Outputs) -> Members:
    assert outputs.members is not None
    return outputs.members


def _coarse_success(outputs: Outputs, noise: GaussianNoise) -> float:
    """Return the success on the worst unit for one axis, on a grid of a few steps a deviation."""
    law = tabulate(outputs, noise)
    if law.scales[0] > 2 * _COARSE:
        steps = np.sqrt(noise.variances) / _COARSE
        law = GridNoise.gaussians(noise.basis, outputs.center, steps, _COARSE)
    return _figure(outputs, law, 0)


def _figure(outputs: Outputs, law: GridNoise, draws: int | None) -> float:
    """Return the success on the worst unit, as a certificate would state it."""
    found = worst_unit(outputs, law, DELTA / 2, draws)
    if found is None:
        got = f"{len(outputs.values)} worlds, too many for this many units"
        raise refuse("outputs with a membership figure", got, "Use fewer worlds, or a Nats budget.")
    return found


def _exact_figure(outputs: Outputs, noise: GaussianNoise) -> float:
    """Return what the certificate will state, for one axis."""
    return _figure(outputs, tabulate(outputs, noise), 0)


def _seeded_figure(outputs: Outputs, noise: GaussianNoise) -> float:
    """Return what a certificate by draws would state, from draws with a seed."""
    law, people, judge = _seeded_judge(outputs, noise)
    return largest_drawn(people, law, judge, DELTA / 2)


def _seeded_judge(outputs: Outputs, noise: GaussianNoise) -> tuple[GridNoise, People, Judge]:
    """Return the law, the units, and draws of what is released; equal in a plan and its release."""
    law = tabulate(outputs, noise)
    people = People.of(outputs.codes(law), outputs.weights, _members(outputs))
    rng = np.random.default_rng(0)
    worlds = look_up(integer_table(people.weights), study_uniforms(rng, DRAWS))
    return law, people, Judge.at(people, law, worlds, law.at(study_uniforms(rng, DRAWS, law.rank)))


def _seeded_success(outputs: Outputs, noise: GaussianNoise) -> float:
    """Return what a certificate by draws will very likely say at most, for several axes.

    The mean on the units with the largest bounds, from draws with a seed; and the certificate's
    own interval and scatter (three standard errors, and three of this estimate's).
    """
    law, people, judge = _seeded_judge(outputs, noise)
    units = np.argsort(-drawn_limits(people, law), kind="stable")[:_RANKED]
    right = judge.right(people, units)
    means, errors = right.mean(axis=0), right.std(axis=0) / np.sqrt(DRAWS)
    goal = float(np.log(512 / DELTA))  # of the first places in a certificate's order
    return float((means + errors * (np.sqrt(2 * goal) + 3 * np.sqrt(2))).max())
