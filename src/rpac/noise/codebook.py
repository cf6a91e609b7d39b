"""A channel from worlds to public code words: the release is one of them, looked up in a table."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from rpac._base.checks import array, refuse
from rpac._base.hashing import digest
from rpac._base.limits import hold_in_memory
from rpac._base.types import Floats, Ints, Json, Table
from rpac.noise.channel import Channel
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span

_BARE = 1e-12
"""Share of a number's variance below which an error is rounding."""


@final
class Codebook(Channel):
    """The law world -> distribution over K public code words.

    A code word is a guess at the answer, drawn towards the mean: less error than noise has at the
    same leakage, but no longer without bias.

    Args:
        words: (K, d) code words, or (K,) for answers of one number. They are public.
        matrix: (m, K) P(word | world): row i is for world i of the outputs that are released. Rows
            are rounded to multiples of 2**-63, and the rounded rows are the law.

    Attributes:
        words: (K, d).
        tables: (m, K) integers.
        power: E|Y - Z|^2 on the outputs that it was tabulated for: what `rpac.tabulate` and
            calibrators return has it; NaN before.

    Guarantees:
        The leakage is a finite sum over `tables`, whatever proposed them; words are public, so how
        they were found costs nothing.

    >>> Codebook([-1.0, 1.0], [[0.9, 0.1], [0.1, 0.9]])
    Codebook(worlds=2, words=2, dim=1)
    """

    def __init__(self, words: Any, matrix: Any) -> None:
        found = np.asarray(words)
        self._hold(array(found[:, None] if found.ndim == 1 else found, "words", 2),
                   self.tables_of(matrix))  # fmt: skip

    def _anew(self) -> Codebook:
        """Return the same law, made of plain copies of its words and tables."""
        made = object.__new__(Codebook)
        made._hold(array(self._words, "words", 2), np.array(self.tables))
        return made

    def _hold(self, words: Floats, tables: Table) -> None:
        self._words, self.tables = words, tables
        if self.tables.shape[1] != len(self.words):
            got = f"{len(self.words)} words and a matrix of shape {self.tables.shape}"
            raise refuse("a column of `matrix` for every word", got, "Match the two.")
        self._mark = ""
        nothing = np.full(self.words.shape[1], np.nan)
        self._variance, self._shift, self._around, self._rounding = (nothing,) * 4
        self.freeze("_words", "tables")

    def of(self, outputs: Outputs) -> Codebook:
        """Return the same law with its errors on some outputs; itself if it has theirs.

        Raises:
            InputError: If rows are not the worlds of these outputs, or words no such answers.
        """
        numbers = outputs.exact and outputs.kind != "label"
        shape = len(self.tables), self.words.shape[1]
        if not numbers or outputs.values.shape != shape:
            raise refuse(
                f"numbers of {shape[0]} worlds with {shape[1]} coordinates for this code book",
                f"{outputs!r} with {self!r}",
                "Match the two: a row for each world.",
            )
        self.whole()
        fits = len(self.words) == self.tables.shape[1]
        if not fits or not np.isfinite(self.words).all():
            raise refuse("finite words, one for each column", "other words", "Make it anew.")
        mark = f"{outputs.digest} {self.digest}"
        if self._mark == mark:
            return self
        bound = object.__new__(Codebook)
        bound.__dict__.update(self.__dict__)
        bound.__dict__.update(_mark=mark, **self._errors(outputs))
        return bound

    def lifted(self, span: Span) -> Codebook:
        """Return the same law on outputs of which its words are in the coordinates of their span.

        Raises:
            TooLarge: If that many words of that many numbers do not fit into memory.
        """
        move = "Give fewer words: rpac.Equilibrium(family='channel', words=16)."
        hold_in_memory(len(self.words) * span.dim, f"{len(self.words)} words that fit", move)
        words = span.back(self.words)
        words.setflags(write=False)
        found = object.__new__(Codebook)
        found.__dict__.update(self.__dict__)
        found.__dict__.update(_words=words, _mark="")
        return found

    def _errors(self, outputs: Outputs) -> dict[str, Floats]:
        """Return the variance of Y - Z, its mean, and the variance of Y, of each number, (d,).

        What is as small as rounding is none: a book without error is a bare release, of power 0.
        """
        p, center = outputs.weights, outputs.center
        joint = p[:, None] * self.matrix
        mass = joint.sum(axis=0)
        shift = mass @ self.words - center
        words = self.words - mass @ self.words  # around their own mean: nothing cancels
        cross = np.einsum("kd,kd->d", joint.T @ (outputs.values - center), words)
        around = mass @ np.square(words)
        variance = np.maximum(around - 2.0 * cross + outputs.spread, 0.0)
        variance[variance <= _BARE * outputs.spread] = 0.0
        shift[np.square(shift) <= _BARE * outputs.spread] = 0.0
        reach = np.abs(self.words).max(axis=0) + np.abs(center)
        return {
            "_variance": variance, "_shift": shift, "_around": around,
            "_rounding": np.square(8.0 * np.finfo(float).eps * reach),
        }  # fmt: skip

    @property
    def words(self) -> Floats:
        """The code words, (K, d)."""
        return self._words

    @property
    def dim(self) -> int:
        """Number of output coordinates, d."""
        return int(self.words.shape[1])

    @property
    def power(self) -> float:
        """E|Y - Z|^2 on the outputs it was tabulated for; NaN before."""
        return float(self._squares.sum())

    @property
    def _squares(self) -> Floats:
        return np.asarray(self._variance + np.square(self._shift))

    def power_in(self, scale: Floats) -> float:
        """Return E|scale * (Y - Z)|^2 for (d,) factors: the power in other units."""
        return float(np.square(scale) @ self._squares)

    def encode(self, values: Floats) -> Ints:
        """Return the (m, 1) rows of the (m, d) outputs of all worlds: their own, in order."""
        if len(values) != len(self.tables):
            raise refuse(f"outputs of {len(self.tables)} worlds", len(values), "Pass all of them.")
        return np.arange(len(values))[:, None]

    def error(self) -> dict[str, Floats]:
        """Return deviation and mean of Y - Z, and the deviation of Y from the mean of worlds."""
        return {
            "noise": np.sqrt(self._variance + self._rounding),
            "bias": self._shift,
            "both": np.sqrt(self._around + self._rounding),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of words and tables."""
        return digest(self.words, self.tables)

    def describe(self) -> Json:
        """Return the public description."""
        return {
            "family": "codebook",
            "dim": self.dim,
            "words": len(self.words),
            "power": self.power,
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        m, k = self.tables.shape
        return f"Codebook(worlds={m}, words={k}, dim={self.dim})"
