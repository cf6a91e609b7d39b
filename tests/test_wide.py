"""Very many numbers: the same noise as the dense way, found and released in the span of worlds."""

import pickle
import tracemalloc

import numpy as np
import pytest

import rpac
from rpac.answers.rows import MOST_ROWS, answer_rows
from rpac.calibrators.base import Calibrator
from rpac.calibrators.utility import Smooth, SquaredError, Utility, Weighted
from rpac.errors import InputError, TooLarge
from rpac.front.methods import METHODS, exact_noise
from rpac.noise.grid import GridNoise, narrowed
from rpac.report.plan import plan
from rpac.worlds.span import Span

M, D = 24, 2_000
DIRECTED = ("auto-pac", "confident-auto-pac", "efficient-pac", "isotropic", "proportional")


def made(m=M, d=D, seed=3):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(m, d)) * np.exp(-np.linspace(0, 4, d)) + rng.normal(size=d)
    values[:, 7] = 3.0
    return values


@pytest.fixture(scope="module")
def outputs():
    return rpac.Outputs(made())


@pytest.fixture(scope="module")
def released():
    pool = np.random.default_rng(0).normal(size=(60, 300))
    return rpac.privatize(lambda rows: rows.mean(axis=0), rpac.Subsets(pool, worlds=32), 0.3)


# --- the same as the dense way --------------------------------------------------------------------


@pytest.mark.parametrize("name", [*DIRECTED, "equilibrium"])
def test_noise_in_the_span_is_that_of_the_dense_way(outputs, name):
    implied, dense = rpac.calibrate(outputs, 1.0, name), METHODS[name].propose(outputs, 1.0)
    assert implied.span is outputs.span
    assert dense.span is None
    assert implied.power == pytest.approx(dense.power, rel=1e-9)
    assert np.sort(implied.variances) == pytest.approx(np.sort(dense.variances), rel=1e-9)
    assert implied.variances_of_numbers == pytest.approx(dense.variances_of_numbers, rel=1e-9)
    assert np.abs(implied.cov - dense.cov).max() < 1e-9 * np.abs(dense.cov).max()
    scale = np.linspace(1, 2, D)
    assert implied.power_in(scale) == pytest.approx(dense.power_in(scale), rel=1e-9)
    bounds = [rpac.certify(outputs, rpac.tabulate(outputs, n), draws=0) for n in (implied, dense)]
    assert bounds[0].bound == pytest.approx(bounds[1].bound, rel=1e-9)
    ideal = [rpac.certify(outputs, noise, draws=0).bound for noise in (implied, dense)]
    assert ideal[0] == pytest.approx(ideal[1], rel=1e-9)


def test_the_released_law_is_that_of_the_dense_way(outputs):
    implied = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    dense = rpac.tabulate(outputs, METHODS["auto-pac"].propose(outputs, 0.5))
    assert implied.dim == dense.dim == D
    assert implied.error()["noise"] == pytest.approx(dense.error()["noise"], rel=1e-9)
    assert implied.power_in(np.ones(D)) == pytest.approx(dense.power_in(np.ones(D)), rel=1e-9)
    assert np.abs(implied.cov - dense.cov).max() < 1e-9 * np.abs(dense.cov).max()
    bare = [law.decode(outputs.codes(law)) for law in (implied, dense)]
    step = float(implied.steps.max()) * np.sqrt(implied.rank)
    assert np.abs(bare[0] - outputs.values).max() < step
    assert np.abs(bare[0] - bare[1]).max() < 2 * step
    assert implied.mean == pytest.approx(np.zeros(D))
    assert implied.digest != dense.digest
    drawn = implied.sample(5, np.random.default_rng(0))
    assert drawn.shape == (5, D)
    assert np.isfinite(implied.log_density(drawn)).all()
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    points = noise.sample(5, np.random.default_rng(0))
    same = METHODS["auto-pac"].propose(outputs, 0.5).log_density(points)
    assert noise.log_density(points) == pytest.approx(same, rel=1e-9)
    assert noise.describe()["digest"] != noise.scaled(2.0).describe()["digest"]


@pytest.mark.parametrize("diagonal", [True, False])
def test_weights_of_numbers_are_those_of_the_dense_way(diagonal):
    d, outputs = 120, rpac.Outputs(made(8, 120))
    scales = np.linspace(1.0, 4.0, d)
    task = np.eye(d)[:, :3] + 0.1
    cost = Weighted.scaled(scales) if diagonal else Weighted.task(task, 25.0)
    method = rpac.Equilibrium(utility=cost)
    implied, dense = rpac.calibrate(outputs, 1.0, method), method.propose(outputs, 1.0)
    assert implied.span is outputs.span
    assert implied.power == pytest.approx(dense.power, rel=1e-6)
    basis = outputs.span.shifts(np.eye(outputs.span.rank)).T
    inner = cost.within(outputs.span)
    assert inner.matrix == pytest.approx(basis.T @ cost.weight(np.eye(d)) @ basis)
    noise = np.random.default_rng(1).normal(size=(4, outputs.span.rank))
    assert inner.cost(noise) == pytest.approx(cost.cost(noise @ basis.T))
    whole = Weighted(cost.weight(np.eye(d))).within(outputs.span)
    assert whole.matrix == pytest.approx(inner.matrix)
    with pytest.raises(InputError, match=f"a cost of {d} numbers; got shape"):
        Weighted(np.ones(3)).within(outputs.span)


