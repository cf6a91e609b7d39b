"""One row of the paper's tables: what a method costs at a budget, and what it really leaks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from joblib import Parallel, delayed

from rpac._base.progress import progress
from rpac.attack.auditing import audit
from rpac.calibrators.base import Calibrator
from rpac.certificate.certificate import Certificate
from rpac.errors import ExactRelease
from rpac.front.certify import certify
from rpac.front.compare import curve
from rpac.front.methods import needs_no_noise
from rpac.noise.base import Law
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import tabulate
from rpac.paper.published import Claim, Verdict
from rpac.worlds.outputs import Outputs

CLOSED_FORMS = ("auto-pac", "proportional", "efficient-pac", "confident-auto-pac")
PRINTED_AS = {
    "auto-pac": "Auto-PAC",
    "proportional": "Auto-PAC",
    "efficient-pac": "Efficient-PAC",
    "equilibrium": "SR-PAC",
    "sr-pac": "SR-PAC",
    "dp": "DP",
}
"""Beside which printed column a method is shown; the paper's experiments print the proportional
rule as Auto-PAC."""
_ATTEMPTS = 5
CHANNELS = ("channel", "channel-argmax")
"""Channels to code words: of least squared error, and with a price on a changed class."""
ORDER = (
    "equilibrium", *CLOSED_FORMS, *CHANNELS, "sr-pac", "dp", "success-rate", "labels", "all",
)  # fmt: skip
MATCHED = ("dp", "success-rate")
"""Methods that are matched at equal success on a member, and promise no nats about the world."""
COLUMNS = (
    "dataset", "secret", "method", "budget", "note", "power", "ratio", "error", "limit",
    "accuracy", "certified", "grade", "attack", "ceiling", "person", "lira", "success_bound",
    "epsilon",
    "published_accuracy", "published_power", "published_success", "verdict", "why",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How much to measure. The defaults are those of the committed results.

    Attributes:
        budgets: At how many budgets of the paper's grid to measure; None: at all.
        sr_pac: At how many budgets of a dataset the trained game runs; None: at all.
        draws: Judging draws of certificates that need no tightness: closed forms are within
            their budget by a proved bound, and draws only show how far below it.
        games: Of the attack on a record.
        trials: Noise draws for each record when accuracy is measured, as many as the paper's.
        records: Test records that are worlds; None: all.
        training: Training records of the classifier; None: all.
        epochs: Of its training; None: as many as it takes.
        worlds: Membership vectors, and half-samples, that are worlds.
        seed: Study randomness of everything.
        n_jobs: Processes, as joblib counts them.
    """

    budgets: int | None = None
    sr_pac: int | None = 3
    draws: int = 2_000
    games: int = 4_000
    trials: int = 35
    records: int | None = None
    training: int | None = None
    epochs: int | None = None
    worlds: int = 512
    seed: int = 0
    n_jobs: int = -1


QUICK = Settings(
    budgets=4, sr_pac=1, draws=1_000, games=1_000, trials=3, records=300, training=512, epochs=1,
    worlds=256,
)  # fmt: skip
"""Seconds instead of minutes: for a first look, and for tests."""


@dataclass(frozen=True)
class Row:
    """One method at one budget.

    Attributes:
        dataset: Its name.
        secret: What is protected, in words.
        entropy: H(X) of it, nats.
        method: Name of the calibrator; "labels" releases the predicted label instead.
        budget: Nats.
        note: "no noise needed" at or above the entropy: left out of comparisons.
        power: E|B|^2; for labels the probability of a change.
        ratio: Power over that of exact Auto-PAC.
        error: Squared error after the best linear map, as a share of the outputs' variance.
        limit: For channels: the rate-distortion limit of that, over stated candidates.
        accuracy: Of the released logits, over all test records.
        certified: Upper bound on the leakage, with the certificate's confidence.
        grade: "proved" or "statistical".
        attack: Lower limit on the leakage that an attack shows, nats.
        ceiling: The highest accuracy that the budget allows.
        person: Upper bound on the success of any guess about the most exposed member.
        lira: Success of a likelihood-ratio attack on the most exposed member.
        success_bound: The highest membership success that the budget allows.
        epsilon: Of differential privacy, matched at that success.
        published: What the paper prints for the method at this budget.
        verdict: Whether that can be true.
    """

    dataset: str
    secret: str
    entropy: float
    method: str
    budget: float
    note: str = ""
    power: float = math.nan
    ratio: float = math.nan
    error: float = math.nan
    limit: float = math.nan
    accuracy: float = math.nan
    certified: float = math.nan
    grade: str = ""
    attack: float = math.nan
    ceiling: float = math.nan
    person: float = math.nan
    lira: float = math.nan
    success_bound: float = math.nan
    epsilon: float = math.nan
    published: Claim | None = None
    verdict: Verdict | None = None

    @property
    def comparable(self) -> bool:
        """Whether noise was needed at all."""
        return not self.note

    def cells(self) -> dict[str, Any]:
        """Return the row as `COLUMNS`; what was not measured is empty."""
        flat = {name: getattr(self, name, None) for name in COLUMNS}
        if self.published is not None:
            for name in ("accuracy", "power", "success"):
                flat[f"published_{name}"] = getattr(self.published, name)
        flat["verdict"] = "" if self.verdict is None else self.verdict.word
        flat["why"] = "" if self.verdict is None else self.verdict.why
        return {k: "" if v is None or v != v else v for k, v in flat.items()}


