"""What each command does; returns text for people, plain data for programs, and an exit code."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rpac._base.checks import refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.advantage import nats_to_success
from rpac.answers.release import Release
from rpac.answers.rows import plain
from rpac.attack.auditing import COLUMNS, HEAD, Audit
from rpac.attack.auditing import audit as attack
from rpac.attack.published import outsider
from rpac.budget import as_budget
from rpac.certificate.certificate import FACTS, PROMISES, Certificate
from rpac.cli import books, person
from rpac.cli.options import (
    Accounting,
    Attacking,
    Comparing,
    Question,
    Reading,
    Recovering,
    Releasing,
    Rendering,
)
from rpac.cli.question import Ask, known_method, prepare, protects
from rpac.cli.sealed import planned, sealed_part
from rpac.errors import InputError, RpacError, Withheld
from rpac.front.compare import COLUMNS as COMPARED
from rpac.front.compare import compare as side_by_side
from rpac.front.methods import METHODS, calibrate, held_method
from rpac.front.privatize import privatize
from rpac.ledger.ledger import Ledger
from rpac.noise.grid import tabulate
from rpac.pictures.text import aligned, at_most, columns
from rpac.release.refusal import refusal_in, withheld
from rpac.report import record as records
from rpac.report import wording
from rpac.report.page import Imprint, render
from rpac.report.printed import answer_text
from rpac.report.recovery import recover as recovered
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import simulate

QUICK = ("bayes", "membership")
"""Attacks that a sealed report always has: what is reached, and who is most exposed."""
METHODS_SHOWN, BUDGETS_SHOWN = "equilibrium,auto-pac", "0.03,0.1,0.3,1"
"""What a comparison under *sample* shows unless it is told otherwise."""


@dataclass(frozen=True)
class Result:
    """What a command found.

    Attributes:
        text: For people.
        body: For programs: plain data.
        code: The exit code.
        finish: What is left to do once the text is shown; returns more text, if there is any.
        printed: What is done before that, but only if nobody closed the pipe the text went to.
    """

    text: str
    body: Any
    code: int = 0
    finish: Callable[[], str] | None = None
    printed: Callable[[], None] | None = None


def plan(given: Question) -> Result:
    """Return price and errors. Under *person* no private row is read."""
    ask = prepare(given, ledger="old", rows=False)
    if ask.person:
        text, body = person.plan(ask)
        return Result("\n".join([text, *books.left(ask, body["remaining"])]), body)
    outputs = _studied(ask)
    with _withheld(ask):
        made = planned(ask, outputs)
    lines = [
        f"question   {ask.text}",
        f"promise    sample: {PROMISES['sample']}",
        f"secret     which half of {ask.source.units.size} {ask.unit} is in the sample",
        f"price      at most {at_most(made.nats)} nats: {wording.character(made.nats)}",
        f"meaning    {made.meaning}",
        person.beside_a_sample(made.membership or float(nats_to_success(made.nats))),
        "",
        columns(
            ("number", "+- noise", "+- sampling"),
            [(n["number"], "*" if n["fact"] else n["noise"], n["sampling"]) for n in made.numbers],
        ),
        "",
        "(standard errors against the whole table; the answer itself is not shown)",
        *([f"* {FACTS}"] if any(n["fact"] for n in made.numbers) else []),
        "",
        columns(
            ("budget", "noise in shares of the answer's own spread"),
            [(b, share) for b, share in made.curve if b in wording.LADDER],
        ),
    ]
    return Result("\n".join([*lines, *books.left(ask, made.remaining)]), made.to_dict())


def _studied(ask: Ask) -> Outputs:
    """Return the answers on all worlds; a failure because of data is withheld and booked."""
    if ask.ledger is not None:
        ask.ledger.check(Withheld.NATS)
    with _withheld(ask, static=(InputError,)):
        return simulate(ask.source, ask.mechanism, **ask.runs)


def _withheld(
    ask: Ask, static: tuple[type[Exception], ...] = ()
) -> contextlib.AbstractContextManager[None]:
    """Run a block that looks at data: what it refuses has one text, and a price in the books."""
    return withheld(refusal_in(ask.ledger), static=static)


def release(given: Releasing) -> Result:
    """Release one answer. Its record is written before it is shown, reports after that."""
    for file in _files(given):
        _writable(file, "Nothing was charged.")
    _audit_is_read(given)
    ask = prepare(given, ledger="any")
    asked: Json = {"ledger": ask.ledger, "key": given.key, "method": ask.method} | ask.runs
    asked["asked"] = {"question": ask.text, "about": ask.about}
    warned = person.too_few(ask)  # before the charge: what fails here costs nothing
    made = privatize(ask.mechanism, ask.source, ask.budget, **asked)
    told = records.said(made)
    body, failed = _recorded(told, given, ask)
    left = _now_left(ask)
    lines = made.certificate.published().lines()
    if made.receipt is not None:
        lines.append(("booked", made.receipt.place))
    if left is not None:
        lines.append(("left", f"{left:.6g} nats"))
    notes = [*made.certificate.outputs.get("notes", []), *warned]
    shown = answer_text(told["answer"], whole=given.whole)
    text = [shown, *(f"note: {note}" for note in notes), "", told["meaning"], "", aligned(lines)]
    if made.receipt is None:
        text.append("no ledger: spending was not recorded")

    def printed() -> None:
        if failed is None and not given.out and ask.ledger is not None:  # its only copy
            records.seal(body, ask.ledger)

    def finish() -> str:
        if failed is not None:
            raise failed
        return _reported(given, ask, made, body, left)

    return Result("\n".join(text), body, finish=finish, printed=printed)


def _recorded(told: Json, given: Releasing, ask: Ask) -> tuple[Json, BaseException | None]:
    """Write the record, and its hash in the ledger: as soon as the charge is, before all else.

    The hash says that the record is where it belongs: without a file it is written once the
    answer was printed, and until then `recover` gives the record back.

    Returns:
        The record, or what the release says by itself; and what failed, to be told after the
        answer, which is paid for.
    """
    try:
        body = records.record(told, ask.text, about=ask.about)
        if given.out:
            records.save(body, given.out)
        if given.out and ask.ledger is not None:
            records.seal(body, ask.ledger)
    except (Exception, KeyboardInterrupt) as error:
        return {"question": ask.text} | told, error
    return body, None


def _reported(given: Releasing, ask: Ask, made: Release, body: Json, left: float | None) -> str:
    """Write the reports that were asked for, and attack the release; the record is safe by now."""
    about = _imprint(given.author, given.out)
    if given.report:
        _write(given.report, render(body, Certificate.from_json(body["certificate"]), None, about))
    found = _attacked(given, ask, made)
    if given.sealed_report:
        sealed = sealed_part(ask, made, found, left)
        _write_sealed(given.sealed_report, render(body, sealed.certificate, sealed, about))
    if found is None or not given.audit:
        return ""
    return "The attacks are in the sealed report." if ask.person else found.verdict


def _imprint(author: str | None, record: Path | None) -> Imprint:
    today = datetime.date.today().isoformat()
    return Imprint(author or "", today, version("rpac"), record.name if record else "")


def _attacked(given: Releasing, ask: Ask, made: Release) -> Audit | None:
    """Attack a release where that was asked for; a retry has no sealed part left to attack."""
    wanted = given.audit or (given.sealed_report is not None and not ask.person)
    if not wanted or made.sealed is None:
        return None
    return attack(made, None if given.audit else QUICK)


def _audit_is_read(given: Releasing) -> None:
    """Refuse attacks that nobody would see: under *person* what they reach is the owner's alone."""
    if given.audit and given.sealed_report is None and protects(given) == "person":
        got, move = "--audit without it", "Pass --sealed-report sealed.html too."
        raise refuse("a sealed report for what attacks reach", got, move)


