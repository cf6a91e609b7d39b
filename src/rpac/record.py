"""The record of a release: all that is public of it, in one JSON file, no machine's paths."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpac import words
from rpac._checks import refuse
from rpac._types import Json
from rpac.certificate import Certificate
from rpac.errors import CertificateError, LedgerError, RpacError
from rpac.reveal import Release, said
from rpac.sealed import publish

if TYPE_CHECKING:
    from rpac.attack.audit import Audit
    from rpac.ledger import Ledger

SCHEMA = "rpac-record/1"


def plain(value: Any) -> Any:
    """Return a released value as plain JSON: tables as lists of rows."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict") and np.ndim(value) == 1:
        return {str(key): plain(item) for key, item in value.to_dict().items()}
    from rpac import frames

    return [plain(row) for row in frames.table(value).rows(named=True)]


def rows_of(value: Any, name: str) -> list[Json]:
    """Return any plain answer as rows with named columns."""
    found = plain(value)
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if isinstance(found, dict):
        return [{"": key, name: item} for key, item in found.items()]
    if isinstance(found, list):
        return [{"": i + 1, name: item} for i, item in enumerate(np.ravel(found).tolist())]
    return [{name: found}]


def answer_rows(release: Release, name: str) -> list[Json]:
    """Return the answer row by row; each number with its two 95 % intervals, low and high."""
    pairs = [release.noise_interval, release.sampling_interval]
    sides = [[rows_of(side, name) for side in pair] if pair else None for pair in pairs]
    found = []
    for i, row in enumerate(rows_of(release.value, name)):
        cells: Json = {}
        for column, value in row.items():
            ends = [
                [side[i][column] for side in both] if both is not None else None for both in sides
            ]
            moved = any(end is not None and end[0] != end[1] for end in ends)
            cells[column] = (
                {"value": value, "noise": ends[0], "sampling": ends[1]} if moved else value
            )
        found.append(cells)
    return found


def record(
    release: Release,
    question: str,
    *,
    about: Json,
    plan: Json | None = None,
    remaining: float | None = None,
    audit: Audit | None = None,
) -> Json:
    """Return the public record of a release.

    Args:
        release: The release.
        question: What was asked, in its own words.
        about: Unit, number of units and worlds.
        plan: What was planned, from `Plan.to_dict`.
        remaining: Nats left in the books.
        audit: Attacks on the release; only its public summary is kept.
    """
    receipt = None if release.receipt is None else asdict(release.receipt) | {"answer": None}
    body = {
        "schema": SCHEMA,
        "question": question,
        "about": about,
        "meaning": words.meaning(release.certificate),
        "answer": answer_rows(release, "answer"),
        "value": plain(release.value),
        "certificate": release.certificate.to_json(),
        "receipt": receipt,
        "remaining": remaining,
        "plan": plan,
        "audit": None if audit is None else audit_summary(audit),
    }
    return body | {"sha256": content_hash(body)}


def content_hash(body: Json) -> str:
    """Return the SHA-256 of all that a record says, its own hash left out."""
    rest = {name: part for name, part in body.items() if name != "sha256"}
    return sha256(publish(rest).encode()).hexdigest()


def book(body: Json, ledger: Ledger) -> None:
    """Write the hash of a record into the books, beside the entry of its receipt."""
    ledger.record("seal", lambda: {"of": body["receipt"]["hash"], "record": body["sha256"]})


def match(body: Json, ledger: Ledger) -> None:
    """Refuse a record unless the books hold its receipt, its certificate and its own hash."""
    receipt = body["receipt"]
    of = receipt.get("hash") if isinstance(receipt, dict) else None
    claimed = said(Certificate.from_json(body["certificate"]))
    charged = sealed = False
    for entry in ledger.entries():
        if entry["kind"] == "spend" and entry["hash"] == of:
            charged = (entry["answer"] or {}).get("certificate") == claimed
        sealed |= entry["kind"] == "seal" and (entry["of"], entry["record"]) == (of, body["sha256"])
    if not charged:
        got, move = "none that fits", "Ask for the right ledger."
        raise refuse("the record's receipt in these books", got, move, LedgerError)
    if not sealed:
        raise refuse(
            "a record whose hash is in these books",
            "another text about the same receipt",
            "Ask its issuer for the original, or release again with the same --key, for nothing.",
            LedgerError,
        )


def audit_summary(audit: Audit) -> Json:
    """Return what is public of an audit: verdict and limits, no unit."""
    rows = [
        {"attack": f.attack, "measure": f.measure, "estimate": plain(f.estimate),
         "low": plain(f.low), "high": plain(f.high), "nats": plain(f.nats)}
        for f in audit.findings
    ]  # fmt: skip
    return {
        "verdict": audit.verdict,
        "alarm": audit.alarm,
        "lower": float(audit.lower),
        "confidence": audit.confidence,
        "games": audit.games,
        "rows": [row for row in rows if all(_finite(v) for v in row.values())],
    }


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or bool(np.isfinite(value))


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
        known = isinstance(body, dict) and body.get("schema") == SCHEMA
    except (ValueError, RecursionError):
        known = False
    if not known:
        raise refuse(
            f"a record of schema {SCHEMA}",
            "something else",
            "Write one with `rpac release --out`.",
            CertificateError,
        )
    if not _as_written(body, text):
        raise _altered()
    made = Certificate.from_json(body["certificate"])
    if body["meaning"] != words.meaning(made):
        raise _altered()
    return body, made


def _as_written(body: Json, text: str) -> bool:
    """Whether a text is what `save` writes, and its hash that of its content."""
    parts = ("question", "about", "meaning", "answer", "value", "certificate", "receipt")
    try:
        written = text in (publish(body, indent=1), publish(body))
        return written and {*parts} <= {*body} and body.get("sha256") == content_hash(body)
    except (ValueError, RecursionError):
        return False


def _altered() -> RpacError:
    return refuse(
        "a record as it was written",
        "one that was changed",
        "Ask its issuer for the original.",
        CertificateError,
    )
