"""Attacks against known truths, planted faults, and the coverage of every interval.

`make test` runs small versions of these parts. Run some of it with
`python -m benchmarks.attack name ...`.
"""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
from scipy.stats import binomtest, norm
from tests.plain_lira import loop_lira

import rpac
from rpac import attack
from rpac.attack.likelihood import log_gain
from rpac.oracles import quadrature_nats

SHARED = Path(os.environ.get("RPAC_SHARED", Path(__file__).resolve().parents[2] / "shared"))
NOMINAL = 0.9
TOLD = 0.08
Rows = list[list[object]]


def truths(games: int = 200_000) -> Rows:
    """Lower limits at 99.9 % against quadrature: case, limit, truth, whether it is near enough."""
    cases = json.loads((SHARED / "oracles" / "truths.json").read_text())
    rows: Rows = []
    for case in cases["mi_gaussian_1d"] + cases["mi_gaussian_2d"]:
        cov = case.get("cov", [[case.get("sigma", 0) ** 2]])
        outputs = rpac.Outputs(np.asarray(case["atoms"], float), case["p"])
        lower = rpac.audit((outputs, cov), ["bayes"], games=games).lower
        near = 0.95 * case["mi"] - 0.003 <= lower <= case["mi"]
        rows.append([f"{case.get('name', 'qpsk')} {case.get('sigma', cov)}", lower, case["mi"],
                     lower / case["mi"], near])  # fmt: skip
    return rows


def iris_outputs(worlds: int = 4096) -> rpac.Outputs:
    """Return mean outputs on half-samples of 30 Iris rows, standardised by their own moments."""
    with (SHARED / "data" / "iris.csv").open() as lines:
        data = np.array([[float(v) for v in row[:4]] for row in list(csv.reader(lines))[1:]])
    pool = data[np.random.default_rng(0).choice(len(data), 30, replace=False)]
    pool = (pool - pool.mean(axis=0)) / pool.std(axis=0)
    return rpac.simulate(rpac.Subsets(pool, worlds=worlds), lambda x: x.mean(axis=0))


def iris() -> Rows:
    """Auto-PAC at 0.5 nats, and the trace 0.0064 that the paper prints for SR-PAC there."""
    outputs = iris_outputs()
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    certificate = rpac.certify(outputs, law)
    rows: Rows = []
    for name, noise, made in (("Auto-PAC, released law", law, certificate),
                              ("isotropic, trace 0.0064", 0.0016 * np.eye(4), None)):  # fmt: skip
        report = rpac.audit((outputs, noise), budget=0.5, certificate=made)
        person = next(f for f in report.findings if f.attack == "membership")
        limit = "-" if made is None else made.worst_unit_success
        rows.append([name, report.lower, report.limit, person.estimate, person.low, limit,
                     report.alarm])  # fmt: skip
    return rows


def lira(targets: int = 1_000, worlds: int = 512) -> Rows:
    """The vectorised likelihood ratio against a plain loop."""
    rng = np.random.default_rng(0)
    masks = rpac.Subsets(np.arange(targets), worlds=worlds).masks
    scores = rng.normal(size=masks.shape) + 0.7 * masks * rng.random(targets)
    rows: Rows = []
    for online in (True, False):
        start = time.perf_counter()
        slow = loop_lira(scores, masks, online=online)
        loop = time.perf_counter() - start
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            fast = attack.lira(scores, masks, online=online)
            seconds.append(time.perf_counter() - start)
        rows.append(["online" if online else "offline", loop, median(seconds),
                     loop / median(seconds), float(np.abs(fast - slow).max())])  # fmt: skip
    return rows


# -- planted faults ---------------------------------------------------------------------------


class Victim:
    """A mean over half-samples under Auto-PAC noise, and ways to release it wrongly."""

    def __init__(self, budget: float, dim: int) -> None:
        data = np.random.default_rng(1).normal(size=(40, dim))
        self.budget = budget
        self.outputs = rpac.simulate(rpac.Subsets(data, worlds=256), lambda x: x.mean(axis=0))
        self.ideal = rpac.calibrate(self.outputs, budget, "auto-pac")
        self.law = rpac.tabulate(self.outputs, self.ideal)
        self.certificate = rpac.certify(self.outputs, self.law)

    def _table_noise(self, n: int, rng: np.random.Generator) -> np.ndarray:
        uniforms = rng.integers(0, 1 << 63, size=(n, len(self.law.axes)), dtype=np.uint64)
        return self.law.at(uniforms)

    def clean(self, worlds, rng):  # type: ignore[no-untyped-def]
        """As certified."""
        codes = self.outputs.codes(self.law)[worlds] + self._table_noise(len(worlds), rng)
        return self.law.decode(codes)

    def weak(self, worlds, rng):  # type: ignore[no-untyped-def]
        """Noise at 0.7 of its scale."""
        return self.outputs.values[worlds] + 0.7 * self.ideal.sample(len(worlds), rng)

    def dependent(self, worlds, rng):  # type: ignore[no-untyped-def]
        """Noise in proportion to the size of the (centred) answer; as much of it on average."""
        size = np.linalg.norm(self.outputs.values - self.outputs.center, axis=1)
        scale = size / math.sqrt(float(np.square(size).mean()))
        noise = self.ideal.sample(len(worlds), rng)
        return self.outputs.values[worlds] + scale[worlds, None] * noise

    def sentinel(self, worlds, rng):  # type: ignore[no-untyped-def]
        """NaN, bare, wherever units 3 and 5 are both in."""
        released = self.clean(worlds, rng)
        both = self.outputs.masks[:, 3] & self.outputs.masks[:, 5]
        released[both[worlds]] = np.nan
        return released

    def low_bits(self, worlds, rng):  # type: ignore[no-untyped-def]
        """Grid noise on answers that were never put on the grid."""
        shift = (self._table_noise(len(worlds), rng) * self.law.steps) @ self.law.basis.T
        return self.outputs.values[worlds] + shift

    def audit(self, fault: str, seed: int, games: int = 20_000) -> attack.Audit:
        """Audit one way of releasing."""
        return rpac.audit(
            (self.outputs, self.law), budget=self.budget, certificate=self.certificate,
            released=getattr(self, fault), games=games, seed=seed,
        )  # fmt: skip


