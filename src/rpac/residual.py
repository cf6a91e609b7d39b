"""Residual privacy on finite worlds, exactly: what a release takes, and what remains.

With D the prior of the secret and R a reference for it, an f-divergence splits

    intrinsic privacy = -D_f(D || R) = posterior disadvantage + PAC advantage.

Everything here is a finite sum: the joint law of secret and release is a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import array, in_range, probabilities, refuse
from rpac._base.entropy import entropy
from rpac._base.types import Floats
from rpac.certificate.exact import lattice_law
from rpac.certificate.person import unit_success
from rpac.noise.base import Law, Noise
from rpac.noise.channel import Channel
from rpac.noise.grid import GridNoise, tabulate
from rpac.worlds.outputs import Outputs

Name = Literal["kl", "total-variation", "chi-square", "hellinger"]
_GENERATORS: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    # f on (0, inf) with f(1) = 0, and f(0)
    "kl": (lambda t: t * np.log(t), 0.0),
    "total-variation": (lambda t: 0.5 * np.abs(t - 1), 0.5),
    "chi-square": (lambda t: np.square(t - 1), 1.0),
    "hellinger": (lambda t: np.square(np.sqrt(t) - 1), 1.0),
}


def f_divergence(p: Any, q: Any, name: Name = "kl") -> float:
    """Return D_f(p || q) of two finite laws; infinite where p has mass and q has none.

    "hellinger" is the squared distance sum (sqrt p - sqrt q)^2.

    >>> round(f_divergence([0.5, 0.5], [0.9, 0.1], "total-variation"), 12)
    0.4
    """
    if name not in _GENERATORS:
        raise refuse(f"a divergence among {sorted(_GENERATORS)}", repr(name), "Choose one.")
    size = np.size(p)
    a, b = probabilities(p, "p", size=size), probabilities(q, "q", size=size)
    if (a[b == 0] > 0).any():
        return math.inf
    f, at_zero = _GENERATORS[name]
    a, b = a[b > 0], b[b > 0]
    ratio = np.where(a > 0, a / b, 1.0)
    return max(0.0, float(b @ np.where(a > 0, f(ratio), at_zero)))


def pac_advantage(error: float, prior_error: float, name: Name = "kl") -> float:
    """Return the PAC advantage D_f(1_error || 1_prior_error) of an attack.

    Args:
        error: Probability delta that the attack fails on the release.
        prior_error: The same for the best guess without it, in (0, 1).
        name: The divergence.
    """
    in_range(prior_error, "prior_error", 0.0, 1.0)
    if not 0 <= error <= 1:
        raise refuse("an error probability", repr(error), "Pass 1 - success.")
    return f_divergence([error, 1 - error], [prior_error, 1 - prior_error], name)


@final
@dataclass(frozen=True, eq=False)
class SecretReference:
    """A reference R for the secret, as masses on the worlds.

    Attributes:
        name: The construction.
        masses: (m,) masses on the worlds, summing to 1.
        differential_entropy: Entropy in nats of the continuous law it was read off; None for
            the uniform pool.
    """

    name: str
    masses: Floats
    differential_entropy: float | None = None

    @property
    def entropy(self) -> float:
        """V = H(R) in nats, of the masses."""
        return entropy(self.masses[self.masses > 0])


def uniform_pool(worlds: int) -> SecretReference:
    """Return the uniform reference on the worlds."""
    return SecretReference("uniform pool", np.full(worlds, 1.0 / worlds))


def maximum_entropy(points: Any, weights: Any = None) -> SecretReference:
    """Return the Gaussian with the mean and covariance of (m, d) secrets, read off at them."""
    x, p = _secrets(points, weights)
    centred = x - p @ x
    cov = (centred * p[:, None]).T @ centred
    sign, log_det = np.linalg.slogdet(cov)
    if sign <= 0 or not math.isfinite(log_det):
        raise refuse(
            "secrets that span their space",
            f"a singular covariance of {x.shape[1]} columns",
            "Drop constant columns, or use uniform_pool.",
        )
    solved = np.linalg.solve(cov, centred.T).T
    whole = 0.5 * (x.shape[1] * math.log(2 * math.pi * math.e) + float(log_det))
    return _read_off("maximum-entropy Gaussian", -0.5 * (centred * solved).sum(axis=1), whole)


def pulled_back(points: Any, location: Any = 0.0, scale: Any = 1.0) -> SecretReference:
    """Return the unit cube's uniform law pulled back by a sigmoid in each coordinate.

    The map u -> location + scale * logit(u) makes it a product of logistic laws, whose entropy
    is log(scale) + 2 in each coordinate.
    """
    x, _ = _secrets(points, None)
    middle, width = (np.broadcast_to(np.asarray(v, float), x.shape[1:]) for v in (location, scale))
    if not (width > 0).all():
        raise refuse("positive scales", scale, "The map must be one-to-one.")
    t = np.abs(x - middle) / width
    log_r = (-t - 2 * np.log1p(np.exp(-t)) - np.log(width)).sum(axis=1)
    return _read_off("pull-back of the unit cube", log_r, float((np.log(width) + 2).sum()))


def truncated_uniform(points: Any, low: Any, high: Any) -> SecretReference:
    """Return the uniform law on a box that holds every secret.

    Raises:
        InputError: If a secret lies outside: the divergence would be infinite.
    """
    x, _ = _secrets(points, None)
    a, b = (np.broadcast_to(np.asarray(v, float), x.shape[1:]) for v in (low, high))
    if not (np.isfinite(a) & np.isfinite(b) & (a < b)).all() or (x < a).any() or (x > b).any():
        raise refuse(
            "a bounded box that holds every secret",
            f"low={low!r} and high={high!r}",
            "Widen it, or use maximum_entropy.",
        )
    return _read_off("truncated uniform", np.zeros(len(x)), float(np.log(b - a).sum()))


def _secrets(points: Any, weights: Any) -> tuple[Floats, Floats]:
    x = array(points, "points", 2)
    equal = np.full(len(x), 1.0 / len(x))
    return x, equal if weights is None else probabilities(weights, "weights", size=len(x))


def _read_off(name: str, log_density: Floats, whole: float) -> SecretReference:
    masses = np.exp(log_density - log_density.max())
    return SecretReference(name, masses / masses.sum(), whole)


def intrinsic_privacy(weights: Any, reference: SecretReference, name: Name = "kl") -> float:
    """Return -D_f(D || R), at most 0, for the prior D = weights.

    Raises:
        InputError: If it is not finite: the reference must give mass to every world.
    """
    value = f_divergence(weights, reference.masses, name)
    if not math.isfinite(value):
        raise refuse(
            "a reference with mass on every world",
            f"an infinite divergence from {reference.name!r}",
            "Use uniform_pool or a wider reference.",
        )
    return -value


def joint_law(outputs: Outputs, noise: Law) -> Floats:
    """Return P(world, release), (m, cells), for channels or noise in one direction."""
    p = outputs.weights
    law = tabulate(outputs, noise)
    if isinstance(law, Channel):
        return np.asarray(p[:, None] * law.matrix[outputs.codes(law)[:, 0]])
    assert isinstance(law, GridNoise)
    if law.rank != 1:
        raise refuse(
            "labels, or outputs in one direction",
            f"{law.rank} directions",
            "Exact sums take one; certify bounds the rest.",
        )
    dense = law.axes[0].dense
    starts, whole = lattice_law(outputs.codes(law)[:, 0], p, law.axes[0])
    table = np.zeros((p.size, whole.size))
    for row, start, weight in zip(table, starts, p, strict=True):
        row[start : start + dense.size] = weight * dense
    return table


@final
@dataclass(frozen=True)
class ResidualPrivacy:
    """Intrinsic privacy, split by a release into what is lost and what remains; nats for "kl".

    Attributes:
        divergence: The f-divergence.
        intrinsic: -D_f(D || R).
        prior_success: Success of the best guess of the world without the release.
        success: Success of the best attack with it.
        advantage: D_f of the two: the PAC advantage of that attack.
        disadvantage: intrinsic - advantage, the posterior disadvantage.
        information: D_f(P_XY || P_X x P_Y), at least the advantage of every attack.
        bound: intrinsic - information, at most the disadvantage under every attack.
    """

    divergence: str
    intrinsic: float
    prior_success: float
    success: float
    advantage: float
    disadvantage: float
    information: float
    bound: float


def residual_privacy(
    outputs: Outputs,
    noise: Law,
    reference: SecretReference | None = None,
    name: Name = "kl",
) -> ResidualPrivacy:
    """Return the residual privacy of a release against naming the world, as finite sums.

    Args:
        outputs: Finite worlds.
        noise: A label channel, or noise on outputs that differ in one direction.
        reference: By default the uniform pool.
        name: The divergence.

    >>> import rpac
    >>> found = residual_privacy(rpac.Outputs([0, 1]), rpac.LatticeNoise(1.0, [0, 1], [0.5, 0.5]))
    >>> round(found.success, 12)
    0.75
    """
    p = outputs.weights
    joint = joint_law(outputs, noise)
    right = reference or uniform_pool(p.size)
    prior, success = float(p.max()), float(joint.max(axis=0).sum())
    return _split(p, right, joint, (prior, min(success, 1.0)), name)


def _split(
    p: Floats, reference: SecretReference, joint: Floats, success: tuple[float, float], name: Name
) -> ResidualPrivacy:
    intrinsic = intrinsic_privacy(p, reference, name)
    advantage = pac_advantage(1 - success[1], 1 - success[0], name)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    information = f_divergence(joint.ravel(), product.ravel(), name)
    return ResidualPrivacy(
        name, intrinsic, *success, advantage, intrinsic - advantage, information,
        intrinsic - information,
    )  # fmt: skip


def conditional_entropy(joint: Floats) -> float:
    """Return H(X | Y) in nats of a table P(x, y)."""
    law = joint.sum(axis=0)
    return entropy(joint[joint > 0]) - entropy(law[law > 0])


def cross_entropy(weights: Any, reference: SecretReference) -> float:
    """Return E_D[-log r], the constant of the KL characterisation.

    KL residual privacy is at least H(X | Y) - E_D[-log r], for every reference. For the uniform
    pool, and for a reference that matches the moments its log density is made of, the constant
    is V = H(R).
    """
    p = probabilities(weights, "weights", size=reference.masses.size)
    return float(-(p[p > 0] @ np.log(reference.masses[p > 0])))


def membership_residual(
    outputs: Outputs, noise: Noise, unit: int, name: Name = "kl"
) -> ResidualPrivacy:
    """Return the residual privacy of one unit's membership on half-samples, exactly.

    The secret is one bit, in or out; its reference is the fair coin.
    """
    members = outputs.members
    if members is None or not 0 <= unit < members.units:
        raise refuse("half-samples and one of their units", unit, "Simulate on rpac.Subsets.")
    own = members.of(np.array([unit]))
    inside = own[:, 0].astype(np.float64)
    bit = np.stack([1 - inside, inside]) @ joint_law(outputs, noise)
    law = tabulate(outputs, noise)
    success = unit_success(outputs.codes(law), outputs.weights, own, law, delta=0.5)[0]
    p = bit.sum(axis=1)
    return _split(p / p.sum(), uniform_pool(2), bit, (float(p.max()), float(success)), name)
