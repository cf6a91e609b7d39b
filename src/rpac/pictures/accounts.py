"""The accounts of a ledger in words."""

from __future__ import annotations

from rpac._base.types import Json
from rpac.advantage import distance_to_success, nats_to_distance
from rpac.pictures import svg
from rpac.pictures.svg import inline
from rpac.pictures.text import at_most, lines_html

_ROUNDED = 1e-9


def account_lines(accounts: list[Json]) -> list[tuple[str, str]]:
    """Return the accounts of a ledger as label and text.

    Of persons also what the least cap that holds for them allows all answers together.
    """
    return [
        (
            _in_words(a["kind"], a["name"]),
            f"{a['spent']:.9f} nats spent"
            + ("" if a["cap"] is None else f", {a['cap'] - a['spent']:.9f} of {a['cap']:.9f} left")
            + (_presence(a["spent"], least_cap(accounts, a)) if a["kind"] == "person" else ""),
        )
        for a in accounts
        if a["kind"] != "version" or a["name"] != "@"
    ]


def gauges(accounts: list[Json]) -> list[Json]:
    """Return the accounts that have a cap, each with its label, fullest first."""
    capped = [account for account in accounts if account["cap"] is not None]
    capped.sort(key=lambda account: -account["spent"] / max(account["cap"], _ROUNDED))
    return [account | {"label": _in_words(account["kind"], account["name"])} for account in capped]


def accounts_html(name: str, accounts: list[Json]) -> str:
    """Return the accounts of a ledger as a gauge and a table, for notebooks."""
    drawn = inline(svg.gauge(gauges(accounts)))
    return drawn + lines_html(f"rpac ledger {name}", account_lines(accounts))


def least_cap(accounts: list[Json], account: Json) -> float | None:
    """Return the least cap that holds for an account of persons: its own, dataset's or ledger's."""
    holds = (account["kind"], account["name"]), ("dataset", account["name"]), ("ledger", "")
    caps = [a["cap"] for a in accounts if (a["kind"], a["name"]) in holds]
    return min((cap for cap in caps if cap is not None), default=None)


def _presence(nats: float, cap: float | None) -> str:
    """Return what all answers on a line tell of anybody's presence together, and may tell."""
    told = f": Delta squared {8 * nats:.6g}, anybody's presence guessed right at most "
    told += f"{_guessed(nats)} %"
    if cap is None:
        return told
    return f"{told}; cap {cap:.9g} nats: at most {_guessed(cap)} % for all answers together"


def _guessed(nats: float) -> str:
    """Return the success at so many nats, in percent.

    Books round up to a billionth of a nat, which alone is no reason to print another digit; of
    hardly more than that next to nothing is taken off.
    """
    rounded = min(_ROUNDED, nats / 1000)
    return at_most(100 * distance_to_success(nats_to_distance(nats - rounded)), 4)


def _in_words(kind: str, name: str) -> str:
    """Return an account in words; of a version's hash the first twelve characters."""
    if kind == "version":
        dataset, _, version = name.rpartition("@")
        return f"version {dataset}{'@' if dataset else ''}{version[:12] or '(none)'}"
    return f"{kind} {name}" if name else kind