class NaiveFloat:
    """A bit under ideal Gaussian noise in plain floating point: its low bits are the leak."""

    def __init__(self, budget: float = 1 / 128) -> None:
        self.budget = budget
        self.outputs = rpac.Outputs([[0.0], [1.0]])
        self.noise = rpac.calibrate(self.outputs, budget, "auto-pac")

    def audit(self, fault: str, seed: int, games: int = 20_000) -> attack.Audit:
        """Audit floating-point addition, or the grid."""

        def released(worlds, rng):  # type: ignore[no-untyped-def]
            return self.outputs.values[worlds] + self.noise.sample(len(worlds), rng)

        noise = self.noise if fault == "low_bits" else rpac.tabulate(self.outputs, self.noise)
        return rpac.audit((self.outputs, noise), budget=self.budget, games=games, seed=seed,
                          released=released if fault == "low_bits" else None)  # fmt: skip


FAULTS = ("weak", "dependent", "sentinel", "low_bits", "clean")


def faults(runs: int = 200) -> Iterator[list[object]]:
    """How often planted faults and clean releases raise the alarm; rows as they are done."""
    for victim, name, kinds in (
        (NaiveFloat(), "naive float", ("low_bits", "clean")),
        *((Victim(b, d), f"mean, d = {d}", FAULTS) for b, d in ((0.05, 1), (0.5, 3))),
    ):
        for fault in kinds:
            reports = [victim.audit(fault, seed) for seed in range(runs)]
            yield [name, victim.budget, fault, sum(r.alarm for r in reports), runs,
                   float(np.mean([r.lower for r in reports]))]  # fmt: skip


# -- coverage ---------------------------------------------------------------------------------

PAIR = rpac.Outputs([[-1.0], [1.0]], masks=np.array([[True, False], [False, True]]))
PAIR_NATS = quadrature_nats([-1, 1], [0.5, 0.5], 1.0)
PAIR_SUCCESS = float(norm.cdf(1.0))


def _pair_gain() -> float:
    """Return the mean log gain of the floored posterior on a pair, by quadrature."""
    y = np.linspace(-12, 14, 200_001)
    posterior = 1 / (1 + np.exp(-2 * y))
    return float((log_gain(posterior, np.array(0.5)) * norm.pdf(y, 1.0)).sum() * (y[1] - y[0]))


PAIR_GAIN = _pair_gain()


def _play(seed: int, games: int = 400) -> attack.Play:
    return attack.Play(attack.Game(PAIR, 1.0), games, seed)


def _beta(seed: int) -> bool:
    low, high = attack.mean_limits(
        np.random.default_rng(seed).beta(0.3, 3.0, 300), 0, 1, 1 - NOMINAL
    )
    return low <= 0.3 / 3.3 <= high


def _rare(seed: int) -> bool:
    draws = (np.random.default_rng(seed).random(2_000) < 0.01).astype(float)
    low, high = attack.mean_limits(draws, -1, 4, 1 - NOMINAL)
    return low <= 0.01 <= high


def _clopper(seed: int) -> bool:
    low, high = attack.clopper_pearson(
        np.random.default_rng(seed).binomial(200, 0.03), 200, 1 - NOMINAL
    )
    return bool(low <= 0.03 <= high)


def _roc(seed: int) -> bool:
    rng = np.random.default_rng(seed)
    inside = rng.random(500) < 0.5
    study = rng.normal(size=300)
    curve = attack.roc(rng.normal(size=500) + inside, inside, study, 1 - NOMINAL)
    cut = np.quantile(study, 1 - curve.wanted)
    k = 1 + seed % 4  # one band a repeat: each holds by itself
    pairs = ((curve.fpr[k], norm.sf(cut[k])), (curve.tpr[k], norm.sf(cut[k] - 1)))
    (_, low, high), truth = pairs[seed % 2]
    return bool(low <= truth <= high)