def squares(noise):
    return np.square(noise).sum(axis=1)


def test_functions_and_costs_of_ones_own_are_seen_in_the_span(outputs, monkeypatch):
    monkeypatch.setattr("rpac.calibrators.utility._NUMBERS", 3 * D)
    along = np.random.default_rng(1).normal(size=(8, outputs.span.rank))
    smooth = Smooth(squares).within(outputs.span)
    assert smooth.cost(along) == pytest.approx(squares(along))

    class Doubled(Utility):
        def cost(self, noise):
            return 2 * squares(noise)

        def weight(self, cov):
            return 2 * np.eye(len(cov))

    own = Doubled().within(outputs.span)
    assert own.cost(along) == pytest.approx(2 * squares(along))
    r = outputs.span.rank
    assert own.weight(np.eye(r)) == pytest.approx(2 * np.eye(r))
    assert SquaredError().within(outputs.span) == SquaredError()


# --- what is released -----------------------------------------------------------------------------


def test_what_a_world_has_outside_the_span_is_never_released(outputs):
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    outside = np.random.default_rng(2).normal(size=D)
    outside -= outputs.span.shifts(outputs.span.directions(outside[None]))[0]
    assert (law.encode(outputs.values + outside) == outputs.codes(law)).all()
    with pytest.raises(InputError, match="noise in every direction in which outputs differ"):
        rpac.tabulate(rpac.Outputs(outputs.values + np.eye(M, D)), law_of(outputs))
    with pytest.raises(InputError, match="noise in every direction in which outputs differ"):
        rpac.certify(rpac.Outputs(outputs.values + np.eye(M, D)), law_of(outputs))
    moved = rpac.Outputs(outputs.values.copy())  # equal worlds in another array: the same integers
    near = law.encode(moved.values) - outputs.codes(law)
    assert np.abs(near).max() <= 1


def law_of(outputs):
    return rpac.calibrate(outputs, 0.5, "auto-pac")


def test_laws_of_other_worlds_are_other_laws(outputs):
    """Mirrored worlds have the same Gram matrix, and another released law."""
    law = rpac.tabulate(outputs, law_of(outputs))
    mirrored = law.lifted(rpac.Outputs(outputs.values[:, ::-1].copy()).span)
    assert mirrored.digest != law.digest


def test_a_release_has_its_form_its_bars_and_its_facts(outputs):
    source = rpac.Worlds(list(made().reshape(M, 40, 50)))
    release = rpac.privatize(lambda x: x, source, 0.5)
    assert release.value.shape == (40, 50)
    assert release.certificate.bound <= 0.5
    assert release.certificate.facts == ("number 8",)
    assert release.value[0, 7] == pytest.approx(3.0, abs=1e-12)
    low, high = release.noise_interval
    assert (high - low).ravel()[7] == 0
    assert ((high - low).ravel()[8:] > 0).all()
    assert "..." in str(release)
    assert len(str(release)) < 8_000


def test_noise_covers_the_answer_as_often_as_it_says(outputs):
    """The error bars of single numbers, from the law itself."""
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5))
    drawn = law.sample(4_000, np.random.default_rng(0))[:, ::97]
    assert drawn.std(axis=0) == pytest.approx(law.error()["noise"][::97], rel=0.06)


def test_bare_releases_sessions_and_success_rates_work_in_the_span(outputs):
    law = exact_noise(outputs)
    assert law.power == 0
    assert np.abs(law.decode(outputs.codes(law)) - outputs.values).max() < 1e-6
    source = rpac.Worlds(list(outputs.values))
    with rpac.Session(source, 1.0) as session:
        answers = [session.ask(lambda x: x, 0.3), session.ask(lambda x: 2 * x, 0.3)]
    assert all(a.value.shape == (D,) and a.certificate.bound <= 0.3 for a in answers)
    pool = np.random.default_rng(0).normal(size=(40, 200))
    found = rpac.privatize(
        lambda rows: rows.mean(axis=0), rpac.Subsets(pool, worlds=32), rpac.SuccessRate(0.6)
    )
    assert found.certificate.worst_unit_success <= 0.6


def test_a_posterior_keeps_the_span_and_not_its_prior(outputs):
    weights = np.linspace(1, 2, M) / np.linspace(1, 2, M).sum()
    other = outputs.under(weights)
    assert other.span is outputs.span
    assert (other.within.weights == weights).all()
    noise = rpac.calibrate(other, 0.5, "auto-pac")
    assert noise.power == pytest.approx(METHODS["auto-pac"].propose(other, 0.5).power, rel=1e-9)
    assert rpac.certify(other, rpac.tabulate(other, noise), draws=0).bound <= 0.5


