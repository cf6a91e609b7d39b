"""Records of charges that have none: what a process that died left behind.

Charge, answer and all that a record tells of it are one entry of the books, written in one
transaction. So a record follows from its entry, whoever makes it and whenever: nothing is drawn or
charged again, and no data are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.answers.rows import rows_of
from rpac.certificate.certificate import Certificate
from rpac.ledger.entries import Receipt
from rpac.ledger.ledger import Ledger
from rpac.release.refusal import was_withheld
from rpac.report import record as records


@final
@dataclass(frozen=True)
class Recovered:
    """What the books gave back.

    Attributes:
        records: The record, with its receipt, of every charge that had none.
        files: Where each was written; empty where no folder was given.
        withheld: Charges for a refusal: nothing was revealed, and nothing is given back.
        bare: Charges without an answer: nothing was drawn with them.
        lost: Numbers of entries whose answer an older version kept without its record: asked
            again with the same key they answer, for nothing.
    """

    records: tuple[Json, ...]
    files: tuple[Path, ...]
    withheld: int
    bare: int
    lost: tuple[int, ...]


def recover(ledger: Ledger, folder: str | Path | None = None) -> Recovered:
    """Return the record and receipt of every charge that has no record yet.

    Args:
        ledger: The books, opened for whatever dataset: charges of all of them are looked at.
        folder: Where to write the records, `entry-7.json` for the seventh entry; made if it is
            not there. What is written is sealed in the books, and has a record from then on.

    Guarantees:
        Nothing is drawn, charged or given back: a second call gives the same records until they
        are written, and none after that.
    """
    place = None if folder is None else _folder(folder)
    made, files, counts, lost = [], [], {"withheld": 0, "bare": 0}, []
    for receipt in _unrecorded(ledger):
        if receipt.answer is None or was_withheld(receipt.answer):
            counts["bare" if receipt.answer is None else "withheld"] += 1
            continue
        body = record_of(receipt)
        if body is None:
            lost.append(receipt.seq)
            continue
        made.append(body)
        if place is not None:
            files.append(place / f"entry-{receipt.seq}.json")
            records.save(body, files[-1])
            records.seal(body, ledger)
    return Recovered(tuple(made), tuple(files), counts["withheld"], counts["bare"], tuple(lost))


def record_of(receipt: Receipt) -> Json | None:
    """Return the record that follows from an entry of the books; None if the entry lacks it."""
    kept = receipt.answer
    if not isinstance(kept, dict) or "certificate" not in kept:
        return None
    told = kept.get("told", {"question": "", "about": {}})
    if "value" not in told:
        if "numbers" not in kept:
            return None
        told = told | {"answer": rows_of(kept["numbers"], "answer"), "value": kept["numbers"]}
    said = kept["certificate"]
    if "not_covered" in said:
        said = said | {"not_covered": tuple(said["not_covered"])}
    parts = records.parts(Certificate(**said), told["answer"], told["value"], receipt)
    return records.record(parts, told["question"], about=told["about"])


def _unrecorded(ledger: Ledger) -> Iterator[Receipt]:
    """Yield the charges that no seal names, oldest first."""
    sealed = {entry["of"] for entry in ledger.entries() if entry["kind"] == "seal"}
    for entry in ledger.entries():
        if entry["kind"] == "spend" and entry["hash"] not in sealed:
            yield ledger.receipt(entry)


def _folder(path: Any) -> Path:
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = f"{place.name!r}: {error.strerror}"
        raise refuse("a folder for records", got, "Name another.") from None
    return place
