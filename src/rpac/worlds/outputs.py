"""Outputs: what the mechanism returns on every world. Sealed: one of the rows is the answer."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias, final

import numpy as np

from rpac._base.checks import array, probabilities, refuse
from rpac._base.entropy import entropy
from rpac._base.frozen import Frozen
from rpac._base.hashing import hashed
from rpac._base.sealed import Sealed
from rpac._base.types import Bools, Floats, Ints, Json
from rpac.worlds.flatten import Form
from rpac.worlds.members import Members
from rpac.worlds.span import Span, hold_worlds
from rpac.worlds.stored import kept

Kind: TypeAlias = Literal["real", "count", "label"]
_KINDS: Mapping[str, Kind] = MappingProxyType(
    {"real": "real", "count": "count", "category": "label", "label": "label"}
)
_OF_THE_PRIOR = ("digest", "spread", "within")
"""What is worked out from the weights too, and anew under others."""


_WIDE = 4
"""Numbers to a world from which noise is found in the span of the worlds."""
_ROUNDING = 1e-12
"""Relative differences that are of arithmetic, not of worlds."""


class Code(Protocol):
    """What turns outputs into integers: a law that can be released."""

    @property
    def digest(self) -> str:
        """Equal for laws that encode alike."""

    def encode(self, values: Floats) -> Ints:
        """Return the (m, r) integers of (m, d) values."""


@final
class Outputs(Sealed, Frozen):
    """The outputs of a mechanism on m worlds, with the prior on those worlds.

    Integer arrays are counts (their lattice has step 1); text, or `kind="category"`, are labels;
    everything else is real. Its printed face shows the shape, never a row or a hash. It is complete
    when it is made, and stays as it was made.

    Args:
        values: (m,) or (m, d) numbers, or (m,) labels. What is too large for memory may be a
            `numpy.memmap`, a Zarr array, or the path of Parquet files with a column for each world.
        weights: (m,) prior probabilities, positive, summing to 1; equal by default.
        kind: "real", "count" or "category", to override what the array suggests.
        statement: The secret, in words.
        clip: (low, high), each (d,): the values are draws of an open distribution, clipped to it.
        masks: (m, units) who is in which world, for half-samples; a matrix, or `Members`.
        halves: Whether the worlds are half-samples of a table, for those without `masks`.
        form: How the mechanism's answers look.

    Attributes:
        values: (m, d) float64; for labels the (m, 1) index into `labels`.
        weights: (m,) prior.
        kind: "real", "count" or "label".
        exact: True for finite worlds, False for draws of an open distribution.
        clip: (low, high), each (d,), for draws; else None.
        members: Who is in which world, for half-samples, as packed bits; else None.
        halves: Whether the worlds are half-samples of a table, `members` at hand or not.
        made_of: (source, mechanism) that `simulate` made them of; None: somebody listed them.

    >>> Outputs([[0.0], [1.0]])
    Outputs(worlds=2, dim=1, kind='real', exact=True)
    """

    def __init__(
        self,
        values: Any,
        weights: Any = None,
        kind: str | None = None,
        *,
        statement: str | None = None,
        clip: tuple[Floats, Floats] | None = None,
        masks: Bools | Members | None = None,
        halves: bool = False,
        form: Form | None = None,
    ) -> None:
        raw = np.asanyarray(kept(values))
        self.kind: Kind = _kind_of(raw, kind)
        if raw.ndim == 2 and clip is None and raw.shape[1] > _WIDE * len(raw):
            hold_worlds(len(raw))
        self.labels: tuple[Any, ...] = ()
        if self.kind == "label":
            names, codes = np.unique(raw.ravel(), return_inverse=True)
            raw, self.labels = codes.reshape(-1, 1), tuple(names.tolist())
        found = array(raw[:, None] if raw.ndim == 1 else raw, "values", 2)
        own = found if isinstance(raw, np.memmap) else _own(found)
        self.values: Floats = own if clip is None else np.clip(found, *clip)
        m = len(self.values)
        if m < 2:
            raise refuse("at least 2 worlds", m, "With one world there is no secret to protect.")
        equal = np.full(m, 1.0 / m)
        self.weights: Floats = (
            equal if weights is None else probabilities(weights, "weights", size=m, positive=True)
        )
        self.exact, self.clip, self.form = clip is None, clip, form
        self.made_of: tuple[Any, Any] | None = None
        self.members = masks if isinstance(masks, Members | None) else Members.wrap(masks)
        if self.members is not None and len(self.members) != m:
            raise refuse(f"masks of {m} worlds", len(self.members), "Give one row a world.")
        self.halves = halves or self.members is not None
        self.statement = f"which of {m} worlds was drawn" if statement is None else statement
        self._half = False
        self._codes: tuple[str, Ints] = ("", np.zeros((0, 0), np.int64))
        self.values = self.values.view()
        self.values.setflags(write=False)
        self.freeze("weights")

    @cached_property
    def dim(self) -> int:
        """Number of coordinates, d."""
        return int(self.values.shape[1])

    @cached_property
    def masks(self) -> Bools | None:
        """(m, units) who is in which world, read-only, or None: for study and small pools."""
        return None if self.members is None else self.members.matrix()

    @property
    def wide(self) -> bool:
        """Whether there are so many more numbers than worlds that noise is found in their span."""
        return self.exact and self.kind != "label" and self.dim > _WIDE * len(self.values)

    @cached_property
    def span(self) -> Span | None:
        """The directions in which the worlds differ, where numbers are many; else None."""
        if not self.wide:
            return None
        mark = self._content.hexdigest()
        return Span.of(self.values, self.center, fixed=self.constant, mark=mark)

    @cached_property
    def within(self) -> Outputs:
        """The same worlds in the coordinates of their span, (m, r); themselves where it is None."""
        return self if self.span is None else self.along(self.span)

    def along(self, span: Span) -> Outputs:
        """Return the worlds in the coordinates of a span, theirs or another's."""
        points = span.along(self.values)
        return Outputs(
            points, self.weights, "real", statement=self.statement, masks=self.members,
            halves=self.halves,
        )  # fmt: skip

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
        mean, found = plan.weights @ plan.values, np.zeros(self.dim)
        for weight, row in zip(plan.weights, plan.values, strict=True):
            found += weight * np.square(row - mean)
        found.setflags(write=False)
        return found

    @cached_property
    def constant(self) -> Bools:
        """(d,) True where all worlds agree, but for rounding: facts of the pool, free of noise.

        Never of draws: that those which were seen agree is no fact of their law.
        """
        low, high = self.extremes
        rounding = _ROUNDING * np.maximum(np.abs(low), np.abs(high)) if self.kind == "real" else 0.0
        same = np.asarray((high - low <= rounding) & self.exact)
        same.setflags(write=False)
        return same

    @cached_property
    def extremes(self) -> tuple[Floats, Floats]:
        """The least and the largest of each number over the worlds, (d,) and (d,)."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        low.setflags(write=False)
        high.setflags(write=False)
        return low, high

    @property
    def names(self) -> list[str]:
        """Names of the d numbers of an answer."""
        form = self.form
        if form is not None and len(form.labels) == self.dim:
            return list(form.labels)
        if form is not None and form.name in {"dict", "series"}:
            return [str(key) for key in form.layout]
        return ["answer"] if self.dim == 1 else [f"number {i + 1}" for i in range(self.dim)]

    @cached_property
    def columns(self) -> Floats:
        """The values, one coordinate after the other in memory: faster sums over the worlds."""
        found = np.asfortranarray(self.values)
        found.setflags(write=False)
        return found

    @cached_property
    def reach(self) -> float:
        """The largest absolute value."""
        low, high = self.extremes
        return float(max(-low.min(), high.max()))

    @property
    def scale(self) -> Floats:
        """Public factor from these numbers to the answer's own units, (d,)."""
        return np.broadcast_to(1.0 if self.form is None else self.form.scale, (self.dim,))

    @property
    def planning(self) -> Outputs:
        """What noise and references may be fitted on: all worlds, or the first half of draws."""
        if self.exact or self._half:
            return self
        half = Outputs(self.values[: len(self.values) // 2], kind=self.kind, clip=self.clip)
        half.__dict__["_half"] = True  # of an object that nobody else has seen yet
        return half

    @property
    def judging(self) -> Floats:
        """The (n, d) draws that only a certificate sees: the second half."""
        return self.values[len(self.values) // 2 :]

    def under(self, weights: Floats) -> Outputs:
        """Return the same outputs under another prior, such as a posterior."""
        found = probabilities(weights, "weights", size=len(self.values), positive=True)
        found.setflags(write=False)
        return self._with(weights=found)

    def stating(self, statement: str) -> Outputs:
        """Return the same outputs with another statement of the secret."""
        return self._with(statement=statement)

    def among(self, units: Ints) -> Outputs:
        """Return the same outputs with the membership of some units alone: for study."""
        assert self.members is not None
        return self._with(members=self.members.among(units))

    def simulated(self, source: Any, mechanism: Any) -> Outputs:
        """Return the same outputs, which say what they were made of."""
        return self._with(made_of=(source, mechanism))

    def of(self, source: Any) -> Outputs:
        """Return these outputs, if they were simulated on this very source, all of it.

        Guarantees:
            They have the rows of all its worlds in their order, its prior and its members: neither
            those of other data, nor such as were changed afterwards for study.
        """
        made, same = None if self.made_of is None else self.made_of[0], False
        if self.exact and made is not None:
            drawn = [(type(one), one.version, one.secret) for one in (made, source)]
            listed = isinstance(getattr(made, "secrets", None), tuple)  # in an order of its own
            same = made is source or (drawn[0] == drawn[1] and not listed)
        if not same:
            got = "draws of a sampler" if not self.exact else "others"
            move = "Pass the mechanism itself, or rpac.simulate(source, mechanism) of this source."
            raise refuse("outputs that were simulated on this source", got, move)
        return self

    def _with(self, **changes: Any) -> Outputs:
        kept = {k: v for k, v in self.__dict__.items() if k not in _OF_THE_PRIOR}
        other = object.__new__(Outputs)
        other.__dict__.update(kept | {"made_of": None} | changes)
        return other

    def lent(self) -> Outputs:
        """Return the same outputs as another object: what its holder writes to it stays there."""
        other = object.__new__(Outputs)
        for name, part in self.__dict__.items():
            other.__dict__[name] = part.lent() if isinstance(part, Outputs) else part
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

    def codes(self, law: Code) -> Ints:
        """Return the (m, r) integers of all worlds: encoded once, certified and released alike."""
        (key, codes), own = self._codes, law.digest
        if key != own:  # the last law's alone are kept: searches try hundreds
            codes = law.encode(self.values)
            codes.setflags(write=False)
            self.__dict__["_codes"] = own, codes
        return codes

    @property
    def prior(self) -> str:
        """The prior, in words."""
        if not self.exact:
            return "the sampler's own law"
        even = np.ptp(self.weights) < 1e-12
        return "all equally likely" if even else f"given weights, entropy {self.entropy:.6g} nats"

    def describe(self) -> Json:
        """Return the description that goes into a certificate, its digest under a key."""
        return {
            "count": len(self.values), "dim": self.dim, "kind": self.kind, "digest": self.digest,
        }  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """SHA-256 of values, weights and kind: to compare inside the process, never to show."""
        rest = self.weights, self.kind, *map(str, self.labels)
        return str(hashed(*rest, after=self._content).hexdigest())

    @cached_property
    def _content(self) -> Any:
        """The hash of the values, which others go on from: they are read once."""
        return hashed(self.values)

    def __repr__(self) -> str:
        return (
            f"Outputs(worlds={len(self.values)}, dim={self.dim}, kind={self.kind!r}, "
            f"exact={self.exact})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def _own(values: Floats) -> Floats:
    """Return values that nobody else can change: a copy, if somebody can."""
    behind: Any = values
    while isinstance(behind, np.ndarray) and not behind.flags.writeable:
        behind = behind.base
    return values if behind is None else values.copy()


def _kind_of(raw: Any, kind: str | None) -> Kind:
    if kind is not None:
        if kind not in _KINDS:
            raise refuse('kind "real", "count" or "category"', repr(kind), "Or leave it out.")
        if _KINDS[kind] == "count" and not np.array_equal(raw, np.rint(raw)):
            raise refuse("whole numbers for counts", "fractions", 'Use kind="real".')
        return _KINDS[kind]
    if raw.dtype.kind in "UST":
        return "label"
    if raw.dtype.kind == "O" and raw.size and all(isinstance(v, str) for v in raw.ravel()):
        return "label"
    return "count" if raw.dtype.kind in "biu" else "real"
