"""Outputs: what the mechanism returns on every world. Sealed: one of the rows is the answer."""

from __future__ import annotations

import html
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from rpac._checks import array, digest, probabilities, refuse
from rpac._form import Form
from rpac._types import Bools, Floats, Ints, Json
from rpac.joint import entropy
from rpac.sealed import Sealed

if TYPE_CHECKING:
    from rpac.noise.grid import GridNoise

Kind: TypeAlias = Literal["real", "count", "label"]


@final
class Outputs(Sealed):
    """The outputs of a mechanism on m worlds, with the prior on those worlds.

    Integer arrays are counts (their lattice has step 1); text, or `kind="category"`, are labels;
    everything else is real. Its printed face shows shape and hash, never a row.

    Args:
        values: (m,) or (m, d) numbers, or (m,) labels.
        weights: (m,) prior probabilities, positive, summing to 1; equal by default.
        kind: "real", "count" or "category", to override what the array suggests.

    Attributes:
        values: (m, d) float64; for labels the (m, 1) index into `labels`.
        weights: (m,) prior.
        kind: "real", "count" or "label".
        exact: True for finite worlds, False for draws of an open distribution.
        clip: (low, high), each (d,), for draws; else None.
        masks: (m, units) who is in which world, for half-samples; else None.

    >>> Outputs([[0.0], [1.0]])
    Outputs(worlds=2, dim=1, kind='real', exact=True, digest='...')
    """

    def __init__(self, values: Any, weights: Any = None, kind: str | None = None) -> None:
        raw = np.asarray(values)
        self.kind: Kind = _kind_of(raw, kind)
        self.labels: tuple[Any, ...] = ()
        if self.kind == "label":
            names, codes = np.unique(raw.ravel(), return_inverse=True)
            raw, self.labels = codes.reshape(-1, 1), tuple(names.tolist())
        self.values: Floats = array(raw[:, None] if raw.ndim == 1 else raw, "values", 2)
        m = len(self.values)
        if m < 2:
            raise refuse("at least 2 worlds", m, "With one world there is no secret to protect.")
        equal = np.full(m, 1.0 / m)
        self.weights: Floats = (
            equal if weights is None else probabilities(weights, "weights", size=m, positive=True)
        )
        self.exact = True
        self.clip: tuple[Floats, Floats] | None = None
        self.statement = f"which of {m} worlds was drawn"
        self.form: Form | None = None
        self.masks: Bools | None = None
        self._plan = False
        self._codes: tuple[str, Ints] = ("", np.zeros((0, 0), np.int64))

    @cached_property
    def dim(self) -> int:
        """Number of coordinates, d."""
        return int(self.values.shape[1])

    @property
    def center(self) -> Floats:
        """A public point: the mean of finite worlds, the middle of the clipping box of draws."""
        if self.clip is not None:
            return np.asarray((self.clip[0] + self.clip[1]) / 2)
        return np.asarray(self.weights @ self.values)

    @property
    def entropy(self) -> float | None:
        """H(X) in nats of the drawn world; None for open distributions."""
        return entropy(self.weights) if self.exact else None

    @cached_property
    def spread(self) -> Floats:
        """Variance of each coordinate over the worlds, (d,)."""
        plan = self.planning
        return np.asarray(plan.weights @ np.square(plan.values - plan.weights @ plan.values))

    @cached_property
    def columns(self) -> Floats:
        """The values, one coordinate after the other in memory: faster sums over the worlds."""
        return np.asfortranarray(self.values)

    @cached_property
    def reach(self) -> float:
        """The largest absolute value."""
        return float(np.abs(self.values).max())

    @property
    def planning(self) -> Outputs:
        """What noise and references may be fitted on: all worlds, or the first half of draws."""
        if self.exact or self._plan:
            return self
        plan = Outputs(self.values[: len(self.values) // 2])
        plan.kind, plan.exact, plan.clip, plan._plan = self.kind, False, self.clip, True
        return plan

    @property
    def judging(self) -> Floats:
        """The (n, d) draws that only a certificate sees: the second half."""
        return self.values[len(self.values) // 2 :]

    def under(self, weights: Floats) -> Outputs:
        """Return the same outputs under another prior, such as a posterior."""
        other = copy(self)
        other.weights = probabilities(weights, "weights", size=len(self.values), positive=True)
        for kept in ("digest", "spread"):
            other.__dict__.pop(kept, None)
        return other

    def rebuild(self, values: Floats, beside: Floats | None = None) -> Any:
        """Return a (d,) vector in the form of the mechanism's answers, ordered as `beside` is."""
        if beside is not None and self.form is not None and self.form.settle is not None:
            return self.form.settle(beside)(values)
        if self.kind == "label":
            label = self.labels[int(values[0])]
            return label if self.form is None else self.form.rebuild(label)
        if self.form is not None:
            return self.form.rebuild(values)
        return float(values[0]) if self.dim == 1 else values

    def codes(self, law: GridNoise) -> Ints:
        """Return the (m, r) integers of all worlds: encoded once, certified and released alike."""
        key = law.describe()["digest"]
        if self._codes[0] != key:
            self._codes = (key, law.encode(self.values))
        return self._codes[1]

    @property
    def prior(self) -> str:
        """The prior, in words."""
        if not self.exact:
            return "the sampler's own law"
        even = np.ptp(self.weights) < 1e-12
        return "all equally likely" if even else f"given weights, entropy {self.entropy:.6g} nats"

    def describe(self) -> Json:
        """Return the public description that goes into a certificate."""
        return {
            "count": len(self.values), "dim": self.dim, "kind": self.kind, "digest": self.digest,
        }  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """SHA-256 of values, weights and kind."""
        return digest(self.values, self.weights, self.kind, *map(str, self.labels))

    def __repr__(self) -> str:
        return (
            f"Outputs(worlds={len(self.values)}, dim={self.dim}, kind={self.kind!r}, "
            f"exact={self.exact}, digest={self.digest[:12]!r})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def _kind_of(raw: Any, kind: str | None) -> Kind:
    named: dict[str, Kind] = {
        "real": "real",
        "count": "count",
        "category": "label",
        "label": "label",
    }
    if kind is not None:
        if kind not in named:
            raise refuse('kind "real", "count" or "category"', repr(kind), "Or leave it out.")
        if named[kind] == "count" and not np.array_equal(raw, np.rint(raw)):
            raise refuse("whole numbers for counts", "fractions", 'Use kind="real".')
        return named[kind]
    if raw.dtype.kind in "UST":
        return "label"
    if raw.dtype.kind == "O" and raw.size and all(isinstance(v, str) for v in raw.ravel()):
        return "label"
    return "count" if raw.dtype.kind in "biu" else "real"
