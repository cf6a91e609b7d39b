"""Declarations as they are written: a schema in a public table, caps and middles in options."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.person.entries import text as spelled

FIELDS = ("column", "type", "floor", "step", "low", "high", "middle", "domain")
"""Columns of a schema's table; all but the first may be missing or empty."""
_NUMBERS = ("floor", "step", "low", "high", "middle")
ANSWER = "answer"
"""The name under which the form of a function's answer is given."""


def read_schema(path: str | Path) -> dict[str, Json]:
    """Return what a public CSV declares, by column of the private table."""
    file = Path(path)
    if not file.is_file():
        raise refuse("a schema that exists", repr(file.name), "Check the path.")
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        rows = list(csv.DictReader(lines, restkey="more"))
    found: dict[str, Json] = {}
    for row in rows:
        declared = _row(row, file.name)
        name = declared.pop("column", "")
        if not name or name in found:
            got = f"{name!r} in {file.name}"
            raise refuse("columns named once in a schema", got, "Give each a row of its own.")
        found[name] = declared
    return found


def _row(row: dict[str, Any], name: str) -> Json:
    """Return one row of a schema, what is empty left out."""
    unknown = [field for field in row if field not in FIELDS]
    if unknown:
        got = f"{unknown[0]!r} in {name}"
        raise refuse(f"columns {', '.join(FIELDS)} in a schema", got, "Fix the first line.")
    given = {field: text.strip() for field, text in row.items() if text and text.strip()}
    found: Json = dict(given)
    for field in _NUMBERS:
        if field in given:
            found[field] = _number(given[field], f"{field} in {name}")
    if "domain" in given:
        found["domain"] = [entry.strip() for entry in given["domain"].split("|")]
    return found


def pair(text: str, option: str) -> tuple[str, str]:
    """Return the two sides of NAME=VALUE."""
    left, sign, right = text.partition("=")
    if not sign or not left or not right:
        raise refuse(f"NAME=VALUE after {option}", repr(text[:80]), "Join them with =.")
    return left, right


def caps(texts: Sequence[str]) -> Json:
    """Return caps by column, from "age=0:120" and "rows=5".

    >>> caps(["age=0:120", "rows=5"])
    {'age': [0.0, 120.0], 'rows': 5.0}
    """
    found: Json = {}
    for text in texts:
        name, limits = pair(text, "--caps")
        ends = [_number(end, "--caps") for end in limits.split(":")]
        alone = name == "rows" and len(ends) == 1
        if not alone and len(ends) != 2:
            raise refuse("COLUMN=low:high after --caps", repr(text[:80]), "Such as age=0:120.")
        found[name] = ends[0] if alone else ends
    return found


def middles(texts: Sequence[str]) -> Json:
    """Return middles by column; several numbers are the form of a function's answer.

    >>> middles(["age=40", "answer=0,0"])
    {'age': 40.0, 'answer': [0.0, 0.0]}
    """
    found: Json = {}
    for text in texts:
        name, given = pair(text, "--middle")
        numbers = [_number(part, "--middle") for part in given.split(",")]
        if len(numbers) > 1 and name != ANSWER:
            move = "Such as age=40; answer=0,0 is for --command."
            raise refuse("one number after --middle COLUMN=", repr(text[:80]), move)
        found[name] = numbers if len(numbers) > 1 else numbers[0]
    return found


def keys(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return declared groups by column, each once, without the spaces around them.

    >>> keys(["dept=a, b"])
    {'dept': ['a', 'b']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, given = pair(text, "--keys")
        if name in found:
            raise refuse("each column once in --keys", f"{name!r} twice", f"Such as {name}=a,b,c.")
        found[name] = [key.strip() for key in given.split(",")]
    return found


def listed_once(declared: Mapping[str, Sequence[Any]]) -> None:
    """Refuse groups that are declared twice, in whatever spelling."""
    for name, entries in declared.items():
        for entry, times in Counter(map(spelled, entries)).items():
            if times > 1:
                raise refuse(f"groups of {name} that differ", f"{entry!r} twice", "List it once.")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise refuse(f"a number for {where}", repr(text[:80]), "Such as 40.") from None
