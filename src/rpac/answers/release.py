"""What a release shows: the answer in the mechanism's form, and its intervals. Post-processing.

What is stored is what is shown: `stored` writes plain data, and `shown` makes the release of it,
the same for the first call, for every retry and for whoever comes second with a key.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, final

import numpy as np

from rpac._base.types import Floats, Ints, Json
from rpac.answers import interval, precision
from rpac.answers.face import SHOWN, drawn, guesses, in_digits, numbers, table
from rpac.answers.rows import answer_rows
from rpac.answers.tidy import tidied
from rpac.certificate.certificate import Certificate
from rpac.ledger.entries import Receipt
from rpac.noise.base import Releasable
from rpac.noise.codebook import Codebook
from rpac.pictures import svg
from rpac.pictures.plots import release_figure
from rpac.pictures.svg import inline
from rpac.pictures.text import aligned, columns, columns_html, lines_html
from rpac.worlds.outputs import Outputs

_ANY = 4.472136
"""Half-width in standard deviations that holds 95 % of any law (Chebyshev): where no quantiles are
known, as of old entries of the books and of very large code books."""

TIDY_DIGITS = 4
"""Significant digits of a tidy quantile: its public grid is coarser where no caps are declared."""
_PAGE = 10_000
"""Characters of a value that are printed, at most."""

_USUAL = MappingProxyType({f.name: f.default for f in fields(Certificate) if f.name != "schema"})
"""What certificates of this schema say unless they are told otherwise."""


@final
@dataclass(frozen=True)
class Release:
    """A privatized answer.

    Attributes:
        value: The answer with its noise, in the form the mechanism returns.
        certificate: What it leaks at most.
        receipt: The entry in the books; None without a ledger.
        noise_interval: (low, high), each in the form of `value`: holds the answer on the drawn
            world, without noise, in 95 % of releases. None for labels, and for answers of quantiles
            alone under *person*, whose noise is in the rank; beside sums these have no ends.
        sampling_interval: The same for the mean answer over all worlds: noise, and which world
            was drawn, together.
        sealed: (outputs, law) for `rpac.audit`; never printed, compared or pickled.
        facts: (low, high), each in the form of `value`: they differ exactly in the numbers on
            which all worlds agree. None where there are none. See `certificate.facts`.
    """

    value: Any
    certificate: Certificate
    receipt: Receipt | None = None
    noise_interval: tuple[Any, Any] | None = None
    sampling_interval: tuple[Any, Any] | None = None
    sealed: Any = field(default=None, repr=False, compare=False)
    facts: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> Any:
        public = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "sealed"}
        return _unpacked, (public,)

    def lines(self) -> list[tuple[str, str]]:
        """Return the release as label and text: the answer, its error bars, its receipt.

        Of several numbers it is a table, a line each; of very many the first.
        """
        rows = self._rows
        alone = len(rows) == 1 and len(rows[0]) == 1
        found = [("released", _short(self.value) if alone else self._table(rows))]
        if alone:
            found += self._error_bars(*rows[0].values())
        if self.certificate.facts:
            found.append(("not protected", self.certificate.facts_in_words))
        found += [("note", note) for note in self.certificate.outputs.get("notes", ())]
        return found + ([] if self.receipt is None else [("booked", str(self.receipt))])

    @property
    def _rows(self) -> list[Json]:
        """The first rows of the answer, as people look at them."""
        return answer_rows(self, "answer", SHOWN)[:SHOWN]

    @property
    def _word(self) -> bool:
        """Whether what was released is a code word: a guess at the answer, not one with noise."""
        return bool(self.certificate.noise.get("family") == "codebook")

    def _error_bars(self, cell: Any) -> list[tuple[str, str]]:
        names = ("the answer itself" if self._word else "without its noise", "mean of all worlds")
        found = []
        for name, pair in zip(names, (self.noise_interval, self.sampling_interval), strict=True):
            if pair is not None:
                found.append((name, f"{_short(pair[0])} to {_short(pair[1])} (95 %)"))
        said = precision.of(cell)
        return found + ([("relative error", said)] if said else [])

    def _table(self, rows: list[Json]) -> str:
        if not rows:
            return _short(self.value)
        more = _more(self.value)
        return columns(*table(rows, words=self._word)) + (f"\n{more}" if more else "")

    def tidy(
        self, *, least: float | Literal["counts"] | None = "counts", whole: bool | None = None
    ) -> Any:
        """Return the value in the same form: counts not below 0, other numbers rounded.

        Post-processing: it costs nothing, and the release still says what was released. Counts read
        better so; their average does not, since noise that is below 0 is cut off. Which numbers are
        counts is known of statistics and SQL under *person*; elsewhere say `least=0` for them.

        Args:
            least: Numbers below it are put there, all of them; "counts": counts at 0 and others
                left; None: none are.
            whole: Whether all numbers are rounded to whole ones; None: to the decimal place of a
                tenth of their error bar's half-width, and quantiles, which have none, to
                `TIDY_DIGITS` significant digits.

        Returns:
            The value's own form. Fractions whose error bar has no ends are NaN: they may be
            anything. What is too noisy to publish but has ends is rounded like the rest.
        """
        digits = None if self.certificate.promise == "sample" else TIDY_DIGITS
        counts = self.certificate.outputs.get("kind") == "contributions"
        ends = self.noise_interval
        return tidied(self.value, ends, least=least, whole=whole, counts=counts, digits=digits)

    def plot(self, audit: Any = None) -> Any:
        """Return the release's picture (needs matplotlib): error bars, and what it gives away.

        Of the certificate it has what may be published: what was requested, not what was achieved.

        Args:
            audit: From `rpac.audit`: what attacks reached then stands below what is certified.
        """
        made, rows = self.certificate.published(), self._rows
        nats = None
        if audit is not None:
            nats = {"attack": float(audit.lower), "lower": made.lower, "bound": made.bound}
        return release_figure(numbers(rows), guesses(made), nats)

    def __str__(self) -> str:
        told = self.lines()
        return aligned(told + [line for line in self.certificate.lines() if line not in told])

    def _repr_html_(self) -> str:
        rows, pictured = self._rows, precision.marked(self._rows)
        told = [line for line in self.lines() if line[0] in ("not protected", "note", "booked")]
        more = _more(self.value)
        below = f"<p>{html.escape(more)}</p>" if more else ""
        rest = lines_html("beside it", told) if told else ""
        answer = columns_html(*table(rows, words=self._word, sign="±"), caption="released")
        answer += "".join(inline(svg.intervals(pictured, name, SHOWN)) for name in drawn(rows))
        return f"{answer}{below}{rest}{self.certificate._repr_html_()}"


def _more(value: Any) -> str:
    """Return how many entries are not shown; nothing where all are."""
    size = np.size(value) if isinstance(value, np.ndarray) else len(value) if _sized(value) else 1
    return f"... {size - SHOWN:,} more in .value" if size > SHOWN else ""


def _sized(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def _short(value: Any) -> str:
    """Return a value as text of a page at most; arrays and frames are short by themselves."""
    text = in_digits(value)
    return text if len(text) <= _PAGE else f"{text[:_PAGE]} ... ({len(value)} entries)"


def _unpacked(parts: Json) -> Release:
    """Return a release that has travelled, without what is sealed."""
    return Release(**parts)


def answered(outputs: Outputs, law: Releasable, released: Ints) -> Json:
    """Return the released numbers, their noise's deviations, and the quantiles of their errors.

    A code word for half-samples has neither: its errors against worlds, and the word itself, would
    give an answer on the whole pool.
    """
    if outputs.halves and isinstance(law, Codebook):
        return {"numbers": law.decode(released)}
    known, error = interval.ends(outputs, law), law.error()
    if known:
        error = {"noise": error["noise"]} | known
    return {"numbers": law.decode(released)} | error


def stored(outputs: Outputs, law: Releasable, released: Ints, made: Certificate) -> Json:
    """Return what the books keep of an answer, in plain JSON, with its certificate."""
    found = answered(outputs, law, released)
    plain: Json = {name: array.tolist() for name, array in found.items()}
    return plain | {"certificate": unusual(made)}


def unusual(made: Certificate) -> Json:
    """Return what a certificate says beyond the usual of its schema; the books' hashes seal it."""
    return {k: v for k, v in vars(made).items() if v != _USUAL.get(k, ...)}


