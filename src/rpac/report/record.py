"""The record of a release: all that is public of it, in one JSON file, no machine's paths."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.answers.release import Release, unusual
from rpac.attack.auditing import Audit
from rpac.certificate.certificate import FACT, Certificate
from rpac.errors import CertificateError, LedgerError, RpacError
from rpac.ledger.ledger import Ledger
from rpac.report import wording
from rpac.worlds import tables

SCHEMA = "rpac-record/3"
POOL = "public by declaration: error bars, noise level and what all worlds agree on are facts of it"
"""What a record says of the pool under the promise *sample*."""
_RECEIPT = ("ledger", "seq", "hash", "dataset")
"""What is public of a receipt: where it is, not what was charged."""


MOST_ROWS = 10_000
"""Numbers of an array that have a row of their own, with their intervals."""


def plain(value: Any) -> Any:
    """Return a released value as plain JSON: tables as lists of rows, what is missing as None."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float | Decimal | datetime.date | datetime.time):
        return _scalar(value)
    if isinstance(value, dict):
        found = {str(key): plain(item) for key, item in value.items()}
        alike = len(found) < len(value)  # 1 and "1" are two keys
        return [[repr(k), plain(item)] for k, item in value.items()] if alike else found
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict") and np.ndim(value) == 1:
        return {str(key): plain(item) for key, item in value.to_dict().items()}
    if tables.is_table(value):
        return [plain(row) for row in tables.table(value).rows(named=True)]
    return str(value)  # a group may be named by anything: a duration, a UUID


def _scalar(value: float | Decimal | datetime.date | datetime.time) -> float | str | None:
    if value != value:  # NaN, and what pandas has for a date that is missing
        return None
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else str(value)  # a group's name, say
    return value.isoformat()


def rows_of(value: Any, name: str) -> list[Json]:
    """Return any plain answer as rows with named columns."""
    if isinstance(value, dict):
        return [{"": str(key), name: plain(item)} for key, item in value.items()]
    found = plain(value)
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if isinstance(found, dict):  # a series
        return [{"": key, name: item} for key, item in found.items()]
    if isinstance(found, list):
        return [{"": i + 1, name: item} for i, item in enumerate(np.ravel(found).tolist())]
    return [{name: found}]


def answer_rows(release: Release, name: str) -> list[Json]:
    """Return the answer row by row; each number with its two 95 % intervals, low and high.

    A number on which all worlds agree is named a fact of the pool instead. Of arrays of very many
    numbers the first `MOST_ROWS` have rows; all of them are in the value.
    """
    if release.certificate.promise != "sample":
        return _noisy_rows(release, name)
    pairs = [release.noise_interval, release.sampling_interval, release.facts]
    sides = [[rows_of(_first(side), name) for side in pair] if pair else None for pair in pairs]
    found = []
    for i, row in enumerate(rows_of(_first(release.value), name)):
        cells: Json = {}
        for column, value in row.items():
            ends = [
                [side[i][column] for side in both] if both is not None else None for both in sides
            ]
            cells[column] = _cell(value, *ends)
        found.append(cells)
    return found


