"""Noise families with parameters to learn, in JAX: samples that carry gradients, and densities.

Coordinates are scaled so that Auto-PAC's noise has unit variance on every axis. A family never sees
the secret. What was learned is released only as a table or as `GaussianNoise`; nothing here is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import RationalQuadraticSpline
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, logsumexp
from paramax import unwrap

from rpac._base.types import Floats

Params: TypeAlias = Any
"""A tree of arrays."""
_NARROWEST = 0.1
"""Least width of a mixture component, in units of Auto-PAC's noise."""


@dataclass(frozen=True)
class Family:
    """A family of noise laws in r dimensions; hashable, so that compiled code is shared.

    Attributes:
        components: Components of a mixture, rank of a low-rank part, or knots of a flow.
    """

    components: int = 7

    @abstractmethod
    def init(self, r: int, start: float) -> Params:
        """Return parameters near independent normals of standard deviation `start`."""

    @abstractmethod
    def sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return at least n draws and their weights, (k, r) and (k,), of mean weight 1."""

    @abstractmethod
    def scores(self, params: Params, y: Any, points: Any) -> Any:
        """Return the log density of y - point up to a constant in the point, (n, m)."""


@dataclass(frozen=True)
class GaussianFamily(Family):
    """Gaussian noise; subclasses say how its covariance is parametrised."""

    @abstractmethod
    def cov(self, params: Params) -> Any:
        """Return the covariance, (r, r)."""

    def sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return draws in pairs +-b."""
        factor = self.factor(params)
        half = jax.random.normal(key, (n // 2, factor.shape[0])) @ factor.T
        return jnp.concatenate([half, -half]), jnp.ones(2 * (n // 2))

    def factor(self, params: Params) -> Any:
        """Return a lower-triangular factor of the covariance."""
        return jnp.linalg.cholesky(self.cov(params))

    def scores(self, params: Params, y: Any, points: Any) -> Any:
        """Return -|y - point|^2 / 2 in units of the noise: one matrix product."""
        factor = self.factor(params)
        u = solve_triangular(factor, y.T, lower=True).T
        v = solve_triangular(factor, points.T, lower=True).T
        own = 0.5 * jnp.square(u).sum(axis=1)
        return u @ v.T - 0.5 * jnp.square(v).sum(axis=1) - own[:, None]


@final
@dataclass(frozen=True)
class FullGaussian(GaussianFamily):
    """Every covariance, by its log-Cholesky factor.

    Attributes:
        blocks: Sizes of groups of axes whose noise is independent of the others'; none for one.
    """

    blocks: tuple[int, ...] = ()

    def init(self, r: int, start: float) -> Params:
        """Return start^2 times the identity."""
        return {"log_diag": jnp.full(r, math.log(start)), "lower": jnp.zeros((r, r))}

    def factor(self, params: Params) -> Any:
        """Return the factor: rows scale with their own diagonal, so that steps are relative."""
        scale, lower = jnp.exp(params["log_diag"]), jnp.tril(params["lower"], -1)
        if self.blocks:
            owner = np.repeat(np.arange(len(self.blocks)), self.blocks)
            lower = jnp.where(owner[:, None] == owner, lower, 0.0)
        return scale[:, None] * (jnp.eye(scale.size) + lower)

    def cov(self, params: Params) -> Any:
        """Return factor @ factor.T."""
        factor = self.factor(params)
        return factor @ factor.T


@final
@dataclass(frozen=True)
class LowRankGaussian(GaussianFamily):
    """A diagonal plus `components` directions."""

    def init(self, r: int, start: float) -> Params:
        """Return start^2 times the identity, plus a sliver along fixed directions."""
        rank = min(self.components, r)
        wave = jnp.cos(jnp.outer(jnp.arange(r) + 0.5, jnp.arange(1, rank + 1)) * math.pi / r)
        return {"log_diag": jnp.full(r, math.log(start)), "low": 0.05 * start * wave}

    def cov(self, params: Params) -> Any:
        """Return diag + low @ low.T."""
        return jnp.diag(jnp.exp(2 * params["log_diag"])) + params["low"] @ params["low"].T


@dataclass(frozen=True)
class ProductFamily(Family):
    """Independent noise on every axis; subclasses give the law of one axis.

    Every leaf of the parameters has a leading axis of length r.
    """

    def init(self, r: int, start: float) -> Params:
        """Return the same law on every axis."""
        one = self.axis_init(start)
        return jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], r, axis=0), one)

    @abstractmethod
    def axis_init(self, start: float) -> Params:
        """Return parameters of one axis."""

    @abstractmethod
    def axis_sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return n draws of one axis and the gradient-carrying weights 1, both (n,)."""

    @abstractmethod
    def axis_log_density(self, params: Params, x: Any) -> Any:
        """Return log q at places of any shape."""

    def sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return draws; weights are 1 and carry the gradient of discrete choices."""
        r = jax.tree.leaves(params)[0].shape[0]
        draws, weights = jax.vmap(lambda p, k: self.axis_sample(p, k, n))(
            params, jax.random.split(key, r)
        )
        weight = jnp.prod(weights, axis=0)
        return draws.T, weight / weight.mean()

    def scores(self, params: Params, y: Any, points: Any) -> Any:
        """Return the sum over axes, one axis at a time."""

        def add(total: Any, axis: Any) -> tuple[Any, None]:
            p, own, others = axis
            return total + self.axis_log_density(p, own[:, None] - others), None

        start = jnp.zeros((y.shape[0], points.shape[0]))
        return jax.lax.scan(add, start, (params, y.T, points.T))[0]

    def axis_grid(self, params: Params, axis: int) -> tuple[float, float]:
        """Return (step, reach) of a lattice that resolves the law of one axis."""
        draws = np.asarray(self.sample(params, jax.random.key(0), 20_000)[0])[:, axis]
        spread = float(draws.std())
        return spread / 256, 1.5 * float(np.abs(draws).max()) + 4 * spread


@final
@dataclass(frozen=True)
class GaussianMixture(ProductFamily):
    """A mixture of normals on every axis."""

    def axis_init(self, start: float) -> Params:
        """Return components across +-3 standard deviations, with a normal's weights."""
        means = np.linspace(-3.0, 3.0, self.components)
        gap = means[1] - means[0]
        return {
            "logits": -0.5 * np.square(means),
            "means": start * means,
            "log_widths": np.full(self.components, math.log(0.6 * gap * start)),
        }

    def _widths(self, params: Params) -> Any:
        return _NARROWEST + jnp.exp(params["log_widths"])

    def sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return draws; in one dimension every component is drawn, weighted by its share."""
        r, k = params["logits"].shape
        if r > 1:
            return super().sample(params, key, n)
        unit = jax.random.normal(key, (k, -(-n // k)))
        draws = params["means"][0][:, None] + self._widths(params)[0][:, None] * unit
        share = k * jax.nn.softmax(params["logits"][0])
        return draws.reshape(-1, 1), jnp.repeat(share, unit.shape[1])

    def axis_sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return draws of picked components; the weights carry the gradient of their shares."""
        pick, unit = jax.random.split(key)
        chosen = jax.random.categorical(pick, params["logits"], shape=(n,))
        log_share = jax.nn.log_softmax(params["logits"])[chosen]
        draws = params["means"][chosen] + self._widths(params)[chosen] * jax.random.normal(
            unit, (n,)
        )
        return draws, jnp.exp(log_share - jax.lax.stop_gradient(log_share))

    def axis_log_density(self, params: Params, x: Any) -> Any:
        """Return log sum of components, one at a time."""
        log_share, widths = jax.nn.log_softmax(params["logits"]), self._widths(params)

        def each(share: Any, mean: Any, width: Any) -> Any:
            return share - 0.5 * jnp.square((x - mean) / width) - jnp.log(width)

        parts = jax.vmap(each)(log_share, params["means"], widths)
        return logsumexp(parts, axis=0) - 0.5 * math.log(2 * math.pi)

    def axis_grid(self, params: Params, axis: int) -> tuple[float, float]:
        """Return a step of a sixth of the narrowest component that matters."""
        share = np.asarray(jax.nn.softmax(params["logits"][axis]))
        widths = np.asarray(self._widths(params))[axis]
        held = share > 1e-6
        reach = np.abs(np.asarray(params["means"])[axis]) + 9 * widths
        return float(widths[held].min()) / 6, float(reach[held].max())


@final
@dataclass(frozen=True)
class GeneralizedNormal(ProductFamily):
    """Density proportional to exp(-|x / scale|^p) on every axis, p to learn within (0.3, 8)."""

    power: float | None = None

    def axis_init(self, start: float) -> Params:
        """Return a normal (p = 2), or the fixed power, of the right variance."""
        p = self.power or 2.0
        log_scale = math.log(start) + 0.5 * (math.lgamma(1 / p) - math.lgamma(3 / p))
        return {"log_scale": np.asarray(log_scale), "log_power": np.asarray(math.log(p))}

    def _power(self, params: Params) -> Any:
        log_power = params["log_power"]
        if self.power is not None:
            log_power = jax.lax.stop_gradient(log_power)
        return jnp.clip(jnp.exp(log_power), 0.3, 8.0)

    def axis_sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return sign * scale * Gamma(1 / p)^(1 / p)."""
        p = self._power(params)
        sign, size = jax.random.split(key)
        gamma = jax.random.gamma(size, 1 / p, (n,))
        draws = jnp.exp(params["log_scale"]) * jnp.maximum(gamma, 1e-12) ** (1 / p)
        return jax.random.rademacher(sign, (n,)) * draws, jnp.ones(n)

    def axis_grid(self, params: Params, axis: int) -> tuple[float, float]:
        """Return a step of 1/256 of the spread, and where the density is below exp(-38)."""
        p = float(self._power(params)[axis])
        scale = math.exp(float(params["log_scale"][axis]))
        spread = scale * math.exp(0.5 * (math.lgamma(3 / p) - math.lgamma(1 / p)))
        return spread / 256, scale * 38.0 ** (1 / p)

    def axis_log_density(self, params: Params, x: Any) -> Any:
        """Return log p - |x / scale|^p - log(2 scale Gamma(1 / p))."""
        p, log_scale = self._power(params), params["log_scale"]
        size = jnp.maximum(jnp.abs(x) * jnp.exp(-log_scale), 1e-12)
        return jnp.log(p) - size**p - math.log(2.0) - log_scale - gammaln(1 / p)


@final
@dataclass(frozen=True)
class SplineFlow(ProductFamily):
    """A monotone rational-quadratic spline of a normal on every axis."""

    def axis_init(self, start: float) -> Params:
        """Return the identity spline, scaled."""
        spline = eqx.filter(self._spline(), eqx.is_inexact_array)
        return {"spline": spline, "log_scale": np.asarray(math.log(start))}

    def _spline(self) -> Any:
        return RationalQuadraticSpline(knots=self.components, interval=4)

    def _bijection(self, params: Params) -> Any:
        static = eqx.partition(self._spline(), eqx.is_inexact_array)[1]
        return unwrap(eqx.combine(params["spline"], static))

    def axis_sample(self, params: Params, key: Any, n: int) -> tuple[Any, Any]:
        """Return scaled splines of normal draws."""
        draws = jax.vmap(self._bijection(params).transform)(jax.random.normal(key, (n,)))
        return jnp.exp(params["log_scale"]) * draws, jnp.ones(n)

    def axis_log_density(self, params: Params, x: Any) -> Any:
        """Return the normal's log density at the inverse, plus its log slope."""
        spline = self._bijection(params)
        flat = (x * jnp.exp(-params["log_scale"])).ravel()
        u, log_slope = jax.vmap(spline.inverse_and_log_det)(flat)
        value = log_slope - 0.5 * jnp.square(u) - 0.5 * math.log(2 * math.pi)
        return value.reshape(x.shape) - params["log_scale"]


def family_of(name: str, components: int) -> Family:
    """Return the family of one of the names in `rpac.learned.settings.FAMILIES`."""
    made: dict[str, Family] = {
        "gaussian": FullGaussian(components),
        "low-rank": LowRankGaussian(components),
        "mixture": GaussianMixture(components),
        "generalized-normal": GeneralizedNormal(components),
        "laplace": GeneralizedNormal(components, power=1.0),
        "flow": SplineFlow(components),
    }
    return made[name]


def axis_table(
    family: ProductFamily, params: Params, axis: int, step: float | None = None
) -> tuple[float, Floats]:
    """Return (step, masses) of one axis on the integers -h..h; the step is chosen if not given."""
    fine, reach = family.axis_grid(params, axis)
    half = int(np.clip(math.ceil(reach / (step or fine)), 2, 20_000))
    spacing = step or max(fine, reach / half)
    one = jax.tree.map(lambda leaf: leaf[axis], params)
    places = spacing * np.arange(-half, half + 1)
    log_q = np.asarray(family.axis_log_density(one, jnp.asarray(places)), np.float64)
    masses = np.exp(log_q - log_q.max())
    return spacing, masses / masses.sum()
