"""Sources of the secret: a finite list, balanced half-samples of a data set, or a sampler."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from rpac._base.checks import array, count, probabilities, refuse
from rpac._base.hashing import digest, fingerprint
from rpac._base.types import Bools, Floats
from rpac.errors import MechanismError
from rpac.worlds.halves import HalfSamples
from rpac.worlds.members import Members, half_samples, hold


class Source(ABC):
    """Where the secret comes from; the prior that a certificate names."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """The secret, in words, as the first line of a certificate names it."""

    @abstractmethod
    def worlds(self, seed: int) -> Any:
        """Return the possible secrets, or draws of them: a list, or an array (first axis)."""

    @cached_property
    def version(self) -> str:
        """Hash of the content: other data are another version."""
        return fingerprint(self.worlds(0))

    @cached_property
    def secret(self) -> str:
        """Hash of what is drawn, and with which prior: nats of different secrets do not add."""
        return digest(self.statement, np.zeros(0) if self.weights is None else self.weights)

    weights: Floats | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.statement})"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


@final
class Worlds(Source):
    """A finite list of possible secrets.

    Args:
        secrets: m objects; the first axis of an array.
        weights: (m,) prior probabilities, positive, summing to 1; equal by default.

    >>> Worlds([[0, 1], [1, 1]])
    Worlds(which of 2 worlds was drawn)
    """

    def __init__(self, secrets: Sequence[Any] | Any, weights: Any = None) -> None:
        self.secrets = tuple(secrets)  # in an order that nobody changes
        m = len(self.secrets)
        if m < 2:
            raise refuse("at least 2 worlds", m, "With one world there is no secret to protect.")
        if weights is not None:
            self.weights = probabilities(weights, "weights", size=m, positive=True)

    @property
    def statement(self) -> str:
        """The secret, in words."""
        return f"which of {len(self.secrets)} worlds was drawn"

    @cached_property
    def version(self) -> str:
        """Hash of the secrets, in whatever order they are listed."""
        return digest("worlds", *sorted(map(fingerprint, self.secrets)))

    @cached_property
    def secret(self) -> str:
        """Hash of the prior on them, in whatever order they are listed."""
        weights = np.ones(len(self.secrets)) if self.weights is None else self.weights
        each = zip(map(fingerprint, self.secrets), weights, strict=True)
        return digest(self.statement, *sorted(digest(world, weight) for world, weight in each))

    def worlds(self, seed: int) -> list[Any]:
        """Return the secrets."""
        return list(self.secrets)


@final
class Pool:
    """Units known by id alone: a world of `Subsets(Pool(n))` is its number.

    Args:
        size: Number of units.
        version: Hash of the data that belong to them, or what computes it when it is asked for.
        ids: (size,) their ids, all different; their numbers by default. They decide who is in
            which world, as the entries of a `unit` column do.
        members: Who is in which world, where that is decided elsewhere.
    """

    def __init__(
        self,
        size: int,
        version: str | Callable[[], str] = "",
        ids: Sequence[Any] | None = None,
        members: Members | None = None,
    ) -> None:
        self.size, self._version = count(size, "size", least=0), version
        self.ids: Sequence[Any] = range(self.size) if ids is None else ids
        self.members = members
        if len(self.ids) != self.size:
            raise refuse(f"{self.size} ids", len(self.ids), "Give one for each unit.")

    @cached_property
    def version(self) -> str:
        """Hash of the data that belong to the units."""
        return self._version() if callable(self._version) else self._version

    def __len__(self) -> int:
        return self.size


@final
class Subsets(Source):
    """Balanced half-samples: each world holds half of the units, each unit half of the worlds.

    Worlds come in complementary pairs. Who is in which is decided by a keyed hash of the units'
    ids (`members`): not by the order of rows, and a person who joins or leaves moves at most one
    other unit a pair. Where there are no more than `worlds` half-samples at all, the source is
    all of them.

    Args:
        data: An array (rows first), a list, any data frame that narwhals knows, a DuckDB
            relation, the path of a CSV (.gz) or Parquet file or of a folder or glob of Parquet
            files, or a `Pool`.
        unit: Column that says whose row it is; rows with equal entries move together. "rows":
            every row is a unit of its own, as in arrays and lists without `unit`. Data frames
            must say which. Row numbers shift when a row is deleted: prefer a stable id.
        worlds: Number of half-samples m, even.
        seed: Public key of the hashes; the *drawn* world never depends on it.

    Attributes:
        members: Who is in which world, as packed bits.
        units: (units,) the distinct entries of the unit column, or row numbers.
        frame: The table as a narwhals frame; None where `data` is none.

    Raises:
        TooLarge: If the bits of all worlds, or the rows of a file, do not fit into memory.
    """

    rate = 0.5
    """Probability that a unit is in the drawn world: public, the same for all."""

    def __init__(self, data: Any, unit: Any = None, worlds: int = 512, seed: int = 0) -> None:
        self.frame = _frame_of(data)
        kept = self.frame is not None or isinstance(data, np.ndarray | Pool)
        self._data: Any = data if kept else list(data)
        self._made: tuple[Any, int, int] = (unit, worlds, seed)
        if unit is None and self.frame is not None:
            move = 'Name the column that says whose row it is, or pass unit="rows".'
            raise refuse("the `unit` column of a data frame", "none", move)
        by_row = unit is None or (isinstance(unit, str) and unit == "rows")
        rows = data if self.frame is None else self.frame
        m = even(worlds)
        if by_row:
            hold(_length(rows), m)
        keys = np.arange(_length(rows)) if by_row else self._column(unit)
        try:
            self.units, self._owner = np.unique(keys, return_inverse=True)
        except TypeError:
            raise refuse(
                "entries of one kind in the `unit` column", "a mixture", "Fill the missing ones."
            ) from None
        if self.units.size < 2:
            raise refuse("at least 2 units", self.units.size, "One unit has no half-samples.")
        ids = data.ids if isinstance(data, Pool) else self.units
        known = data.members if isinstance(data, Pool) else None
        seed = count(seed, "seed", least=0)
        self.members = half_samples(ids, m, seed) if known is None else known

    @cached_property
    def masks(self) -> Bools:
        """(m, units) True where a unit is in a world: for study and small pools."""
        return self.members.matrix()

    def _column(self, unit: Any) -> Any:
        if self.frame is None:
            rows = np.asarray(self._data)
            if rows.ndim != 2 or not isinstance(unit, int) or not 0 <= unit < rows.shape[1]:
                raise refuse("a column number as `unit` of an array", repr(unit), "Count from 0.")
            return rows[:, unit]
        from rpac.worlds import tables as frames

        return frames.keys(self.frame, unit)

    @property
    def statement(self) -> str:
        """The secret, in words; not how many units there are, which is nobody's business."""
        return (
            f"which of {len(self.members)} half-samples of the pool was drawn "
            f"(every unit is in with probability 1/2)"
        )

    @cached_property
    def version(self) -> str:
        """Hash of the data."""
        if isinstance(self._data, Pool):
            return self._data.version
        return fingerprint(self._data if self.frame is None else self.frame)

    @cached_property
    def secret(self) -> str:
        """Hash of who is in which world."""
        return digest(self.statement, self.members.digest, self._owner)

    def worlds(self, seed: int) -> Any:
        """Return the m half-samples, each of the kind that `data` is and made when it is asked for.

        Of a pool their numbers.
        """
        if isinstance(self._data, Pool):
            return np.arange(len(self.members))
        return self._halves

    @cached_property
    def _halves(self) -> HalfSamples:
        alone = len(self._owner) == self.units.size and bool((np.diff(self._owner) == 1).all())
        owner = None if alone else self._owner
        return HalfSamples(self._data, self.frame, owner, self.members)

    def half_sample(self, world: int) -> Any:
        """Return one half-sample, by its number."""
        return self._halves[world]

    def take(self, rows: Any = None) -> Any:
        """Return rows of the pool by number, all by default, of the kind that `data` is."""
        return self._halves.take(np.arange(len(self._owner)) if rows is None else rows)

    def without(self, unit: int) -> Subsets:
        """Return half-samples of the pool without one unit, given by its place in `units`."""
        if count(unit, "unit", least=0) >= self.units.size:
            raise refuse(f"a unit below {self.units.size}", unit, "Count from 0.")
        if isinstance(self._data, Pool):
            raise refuse("rows to leave out", "units by number", "Make the tables without it.")
        return Subsets(self.take(np.flatnonzero(self._owner != unit)), *self._made)


