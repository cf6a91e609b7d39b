"""The law that is really released: quantised outputs plus independent table noise on each axis."""

from __future__ import annotations

from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, final, overload

import numpy as np

from rpac._base.checks import array, refuse
from rpac._base.frozen import Frozen, fixed
from rpac._base.hashing import digest
from rpac._base.types import Floats, Ints, Json, Table
from rpac.noise.base import Law, Noise, Releasable, study_uniforms, system_uniforms
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import (
    GaussianNoise,
    axis_sums,
    covariance,
    in_numbers,
    refuse_bare,
    seen_from,
)
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise, TableLaw, gaussian_law
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span

STEPS_PER_SIGMA = 1024
"""Fineness of the grid for real outputs: rounding moves a world by at most sigma / 2048."""
OPEN_STEPS = 128
"""The same for draws of open distributions, whose references have a cell for every step."""


@final
class Laws(Frozen):
    """Independent tables, one for each axis, and all that follows from them, in steps.

    Attributes:
        shared: Whether all axes draw from one table.
        gaussian: Whether every table is a discrete Gaussian.
        scales: (r,) scales of the discrete Gaussians; NaN for other tables.
        means, variances, powers: (r,) moments.
        digest: SHA-256 of scales and tables.
    """

    def __init__(self, each: tuple[TableLaw, ...]) -> None:
        strange = [law for law in each if type(law) is not TableLaw]
        if strange:  # a subclass might draw from another table than it shows
            raise refuse("tables of rpac's own kind", repr(strange[0]), "Use rpac.LatticeNoise.")
        self.each, self.shared = each, len(set(each)) == 1
        moments = [(law.scale or np.nan, law.mean, law.variance, law.power) for law in each]
        rows: list[Floats] = list(np.array(moments).T)
        self.scales, self.means, self.variances, self.powers = rows
        self.gaussian = not np.isnan(self.scales).any()
        self.digest = digest(self.scales, *(law.digest for law in each))
        self.freeze("scales", "means", "variances", "powers")

    def at(self, uniforms: Table) -> Ints:
        """Return the (n, r) integers that (n, r) uniform integers select."""
        if self.shared:
            return self.each[0].at(uniforms)
        return np.stack([law.at(uniforms[:, i]) for i, law in enumerate(self.each)], axis=1)


_laws = lru_cache(maxsize=16)(Laws)


