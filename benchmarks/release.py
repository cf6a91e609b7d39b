"""The release path under attack: low bits, the noise table, hostile functions, Bayes.

Run it with `python -m benchmarks.release [part ...]`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import time
import warnings

import numpy as np
from scipy.stats import chisquare

import rpac
from rpac.certificate import density, evidence, sampled
from rpac.front.certify import PROCESS
from rpac.noise.base import integer_table, look_up, system_uniforms

# --- low bits -----------------------------------------------------------------------------------


def _trailing_zeros(values):
    """Count the trailing zero bits of float64 mantissas: what a precision attack looks at."""
    bits = values.view(np.uint64) | np.uint64(1 << 52)
    return np.log2((bits & (~bits + np.uint64(1))).astype(np.float64)).astype(int)


def _accuracy(values, worlds):
    """Return (accuracy of the learnt low-bit attack, of the threshold attack, standard error)."""
    near = np.abs(values) < 0.25
    values, worlds = values[near], worlds[near]
    half = len(values) // 2
    bits, above = _trailing_zeros(values), values > 0.5
    table = np.zeros((64, 2))
    np.add.at(table, (bits[:half], worlds[:half]), 1)
    guess = table.argmax(axis=1)[bits[half:]]
    low = (guess == worlds[half:]).mean()
    threshold = max((above[half:] == worlds[half:]).mean(), (worlds[half:] == 0).mean(),
                    (worlds[half:] == 1).mean())  # fmt: skip
    return low, threshold, 0.5 / np.sqrt(len(values) - half)


def precision(count):
    """Attack the release kernel and naive float noise alike, outputs 0 and 1, 1/128 nats."""
    outputs = rpac.Outputs([0.0, 1.0])
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 1 / 128, "auto-pac"))
    worlds = look_up(integer_table(outputs.weights), system_uniforms(count))
    codes = outputs.codes(law)[worlds] + law.at(system_uniforms(count, 1))
    values = law.decode(codes)
    off = int((law.decode(law.encode(values)) != values).any(axis=1).sum())
    sigma = np.sqrt(law.cov[0, 0])
    naive = worlds + sigma * np.random.default_rng().standard_normal(count)
    return off, _accuracy(values[:, 0].copy(), worlds), _accuracy(naive, worlds)


# --- the table ----------------------------------------------------------------------------------


def table_test(count, change):
    """Return p-values of the draws against the table, and against power x and / `change`."""
    law = rpac.LatticeNoise.gaussian(1.0, 1024.0)
    edges = np.searchsorted(np.cumsum(law.weights), np.arange(1, 200) / 200)
    limits = law.offsets[edges]
    seen, start = np.zeros(200), time.perf_counter()
    for _ in range(count // 10**6):
        draws = law.at(system_uniforms(10**6))
        seen += np.bincount(np.searchsorted(limits, draws, side="left"), minlength=200)
    rate = count / (time.perf_counter() - start)
    found = []
    for power in (1.0, change, 1 / change):
        other = rpac.LatticeNoise.gaussian(1.0, 1024.0 * np.sqrt(power))
        mass = np.diff(np.concatenate([[0.0], [other.weights[other.offsets <= t].sum()
                                               for t in limits], [1.0]]))  # fmt: skip
        found.append(float(chisquare(seen, mass * seen.sum()).pvalue))
    return found, rate


# --- hostile functions --------------------------------------------------------------------------


class _Rude(Exception):
    def __str__(self):
        raise RuntimeError("cannot even be printed")


def _misbehave(kind, x):
    """Do one of many things that a release must not show."""
    acts = [
        lambda: 1 / 0, lambda: float("nan"), lambda: float("inf"), lambda: np.ones(x + 2),
        lambda: None, lambda: f"secret {x}", lambda: print("secret", x), lambda: sys.exit(x),
        lambda: warnings.warn(f"secret {x}", stacklevel=1), lambda: logging.error("secret %s", x),
        lambda: 10**400, lambda: {"secret": x}, lambda: [[1], [2, 3]], lambda: object(),
        lambda: (_ for _ in ()).throw(_Rude()), lambda: int("secret"), lambda: b"secret",
        lambda: 1j, lambda: np.array([object()]), lambda: np.float64(-np.inf),
        lambda: sys.stderr.write(f"{x}"), lambda: (_ for _ in range(x)), lambda: [],
        lambda: True, lambda: np.datetime64("2020-01-01"), lambda: exec("raise KeyError('s')"),
        lambda: (lambda f: f(f))(lambda f: f(f)), lambda: {}[x], lambda: np.full((2, 2), x),
    ]  # fmt: skip
    return acts[kind % len(acts)]()


def hostile(seed):
    """Return a function that behaves in some worlds and misbehaves in others."""
    rng = np.random.default_rng(seed)
    kinds, bad = rng.integers(0, 1000, 4), rng.random(4) < 0.5
    values = rng.normal(size=4)

    def function(x):
        result = _misbehave(int(kinds[x]), x) if bad[x] else values[x]
        return values[x] if result is None and kinds[x] % 3 else result

    return function


class _Fixed(rpac.Calibrator):
    def propose(self, outputs, nats):
        return rpac.GaussianNoise(outputs.values.var() / (2 * nats) * 1.01)


@contextlib.contextmanager
def _same_study():
    """Judging draws that repeat, so that two certificates can be compared byte for byte."""
    PROCESS.clear()
    rng = np.random.default_rng(0)
    fixed = lambda *shape: rng.integers(0, 1 << 63, shape, np.uint64)  # noqa: E731
    drawing = density, evidence, sampled
    real = density.system_uniforms
    for module in drawing:
        module.system_uniforms = fixed
    try:
        yield
    finally:
        for module in drawing:
            module.system_uniforms = real


def response(function, secret, *, guard=True):
    """Return everything that can be seen of a release but its value."""
    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.root.addHandler(handler)
    safe = rpac.guarded(function, sentinel=0.0) if guard else function
    source = rpac.Worlds([0, 1, 2, 3])
    try:
        with (
            _same_study(), warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        ):  # fmt: skip
            warnings.simplefilter("always")
            try:
                found = rpac.privatize(safe, source, 0.2, secret=secret, method=_Fixed())
                face = (found.certificate.to_json(), type(found.value).__name__, 0)
            except rpac.RpacError as error:
                face = (type(error).__name__, str(error), 1)
    finally:
        logging.root.removeHandler(handler)
    told = [str(w.message) for w in caught]
    return face, out.getvalue(), err.getvalue(), log.getvalue(), told


def hostiles(count):
    """Return how many hostile functions can be told apart by anything but the value."""
    return sum(response(hostile(s), 0) != response(hostile(s), 3) for s in range(count))


# --- Bayes --------------------------------------------------------------------------------------


def functions(rng):
    """Return twelve sets of outputs on 32 worlds."""
    x = rng.lognormal(size=(32, 50))
    return {
        "mean": x.mean(axis=1), "median": np.median(x, axis=1), "max": x.max(axis=1),
        "std": x.std(axis=1), "count": (x > 1).sum(axis=1), "sum of 2": x[:, :2],
        "quantiles": np.quantile(x, [0.25, 0.5, 0.75], axis=1).T, "moments":
        np.stack([x.mean(axis=1), x.var(axis=1)], axis=1), "rare event": (x.max(axis=1) > 9) * 1,
        "clusters": np.repeat([0.0, 5.0, 50.0, 51.0], 8) + 0.01 * rng.normal(size=32),
        "first five": x[:, :5], "index": np.arange(32),
    }  # fmt: skip


def bayes(games, budgets=(0.01, 0.1, 0.5, 1.5)):
    """Play the exact Bayes attack on real draws; return (name, budget, success, error, bound)."""
    rows, rng = [], np.random.default_rng(5)
    for name, values in functions(rng).items():
        outputs = rpac.Outputs(values)
        for budget in budgets:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rpac.ExactRelease)  # then the bound is 1
                law = rpac.tabulate(outputs, rpac.calibrate(outputs, budget, "auto-pac"))
            made = rpac.certify(outputs, law, draws=0)
            codes = outputs.codes(law)
            worlds = look_up(integer_table(outputs.weights), system_uniforms(games))
            right = 0
            for block in np.array_split(worlds, max(1, games // 20_000)):
                noisy = codes[block] + law.at(system_uniforms(len(block), len(law.axes)))
                log_q = np.zeros((len(block), 32))
                for c, axis in enumerate(law.axes):
                    low, mass = axis.log_mass
                    log_q += mass.take(noisy[:, [c]] - codes[:, c] - low, mode="clip")
                right += int((log_q.argmax(axis=1) == block).sum())
            success = right / games
            error = np.sqrt(success * (1 - success) / games)
            rows.append((name, budget, success, error, made.success_rate(1 / 32)))
    return rows


def main() -> None:
    """Print all."""
    parts = set(sys.argv[1:])
    want = lambda name: not parts or name in parts  # noqa: E731
    print("\n## The release path\n")
    if want("precision"):
        off, ours, naive = precision(10**6)
        print(f"- 10^6 releases: {off} off the grid; low-bit attack {ours[0]:.4f} against "
              f"threshold {ours[1]:.4f} (s.e. {ours[2]:.4f}); naive float noise {naive[0]:.4f} "
              f"against {naive[1]:.4f}")  # fmt: skip
    if want("table"):
        found, rate = table_test(10**7, 1.01)
        print(f"- 10^7 draws: p = {found[0]:.3g}; power x 1.01 and / 1.01: p = {found[1]:.2g}, "
              f"{found[2]:.2g}; {rate:.3g} draws a second")  # fmt: skip
    if want("hostile"):
        print(f"- hostile functions told apart: {hostiles(10_000)} of 10,000", flush=True)
    if want("bayes"):
        print("\n| function | budget | success | s.e. | bound |\n| --- | --- | --- | --- | --- |")
        for name, budget, success, error, bound in bayes(200_000):
            print(f"| {name} | {budget} | {success:.5f} | {error:.5f} | {bound:.5f} |")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
