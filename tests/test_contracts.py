"""The contract suite accepts what is right and names what is wrong."""

import itertools
from types import SimpleNamespace

import narwhals as nw
import numpy as np
import pytest

import rpac
from rpac import attack, contracts
from rpac.contracts import (
    check_attack,
    check_calibrator,
    check_noise,
    check_reference,
    check_source,
    check_statistic,
)
from rpac.worlds.members import Members


class Scaled(rpac.Noise):
    """Gaussian noise that draws at another scale than it says."""

    dim = 1

    def __init__(self, drawn, said, log_scale=0.0):
        self.drawn, self.said = rpac.GaussianNoise(drawn), rpac.GaussianNoise(said)
        self.log_scale = log_scale

    @property
    def cov(self):
        return self.said.cov

    @property
    def power(self):
        return self.said.power

    def sample(self, n, rng):
        return self.drawn.sample(n, rng)

    def log_density(self, points):
        return self.said.log_density(points) + self.log_scale

    def describe(self):
        return {}


def test_honest_noise_passes():
    check_noise(Scaled(1.0, 1.0))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (Scaled(0.9, 1.0), r"Expected samples with E\|B\|\^2 = power; got 0.9"),
        (Scaled(1.0, 1.0, 0.1), "Expected a density that integrates to 1; got 0.9"),
    ],
)
def test_dishonest_noise_is_named(noise, message):
    with pytest.raises(rpac.ContractError, match=message):
        check_noise(noise)


def test_a_noise_with_wrong_masses_is_named():
    class Wrong(Scaled):
        drawn = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])

        def __init__(self, masses):
            self.said, self.masses = self.drawn, np.asarray(masses)

        def log_density(self, points):
            return np.log(self.masses)[points[:, 0].astype(int) + 1]

    check_noise(Wrong([0.25, 0.5, 0.25]))
    with pytest.raises(rpac.ContractError, match="Expected masses that sum to at most 1; got 1.5"):
        check_noise(Wrong([0.5, 0.5, 0.5]))
    with pytest.raises(rpac.ContractError, match="Expected samples as often as their mass says"):
        check_noise(Wrong([0.3, 0.5, 0.2]))
    with (
        np.errstate(divide="ignore"),
        pytest.raises(rpac.ContractError, match=r"every sample; got \d+ of 40000 that are not"),
    ):
        check_noise(Wrong([0.0, 0.5, 0.5]))


def test_sources():
    class Drifting(rpac.Source):
        statement, calls = "drifts", 0

        def worlds(self, seed):
            self.calls += 1
            return [self.calls, 2]

    with pytest.raises(rpac.ContractError, match=r"seeds; got two calls of Drifting\(drifts\)"):
        check_source(Drifting())

    class Unbalanced(rpac.Source):
        statement, weights = "unbalanced", np.array([0.5, 0.6])

        def worlds(self, seed):
            return [1, 2]

    with pytest.raises(rpac.ContractError, match="Expected positive weights that sum to 1, one"):
        check_source(Unbalanced())
    lame = rpac.Subsets(range(10), worlds=8)
    lame.members = Members.wrap(np.eye(8, 10, dtype=bool))
    with pytest.raises(rpac.ContractError, match="Expected every unit in half of the worlds; got"):
        check_source(lame)


def test_references():
    good = rpac.GaussianReference([0.0], [[1.0]])
    check_reference(good.log_density, [0.0], [[1.0]])
    with pytest.raises(rpac.ContractError, match="a certificate would not hold"):
        check_reference(lambda y: good.log_density(y) + 0.05, [0.0], [[1.0]])


def test_samples_of_another_shape_or_covariance_are_named():
    class Flat(Scaled):
        def sample(self, n, rng):
            return self.drawn.sample(n, rng)[:, 0]

    with pytest.raises(
        rpac.ContractError, match=r"samples of shape \(n, 1\); got \(40000,\)\. Fix it before use"
    ):
        check_noise(Flat(1.0, 1.0))

    class Boasting(Scaled):
        cov = np.array([[2.0]])

    with pytest.raises(rpac.ContractError, match="a covariance that fits the samples; got"):
        check_noise(Boasting(1.0, 1.0))


def test_one_world_is_no_secret_and_every_world_has_a_weight():
    class Single(rpac.Source):
        statement = "single"

        def worlds(self, seed):
            return [1]

    with pytest.raises(rpac.ContractError, match="Expected at least 2 worlds; got 1"):
        check_source(Single())

    class Short(rpac.Source):
        statement, weights = "short", np.array([1.0])

        def worlds(self, seed):
            return [1, 2]

    with pytest.raises(rpac.ContractError, match="got 1 for 2 worlds, with the sum 1"):
        check_source(Short())


@pytest.mark.parametrize(
    "source",
    [rpac.Worlds([1, 2, 3], weights=[0.2, 0.3, 0.5]), rpac.Subsets(np.arange(9.0), worlds=16)],
    ids=repr,
)
def test_sources_of_the_library_pass(source):
    check_source(source)


CLOUD = rpac.Outputs(np.random.default_rng(0).normal(size=(64, 2)))
LINE = rpac.Outputs(np.random.default_rng(0).normal(size=64))  # its bounds are sums, not draws


@pytest.mark.parametrize(
    ("calibrator", "outputs"),
    [(rpac.AutoPAC(), CLOUD), (rpac.Isotropic(), LINE), (rpac.Proportional(), LINE)],
)
def test_calibrators_of_the_library_pass(calibrator, outputs):
    check_calibrator(calibrator, outputs)


def test_calibrators_of_labels_pass_too():
    check_calibrator(rpac.Equilibrium(), rpac.Outputs(["a", "b", "c", "d"]), (0.1, 0.5))