def _files(given: Releasing) -> list[Path]:
    return [file for file in (given.out, given.report, given.sealed_report) if file is not None]


def _writable(file: Path, move: str) -> None:
    """Refuse a path that cannot be written, before anything is done."""
    new = not file.exists()
    try:
        with file.open("ab"):
            pass
        if new:
            file.unlink()
    except OSError as error:
        got = f"{file.name!r}: {error.strerror}"
        raise refuse("a path that can be written", got, move) from None


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _write_sealed(file: Path, text: str) -> None:
    """Write a file for its owner's eyes: nobody else may read it, at no moment."""
    opened = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    os.fchmod(opened, 0o600)  # an older file keeps its mode otherwise
    os.ftruncate(opened, 0)
    with os.fdopen(opened, "w", encoding="utf-8") as page:
        page.write(text)


def _now_left(ask: Ask) -> float | None:
    """Return what is left; None where the ledger does not say: the answer is shown all the same."""
    try:
        return ask.left
    except RpacError:
        return None


def audit(given: Attacking) -> Result:
    """Attack what a release of this question would be, or read a record as an outsider."""
    if [file.suffix for file in given.data or ()] in ([".json"], [".html"], [".htm"]):
        entries = None if given.ledger is None else Ledger(given.ledger).entries()
        (file,) = given.data or []
        read = outsider(file, entries)
        read = read if records.is_whole(file) else read.changed()
        return Result(str(read), read.to_dict(), int(bool(read.defects)))
    ask = prepare(given, ledger="old")
    found = _of_a_person(ask, given.games) if ask.person else _of_a_sample(ask, given.games)
    heads = dict(zip(COLUMNS, HEAD, strict=True))
    shown = [name for name in COLUMNS if name not in {"note", "before"}]
    body = [[row[name] for name in shown] for row in found.table]
    table = columns([heads[name] for name in shown], body)
    text = f"{found.verdict}\n\n{table}\n\nFor the owner of the data: an audit looks at the data."
    return Result(text, records.audit_summary(found), int(found.alarm))


def _of_a_person(ask: Ask, games: int) -> Audit:
    """Attack a release that nobody sees; under *person* nothing is refused because of data."""
    with withheld(static=(InputError,)):
        return attack(privatize(ask.mechanism, ask.source, ask.budget, **ask.runs), games=games)


