"""The audit: attacks against a claim, in one table with one verdict.

An audit can only accuse. No alarm means that these attacks did not break the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final, overload

from rpac._base.checks import count, in_range, refuse
from rpac._base.progress import progress
from rpac._base.types import Json
from rpac.advantage import nats_to_success
from rpac.answers.release import Release
from rpac.attack.base import MISSING, Attack, Finding, Game, Play
from rpac.attack.bayes import Bayes, Informed, Membership, Roc
from rpac.attack.decoder import Learned
from rpac.attack.duel import Released
from rpac.attack.marks import Failure, Precision
from rpac.attack.presence import presence
from rpac.attack.published import Reading, outsider
from rpac.attack.scores import LiRA, Threshold
from rpac.budget import SuccessRate, as_budget
from rpac.certificate.certificate import Certificate
from rpac.certificate.person import on_a_person
from rpac.front.certify import certify
from rpac.noise.base import Law
from rpac.pictures.plots import sandwich
from rpac.pictures.text import columns, columns_html
from rpac.release.presence import Studied

ATTACKS: dict[str, Callable[[], Attack]] = {
    "bayes": Bayes,
    "membership": Membership,
    "lira": LiRA,
    "lira offline": lambda: LiRA(online=False),
    "threshold": Threshold,
    "decoder": Learned,
    "precision": Precision,
    "failure": Failure,
    "informed": Informed,
}
"""Attacks that need no more than the game, by name."""
USUAL = ("bayes", "membership", "lira", "precision", "failure")
COLUMNS = (
    "attack", "measure", "before", "estimate", "low", "high", "allowed", "nats", "claim", "alarm",
    "note",
)  # fmt: skip
HEAD = tuple({"nats": "nats at least", "claim": "nats claimed"}.get(n, n) for n in COLUMNS)
"""The same for people: estimate, limits and what is allowed are in the measure's unit."""
OWNERS = "(sealed: figures of the people in these data, for their owner; do not publish them)"