@dataclass(frozen=True)
class Study:
    """All rows of a dataset.

    Attributes:
        dataset: Its name.
        rows: What was measured.
        verdicts: On every printed row, whether measured here or not.
        made: Seed, versions, base accuracy and seconds, for the record.
    """

    dataset: str
    rows: Sequence[Row]
    verdicts: dict[Claim, Verdict]
    made: dict[str, Any] = field(default_factory=dict)

    def column(self, secret: str, method: str, name: str) -> list[Any]:
        """Return a column of one method on one secret, comparable budgets only."""
        same = (r for r in self.rows if (r.secret, r.method) == (secret, method) and r.comparable)
        return [getattr(r, name) for r in same]

    @property
    def of_means(self) -> bool:
        """Whether the secret is who is in a sample; else it is the record behind logits."""
        return self.rows[0].success_bound > 0

    @property
    def secrets(self) -> list[str]:
        """Return the secrets, in the order of the rows."""
        return list(dict.fromkeys(row.secret for row in self.rows))


def run(tasks: Sequence[tuple[Any, ...]], settings: Settings, what: str) -> list[Row]:
    """Return the rows of all tasks, each (function, *arguments), under a progress bar."""
    jobs = (delayed(function)(*arguments) for function, *arguments in tasks)
    done: Iterable[list[Row]] = Parallel(settings.n_jobs, return_as="generator")(jobs)
    return [row for rows in progress(done, len(tasks), what) for row in rows]


def beside(rows: Iterable[Row], secret: str, verdicts: Mapping[Claim, Verdict]) -> list[Row]:
    """Return the rows with what the paper prints for them, where it has the same secret.

    That secret comes first, its methods in one order.
    """
    printed = {(c.method, c.budget): c for c in verdicts}
    found = []
    for row in rows:
        claim = printed.get((PRINTED_AS.get(row.method, ""), row.budget))
        if claim is not None and row.secret == secret:
            row = replace(row, published=claim, verdict=verdicts[claim])
        found.append(row)
    return sorted(found, key=lambda r: (r.secret != secret, ORDER.index(r.method), r.budget))


def noises(
    outputs: Outputs, budgets: Sequence[float], method: str | Calibrator
) -> Iterator[tuple[float, Law]]:
    """Yield budget and noise wherever noise is needed."""
    noisy = [b for b in budgets if not needs_no_noise(outputs, b)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExactRelease)
        yield from zip(noisy, curve(outputs, noisy, method) if noisy else [], strict=True)


def few(budgets: Sequence[float], how_many: int | None) -> list[float]:
    """Return so many of the budgets, evenly spread from the middle of each part; None: all."""
    if how_many is None or how_many >= len(budgets):
        return list(budgets)
    places = [int((2 * k + 1) * len(budgets) / (2 * how_many)) for k in range(how_many)]
    return [budgets[i] for i in places]


def judged(
    outputs: Outputs, noise: Any, budget: float, settings: Settings, draws: int | None
) -> tuple[Any, Certificate, float]:
    """Return the noise, the certificate of its released law, and what an attack shows, in nats.

    A certificate judges by fresh draws and misses its budget now and then; a release is then
    refused and asked for again. Here Gaussian noise grows by half a per cent, and is certified.

    Args:
        outputs: Finite worlds.
        noise: A proposal.
        budget: Nats; infinite for methods that promise none.
        settings: Of the study.
        draws: Judging draws; None: as many as a release takes.
    """
    for _ in range(_ATTEMPTS):
        law = tabulate(outputs, noise)
        certificate = certify(outputs, law, draws=draws)
        if certificate.bound <= budget or not isinstance(noise, GaussianNoise):
            break
        noise = noise.scaled(1.005)
    found = audit((outputs, law), ["bayes"], certificate=certificate, games=settings.games,
                  seed=settings.seed)  # fmt: skip
    return noise, certificate, found.lower