def shown(
    outputs: Outputs,
    kept: Json,
    receipt: Receipt | None = None,
    *,
    law: Releasable | None = None,
    made: Certificate | None = None,
) -> Release:
    """Return the release that is stored.

    The law, where it is known, is kept beside it, sealed, for audits. The certificate is the one
    that is stored, unless whoever has just made it passes it on.
    """
    numbers = np.asarray(kept["numbers"])
    made = Certificate(**kept["certificate"]) if made is None else made
    sealed = None if law is None else (outputs, law)
    return Release(
        outputs.rebuild(numbers), made, receipt, *_intervals(outputs, kept),
        sealed, _facts(outputs, numbers, word=made.noise.get("family") == "codebook"),
    )  # fmt: skip


def _facts(outputs: Outputs, numbers: Floats, *, word: bool) -> tuple[Any, Any] | None:
    """Return two answers that differ exactly where all worlds agree; None if they agree nowhere.

    A code word is the same whatever worlds agree on.

    Answers have many forms, with names beside numbers and rows in any order: what moves when these
    numbers move is what they have become.
    """
    if word or not outputs.constant.any():
        return None
    if outputs.kind == "label":
        return None, outputs.rebuild(numbers)
    scale = np.abs(outputs.scale)
    moved = np.where(outputs.constant, (1.0 + np.abs(numbers) * scale) / scale, 0.0)
    if outputs.form is not None and outputs.form.whole:  # rounded once, not outwards
        moved, numbers = np.ceil(moved), np.rint(numbers)
    low, high = numbers - moved, numbers + moved
    return outputs.rebuild(low, beside=numbers), outputs.rebuild(high, beside=numbers)