@final
class GridNoise(Noise, Releasable):
    """Table noise on the axes of a public basis; made by `tabulate`.

    A world z becomes the integers round((z - center) @ basis / step); noise is added to those
    integers; `decode` of the sum is the released value.

    Args:
        basis: (d, r) orthonormal columns.
        center: (d,) public origin.
        axes: r tables, one for each column.

    Attributes:
        span: The span of some worlds that the noise lies in, or None. Basis and centre are then in
            its coordinates, and so are outputs before they become integers.
        steps: (r,) grid spacing of each axis.
        laws: The tables of all axes; worked out once for noises that have them in common.
    """

    def __init__(self, basis: Any, center: Any, axes: tuple[LatticeNoise, ...]) -> None:
        if not axes or not all(type(axis) is LatticeNoise for axis in axes):
            raise refuse("LatticeNoise on every axis", f"{axes}", "Use rpac.tabulate.")
        laws = _laws(tuple(axis.law for axis in axes))
        self._hold(np.asarray(basis), np.asarray(center), [axis.step for axis in axes], laws)

    @classmethod
    def gaussians(cls, basis: Floats, center: Floats, steps: Any, scale: float) -> GridNoise:
        """Return discrete Gaussians of one scale, which share a table, on axes of given steps."""
        noise = object.__new__(cls)
        noise._hold(basis, center, steps, _laws((gaussian_law(scale),) * len(steps)))
        return noise

    def _anew(self) -> GridNoise:
        """Return the same noise, made of plain copies of its parts; tables are worked out again."""
        parts = np.array(self.basis), np.array(self.center), np.array(self.steps)
        new = {id(law): law._anew() for law in self.laws.each if type(law) is TableLaw}
        laws = _laws(tuple(new[id(law)] for law in self.laws.each))
        noise = object.__new__(GridNoise)
        noise._hold(*parts, laws, self.span)
        return noise

    def lifted(self, span: Span | None) -> GridNoise:
        """Return the same noise on outputs of which these coordinates are those of their span."""
        noise = object.__new__(GridNoise)
        noise._hold(self.basis, self.center, self.steps, self.laws, span)
        return noise

    @property
    def within(self) -> GridNoise:
        """The same noise on the coordinates of its span; itself, without one."""
        return self if self.span is None else self.lifted(None)

    def _hold(
        self, basis: Floats, center: Floats, steps: Any, laws: Laws, span: Span | None = None
    ) -> None:
        d, r = center.size, len(laws.each)
        if basis.shape != (d, r) or center.ndim != 1:
            raise refuse(
                "a (d, r) basis, a (d,) center and r axes",
                f"{basis.shape}, {center.shape} and {r} axes",
                "Use rpac.tabulate.",
            )
        if not min(steps) > 0:
            raise refuse("positive steps", min(steps), "Drop axes without noise.")
        whole = np.concatenate((basis, center, steps), axis=None)
        whole = fixed(array(whole, "basis, center and steps", 1))  # the others are its parts
        self.basis, self.center = whole[: d * r].reshape(d, r), whole[d * r : -r]
        self.steps, self.laws, self._whole, self.span = whole[-r:], laws, whole, span
        self._power = float(np.square(self.steps) @ laws.powers)
        self.freeze()

    @cached_property
    def axes(self) -> tuple[LatticeNoise, ...]:
        """The noise of each axis."""
        pairs = zip(self.steps.tolist(), self.laws.each, strict=True)
        return tuple(LatticeNoise.of(step, law) for step, law in pairs)

    @property
    def dim(self) -> int:
        """Number of output coordinates, d."""
        return int(self.basis.shape[0]) if self.span is None else self.span.dim

    @property
    def rank(self) -> int:
        """Number of axes, r."""
        return len(self.steps)

    @property
    def scales(self) -> Floats:
        """Scale of each discrete Gaussian axis in steps, (r,); NaN for other tables."""
        return self.laws.scales

    @property
    def cov(self) -> Floats:
        """Covariance, (d, d).

        Raises:
            TooLarge: If that many numbers do not fit into memory.
        """
        return covariance(self.basis, self.axis_variances, self.span)

    @property
    def variances_of_numbers(self) -> Floats:
        """Variance of each coordinate, (d,)."""
        return axis_sums(self.basis, self.axis_variances, self.span)

    @property
    def axis_variances(self) -> Floats:
        """Variance of the noise on each axis, (r,)."""
        return np.asarray(np.square(self.steps) * self.laws.variances)

    @property
    def mean(self) -> Floats:
        """E B, (d,)."""
        return in_numbers(self.basis @ (self.steps * self.laws.means), self.span)

    @property
    def power(self) -> float:
        """E ||B||^2."""
        return self._power

    def power_in(self, scale: Floats) -> float:
        """Return E ||scale * B||^2 for (d,) factors: the power in other units."""
        each = self.variances_of_numbers + np.square(self.mean)
        return float(np.square(scale) @ each)

    @property
    def gaussian(self) -> bool:
        """Whether every axis is a discrete Gaussian."""
        return self.laws.gaussian

    def encode(self, values: Floats) -> Ints:
        """Return the (n, r) integers of (n, d) values; what lies outside the basis is cut off."""
        found = values if self.span is None else self.span.along(values)
        return self.quantise((found - self.center) @ self.basis)

    def encode_rows(self, values: Floats) -> Ints:
        """Return the same integers by sums whose order no other row can change.

        A matrix product may round a row differently alone and among others. Draws are encoded
        apart (simulated ones together, the released one alone), so they are encoded this way.
        """
        shifted = values - self.center
        along = np.zeros((len(values), len(self.steps)))
        for k in range(self.dim):
            along += shifted[:, [k]] * self.basis[k]
        return self.quantise(along)

    def quantise(self, along: Floats) -> Ints:
        """Return the (n, r) integers nearest to (n, r) coordinates along the basis."""
        codes = np.rint(along / self.steps)
        if not np.abs(codes).max(initial=0.0) <= 2**50:
            raise refuse(
                "outputs within 2**50 grid steps",
                "a wider spread",
                "Clip the outlying worlds.",
            )
        return np.asarray(codes.astype(np.int64))

    def decode(self, codes: Ints) -> Floats:
        """Return the (n, d) values of (n, r) integers, or one of one: public post-processing."""
        found = self.center + (codes * self.steps) @ self.basis.T
        return np.asarray(found if self.span is None else self.span.back(found))

    def noisy(self, codes: Ints) -> Ints:
        """Return one output's (r,) integers plus one draw of noise from the operating system.

        Guarantees:
            The sum lies on the public grid, whatever the secret; no seed, no float addition.
        """
        return np.asarray(codes + self.at(system_uniforms(1, self.rank))[0])

    def log_likelihood(self, codes: Ints, released: Ints) -> Floats:
        """Return log P(released | world), (m,), for (m, r) worlds: sums over independent axes."""
        if self.laws.shared:
            low, log_mass = self.laws.each[0].log_mass
            cells = ((released - low) - codes).T
            # `sum` without its wrapper
            return np.asarray(np.add.reduce(log_mass.take(cells, mode="clip"), axis=0))
        found = np.zeros(len(codes))
        for c, law in enumerate(self.laws.each):
            low, log_mass = law.log_mass
            found += log_mass.take(released[c] - codes[:, c] - low, mode="clip")
        return found

    def error(self) -> dict[str, Floats]:
        """Return the deviations of the released numbers' noise, and its mean if it is not 0."""
        found = {"noise": np.sqrt(self.variances_of_numbers)}
        return found if self.gaussian else found | {"bias": self.mean}  # Gaussians are even

    def at(self, uniforms: Table) -> Ints:
        """Return the (n, r) integer noise that (n, r) uniform integers select."""
        return self.laws.at(uniforms)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, d) draws for study."""
        codes = self.at(study_uniforms(rng, n, len(self.steps)))
        return in_numbers((codes * self.steps) @ self.basis.T, self.span)

    def applied(self, outputs: Outputs, worlds: Ints, rng: np.random.Generator) -> Floats:
        """Return (n, d) outputs as they might be released, for study: on the grid, with noise."""
        noise = self.at(study_uniforms(rng, len(worlds), self.rank))
        return self.decode(self.encode(outputs.values[worlds]) + noise)

    def log_density(self, points: Floats) -> Floats:
        """Return the log mass at (n, d) points of the noise grid; -inf off it."""
        found = np.asarray(points, np.float64)
        along = (found if self.span is None else self.span.directions(found)) @ self.basis
        each = [axis.log_density(along[:, [i]]) for i, axis in enumerate(self.axes)]
        return np.asarray(np.sum(each, axis=0))

    @property
    def digest(self) -> str:
        """SHA-256 of basis, center, steps and tables; and of the span, where it has one."""
        key = sha256(f"{self.basis.shape} {self.laws.digest} ".encode() + self._whole.tobytes())
        if self.span is not None:
            key.update(self.span.digest.encode())
        return key.hexdigest()

    def describe(self) -> Json:
        """Return the public description."""
        return {
            "family": "grid",
            "dim": self.dim,
            "rank": self.rank,
            "power": self.power,
            "gaussian": self.gaussian,
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        return f"GridNoise(dim={self.dim}, axes={len(self.steps)}, power={self.power:.6g})"


@overload
def tabulate(outputs: Outputs, noise: Noise) -> GridNoise: ...
@overload
def tabulate(outputs: Outputs, noise: Law) -> Releasable: ...
def tabulate(outputs: Outputs, noise: Law) -> Releasable:
    """Return the released form of a law: grid and integer tables for these outputs.

    Counts keep their own lattice (whole steps) where noise is aligned with the coordinates; others
    get a grid of sigma / 1024 on each axis of the noise (draws: sigma / 128). A channel is a table
    already; a code book takes in how far its words are from these outputs.
    """
    if isinstance(noise, Frozen):
        noise.unhidden()
    if type(noise) is Codebook:
        return noise.of(outputs)
    if outputs.kind == "label" or not isinstance(noise, Noise):
        return _channel(outputs, noise)
    if noise.dim != outputs.dim:
        expected = f"numeric outputs with {noise.dim} coordinates"
        raise refuse(expected, f"{outputs!r} with {noise!r}", "Match the two.")
    return _tabulated(outputs, noise)


def _channel(outputs: Outputs, law: Law) -> LabelChannel:
    channel = law if type(law) is LabelChannel else None  # a subclass might draw another law
    fits = channel is not None and len(channel.tables) == len(outputs.labels)
    if channel is None or not fits or outputs.kind != "label":
        expected = "labels with a LabelChannel of as many rows"
        raise refuse(expected, f"{outputs!r} with {law!r}", "Match the two.")
    channel.whole()
    return channel


def _tabulated(outputs: Outputs, noise: Noise) -> GridNoise:
    if type(noise) is GridNoise:
        return noise
    if type(noise) is LatticeNoise:
        return GridNoise(np.eye(1), np.zeros(1), (noise,))
    if type(noise) is not GaussianNoise:  # a subclass might draw from another law than it says
        raise refuse(
            "GaussianNoise, LatticeNoise or GridNoise", repr(noise), "Only tables are released."
        )
    if not noise.drop:
        refuse_bare(seen_from(outputs.planning.values, outputs.center, noise.span), noise.basis)
    sigmas = np.sqrt(noise.variances)
    if outputs.kind == "count" and _aligned(noise):
        steps = 2.0 ** np.floor(np.log2(np.maximum(sigmas / STEPS_PER_SIGMA, 1.0)))
        axes = tuple(LatticeNoise.gaussian(t, s / t) for s, t in zip(sigmas, steps, strict=True))
        return GridNoise(noise.basis, np.zeros(noise.dim), axes)
    fine = STEPS_PER_SIGMA if outputs.exact else OPEN_STEPS
    if noise.span is None:
        return GridNoise.gaussians(noise.basis, outputs.center, sigmas / fine, fine)
    center = noise.span.along(outputs.center[None])[0]
    return GridNoise.gaussians(noise.basis, center, sigmas / fine, fine).lifted(noise.span)


def _aligned(noise: GaussianNoise) -> bool:
    """Whether the axes of a noise are the numbers themselves, in their order."""
    d, r = noise.basis.shape
    if noise.span is not None or d != r or np.count_nonzero(noise.basis) != d:
        return False
    return bool((np.diag(noise.basis) == 1.0).all())


def narrowed(outputs: Outputs, noise: Any) -> tuple[Outputs, Any]:
    """Return worlds and law in the coordinates of the span that the law lies in, if it has one.

    What is released is a point of that span, so that nothing of it is lost, to an attack either.
    """
    span = getattr(noise, "span", None)
    return (outputs, noise) if span is None else (outputs.along(span), noise.within)


def agreed_law(outputs: Outputs) -> Releasable:
    """Return the law of an answer on which all worlds agree: as one of them has it, without noise.

    Its step is so wide that worlds which differ by rounding alone have the same integers, so it
    tells nothing of the drawn world; that they agree is a fact of the pool.
    """
    if outputs.kind == "label":
        return LabelChannel(np.eye(1))
    axis = LatticeNoise(max(1.0, outputs.reach), [0], [1.0])
    return GridNoise(np.eye(outputs.dim, 1), outputs.values[0], (axis,))
