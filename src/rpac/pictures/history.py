"""What was asked, in words: the charges of a ledger, or the answers of a session, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, final, overload

from rpac._base.types import Json
from rpac.pictures.text import at_most, columns, columns_html

_HEAD = ("entry", "when", "who", "dataset", "unit", "promise", "nats", "question")
_LONGEST, _LAST = 60, 20
_WITHHELD = {"withheld": True}


@final
class History(Sequence[Json]):
    """Charges in their order, each as plain data; shown as a table.

    A row has `entry`, `at`, `analyst`, `dataset`, `unit` (where the books know whose rows were
    asked about), `promise`, `session`, `key`, `nats`, `question`, `value` (of an answer, as it was
    released) and `what`: "answer", "refusal" or "charge".

    Args:
        rows: The charges.
    """

    def __init__(self, rows: Iterable[Json]) -> None:
        self.rows = list(rows)

    @classmethod
    def of(cls, entries: Iterable[Json], session: str | None = None) -> History:
        """Return the charges among the entries of a ledger, or those of one session."""
        spent = (entry for entry in entries if entry["kind"] == "spend")
        return cls(_row(one) for one in spent if session in (None, one["session"]))

    @overload
    def __getitem__(self, at: int) -> Json: ...
    @overload
    def __getitem__(self, at: slice) -> History: ...
    def __getitem__(self, at: Any) -> Any:
        """Return a row, or some of them as a history."""
        return History(self.rows[at]) if isinstance(at, slice) else self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Json]:
        return iter(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return "Nothing was asked."
        left = len(self.rows) - _LAST
        more = f"\n({left} earlier ones are left out)" if left > 0 else ""
        return columns(_HEAD, map(_cells, self.rows[-_LAST:])) + more

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return columns_html(_HEAD, map(_cells, self.rows))


def asked(question: str, value: Any, nats: float, **more: Any) -> Json:
    """Return the row of an answer."""
    blank: Json = dict.fromkeys(("entry", "at", "key"))
    blank |= dict.fromkeys(("analyst", "dataset", "unit", "promise", "session"), "")
    return blank | {"what": "answer", "question": question, "value": value, "nats": nats} | more


def _row(entry: Json) -> Json:
    answer = entry["answer"]
    known: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    told = known.get("told", {})
    what = "refusal" if answer == _WITHHELD else "charge" if answer is None else "answer"
    promise = entry["promise"] or ("sample" if entry["version"] else "")
    return asked(
        told.get("question", ""), told.get("value", known.get("numbers")), entry["nano"] / 1e9,
        entry=entry["seq"], at=entry["at"], what=what, promise=promise,
        unit=told.get("about", {}).get("unit", ""),
        **{name: entry[name] for name in ("analyst", "dataset", "session", "key")},
    )  # fmt: skip


def _cells(row: Json) -> list[str]:
    text = _plain(row["question"]) if row["what"] == "answer" else f"({row['what']})"
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    moment = "" if row["at"] is None else row["at"][:16].replace("T", " ")
    place = "" if row["entry"] is None else str(row["entry"])
    who = [_plain(row[name]) or "-" for name in ("analyst", "dataset", "unit", "promise")]
    return [place, moment, *who, at_most(row["nats"]), short]


def _plain(text: str) -> str:
    """Return text on one line; what would move a terminal's cursor is a question mark."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
