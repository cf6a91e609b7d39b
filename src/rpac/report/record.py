"""The record of a release: all that is public of it, in one JSON file, no machine's paths."""

from __future__ import annotations

import json
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.answers.release import Release, unusual
from rpac.answers.rows import answer_rows, plain
from rpac.attack.auditing import Audit
from rpac.certificate.certificate import Certificate
from rpac.errors import CertificateError, LedgerError, RpacError
from rpac.ledger.entries import Receipt
from rpac.ledger.ledger import Ledger
from rpac.report import wording

SCHEMA = "rpac-record/3"
POOL = "public by declaration: error bars, noise level and what all worlds agree on are facts of it"
"""What a record says of the pool under the promise *sample*."""
_RECEIPT = ("ledger", "seq", "hash", "dataset", "date")
"""What is public of a receipt: where and on which day it is, not what was charged."""


def said(release: Release) -> Json:
    """Return what a release says by itself, as plain data: what was requested and paid for.

    Neither what was achieved (a tighter bound, success on a person) nor the charge is in it.
    """
    rows, value = answer_rows(release, "answer"), plain(release.value)
    return parts(release.certificate, rows, value, release.receipt)


def parts(made: Certificate, answer: list[Json], value: Any, receipt: Receipt | None) -> Json:
    """Return what a record says of a release beside its question."""
    public = made.published()
    return {
        "meaning": wording.meaning(public),
        "answer": answer,
        "value": value,
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
    """Write a record to a file; it is on the disk when this returns."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(publish(body, indent=1) + "\n")
        file.flush()
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a pipe has no disk
            os.fsync(file.fileno())


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