def _of_a_sample(ask: Ask, games: int) -> Audit:
    outputs = _studied(ask)
    with _withheld(ask):
        law = tabulate(outputs, calibrate(outputs, ask.budget, ask.method))
        return attack((outputs, law), budget=ask.budget, games=games)


def compare(given: Comparing) -> Result:
    """Compare methods along budgets; under *person* budgets alone, and no private row is read."""
    ask = prepare(given, ledger="old", rows=False)
    if ask.person:
        return Result(*person.compare(ask, given.budgets))
    named = METHODS_SHOWN if given.methods is None else given.methods
    methods = [name.strip() for name in named.split(",") if name.strip()]
    for name in methods:
        known_method(name, "known --methods")
        held_method(ask.source, name)
    if not methods:
        raise refuse("known --methods", repr(given.methods), f"Known: {', '.join(METHODS)}.")
    along = BUDGETS_SHOWN if given.budgets is None else given.budgets
    try:
        budgets = [float(text) for text in along.split(",")]
    except ValueError:
        raise refuse("numbers in --budgets", repr(along), "Such as 0.1,0.3.") from None
    for budget in budgets:
        as_budget(budget)  # what was typed is refused by its own words
    outputs = _studied(ask)
    with _withheld(ask):
        table = side_by_side(outputs, budgets, methods)
    hidden = {"utility", "priv", "util", "shrunk", "keeps", "limit"}  # of channels, and of measures
    names = [name for name in COMPARED if name not in hidden]
    rows = [{name: plain(row[name]) for name in names} for row in table.rows]
    return Result("\n".join([columns(names, [row.values() for row in rows]), *table.notes]), rows)


def verify(given: Reading) -> Result:
    """Check a file, by what it is."""
    file = Path(given.file)
    if not file.is_file():
        raise refuse("a file that exists", repr(file.name), "Check the path.")
    if file.read_bytes()[:15] == b"SQLite format 3":
        return _verify_ledger(str(file))
    text = file.read_bytes().decode("utf-8", errors="replace")
    if not text.lstrip().startswith("{"):
        move = "Pass a file that `rpac release --out` wrote, or the ledger's own."
        raise refuse("a record, a certificate or a ledger", repr(file.name), move)
    if '"rpac-record/' not in text[:200]:
        made = Certificate.from_json(text)
        return Result(f"The certificate is unaltered.\n\n{made}", {"certificate": "unaltered"})
    body, made = records.load(file)
    checked = ["record and certificate fit their own checksums, which anybody can recompute"]
    if given.ledger is not None:
        records.match(body, Ledger(given.ledger))
        checked.append("receipt in the ledger, with this certificate and this very record")
    elif body["receipt"]:
        checked.append("not compared with a ledger: pass --ledger")
    else:
        checked.append("no ledger: spending was not recorded, nothing else to compare it with")
    return Result("\n".join(checked) + f"\n\n{made}", {"checked": checked})


def _verify_ledger(where: str) -> Result:
    last = Ledger(where).verify()
    text = f"The ledger is whole: {last + 1} entries, hashes, balances and caps fit."
    return Result(text, {"entries": last + 1, "ledger": "whole"})


def ledger(given: Accounting) -> Result:
    """Show a ledger, set caps, export."""
    for file in filter(None, (given.export, given.export_dp)):
        _writable(file, "Nothing was done.")
    new = "://" not in given.ledger and not Path(given.ledger).exists()
    if new and (given.cap is None or (given.dataset, given.analyst) != (None, None)):
        raise refuse("a ledger that exists", repr(Path(given.ledger).name), "Make it with --cap 1.")
    opened = Ledger(given.ledger, given.cap if new else None, trust_head=given.trust_head)
    if given.cap is not None and not new:
        opened.cap(given.cap, dataset=given.dataset, analyst=given.analyst)
    if given.export is not None:
        _write_sealed(given.export, "".join(publish(e) + "\n" for e in opened.entries()))
    if given.export_dp is not None:
        _write(given.export_dp, books.exported(opened, given))
    text, told = books.told(opened, given)
    here = opened.under(dataset=given.dataset, analyst=given.analyst)
    body = {"accounts": opened.accounts(), "spent": here.spent, "remaining": here.remaining}
    asked, (below, caps) = opened.history(), books.capped(opened)
    body |= told | {"history": asked.rows, "caps": caps}
    return Result(f"{opened}{text}\n\n{asked}\n{below}", body)


def recover(given: Recovering) -> Result:
    """Write the records that charges of a process that died have not got."""
    if "://" not in given.ledger and not Path(given.ledger).exists():
        raise refuse("a ledger that exists", repr(Path(given.ledger).name), "Check the path.")
    found = recovered(Ledger(given.ledger), given.out)
    return Result(*books.recovered(found))


def report(given: Rendering) -> Result:
    """Render a record."""
    body, made = records.load(given.record)
    _writable(given.out, "Name another with --out.")
    _write(given.out, render(body, made, None, _imprint(given.author, given.record)))
    return Result(f"wrote {given.out}", {"report": str(given.out)})