def _intervals(outputs: Outputs, kept: Json) -> tuple[Any, Any]:
    """Return the interval of the noise, and that of noise and sampling; None for labels."""
    if "noise" not in kept:
        return None, None
    numbers, (near, far) = np.asarray(kept["numbers"]), _errors(outputs, kept)
    low, high = numbers - near[1], numbers - near[0]
    if outputs.form is not None and outputs.form.whole:  # so is the answer without its noise
        rounding = 1e-6 * (1.0 + np.abs(near).max(axis=0))
        low, high = np.ceil(low - rounding), np.floor(high + rounding)
    first = outputs.rebuild(low, beside=numbers), outputs.rebuild(high, beside=numbers)
    low, high = numbers - far[1], numbers - far[0]
    if outputs.form is not None and outputs.form.whole:
        low, high = np.floor(low), np.ceil(high)
    return first, (outputs.rebuild(low, beside=numbers), outputs.rebuild(high, beside=numbers))


def _errors(outputs: Outputs, kept: Json) -> tuple[Floats, Floats]:
    """Return (2, d) quantiles of the error against the drawn world, and against all worlds."""
    if "ends" in kept:
        return np.asarray(kept["ends"]), np.asarray(kept["around"])
    noise = np.asarray(kept["noise"])
    if "bias" in kept:
        far = np.asarray(kept.get("both", np.sqrt(np.square(noise) + outputs.spread)))
        near, far = (np.asarray(kept["bias"]) + _ANY * np.stack([-h, h]) for h in (noise, far))
        return near, far
    half = interval.NORMAL * noise
    return np.stack([-half, half]), interval.around(outputs, noise)