@final
@dataclass(frozen=True)
class Audit:
    """What attacks found, against what was claimed.

    Attributes:
        findings: One for each attack that ran.
        skipped: Attacks that did not apply, and what they lack.
        claims: The claims in nats: "certificate", "budget", or both.
        success_claim: The claimed success on any unit, if there is one.
        confidence: With which all limits hold together.
        games: Number of games.
        seed: Study randomness, to play them again.
        promise: What the claim is about: "sample" or "person".

    Guarantees:
        If the claim is true, `alarm` is raised with probability at most 1 - `confidence`.
    """

    findings: tuple[Finding, ...]
    skipped: dict[str, str]
    claims: dict[str, float]
    success_claim: float | None
    confidence: float
    games: int
    seed: int
    promise: str = "sample"

    @property
    def lower(self) -> float:
        """The release leaks at least this many nats, with the stated confidence."""
        return max((f.nats for f in self.findings if f.limit is None and f.covered), default=0.0)

    @property
    def limit(self) -> float | None:
        """The least claim in nats; None if there is none."""
        return min(self.claims.values(), default=None)

    @property
    def alarms(self) -> list[str]:
        """The attacks whose lower limit exceeds the claim."""
        return [f.attack for f in self.findings if self._breaks(f)]

    @property
    def alarm(self) -> bool:
        """Whether some attack breaks the claim."""
        return bool(self.alarms)

    def _breaks(self, found: Finding) -> bool:
        claim = self._claim(found)
        person = found.person and self.success_claim is not None and found.low > self.success_claim
        return found.covered and (person or (claim is not None and found.nats > claim))

    def _claim(self, found: Finding) -> float | None:
        return found.limit if found.limit is not None else self.limit

    def _allowed(self, found: Finding) -> float | None:
        """Return the most that the claim lets an attack reach, in its measure's unit."""
        claim = self._claim(found) if found.covered else None
        if found.measure == "nats":
            return claim
        known = [self.success_claim] if found.person and self.success_claim is not None else []
        if found.prior is not None and 0 < found.prior < 1 and claim is not None:
            known.append(float(nats_to_success(claim, found.prior)))
        return min(known) if known and found.covered else None

    @property
    def success(self) -> float:
        """Some person is guessed right at least this often, with the stated confidence."""
        return max((f.low for f in self.findings if f.person and f.covered), default=0.5)

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        if self.promise == "person":
            return self._about_presence()
        if self.alarm:
            return (
                f"ALARM: {', '.join(self.alarms)} shows more leakage than is claimed "
                f"(at least {self.lower:.4g} nats, confidence {self.confidence:.6g})"
            )
        if self.limit is None and self.success_claim is None:
            return f"No claim to hold against; leaks at least {self.lower:.4g} nats"
        return "No alarm: none of these attacks breaks the claim. Others may be better"

    def _about_presence(self) -> str:
        claim = "" if self.success_claim is None else f", {self.success_claim:.4g} at most claimed"
        told = f"presence guessed right {max(self.success, 0.5):.4g} at least{claim}"
        if self.alarm:
            return f"ALARM: {', '.join(self.alarms)} breaks the claim ({told})"
        return f"No alarm: {told}. Other attacks may be better"

    @property
    def warnings(self) -> list[str]:
        """Notes on what is not covered, where they are loud."""
        return [f.note for f in self.findings if f.note.startswith("WARNING")]

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each attack, with the columns of `COLUMNS`.

        `estimate`, `low`, `high` and `allowed` are in the unit of `measure`: `allowed` is the most
        that the claim lets this attack reach. `nats` and `claim` are in nats.
        """
        rows = []
        for f in self.findings:
            claim = self._claim(f) if f.covered else None
            mark = "ALARM" if self._breaks(f) else "-" if f.covered else "not covered"
            entries = (f.attack, f.measure, _or_dash(f.prior), f.estimate, f.low, f.high,
                       _or_dash(self._allowed(f)), f.nats, _or_dash(claim), mark,
                       f.note)  # fmt: skip
            rows.append(dict(zip(COLUMNS, entries, strict=True)))
        return rows

    @property
    def roc(self) -> Roc | None:
        """Operating points of the membership attack, if it ran."""
        return next((f.detail["roc"] for f in self.findings if "roc" in f.detail), None)

    @property
    def worst_units(self) -> list[dict[str, Any]]:
        """The most exposed units, if membership was attacked."""
        return next((f.detail["worst"] for f in self.findings if "worst" in f.detail), [])

    def plot(self) -> Any:
        """Return the sandwich: attacks, claim, and what lies between (needs matplotlib)."""
        bars = [
            (f.attack, f.nats, f.reached, f.attack in self.alarms)
            for f in self.findings
            if f.covered
        ]
        title = self.verdict.split(":")[0]
        return sandwich(bars, self.claims, lower=self.lower, limit=self.limit, title=title)

    def _body(self) -> list[list[Any]]:
        return [[row[name] for name in COLUMNS] for row in self.table]

    def __str__(self) -> str:
        skipped = [f"not run: {name} (needs {why})" for name, why in self.skipped.items()]
        if self.promise == "person":
            skipped.append(OWNERS)
        return "\n".join([self.verdict, columns(HEAD, self._body()), *skipped])

    def _repr_html_(self) -> str:
        rest = f"<p>{OWNERS}</p>" if self.promise == "person" else ""
        return f"<p><b>{self.verdict}</b></p>{columns_html(HEAD, self._body())}{rest}"


def _or_dash(figure: float | None) -> Any:
    return "-" if figure is None else figure


@overload
def audit(subject: str | Path | Json) -> Reading: ...


@overload
def audit(
    subject: Any,
    attacks: Sequence[str | Attack] | None = None,
    *,
    budget: Any = None,
    certificate: Certificate | None = None,
    released: Any = None,
    games: int = 20_000,
    confidence: float = 0.999,
    seed: int = 0,
) -> Audit: ...


def audit(
    subject: Any,
    attacks: Sequence[str | Attack] | None = None,
    *,
    budget: Any = None,
    certificate: Certificate | None = None,
    released: Any = None,
    games: int = 20_000,
    confidence: float = 0.999,
    seed: int = 0,
) -> Audit | Reading:
    """Attack a release, and say whether what is claimed of it survives.

    Args:
        subject: A `Release` that still has its sealed part, or (outputs, noise): the noise may be
            rpac's, a covariance, a sampler `sample(n, rng)`, or (sampler, log density). A
            published record, or its path, is read as by `rpac.attack.outsider`.
        attacks: Names among `rpac.attack.ATTACKS`, or `Attack` objects; by default all of the
            usual ones that apply.
        budget: The claim, as for `calibrate`; a bare number is nats.
        certificate: The claim. By default proved bounds are computed for noise of rpac.
        released: How worlds are really released, where that is what is in doubt; see
            `rpac.attack.Game`, and `audit_presence` for the promise *person*.
        games: How many to play, besides recorded ones.
        confidence: With which all limits hold together; each attack gets an equal share.
        seed: Study randomness.

    Raises:
        InputError: If an attack that was named lacks something; the message says what, and which
            attacks still apply.
    """
    if isinstance(subject, str | Path | dict):
        return outsider(subject)
    if isinstance(getattr(subject, "sealed", None), Studied):
        if attacks is not None or budget is not None:
            move = "Leave both out: presence is attacked in all ways, against the certificate."
            raise refuse("a release alone, under person", "attacks or a budget beside it", move)
        held = certificate or subject.certificate
        return audit_presence(
            subject.sealed, held, games, seed, confidence=confidence, released=released
        )
    delta = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    outputs, noise, own = _parts(subject)
    game = Game(outputs, noise, released)
    chosen, skipped = _choose(game, attacks)
    claims, success = _claims(game, budget, certificate or own)
    play = Play(game, games, seed)
    share = delta / len(chosen)
    found = tuple(attack.run(play, share) for attack in progress(chosen, len(chosen), "attacking"))
    return Audit(found, skipped, claims, success, confidence, len(play.all), seed)


def audit_presence(
    studied: Studied,
    certificate: Certificate,
    games: int = 20_000,
    seed: int = 0,
    *,
    confidence: float = 0.999,
    released: Released | None = None,
) -> Audit:
    """Attack a release under the promise *person*: can anybody's presence be told?

    Args:
        studied: What the release keeps sealed.
        certificate: The claim.
        games: Of each attack on the declared law.
        seed: Study randomness.
        confidence: With which all limits hold together.
        released: `released(question, rows, shares)` draws a release, where the code that draws
            is what is in doubt.
    """
    delta = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    games = count(games, "games", least=200)
    found, lacks = presence(studied, games, count(seed, "seed", least=0), delta, released)
    claims, success = {"certificate": certificate.bound}, certificate.worst_unit_success
    return Audit(found, lacks, claims, success, confidence, games, seed, "person")


def _parts(subject: Any) -> tuple[Any, Any, Certificate | None]:
    """Return (outputs, noise, certificate) of a subject."""
    if isinstance(subject, tuple) and len(subject) == 2:
        return *subject, None
    if not isinstance(subject, Release):
        raise refuse("a Release or (outputs, noise)", type(subject).__name__, "Pass one of them.")
    if subject.certificate.promise != "sample":
        got = f"{subject.certificate.promise!r} without it (a retry, loaded, or by leave-one-out)"
        move = "Release it once more without a key or ledger, and audit that."
        raise refuse("a release with its sealed rows", got, move)
    if subject.sealed is None:
        raise refuse(
            "a release with its sealed worlds and noise law",
            f"{type(subject).__name__} with sealed=None",
            "Audit (outputs, noise) of the same mechanism with certificate=release.certificate; "
            "on scores of your own `rpac.attack.lira` and `rpac.attack.one_run` still apply.",
        )
    return *subject.sealed, subject.certificate


def _choose(
    game: Game, attacks: Sequence[str | Attack] | None
) -> tuple[list[Attack], dict[str, str]]:
    """Return the attacks to run, and those of the usual ones that lack something."""
    names = [*USUAL, *(() if "density" in game.has else ("decoder",))]
    wanted = [ATTACKS[n]() for n in names] if attacks is None else [_named(a) for a in attacks]
    lacks = {a.name: " and ".join(MISSING[n] for n in sorted(a.needs - game.has)) for a in wanted}
    lacks = {name: text for name, text in lacks.items() if text}
    if attacks is not None and lacks:
        applies = [name for name, make in ATTACKS.items() if make().needs <= game.has]
        name, text = next(iter(lacks.items()))
        raise refuse(
            f"what the attack `{name}` needs: {text}",
            f"{game!r} without it",
            f"Supply it; these still apply: {', '.join(applies)}.",
        )
    if not wanted:
        raise refuse("at least one attack", repr(attacks), f"Choose among {', '.join(ATTACKS)}.")
    return [a for a in wanted if a.name not in lacks], lacks


def _named(attack: str | Attack) -> Attack:
    if isinstance(attack, Attack):
        return attack
    if attack not in ATTACKS:
        raise refuse(f"an attack among {', '.join(ATTACKS)}", repr(attack), "Name one of them.")
    return ATTACKS[attack]()


def _claims(
    game: Game, budget: Any, certificate: Certificate | None
) -> tuple[dict[str, float], float | None]:
    """Return the claims in nats by name, and the claimed success on a unit."""
    claims: dict[str, float] = {}
    success = None
    if certificate is None and isinstance(game.noise, Law):
        certificate = certify(game.outputs, game.noise, draws=0)
    if certificate is not None:
        claims["certificate"] = certificate.bound
        success = certificate.worst_unit_success
    if budget is not None:
        limit = as_budget(budget)
        if isinstance(limit, SuccessRate) and on_a_person(game.outputs, limit):
            success = limit.rate if success is None else min(success, limit.rate)
        else:
            claims["budget"] = limit.nats(game.outputs.entropy)
    return claims, success