def even(worlds: int) -> int:
    """Return a number of half-samples, checked: they come in pairs."""
    m = count(worlds, "worlds", least=2)
    if m % 2:
        raise refuse("an even number of worlds", m, "Worlds come in complementary pairs.")
    return m


def _frame_of(data: Any) -> Any:
    """Return tables as narwhals frames, None for everything else."""
    if isinstance(data, np.ndarray | list | tuple | range | Pool):
        return None
    from rpac.worlds import tables as frames  # loads nothing before it is asked for a table

    return frames.table(data) if frames.is_table(data) else None


def _length(data: Any) -> int:
    try:
        return len(data)
    except TypeError:
        raise refuse("data with rows", type(data).__name__, "Pass a frame or array.") from None


@final
class Draws(Source):
    """An open distribution: independent draws of a sampler whose law nobody knows.

    Args:
        sampler: `sampler(rng)` returns one secret; marked with `rpac.vectorized`,
            `sampler(rng, n)` returns n of them, first axis, each independent of the others:
            neither sorted nor stratified.
        clip: (low, high), numbers or (d,) arrays: public bounds on the mechanism's outputs,
            applied in simulation and release. Required: without them no finite number of draws
            says anything about the tail.
        draws: How many to simulate; half fit, half judge.
    """

    def __init__(self, sampler: Callable[..., Any], clip: Any = None, draws: int = 10_000) -> None:
        if not callable(sampler):
            raise refuse("a sampler(rng)", type(sampler).__name__, "Wrap a list in rpac.Worlds.")
        if clip is None or np.ndim(clip) == 0 or len(clip) != 2:
            move = "State what the outputs can be at most; they are clipped to it."
            raise refuse("public bounds clip=(low, high)", repr(clip), move)
        low, high = (array(np.atleast_1d(side), "clip", 1) for side in clip)
        if low.shape != high.shape or not (low < high).all():
            raise refuse("low below high in `clip`", repr(clip), "Swap or widen them.")
        self.sampler, self.clip, self.draws = sampler, (low, high), count(draws, "draws", least=40)

    @property
    def statement(self) -> str:
        """The secret, in words."""
        return "one draw of an open distribution, known by samples only"

    @cached_property
    def version(self) -> str:
        """Hash of the sampler's name and the bounds: a sampler has no content to hash."""
        name = getattr(self.sampler, "__qualname__", type(self.sampler).__qualname__)
        return digest(name, *self.clip)

    def worlds(self, seed: int) -> Any:
        """Return `draws` secrets, a list or a stack; equal seeds give equal secrets."""
        if getattr(self.sampler, "takes_stack", False):
            return np.asarray(self.sampler(np.random.default_rng(seed), self.draws))
        seeds = np.random.SeedSequence(seed).spawn(self.draws)
        try:
            return [self.sampler(np.random.default_rng(s)) for s in seeds]
        except Exception as error:
            raise refuse(
                "a sampler(rng) that returns a secret",
                f"a {type(error).__name__}",
                "Try it with numpy.random.default_rng(0).",
                MechanismError,
            ) from None

    def draw(self, seed: int | None = None) -> Any:
        """Return one fresh secret, with randomness of the operating system; for study, seeded."""
        rng = np.random.default_rng(seed)
        if getattr(self.sampler, "takes_stack", False):
            return self.sampler(rng, 1)[0]
        return self.sampler(rng)