def _nats(attacker: attack.Attack, truth: float = PAIR_NATS) -> Callable[[int], bool]:
    return lambda seed: attacker.run(_play(seed), 1 - NOMINAL).nats <= truth


def _success(attacker: attack.Attack) -> Callable[[int], bool]:
    def held(seed: int) -> bool:
        found = attacker.run(_play(seed), 1 - NOMINAL)
        return found.low <= PAIR_SUCCESS <= found.high and found.nats <= PAIR_NATS

    return held


def _one_run_epsilon(seed: int) -> bool:
    rng = np.random.default_rng(seed)
    members = rng.random(200) < 0.5
    told = np.where(rng.random(200) < 1 / (1 + math.exp(-1.0)), members, ~members)
    found = attack.one_run(np.where(told, 1.0, -1.0), members, confidence=NOMINAL)
    assert found.epsilon is not None
    return found.epsilon <= 1.0


def _one_run_nats(seed: int) -> bool:
    """All bits are told with a small probability, else coins: the law where the bound is tight."""
    rng = np.random.default_rng(seed)
    members = rng.random(40) < 0.5
    told = members if rng.random() < TOLD else rng.random(40) < 0.5
    found = attack.one_run(np.where(told, 1.0, -1.0), members, confidence=NOMINAL)
    equal = TOLD + (1 - TOLD) * 2.0**-40
    truth = equal * math.log(equal * 2.0**40) + (1 - equal) * math.log1p(-TOLD)
    return found.nats <= truth


def _exact(found: attack.Finding) -> bool:
    return found.low <= PAIR_GAIN <= found.high and found.nats <= PAIR_NATS


def _bayes(seed: int) -> bool:
    return _exact(attack.Bayes().run(_play(seed), 1 - NOMINAL))


def _informed(seed: int) -> bool:
    corners = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    outputs = rpac.Outputs(corners, masks=corners > 0)
    play = attack.Play(attack.Game(outputs, np.eye(2)), 400, seed)
    return _exact(attack.Informed(1).run(play, 1 - NOMINAL))


def _adaptive(seed: int) -> bool:
    attacker = attack.AdaptiveAnalyst([(PAIR, 1.0)], PAIR_NATS, rounds=1, games=400)
    return _exact(attacker.run(_play(seed), 1 - NOMINAL))


INTERVALS: dict[str, Callable[[int], bool]] = {
    "mean limits, beta": _beta,
    "mean limits, rare": _rare,
    "Clopper-Pearson": _clopper,
    "ROC bands": _roc,
    "bayes": _bayes,
    "membership": _success(attack.Membership()),
    "threshold (nats)": _nats(attack.Threshold()),
    "lira (nats)": _nats(attack.LiRA()),
    "inference": _success(attack.Inference([0, 1])),
    "decoder": _nats(attack.Learned(features="linear")),
    "precision": _nats(attack.Precision()),
    "failure": _nats(attack.Failure()),
    "informed": _informed,
    "adaptive": _adaptive,
    "one run, epsilon": _one_run_epsilon,
    "one run, nats": _one_run_nats,
}


def coverage(repeats: int = 1_000) -> Rows:
    """How often each interval holds, and the chance of so few if it were nominal."""
    rows: Rows = []
    for name, holds in INTERVALS.items():
        held = sum(holds(seed) for seed in range(repeats))
        chance = binomtest(held, repeats, NOMINAL, alternative="less").pvalue
        rows.append([name, NOMINAL, held / repeats, float(chance), bool(chance >= 1e-3)])
    return rows


PARTS: dict[str, tuple[Callable[[], Iterable[list[object]]], str, list[str]]] = {
    "truths": (truths, "Attacks against quadrature: 200,000 games, 99.9 % (nats)",
               ["case", "lower limit", "truth", "ratio", "within"]),
    "iris": (iris, "Half-samples of 30 Iris rows, mean, 4,096 worlds, claim 0.5 nats",
             ["noise", "lower (nats)", "claim", "worst unit: success", "its lower limit",
              "its bound", "alarm"]),
    "lira": (lira, "LiRA, 512 worlds x 1,000 targets (seconds)",
             ["kind", "plain loop", "vectorised", "ratio", "largest difference"]),
    "coverage": (coverage, "Coverage of every interval, 1,000 repeats",
                 ["interval", "nominal", "held", "chance", "not below"]),
    "faults": (faults, "Planted faults, 20,000 games: alarms at confidence 0.999",
               ["release", "budget", "fault", "alarms", "runs", "mean lower limit"]),
}  # fmt: skip


def main() -> None:
    from benchmarks.run import table

    print(f"Command: `python -m benchmarks.attack`; OMP_NUM_THREADS="
          f"{os.environ.get('OMP_NUM_THREADS', 'unset')}; Python {platform.python_version()}, "
          f"NumPy {np.__version__}, rpac {rpac.__version__}.")  # fmt: skip
    warnings.simplefilter("error")
    for name in sys.argv[1:] or PARTS:
        make, title, head = PARTS[name]
        start = time.perf_counter()
        table(title, head, make())
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
