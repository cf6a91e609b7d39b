"""What a ledger says: what is left, epsilon at a delta, and an export for other accountants."""

from __future__ import annotations

from rpac._base.checks import refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.advantage import distance_to_success, nats_to_distance
from rpac.cli.options import Accounting
from rpac.cli.question import Ask
from rpac.front.spending import DELTA, dp_events, spending
from rpac.ledger.entries import NANO
from rpac.ledger.ledger import Ledger
from rpac.pictures.accounts import least_cap
from rpac.pictures.text import at_most
from rpac.report.recovery import Recovered

OTHERS = "(other numbers of entries are seals of records, and what else the books keep on record)"
"""What is said below charges and caps, whose numbers have gaps."""


def left(ask: Ask, remaining: tuple[float, float] | None) -> list[str]:
    """Return what a plan says of the books: how much is left now, and after it."""
    new = []
    if ask.ledger is None and ask.books is not None:
        cap = "; it needs --cap NATS" if remaining is None else ""
        new = [f"ledger     {ask.books} is not there yet: `rpac release` makes it{cap}"]
    if remaining is None:
        return ["", *(new or ["No ledger: spending is not recorded; pass --ledger"])]
    before, after = remaining
    if after < 0:
        new.append(f"does not fit: {before:.6g} nats are left. Ask for less with --budget.")
    else:
        new.append(f"left       {before:.6g} nats now, at least {after:.6g} after")
    return ["", *new]


def told(opened: Ledger, given: Accounting) -> tuple[str, Json]:
    """Return what all answers about presence tell together, a line for each dataset."""
    delta = DELTA if given.delta is None else given.delta
    names = _datasets(opened, given.dataset)
    found = [spending(opened, name, delta) for name in names]
    accounts = opened.accounts()
    for one in found:
        one["cap"] = least_cap(accounts, {"kind": "person", "name": one["dataset"]})
        allowed = None if one["cap"] is None else distance_to_success(nats_to_distance(one["cap"]))
        one["cap_success"] = allowed
        one["units"] = _units(opened, one["dataset"])
    lines = [line for one in found for line in _presence_lines(one)]
    return "\n".join(["", *lines]) if lines else "", {"presence": found}


def _units(opened: Ledger, dataset: str) -> list[str]:
    """Return whose presence was asked about in a dataset, where the books know."""
    asked = (row for row in opened.history() if row["promise"] == "person")
    return sorted({row["unit"] for row in asked if row["dataset"] == dataset and row["unit"]})


def _presence_lines(one: Json) -> list[str]:
    name = one["dataset"] or "(unnamed)"
    mu, epsilon = at_most(one["mu"]), at_most(one["epsilon"], 4)
    lines = [
        f"{name}: {one['answers']} answers about presence, mu {mu}, epsilon {epsilon} at delta "
        f"{one['delta']:g}"
    ]
    if len(one["units"]) > 1:
        units = ", ".join(one["units"])
        lines.append(
            f"{name}: asked about several units ({units}). Each answer protects one of its own "
            "unit: all this is of somebody with one of each, and more of anybody with several"
        )
    return lines


def capped(opened: Ledger) -> tuple[str, list[Json]]:
    """Return which caps were set later and when, and what other numbers of entries are."""
    found = [
        {"entry": one["seq"], "at": one["at"], "kind": one["account"][0],
         "name": one["account"][1], "cap": one["cap"] / NANO}
        for one in opened.entries() if one["kind"] == "cap"
    ]  # fmt: skip
    lines = [
        f"entry {one['entry']}: cap of {one['kind']}{' ' if one['name'] else ''}{one['name']} set "
        f"to {one['cap']:.9g} nats at {one['at'][:16].replace('T', ' ')}"
        for one in found
    ]
    lines.append(OTHERS)
    return "\n".join(["", *lines]), found


def exported(opened: Ledger, given: Accounting) -> str:
    """Return what was spent on presence in a dataset as the text of an export.

    Raises:
        InputError: If the ledger has several such datasets and none was named, or none at all.
    """
    names = _datasets(opened, given.dataset)
    if len(names) != 1:
        got = ", ".join(map(repr, names)) or "none"
        move = "Name one with --dataset." if names else "Answers under person make one."
        raise refuse("one dataset with answers about presence", got, move)
    return publish(dp_events(opened, names[0]), indent=1) + "\n"


def recovered(found: Recovered) -> tuple[str, Json]:
    """Return what a ledger gave back: text, and plain data."""
    lines = [
        f"entry {body['receipt']['seq']} of ledger {body['receipt']['ledger'][:8]}: wrote {file}"
        for body, file in zip(found.records, found.files, strict=True)
    ]
    lines += [
        f"entry {seq}: an older version kept no record; release again with its --key, for nothing"
        for seq in found.lost
    ]
    if not lines:
        lines.append("Every charge with an answer has its record.")
    told = {"refusals": found.withheld, "bare charges": found.bare}
    lines += [f"{n} {what}: charged, nothing was revealed" for what, n in told.items() if n]
    files = [str(file) for file in found.files]
    body = {"records": files, "lost": list(found.lost), "withheld": found.withheld}
    return "\n".join(lines), body | {"bare": found.bare}


def _datasets(opened: Ledger, wanted: str | None) -> list[str]:
    """Return the datasets about which presence was asked, or the one that is wanted."""
    names = [account["name"] for account in opened.accounts() if account["kind"] == "person"]
    return [name for name in names if wanted in (None, name)]