def test_attacks_plans_and_comparisons_see_the_span(released, outputs):
    audit = rpac.audit(released, games=400)
    assert not audit.alarm
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    assert noise.within.dim == outputs.span.rank
    assert not rpac.audit((outputs, noise), budget=0.5, games=400).alarm
    found = plan(outputs, 0.5, "auto-pac")
    assert len(found.numbers) == D
    table = rpac.compare(outputs, [0.5, 1.0], ["auto-pac"], lambda v, y: 1.0, draws=0)
    assert [row["utility"] for row in table.rows] == [1.0, 1.0]


def test_noise_that_holds_worlds_is_as_sealed_as_they_are(outputs):
    for noise in (law_of(outputs), rpac.tabulate(outputs, law_of(outputs))):
        with pytest.raises(InputError, match="sealed Span that stay in this process"):
            pickle.dumps(noise)


def test_worlds_are_narrowed_to_the_span_of_any_law(outputs):
    other = rpac.Outputs(outputs.values[:12].copy())
    worlds, noise = narrowed(other, law_of(outputs))
    assert worlds.values == pytest.approx(outputs.within.values[:12])
    assert noise.dim == worlds.dim
    assert narrowed(outputs, None) == (outputs, None)


def test_a_record_has_rows_for_the_first_numbers_alone():
    n = MOST_ROWS + 5
    release = rpac.privatize(lambda x: np.arange(float(n)) * x, rpac.Worlds([1.0, 2.0]), 0.1)
    assert len(answer_rows(release, "answer")) == MOST_ROWS
    many = rpac.privatize(
        lambda x: dict(zip(map(str, range(n)), np.arange(n) * x, strict=True)),
        rpac.Worlds([1.0, 2.0]), 0.1,
    )  # fmt: skip
    assert len(str(many)) < 8_000
    assert f"{n - 40:,} more" in str(many)


def test_many_facts_are_counted_rather_than_named():
    values = made(8, 3_000)
    values[:, :2_500] = 1.0
    outputs = rpac.Outputs(values)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    certificate = rpac.certify(outputs, law, draws=0)
    assert certificate.facts == ("2500 of 3000 numbers",)


# --- who sees the numbers themselves --------------------------------------------------------------


def test_calibrators_that_need_the_numbers_get_them(outputs):
    seen = []

    class Own(Calibrator):
        def propose(self, given, nats):
            seen.append(given)
            return METHODS["auto-pac"].propose(given, nats)

    assert rpac.calibrate(outputs, 0.5, Own()).span is None
    assert seen == [outputs]
    for method in (
        rpac.EfficientPAC(basis=np.eye(D)),
        rpac.Equilibrium(family="product", basis=np.eye(D)),
        rpac.Stackelberg(utility=Smooth(squares)),
    ):
        assert method.within(outputs.span) is None
    inner = rpac.Stackelberg().within(outputs.span)
    assert inner == rpac.Stackelberg()
    assert isinstance(outputs.span, Span)


def test_product_noise_is_lifted(outputs):
    few = rpac.Outputs(np.outer(np.arange(3.0), np.ones(60)) + made(3, 60))
    law = rpac.calibrate(few, 0.5, rpac.Equilibrium(family="product"))
    assert isinstance(law, GridNoise)
    assert law.span is few.span
    assert law.within.span is None
    assert law.within.within is law.within or law.within.dim == 2


# --- memory and walls -----------------------------------------------------------------------------


def test_nothing_larger_than_the_outputs_is_held():
    """One (d, r) basis would be as large as the outputs again, a (d, d) array 80 GB."""
    m, d = 16, 100_000
    values = np.random.default_rng(0).normal(size=(m, d))
    source = rpac.Worlds(list(range(m)))
    tracemalloc.start()
    outputs = rpac.simulate(source, values.__getitem__)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.2, "auto-pac"))
    certificate = rpac.certify(outputs, law, draws=0, budget=0.2)
    released = law.decode(law.noisy(outputs.codes(law)[3]))
    assert released.shape == law.error()["noise"].shape == (d,)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert certificate.bound <= 0.2
    assert peak < 3.5 * values.nbytes


def test_every_wall_is_met_with_a_type_and_a_move(outputs, monkeypatch):
    noise = rpac.calibrate(outputs, 0.5, "auto-pac")
    law = rpac.tabulate(outputs, noise)
    span = outputs.span

    class Own(Utility):
        cost = weight = None

    Own.__abstractmethods__ = frozenset()
    monkeypatch.setenv("RPAC_MEMORY", "1 MB")
    for call in (
        lambda: noise.cov,
        lambda: law.cov,
        lambda: Weighted(np.ones(D)).weight(np.eye(1)),
        lambda: Own().within(span).weight(np.eye(span.rank)),
        lambda: rpac.DPGaussian(1.0).propose(outputs, 0.1),
        lambda: rpac.DPLaplace(1.0).propose(outputs, 0.1),
    ):
        with pytest.raises(TooLarge, match=r"Expected .*; got 32 MB|Expected .*; got (64|128) MB"):
            call()
