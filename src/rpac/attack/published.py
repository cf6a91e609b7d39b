"""A published record, read as an outsider would who knows everybody but one person.

What stands beside a certified number may tell more than the number. Each part of a record is read
for what it gives away, and put under one of three headings: paid for, true of a pool that was
declared public or declared itself (which no promise protects), or a defect, which should not be
there.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.advantage import distance_to_success
from rpac.pictures.text import columns_html

CERTIFIED, FACT, DEFECT = "certified", "fact of the public pool", "DEFECT"
DECLARED = "declared"
"""Names in an answer about presence: public by declaration, never read off rows."""
GIVEN = "given, not protected"
"""What a release tells beside its promise *person, given the level*."""
UNBOOKED = "not booked"
"""Of a record without a receipt."""
_CHANGED = "it was changed after it was written, since its own checksum does not fit"
_NORMAL = 1.959964
"""Half-width of a Gaussian's 95 % interval in standard deviations; of other laws it is near."""
_HEX = re.compile(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{32,}(?![0-9a-zA-Z])")
_UNITS = re.compile(r"\bof the ([\d,]+) units\b")
_OWN = ("sha256", "certificate.sha256", "receipt.hash", "receipt.ledger", "receipt.version")
"""Hashes of what is printed anyway, and marks under the ledger's key."""
_OWNERS = {
    "plan": "error bars before any noise was drawn: the spread over worlds to the last digit",
    "audit": "how well attacks did on these data",
    "units": "how many people there are, so whether one of them is there",
    "exposure": "who is most exposed",
    "worst_units": "who is most exposed",
    "remaining": "what was charged, by the difference to the cap: a figure achieved on these data",
    "receipt.nano": "what was charged: a figure achieved on these data",
    "receipt.nats": "what was charged: a figure achieved on these data",
}
"""Fields that only the owner may see, and what they tell."""


@final
@dataclass(frozen=True)
class Lesson:
    """What one part of a record teaches.

    Attributes:
        part: "numbers", "intervals", "level", "origin", "names", "hashes", "refusals", ...
        where: Its place in the record.
        tells: What somebody learns from it who knows everything about everybody but one person.
        heading: `CERTIFIED`, `FACT`, `DECLARED`, `GIVEN`, `UNBOOKED` or `DEFECT`.
    """

    part: str
    where: str
    tells: str
    heading: str


@final
@dataclass(frozen=True)
class Reading:
    """What a published record teaches, part by part; made by `outsider`.

    Attributes:
        rows: What each part teaches.
        person: Whether the promise is about anybody's presence: there is no public pool then.
    """

    rows: tuple[Lesson, ...]
    person: bool = False

    @property
    def defects(self) -> list[Lesson]:
        """What should not be in the record."""
        return [row for row in self.rows if row.heading == DEFECT]

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        parts = dict.fromkeys(row.part for row in self.defects)
        changed = parts.pop("change", "") is None
        beside = f"{', '.join(parts)} should not be in a public record" if parts else ""
        if changed:
            return f"DEFECT: {_CHANGED}{f'; and {beside}' if beside else ''}"
        if parts:
            return f"DEFECT: {beside}"
        found = {row.heading for row in self.rows}
        booked = "; not booked: nobody adds it up" if UNBOOKED in found else ""
        if self.person:
            given = " or given, not protected" if GIVEN in found else ""
            names = "; names must have been declared, which cannot be seen here"
            names = names if DECLARED in found else ""
            return f"No defect: all of it is certified{given}{names}{booked}"
        facts = len([row for row in self.rows if row.heading == FACT])
        return f"No defect. {facts} facts of the public pool: no promise protects these{booked}"

    def changed(self) -> Reading:
        """Return the reading of a record whose own checksum does not fit: that is its defect."""
        told = f"{_CHANGED}: nothing that stands here need be what was released"
        return replace(self, rows=(Lesson("change", "sha256", told, DEFECT), *self.rows))

    def to_dict(self) -> Json:
        """Return the reading as plain data."""
        rows = [asdict(row) for row in self.rows]
        return {"verdict": self.verdict, "defects": len(self.defects), "rows": rows}

    def __str__(self) -> str:
        cells = [(row.heading, row.part, row.where) for row in self.rows]
        wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = (
            "  ".join(text.ljust(width) for text, width in zip(line, wide, strict=True))
            for line in cells
        )
        told = zip(lines, self.rows, strict=True)
        return "\n".join([self.verdict, "", *(f"{line}  {row.tells}" for line, row in told)])

    def _repr_html_(self) -> str:
        head = ("heading", "part", "where", "tells")
        body = [[getattr(row, name) for name in head] for row in self.rows]
        return f"<p><b>{html.escape(self.verdict)}</b></p>{columns_html(head, body)}"


def outsider(record: Json | str | Path, entries: Iterable[Json] | None = None) -> Reading:
    """Read a published record as an outsider would, and say what each part of it tells.

    Args:
        record: A record as `rpac release --out` writes it, or the path of one.
        entries: Entries of the books, as `Ledger.entries` yields them, for what refusals tell.

    Raises:
        InputError: If it is no record.
    """
    body = record if isinstance(record, dict) else _read(Path(record))
    if not str(body.get("schema")).startswith("rpac-record/") or "certificate" not in body:
        raise refuse(
            "a record of a release",
            f"one of schema {str(body.get('schema'))[:32]!r}",
            "Write one with `rpac release --out`.",
        )
    whole = body | {"certificate": _certificate(body["certificate"])}
    named = whole.get("promise")
    words = [*named.values()] if isinstance(named, dict) else [named]
    person = any(str(word).startswith("person") for word in words)
    found = [*_promise(whole, person=person), *_answer(whole, person=person)]
    beside = _drawn if person else _level
    found += [*beside(whole["certificate"]), *_hashes(whole), *_owners(whole)]
    return Reading((*found, *_booked(whole), _refusals(entries, person=person)), person)


def _read(path: Path) -> Json:
    if not path.is_file():
        raise refuse("a file that exists", repr(path.name), "Check the path.")
    text = path.read_bytes()
    if text.lstrip()[:1] == b"<":
        move = "Pass the record.json beside it."
        raise refuse("a record (JSON) as `rpac release --out` writes it", "an HTML page", move)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise refuse("a record of a release, in JSON", repr(path.name), "Check the path.")
    return body


def _certificate(text: Any) -> Json:
    """Return a certificate as data: a record holds it as text, sealed by its own hash."""
    try:
        made = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        made = None
    if not isinstance(made, dict):
        raise refuse("a certificate in the record", "a text that is none", "Ask for the original.")
    return made


def _promise(whole: Json, *, person: bool) -> Iterator[Lesson]:
    if "promise" not in whole:
        told = "not named: a reader cannot know whether the pool was declared public"
        yield Lesson("promise", "promise", told, DEFECT)
        return
    told = (
        "whether somebody is in the data" if person else "which sample of a public pool was drawn"
    )
    yield Lesson("promise", "promise", f"protected is {told}", CERTIFIED)


# --- the answer ---------------------------------------------------------------------------------


def _answer(whole: Json, *, person: bool) -> Iterator[Lesson]:
    """Yield what names, numbers, constants and intervals tell."""
    rows = [row for row in whole.get("answer") or [] if isinstance(row, dict)]
    label = whole["certificate"].get("outputs", {}).get("kind") == "label"
    measured = {name for row in rows for name, cell in row.items() if isinstance(cell, dict)}
    measured |= {name for row in rows for name in row if label}
    names = [str(cell) for row in rows for name, cell in row.items() if name not in measured]
    noisy = [cell for row in rows for cell in row.values() if label or _is_noisy(cell)]
    bound = whole["certificate"].get("bound")
    told = f"{len(noisy)} with noise: together at most {bound} nats about the secret"
    yield Lesson("numbers", "answer", told, CERTIFIED)
    if names:
        told = f"{_listed(names)}: must come from declared domains or public tables, not from rows"
        yield Lesson("names", "answer", told, DECLARED if person else FACT)
    even = bool(whole["certificate"].get("noise", {}).get("gaussian", True))
    for i, row in enumerate(rows):
        for name in (name for name in row if name in measured and not label):
            where = f"answer[{i}].{name}"
            yield from _cell(row[name], where, even=even, person=person)


def _listed(names: list[str], most: int = 12) -> str:
    """Return names, each once; of many the first."""
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def _cell(cell: Any, where: str, *, even: bool, person: bool) -> Iterator[Lesson]:
    shown = cell if isinstance(cell, dict) else {"value": cell}
    if not _is_noisy(shown):
        why = (
            "no noise is on it" if person else "all samples agree, so it is true of the whole pool"
        )
        told = f"exactly {shown.get('value')}: {why}"
        yield Lesson("numbers", where, told, DEFECT if person else FACT)
        return
    if person:
        if shown.get("sampling") is not None:
            told = (
                f"{shown['sampling']}: its width is the spread over samples, a figure of the data"
            )
            yield Lesson("intervals", where, told, DEFECT)
        return
    halves = [_half(shown.get(side)) for side in ("noise", "sampling")]
    if None in halves or math.isnan(spread := _spread(halves)):
        return
    # Ends of counts are rounded; those of other laws are their own quantiles.
    about = "about " if isinstance(shown.get("value"), int) or not even else ""
    told = (
        f"the answer differs between samples by {about}{spread:.6g}; if one person carries this "
        f"number, their value is {about}{spread:.6g}"
    )
    yield Lesson("intervals", where, told, FACT)


def _is_noisy(cell: Any) -> bool:
    return isinstance(cell, dict) and "noise" in cell


def _half(ends: Any) -> float | None:
    """Return the half-width of an interval; None if it is none."""
    plain = isinstance(ends, list) and len(ends) == 2
    if not plain or not all(isinstance(end, int | float) for end in ends):
        return None
    return (float(ends[1]) - float(ends[0])) / 2


def _spread(halves: list[Any]) -> float:
    """Return the standard deviation over worlds from the half-widths without it and with it.

    A sum over a half-sample, scaled to all, is 2v or 0 if one person of value v carries it: its
    standard deviation is |v|. NaN where the wider interval is the narrower.
    """
    noise, both = halves
    return math.sqrt(both * both - noise * noise) / _NORMAL if both >= noise else math.nan


# --- what stands beside it ----------------------------------------------------------------------


def _level(made: Json) -> Iterator[Lesson]:
    """Yield what the scale of the noise and the origin of its grid tell of a public pool."""
    noise, success = made.get("noise", {}), made.get("worst_unit_success")
    if "power" in noise:
        told = f"noise power {noise['power']!r}: other digits if a person is left out"
        yield Lesson("level", "certificate.noise.power", told, FACT)
    if noise.get("family") in ("grid", "lattice", "gaussian"):
        told = "a point that depends on the pool (its mean, modulo the step)"
        yield Lesson("origin", "answer", f"numbers lie on a grid around {told}", FACT)
    if success is not None:
        yield _success(success, asked=success == made.get("requested", {}).get("success"))


def _drawn(made: Json) -> Iterator[Lesson]:
    """Yield what stands beside an answer about presence: drawn, requested, or achieved."""
    noise, asked = made.get("noise", {}), made.get("requested", {})
    given = made.get("promise") == "person, given the level"
    heading = GIVEN if given else CERTIFIED
    for name in ("levels", "middles", "scales", "power"):
        if noise.get(name) not in (None, {}, []):
            how = "drawn privately" if name == "levels" else "drawn privately or declared"
            told = f"{_short(noise[name])}: {'from these data, as it is' if given else how}"
            yield Lesson("level", f"certificate.noise.{name}", told, heading)
    if noise.get("family") is not None:
        yield Lesson("origin", "answer", "sums lie on a public grid around 0", CERTIFIED)
    success, distance = made.get("worst_unit_success"), asked.get("distance")
    if success is not None:
        wanted = {asked.get("success"), distance and distance_to_success(float(distance))}
        yield _success(success, asked=success in wanted - {None})
    if distance != made.get("distance"):
        told = f"{made.get('distance')!r}, where {distance!r} was requested: a figure achieved"
        yield Lesson("distance", "certificate.distance", told, DEFECT)
    for name in ("lower", "bounds", "density_quantiles", "entropy", "facts"):
        if made.get(name) not in (None, 0, 0.0, {}, []):
            told = f"{_short(made[name])}: a figure achieved on these data"
            yield Lesson(name, f"certificate.{name}", told, DEFECT)


def _success(success: Any, *, asked: bool) -> Lesson:
    how = "what was requested" if asked else "a figure achieved on these data"
    told = f"{success!r} for the most exposed person: {how}"
    heading = CERTIFIED if asked else DEFECT
    return Lesson("success", "certificate.worst_unit_success", told, heading)


def _short(part: Any, most: int = 80) -> str:
    """Return plain data as text, of much of it the beginning."""
    text = ", ".join(f"{k} {v}" for k, v in part.items()) if isinstance(part, dict) else repr(part)
    return text if len(text) <= most else f"{text[:most]} ..."


def _leaves(part: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every entry of plain data under its place, containers included."""
    yield where, part
    if isinstance(part, dict):
        for name, item in part.items():
            yield from _leaves(item, f"{where}.{name}".lstrip("."))
    elif isinstance(part, list):
        for i, item in enumerate(part):
            yield from _leaves(item, f"{where}[{i}]")


def _hashes(whole: Json) -> Iterator[Lesson]:
    """Yield hashes that can be recomputed from a guess about the one person who is not known."""
    marks = 0
    for where, text in _leaves({name: part for name, part in whole.items() if name != "question"}):
        for mark in _HEX.findall(text) if isinstance(text, str) else ():
            if where in _OWN or where.endswith("fingerprint"):
                marks += 1
                continue
            told = (
                f"{mark[:12]}...: whoever tries candidates for a person's value knows the right one"
            )
            yield Lesson("hashes", where, told, DEFECT)
    told = f"{marks} of what is printed here or under the owner's key: nothing can be tried on them"
    yield Lesson("hashes", "receipt, record", told, CERTIFIED)


def _owners(whole: Json) -> Iterator[Lesson]:
    """Yield fields that are the owner's alone."""
    asked = ("answer", "value", "question")
    rest = {name: part for name, part in whole.items() if name not in asked}
    for where, item in _leaves(rest):
        within = any(where.startswith((f"{name}.", f"{name}[")) for name in ("plan", "audit"))
        name = where.rpartition(".")[2]
        tells = _OWNERS.get(where) or _OWNERS.get(name)
        if tells and item not in (None, [], {}) and not within:
            yield Lesson(name, where, tells, DEFECT)
        elif isinstance(item, str) and (told := _UNITS.search(item)):
            yield Lesson("units", where, f"{told[1]}: {_OWNERS['units']}", DEFECT)


def _booked(whole: Json) -> Iterator[Lesson]:
    if whole.get("receipt") is None:
        told = "not booked: nobody adds it up with other answers about the same people"
        yield Lesson("booking", "receipt", told, UNBOOKED)


def _refusals(entries: Iterable[Json] | None, *, person: bool) -> Lesson:
    """Return what withheld answers tell; under *person* none is withheld because of data."""
    if entries is None:
        told = "none in a record; the books have them (pass their entries)"
        told = "none: nothing is refused because of data" if person else told
        return Lesson("refusals", "books", told, CERTIFIED)
    booked = [entry for entry in entries if entry.get("answer") == {"withheld": True}]
    nats = sum(int(entry.get("nano") or 0) for entry in booked) / 1e9
    each = "one text for all reasons" if person else "each tells that some sample did not allow it"
    told = f"{len(booked)} withheld for {nats:g} nats: {each}"
    free = any(not entry.get("nano") for entry in booked)
    return Lesson("refusals", "books", told, DEFECT if free else CERTIFIED)
