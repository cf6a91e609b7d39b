"""The rate-distortion game: worlds against code words, by Blahut-Arimoto with words that move.

For a slope s minimise MI(X; W) + s E[loss(Z, W)] over channels from worlds to K words. For given
masses q of the words the best channel is P(j | i) = q_j exp(-s loss(z_i, w_j)) / Z_i; for a given
channel the best masses are its own, and under squared loss the best words are the means of the
worlds behind them. Alternating descends

    F(q, w) = -sum_i p_i log Z_i,    Z_i = sum_j q_j exp(-s loss(z_i, w_j)),

and longer steps are tried while they descend too. *The dual*: for any Z > 0 with
c = max_y sum_i p_i exp(-s loss(z_i, y)) / Z_i over candidates y, every channel to words among them
with leakage R has

    E[loss] >= (-sum_i p_i log Z_i - log c - R) / s,

because MI + s E[loss] >= -sum_i p_i log Z_i - log c (Csiszar): how far a channel is from the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from rpac._base.types import Floats
from rpac.calibrators.utility import Utility

_BLOCK = 1 << 17
"""Entries of a block of the kernel matrix, which stay in the cache."""
_RARE = 1e-10
"""Mass below which a word is dropped: its table entries would hardly ever be drawn."""
_LONGEST = 8.0
_TOUCH = 1e-4
"""Words whose squared distance times the slope is below this are one word."""
_ROUNDS = 100
_STILL = 1e-4


class Step(NamedTuple):
    """One alternation: what the best channel for some words, masses and slope is like.

    Attributes:
        log_z: (m,) log Z_i.
        mass: (K,) of each word under the channel.
        means: (K, r) of the worlds behind each word.
        leakage: MI in nats, of the channel with its own masses.
        distortion: E[loss].
    """

    log_z: Floats
    mass: Floats
    means: Floats
    leakage: float
    distortion: float


@final
@dataclass(frozen=True, eq=False)
class Book:
    """Words and their masses, solved for a slope.

    Attributes:
        words: (K, r).
        mass: (K,) positive, summing to 1.
        slope: s.
        leakage: MI in nats.
        distortion: E[loss].
    """

    words: Floats
    mass: Floats
    slope: float
    leakage: float = math.inf
    distortion: float = math.inf


@final
class Game:
    """Worlds with a loss, and words that may move or not.

    Args:
        points: (m, r) distinct worlds.
        weights: (m,) prior.
        utility: Of the words in place of the points; None for squared loss.
        moving: Whether words move to the means of the worlds behind them.
        placed: Where a word may be, nearest to such a mean.
    """

    def __init__(
        self,
        points: Floats,
        weights: Floats,
        utility: Utility | None = None,
        *,
        moving: bool,
        placed: Callable[[Floats], Floats] = lambda words: words,
    ) -> None:
        self.placed = placed
        self.points, self.weights, self.utility, self.moving = points, weights, utility, moving
        self._square = np.square(points).sum(axis=1)
        self._ones = np.column_stack([points, np.ones((len(points), 2))])

    def loss(self, rows: slice, words: Floats) -> Floats:
        """Return the loss of (K, r) words in place of some worlds, (n, K)."""
        if self.utility is not None:
            return np.asarray(self.utility.loss(self.points[rows], words))
        cross = self.points[rows] @ words.T
        squares = self._square[rows, None] + np.square(words).sum(axis=1)
        return np.asarray(np.maximum(squares - 2.0 * cross, 0.0))

    def blocks(self, columns: int) -> list[slice]:
        """Return slices of worlds whose kernel against so many columns fits the cache."""
        size = max(1, _BLOCK // columns)
        return [slice(a, a + size) for a in range(0, len(self.points), size)]

    def _exponents(
        self, rows: slice, words: Floats, log_q: Floats, slope: float, shift: Floats
    ) -> tuple[Floats, Floats | None]:
        """Return log q_j - s loss - shift, (n, K), and the loss where it is no square."""
        if self.utility is not None:
            loss = self.loss(rows, words)
            return log_q - slope * loss - shift[rows, None], loss
        x = self._ones[rows].copy()  # one product gives the whole exponent
        x[:, -1] = -shift[rows] - slope * self._square[rows]
        level = log_q - slope * np.square(words).sum(axis=1)
        bent = np.column_stack([2.0 * slope * words, level, np.ones(len(words))])
        return x @ bent.T, None

    def _tops(self, words: Floats, log_q: Floats, slope: float) -> Floats:
        """Return the largest exponent of each world, (m,)."""
        none = np.zeros(len(self.points))
        return np.concatenate([
            self._exponents(rows, words, log_q, slope, none)[0].max(axis=1)
            for rows in self.blocks(len(words))
        ])  # fmt: skip

    def step(self, book: Book, shift: Floats | None = None) -> Step:
        """Return the best channel for a book. `shift`, (m,), is near log Z; it costs a pass."""
        words, slope, log_q = book.words, book.slope, np.log(book.mass)
        at = self._tops(words, log_q, slope) if shift is None else shift
        log_z, sums, lost = np.empty(len(at)), np.zeros((len(words), self.points.shape[1] + 1)), 0.0
        for rows in self.blocks(len(words)):
            kernel, loss = self._exponents(rows, words, log_q, slope, at)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                np.exp(kernel, out=kernel)
                total = kernel.sum(axis=1)
                share = self.weights[rows] / total
                log_z[rows] = np.log(total) + at[rows]
                sums += kernel.T @ (self._ones[rows, :-1] * share[:, None])
                if loss is not None:
                    lost += float(share @ (kernel * loss).sum(axis=1))
        if not np.isfinite(log_z).all() and shift is not None:
            return self.step(book)
        mass, total_sums = sums[:, -1], sums[:, :-1]
        if self.utility is None:
            lost = float(self.weights @ self._square + mass @ np.square(words).sum(axis=1))
            lost = max(0.0, lost - 2.0 * float((total_sums * words).sum()))
        seen = np.maximum(mass, 1e-300)
        leak = -float(self.weights @ log_z) - slope * lost - float(mass @ (np.log(seen) - log_q))
        return Step(log_z, mass, self.placed(total_sums / seen[:, None]), max(0.0, leak), lost)

    def settled(self, book: Book, iterations: int, tolerance: float = 1e-6) -> Book:
        """Return the book after alternating until F hardly falls: longer steps while it does."""
        found, plain, least, stride = book, book, math.inf, 1.0
        shift, moving = None, self.moving
        for _ in range(iterations):
            step = self.step(book, shift)
            free = -float(self.weights @ step.log_z)
            if free > least + 1e-12 * abs(least):  # too long, or words that had better stay
                moving = moving and stride > 1.0
                book, stride, shift = plain, 1.0, None
                least = math.inf
                continue
            found = Book(book.words, book.mass, book.slope, step.leakage, step.distortion)
            done = least - free < tolerance * max(free, 1e-9)
            words = step.means if moving else book.words
            plain = _kept(words, step.mass, book.slope)
            if done:
                break
            ratio = np.maximum(step.mass, 1e-300) / book.mass
            book = _kept(book.words + stride * (words - book.words), book.mass * ratio**stride,
                         book.slope)  # fmt: skip
            least, stride = free, min(1.3 * stride, _LONGEST)
            shift = step.log_z
        return found

    def merged(self, book: Book) -> Book:
        """Return the book with words that have come together as one."""
        if not self.moving or self.utility is not None or len(book.words) == 1:
            return book
        squares = np.square(book.words).sum(axis=1)
        apart = squares[:, None] + squares - 2.0 * (book.words @ book.words.T)
        near, owner = apart * book.slope < _TOUCH, np.full(len(squares), -1)
        for j in np.argsort(-book.mass, kind="stable"):
            if owner[j] < 0:
                owner[near[j] & (owner < 0)] = j
                owner[j] = j
        kept, place = np.unique(owner, return_inverse=True)
        mass = np.asarray(np.bincount(place, book.mass), np.float64)
        words = np.stack([np.bincount(place, book.mass * column) for column in book.words.T], 1)
        return Book(words / mass[:, None], mass, book.slope, book.leakage, book.distortion)

    def channel(self, book: Book) -> Floats:
        """Return P(word | world), (m, K), of the best channel for a book."""
        log_q, parts = np.log(book.mass), []
        for rows in self.blocks(len(book.words)):
            kernel = log_q - book.slope * self.loss(rows, book.words)
            kernel -= kernel.max(axis=1, keepdims=True)
            np.exp(kernel, out=kernel)
            parts.append(kernel / kernel.sum(axis=1, keepdims=True))
        return np.concatenate(parts)

    def means(self, matrix: Floats) -> Floats:
        """Return the means of the worlds behind each word of a channel, (K, r)."""
        joint = matrix * self.weights[:, None]
        return self.placed(np.asarray(joint.T @ self.points / joint.sum(axis=0)[:, None]))

    def figures(self, matrix: Floats, words: Floats) -> tuple[float, float]:
        """Return leakage and distortion of a channel (m, K) to (K, r) words."""
        mass = self.weights @ matrix
        logs = np.log(np.maximum(matrix, 1e-300)) - np.log(np.maximum(mass, 1e-300))
        lost = [self.weights[r] @ (matrix[r] * self.loss(r, words)).sum(axis=1)
                for r in self.blocks(len(words))]  # fmt: skip
        return float(self.weights @ (matrix * logs).sum(axis=1)), float(sum(lost))

    def slope(self, matrix: Floats, mass: Floats, words: Floats) -> float:
        """Return the slope at which a channel is nearest to the best one for its words and masses.

        Within each row log P(j | i) / q_j falls with the loss; the fit weighs words as they come.
        """
        top = bottom = 0.0
        for rows in self.blocks(len(words)):
            share = matrix[rows] * self.weights[rows, None]
            off = self.loss(rows, words)
            off -= (matrix[rows] * off).sum(axis=1, keepdims=True)
            top -= float((share * off * np.log(np.maximum(matrix[rows], 1e-300) / mass)).sum())
            bottom += float((share * np.square(off)).sum())
        return top / max(bottom, 1e-300)

    def limit(self, book: Book, nats: float, candidates: Floats) -> float:
        """Return what no channel of that leakage to words among (k, r) candidates goes below.

        Masses on all candidates are improved for some rounds first: any are valid.
        """
        words = np.concatenate([book.words, candidates])
        kernel = np.concatenate([
            np.exp(-book.slope * self.loss(rows, words)) for rows in self.blocks(len(words))
        ])  # fmt: skip
        few = 1e-2 / len(candidates)
        q = np.concatenate([0.99 * book.mass, np.full(len(candidates), few)])
        best = 0.0
        for _ in range(_ROUNDS):
            z = np.maximum(kernel @ q, 1e-300)
            push = (self.weights / z) @ kernel
            top = math.log(push.max())
            best = max(best, (-float(self.weights @ np.log(z)) - top - nats) / book.slope)
            if top < _STILL:
                break
            q *= push
        return best


def _kept(words: Floats, mass: Floats, slope: float) -> Book:
    """Return a book of the words that have some mass."""
    keep = mass > _RARE * mass.max()
    return Book(words[keep], mass[keep] / mass[keep].sum(), slope)
