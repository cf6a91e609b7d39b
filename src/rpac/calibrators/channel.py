"""The optimal channel to public code words, at one budget or along many.

Words are seeded among the worlds and cooled: from a slope that leaks too much down to the budget,
and back up from below it; the better one is kept. Their number is doubled until that gains less
than `GAIN` of the distortion. Where the leakage jumps as the slope moves, a public coin mixes the
two books beside the jump: it says which one is used, so leakages and distortions mix alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from rpac._base.checks import array, count, refuse
from rpac._base.types import Floats
from rpac.calibrators.rate_distortion import Book, Game
from rpac.calibrators.utility import Loss, Utility, hamming
from rpac.noise.codebook import Codebook
from rpac.worlds.outputs import Outputs

GAIN = 0.01
"""Share of the distortion below which more words are not worth it."""
MOST_WORDS = 4_096
_FULL = 0.75
"""Share of the words that must have stayed apart for more of them to be tried."""
_FEW = 512
"""Words of a book from which it is worth starting at a neighbouring budget, at most."""
_WORK, _ROUNDS = 6e8, (20, 300)
"""Kernel entries, weighed by coordinates, that one settling may take, about; and rounds of it."""
_CLOSE = 1e-3
"""Share of the budget within which a search along the slope ends."""
_NARROW = 1e-3
"""Width of a bracket of the log slope at which the leakage is taken to jump."""
_COIN = 1e-3
"""Share of the distortion that a coin must gain: it takes the words of two books."""
_COOLING = 0.25
"""Step of the log slope on the way down; doubled while the leakage falls by less than `_CALM`."""
_CALM = 0.01
_STEEPEST = 1e12
"""Slope, in shares of the loss without any words, beyond which no world is told from another."""
_ROUNDING = 1e-10
"""Nats below a budget that are aimed at: room for what a certificate adds for rounding."""
_CANDIDATES = 1_024
"""Worlds among which, beside the words, the limit is stated."""


class Met(NamedTuple):
    """A channel that meets a budget.

    Attributes:
        book: The book that it comes from.
        matrix: (m, K) P(word | world), of distinct worlds.
        words: (K, r).
        leakage: MI in nats.
        distortion: E[loss].
    """

    book: Book
    matrix: Floats
    words: Floats
    leakage: float
    distortion: float


@final
@dataclass(frozen=True)
class Limit:
    """How far a channel is from the rate-distortion limit.

    Attributes:
        distortion: E[loss] of the channel.
        limit: No channel of its leakage to words among the candidates has less.
        candidates: How many these are: the channel's own words, and worlds.
    """

    distortion: float
    limit: float
    candidates: int

    @property
    def gap(self) -> float:
        """Distortion beyond the limit, as a share of the distortion."""
        return 1.0 - self.limit / self.distortion if self.distortion > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"distortion {self.distortion:.6g}, within {self.gap:.2%} of the rate-distortion limit "
            f"over {self.candidates} candidates"
        )


class ChannelSearch:
    """The worlds' rate-distortion game, and ways to meet a budget in it.

    Args:
        outputs: Finite worlds.
        utility: What a word costs in place of an output.
        words: How many words at most (None: as many as gain), or the words themselves, (K, d).
        seed: Study randomness.
    """

    def __init__(self, outputs: Outputs, utility: Any, words: Any, seed: int) -> None:
        if not outputs.exact:
            raise refuse("finite worlds for a channel", "draws", "Use rpac.Worlds, or noise.")
        self.outputs, self.utility, self.seed = outputs, as_utility(utility), seed
        self.most = MOST_WORDS if np.ndim(words) or words is None else int(words)
        points, place = np.unique(outputs.values, axis=0, return_inverse=True)
        self.points, self.place = points, place.ravel()
        weights = np.asarray(np.bincount(self.place, outputs.weights), np.float64)
        self.given = self._given_words(words, weights)
        free = self.given is None
        features = self.utility.features(points, weights) if free else None
        self.means = features is not None  # a squared length: the best words are means
        if features is None:
            self.game = Game(points, weights, self.utility, moving=free)
        else:
            self.game = Game(features, weights, moving=True, placed=self._placed)
        self.scale = self._loss_of_one_word()

    def _given_words(self, words: Any, weights: Floats) -> Floats | None:
        """Return the words that stay as they are: given ones, or one for each class."""
        if np.ndim(words):
            found: Floats = checked_words(words, self.outputs.dim)
            return found
        if self.outputs.halves:
            raise refuse(
                "code words that are given, for half-samples of a table",
                "none: words found here would be answers about the pool",
                "Pass rpac.Equilibrium(family='channel', words=...), or use noise.",
            )
        plain = isinstance(self.utility, Loss) and self.utility.function is hamming
        return _of_classes(self.points, weights) if plain else None

    def _placed(self, words: Floats) -> Floats:
        return self.utility.placed(words, self.outputs.dim)

    def _loss_of_one_word(self) -> float:
        """Return the least loss of one word for all worlds: their mean, or one of those given."""
        game = self.game
        words = (game.weights @ game.points)[None] if self.given is None else self.given
        each = [game.weights[rows] @ game.loss(rows, words) for rows in game.blocks(len(words))]
        return max(float(np.sum(each, axis=0).min()), 1e-300)

    def at(self, nats: float) -> Codebook:
        """Return the channel of least distortion found at one budget."""
        return self.along([nats])[0]

    def along(self, budgets: Sequence[float]) -> list[Codebook]:
        """Return the channel at each of increasing budgets: cooled down, and back up."""
        found: list[Met] = []
        for nats in reversed(budgets):
            met = self._grown(nats)
            if found and len(found[-1].book.words) <= _FEW:
                met = _better(met, self._meet(nats, found[-1].book))
            found.append(met)
        found.reverse()
        if self.given is None:
            self._upwards(found, budgets)
        return [self._codebook(met) for met in found]

    def _upwards(self, found: list[Met], budgets: Sequence[float]) -> None:
        """Put in what is better coming from below, at every budget."""
        book = self._meet(0.7 * budgets[0], found[0].book).book
        for i, nats in enumerate(budgets):
            size = len(found[i].book.words)
            if size <= _FEW:
                found[i] = _better(found[i], self._meet(nats, self._spread_out(book, size)))
            book = found[i].book

    def _grown(self, nats: float) -> Met:
        """Return the best of books with more and more words."""
        book = self._seeds(nats)
        best, size = self._meet(nats, book), len(book.words)
        while self.given is None and len(best.book.words) > _FULL * size:
            more = min(2 * size, self.most, len(self.points))
            if more <= size:
                break
            size = more
            before = best.distortion
            best = _better(best, self._meet(nats, self._spread_out(best.book, size)))
            if best.distortion > (1 - GAIN) * before:
                break
        return best

    def _seeds(self, nats: float) -> Book:
        """Return the first book: given words, or worlds far from each other."""
        if self.given is not None:
            k = len(self.given)
            return Book(self.given, np.full(k, 1 / k), 1 / self.scale)
        twice = 2.0 ** math.ceil(math.log2(2 * math.exp(min(nats, 8.0))))  # e^nats are needed
        size = min(int(np.clip(twice, 32, 512)), self.most)
        one = Book((self.game.weights @ self.game.points)[None], np.ones(1), 1 / self.scale)
        return self._spread_out(one, min(size, len(self.points)))

    def _spread_out(self, book: Book, size: int) -> Book:
        """Return a book of `size` words: those it has, and worlds that it serves badly.

        Worlds are drawn as k-means++ does, at a slope that tells them apart.
        """
        game, rng = self.game, np.random.default_rng([self.seed, size])
        blocks = game.blocks(len(book.words))
        far = np.concatenate([game.loss(rows, book.words).min(axis=1) for rows in blocks])
        picks: list[int] = []
        for _ in range(size - len(book.words)):
            odds = game.weights * far
            if not odds.sum() > 1e-12 * self.scale:
                break
            picks.append(int(rng.choice(len(far), p=odds / odds.sum())))
            far = np.minimum(far, game.loss(slice(None), game.points[picks[-1:]])[:, 0])
        words = np.concatenate([book.words, game.points[picks]])
        old, new = (1 - len(picks) / len(words)) * book.mass, np.full(len(picks), 1 / len(words))
        left = max(float(game.weights @ far), 1e-12 * self.scale)
        slope = max(book.slope, 0.5 * game.points.shape[1] / left)
        return Book(words, np.concatenate([old, new]), slope)

    def _settled(self, book: Book, slope: float, work: float = _WORK) -> Book:
        m, r = self.game.points.shape
        rounds = int(np.clip(work / (m * len(book.words) * (1 + r / 10)), *_ROUNDS))
        return self.game.settled(Book(book.words, book.mass, slope), rounds)

    def _heated(self, nats: float, book: Book) -> Book:
        """Return a book at a slope at which it leaks more than the budget, if it ever does."""
        found = self._settled(book, book.slope, work=0.0)
        while found.leakage <= nats and found.slope < _STEEPEST / self.scale:
            found = self._settled(found, 2.0 * found.slope, work=0.0)
        return found

    def _meet(self, nats: float, start: Book) -> Met:
        """Return the channel at a budget: cooled until it fits, and a bracket closed from below."""
        target = nats * (1 - 1e-9) - _ROUNDING
        if target <= _ROUNDING:
            return self._met(self._silent())
        above = self._heated(target, start)
        if above.leakage <= target:
            return self._met(above)  # all that words can tell
        below: Book | None = None
        slope, longest = above.slope, _COOLING
        for _ in range(200):
            book = self.game.merged(self._settled(above, slope))
            if book.leakage > target:
                fell, above = above.leakage - book.leakage, book
                longest = 2 * longest if fell < _CALM * target else _COOLING
            else:
                below = book
            if below is None:
                slope = above.slope * math.exp(-longest)
                continue
            width = math.log(above.slope / below.slope)
            if target - below.leakage <= _CLOSE * target or width < _NARROW:
                break
            share = (target - below.leakage) / (above.leakage - below.leakage)
            slope = below.slope * math.exp(min(max(share, 0.1), 0.9) * width)
        assert below is not None, "leakage falls to 0 with the slope"
        return self._closed(below, above, target)

    def _silent(self) -> Book:
        """Return the book of one word, which tells nothing: the mean, or the best one given."""
        game = self.game
        if self.given is None:
            word = game.placed((game.weights @ game.points)[None])
        else:
            losses = [game.weights[rows] @ game.loss(rows, self.given)
                      for rows in game.blocks(len(self.given))]  # fmt: skip
            word = self.given[[int(np.sum(losses, axis=0).argmin())]]
        return Book(word, np.ones(1), 1 / self.scale, 0.0)

    def _closed(self, below: Book, above: Book, target: float) -> Met:
        """Return a book pushed up to the budget, or a coin between two of them if that gains."""
        pushed = self._pushed(below, target)
        if target - below.leakage <= _CLOSE * target:
            return pushed
        mixed = coin(self._met(below), self._met(above), target)
        return mixed if mixed.distortion < (1 - _COIN) * pushed.distortion else pushed

    def _pushed(self, book: Book, target: float) -> Met:
        """Return the channel of a book's own words and masses, at the slope that meets the budget.

        Every answer was evaluated, and found within the budget.
        """
        best, slope, factor = self._met(book), book.slope, 1.02
        steepest = _STEEPEST / self.scale if len(book.words) > 1 else slope
        while factor - 1 > 1e-7 and target - best.leakage > 1e-5 * target and slope < steepest:
            tried = self._met(Book(book.words, book.mass, slope * factor))
            if tried.leakage <= target and factor < 1e3:
                best, slope = tried, slope * factor
                factor *= factor
            else:
                factor = min(factor**0.25, 1.02)
        return best

    def _met(self, book: Book) -> Met:
        matrix = self.game.channel(book)
        words = self.game.means(matrix) if self.means else book.words
        return Met(book, matrix, words, *self.game.figures(matrix, words))

    def _codebook(self, met: Met) -> Codebook:
        """Return the law of all worlds: equal outputs have equal rows."""
        used = self.game.weights @ met.matrix > 0
        matrix = met.matrix[:, used] / met.matrix[:, used].sum(axis=1, keepdims=True)
        words = met.words[used]
        if self.means:
            center, joint = self.outputs.center, matrix * self.game.weights[:, None]
            words = center + joint.T @ (self.points - center) / joint.sum(axis=0)[:, None]
        return Codebook(words, matrix[self.place]).of(self.outputs)

    def limit(self, law: Codebook) -> Limit:
        """Return how far a channel of these outputs is from the rate-distortion limit.

        The dual is taken at the slope that fits the channel: its log ratios fall with the loss.
        Words that may move are taken at their means, and equal outputs with their mean row.
        """
        game, place = self.game, self.place
        matrix = np.zeros((len(self.points), len(law.words)))
        np.add.at(matrix, place, law.matrix * self.outputs.weights[:, None])
        used = matrix.any(axis=0)
        matrix = matrix[:, used] / matrix.sum(axis=1, keepdims=True)
        words = game.means(matrix) if self.means else law.words[used]
        leak, lost = game.figures(matrix, words)
        mass, few = game.weights @ matrix, min(_CANDIDATES, len(self.points))
        slope = game.slope(matrix, mass, words)
        if not slope > 0:
            return Limit(lost, 0.0, len(words))
        picks = np.random.default_rng(self.seed).choice(len(self.points), few, replace=False)
        found = game.limit(Book(words, mass, slope), leak, game.points[picks])
        return Limit(lost, min(found, lost), len(words) + few)


def coin(low: Met, high: Met, target: float) -> Met:
    """Return the channel of a public coin between two: the word tells which one was used.

    Words of the two are kept apart, so leakages mix as distortions do.
    """
    apart = max(high.leakage - low.leakage, 1e-300)
    share = min(max((target - low.leakage) / apart, 0.0), 1.0)
    matrix = np.concatenate([(1 - share) * low.matrix, share * high.matrix], axis=1)
    words = np.concatenate([low.words, high.words])
    leakage = (1 - share) * low.leakage + share * high.leakage
    distortion = (1 - share) * low.distortion + share * high.distortion
    return Met(low.book, matrix, words, leakage, distortion)


def _better(first: Met, second: Met) -> Met:
    return second if second.distortion < first.distortion else first


def as_utility(utility: Any) -> Utility:
    """Return a utility; a plain function is a loss of values and words."""
    if not isinstance(utility, Utility) and not callable(utility):
        got = repr(utility)
        raise refuse("a utility, or a function loss(values, words)", got, "Such as rpac.hamming.")
    return utility if isinstance(utility, Utility) else Loss(utility)


def checked_words(words: Any, dim: int | None = None) -> Any:
    """Return None, a number of words, or the words themselves, (K, d)."""
    if np.ndim(words) == 0:
        return None if words is None else count(words, "words", least=1)
    found = np.asarray(words)
    found = array(found[:, None] if found.ndim == 1 else found, "words", 2)
    if dim is not None and found.shape[1] != dim:
        raise refuse(f"words of {dim} numbers", f"shape {found.shape}", "Give whole answers.")
    return found


def _of_classes(points: Floats, weights: Floats) -> Floats:
    """Return the mean of the worlds of each class, by their largest number, (k, d)."""
    if points.shape[1] == 1:
        return points
    labels = points.argmax(axis=1)
    inside = np.unique(labels)[:, None] == labels
    share = inside * weights
    return np.asarray(share @ points / share.sum(axis=1, keepdims=True))