def _first(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size > MOST_ROWS:
        return value.ravel()[:MOST_ROWS]
    return value


def _noisy_rows(release: Release, name: str) -> list[Json]:
    """Return the answer about presence: numbers with the interval of their noise, if they have one.

    Which cells are numbers follows from the interval's ends; without one it is those that are
    no names: every number.
    """
    pair = release.noise_interval
    sides = None if pair is None else [rows_of(side, name) for side in pair]
    found = []
    for i, row in enumerate(rows_of(release.value, name)):
        cells: Json = {}
        for column, value in row.items():
            ends = None if sides is None else [side[i][column] for side in sides]
            bare = ends is None and isinstance(value, float)
            moved = ends is not None and ends[0] != ends[1]
            open_ = ends == [None, None] and value is not None  # a quantile: noise in its rank
            noise = None if open_ else ends
            cells[column] = {"value": value, "noise": noise} if bare or moved or open_ else value
        found.append(cells)
    return found


def _cell(value: Any, noise: Any, sampling: Any, fact: Any) -> Any:
    """Return one cell: a number with its intervals, a fact of the pool, or a name as it is."""
    if fact is not None and fact[0] != fact[1]:
        return {"value": value, "fact": FACT}
    moved = any(end is not None and end[0] != end[1] for end in (noise, sampling))
    return {"value": value, "noise": noise, "sampling": sampling} if moved else value


def said(release: Release) -> Json:
    """Return what a release says by itself, as plain data: what was requested and paid for.

    Neither what was achieved (a tighter bound, success on a person) nor the charge is in it.
    """
    receipt = release.receipt
    public = release.certificate.published()
    return {
        "meaning": wording.meaning(public),
        "answer": answer_rows(release, "answer"),
        "value": plain(release.value),
        "certificate": public.to_json(),
        "receipt": receipt and {name: getattr(receipt, name) for name in _RECEIPT},
    }


def record(told: Json, question: str, *, about: Json) -> Json:
    """Return the public record of a release, under its own hash.

    Args:
        told: What the release says by itself, from `said`.
        question: What was asked, in its own wording.
        about: Unit, and number of worlds where there are any; nothing of the data.
    """
    name = Certificate.from_json(told["certificate"]).promise
    promise = {"name": name} | ({"pool": POOL} if name == "sample" else {})
    body = {"schema": SCHEMA, "promise": promise, "question": question, "about": about} | told
    return body | {"sha256": content_hash(body)}


def content_hash(body: Json) -> str:
    """Return the SHA-256 of all that a record says, its own hash left out."""
    rest = {name: part for name, part in body.items() if name != "sha256"}
    return sha256(publish(rest).encode()).hexdigest()


def seal(body: Json, ledger: Ledger) -> None:
    """Write the hash of a record into the ledger, beside the entry of its receipt."""
    ledger.record("seal", lambda: {"of": body["receipt"]["hash"], "record": body["sha256"]})


def match(body: Json, ledger: Ledger) -> None:
    """Refuse a record unless the ledger holds its receipt, its certificate and its own hash."""
    receipt = body["receipt"]
    of = receipt.get("hash") if isinstance(receipt, dict) else None
    claimed = unusual(Certificate.from_json(body["certificate"]))
    charged = sealed = False
    for entry in ledger.entries():
        if entry["kind"] == "spend" and entry["hash"] == of:
            charged = _public_of(entry) == claimed
        sealed |= entry["kind"] == "seal" and (entry["of"], entry["record"]) == (of, body["sha256"])
    if not charged:
        raise refuse(
            "the receipt of a charge in this ledger, for this certificate",
            f"the hash {_short(of)}",
            "Ask for the right ledger.",
            LedgerError,
        )
    if not sealed:
        raise refuse(
            f"a record sealed in this ledger for the receipt {_short(of)}",
            f"a record of hash {_short(body['sha256'])}",
            "Ask its issuer for the original, or release again with the same --key, for nothing.",
            LedgerError,
        )


def _public_of(entry: Json) -> Json | None:
    """Return what may be public of the certificate in an entry, as a record states it."""
    kept = (entry["answer"] or {}).get("certificate")
    if kept is None:
        return None
    made = Certificate(**kept).published()
    return unusual(Certificate.from_json(made.to_json()))


def _short(mark: Any) -> str:
    """Return the beginning of a hash that a record claims, whatever is written there."""
    return repr(mark[:16] if isinstance(mark, str) else mark)


def audit_summary(audit: Audit) -> Json:
    """Return what is public of an audit: verdict and limits, no unit."""
    names = ("attack", "measure", "estimate", "low", "high", "nats")
    known = [f for f in audit.findings if np.isfinite([f.estimate, f.low, f.high, f.nats]).all()]
    return {
        "verdict": audit.verdict,
        "alarm": audit.alarm,
        "lower": float(audit.lower),
        "confidence": audit.confidence,
        "games": audit.games,
        "rows": [{name: plain(getattr(found, name)) for name in names} for found in known],
    }


def save(body: Json, path: str | Path) -> None:
    """Write a record to a file."""
    Path(path).write_text(publish(body, indent=1) + "\n", encoding="utf-8")


def load(path: str | Path) -> tuple[Json, Certificate]:
    """Return a record and its certificate; a record that was changed anywhere is refused."""
    file = Path(path)
    if not file.is_file():
        raise refuse("a file that exists", repr(file.name), "Check the path.")
    text = file.read_bytes().decode("utf-8", errors="replace").rstrip("\n")
    try:
        body = json.loads(text)
        schema = body.get("schema") if isinstance(body, dict) else None
    except (ValueError, RecursionError):
        schema = None
    if schema != SCHEMA:
        raise refuse(
            f"a record of schema {SCHEMA}",
            f"{file.name!r} of schema {_short(schema)}",
            "Write one with `rpac release --out`.",
            CertificateError,
        )
    if not _as_written(body, text):
        raise _altered(file.name)
    made = Certificate.from_json(body["certificate"])
    named = body["promise"].get("name") if isinstance(body["promise"], dict) else None
    if body["meaning"] != wording.meaning(made) or named != made.promise:
        raise _altered(file.name)
    return body, made


def is_whole(path: str | Path) -> bool:
    """Whether a record's own hash is that of its content."""
    body = json.loads(Path(path).read_bytes())
    return bool(body.get("sha256") == content_hash(body))


def _as_written(body: Json, text: str) -> bool:
    """Whether a text is what `save` writes, and its hash that of its content."""
    parts = ("promise", "question", "about", "meaning", "answer", "value", "certificate", "receipt")
    try:
        written = text in (publish(body, indent=1), publish(body))
        return written and {*parts} <= {*body} and body.get("sha256") == content_hash(body)
    except (ValueError, RecursionError):
        return False


def _altered(name: str) -> RpacError:
    return refuse(
        "a record as it was written",
        f"{name!r}, which was changed",
        "Ask its issuer for the original.",
        CertificateError,
    )