class Proposing(rpac.Calibrator):
    """Proposes what a function of its number of calls and the budget says."""

    def __init__(self, variance):
        self.variance, self.calls = variance, 0

    def propose(self, outputs, nats):
        self.calls += 1
        return rpac.GaussianNoise(self.variance(self.calls, nats) * np.eye(outputs.dim))


@pytest.mark.parametrize(
    ("variance", "message"),
    [
        (lambda k, nats: 100.0 + k, r"equal noise for equal calls; got Gaussian.*, then Gaussian"),
        (lambda k, nats: 1e-3, "Expected a certified bound of at most 0.1 nats; got"),
        (lambda k, nats: 100.0 * nats + 100, "power that falls as the budget grows; got .*250"),
    ],
)
def test_calibrators_that_waver_cheat_or_ask_more_for_more_are_named(variance, message):
    with pytest.raises(rpac.ContractError, match=message):
        check_calibrator(Proposing(variance), LINE)


def test_a_calibrator_without_noise_is_named():
    class Bare(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.LatticeNoise(1.0, [0], [1.0])

    with pytest.raises(rpac.ContractError, match="Expected noise of positive power; got 0.0"):
        check_calibrator(Bare(), rpac.Outputs([0, 1]))


def test_an_unlucky_certificate_is_asked_for_once_more(monkeypatch):
    """Bounds of several directions are drawn: one in hundreds lies above, two in a row do not."""
    asked = []

    def certify(outputs, law):
        asked.append(law)
        return SimpleNamespace(bound=9.0 if len(asked) == 1 else 0.05)

    monkeypatch.setattr(contracts, "certify", certify)
    check_calibrator(rpac.AutoPAC(), CLOUD, (0.1,))
    assert len(asked) == 2


@pytest.mark.parametrize("name", list(attack.ATTACKS))
def test_every_attack_keeps_the_contract(name):
    check_attack(attack.ATTACKS[name]())


@pytest.mark.parametrize("seed", [1, 2])
def test_the_contract_of_attacks_has_other_seeds(seed):
    check_attack(attack.Bayes(), seed)


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        ((2.0, 2.0, 2.0, 2.0), "at most the true 0 nats; got 2"),
        ((0.2, 0.3, 0.4, 0.0), r"limits around the estimate; got 0.2 outside \[0.3, 0.4\]"),
        ((0.2, 0.0, 0.1, 0.0), r"limits around the estimate; got 0.2 outside \[0, 0.1\]"),
    ],
)
def test_an_attack_that_boasts_breaks_the_contract(finding, message):
    class Boast(attack.Attack):
        name = "boast"

        def run(self, play, delta):
            return attack.Finding("boast", "nats", *finding)

    with pytest.raises(rpac.ContractError, match=message):
        check_attack(Boast())


def test_what_is_not_covered_may_say_anything():
    class Beside(attack.Attack):
        name = "beside"

        def run(self, play, delta):
            return attack.Finding("beside", "nats", 2.0, 2.0, 2.0, 2.0, covered=False)

    check_attack(Beside())


def test_a_truth_above_zero_is_held_too():
    """An attack that is right where nothing leaks, and boasts where a bit does."""

    class Bit(attack.Attack):
        name = "bit"

        def run(self, play, delta):
            nats = 0.0 if not play.game.honest else 0.34  # the truth is 0.3368
            return attack.Finding("bit", "nats", nats, nats, nats, nats)

    with pytest.raises(rpac.ContractError, match="at most the true 0.336831 nats; got 0.34"):
        check_attack(Bit())


TABLE = {
    "pay": [3.0, 1.0, None, 8.0, 5.0, 2.0],
    "age": [30, 41, 29, 57, 33, 44],
    "dept": ["a", "b", "a", "b", "c", "a"],
}


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "text",
    [
        "mean(pay)", "sum(pay)", "count()", "count(pay)", "median(pay)", "quantile(pay, 0.9)",
        "histogram(pay, 0, 2, 4)", "group_by(dept, mean(pay), a, b)", "group_by(dept, count(), a)",
        "correlation(pay, age)", "regression(pay, age)",
    ],
)  # fmt: skip
def test_statistics_of_the_library_pass(text, backend):
    table = nw.from_dict(TABLE, backend=backend).to_native()
    check_statistic(rpac.statistics.parse(text), table)


CALLS = itertools.count()


def statistic_of(compute, **more):
    return rpac.statistics.Statistic("strange(pay)", ("pay",), compute, **more)


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        (
            statistic_of(lambda read, rows: [1.0, 2.0], labels=("a",)),
            r"1 numbers of a half-sample, as announced; got 2 of strange\(pay\)",
        ),
        (
            statistic_of(lambda read, rows: read["pay"][0] if rows else np.nan),
            r"Expected finite numbers of (a half-sample|no rows); got strange\(pay\) without",
        ),
        (
            statistic_of(lambda read, rows: rows / 1, whole=True),
            "whole numbers of a half-sample, as announced; got float64 data",
        ),
        (
            statistic_of(lambda read, rows: float(next(CALLS))),
            r"the same numbers again, from pandas too; got others of strange\(pay\)",
        ),
    ],
)
def test_statistics_that_break_their_announcement_are_named(statistic, message):
    with pytest.raises(rpac.ContractError, match=message):
        check_statistic(statistic, nw.from_dict(TABLE, backend="pandas").to_native())


def test_a_statistic_of_a_column_that_is_not_there_is_refused():
    with pytest.raises(rpac.InputError, match="Expected a column among .*'pay'.*; got 'height'"):
        check_statistic(
            rpac.statistics.mean("height"), nw.from_dict(TABLE, backend="pandas").to_native()
        )
