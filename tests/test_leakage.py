"""Exact sums against enumeration; every upper bound against problems that know their answer."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

import rpac
from rpac import joint, leakage
from rpac.leakage import axis_log_det, grid_kernel, log_det
from rpac.noise.grid import Laws
from rpac.noise.lattice import gaussian_law
from rpac.oracles import problems


def brute_force(codes, weights, offsets, q):
    """MI of integer atoms plus integer noise, by listing every pair."""
    law, total = {}, 0.0
    for z, p in zip(codes, weights, strict=True):
        for b, m in zip(offsets, q, strict=True):
            law[z + b] = law.get(z + b, 0.0) + p * m
    for z, p in zip(codes, weights, strict=True):
        for b, m in zip(offsets, q, strict=True):
            total += p * m * math.log(m / law[z + b]) if m > 0 else 0.0
    return total


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_lattice_sum_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    m, k = rng.integers(2, 9), rng.integers(1, 12)
    codes = rng.integers(-30, 30, size=m) * rng.choice([1, 1, 1000])
    weights = rng.dirichlet(np.ones(m))
    offsets = rng.choice(np.arange(-20, 20), size=k, replace=False)
    noise = rpac.LatticeNoise(1.0, offsets, rng.dirichlet(np.ones(k)))
    truth = brute_force(codes, weights, noise.offsets, noise.weights)
    assert leakage.lattice_leakage(codes, weights, noise) == pytest.approx(truth, abs=1e-12)
    bound = rpac.certify(rpac.Outputs(codes, weights), noise).bound
    assert bound == pytest.approx(truth, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_label_sum_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    p, matrix = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k)
    outputs = rpac.Outputs([f"label {i}" for i in range(k)], p)
    channel = rpac.LabelChannel(matrix)
    law = p @ channel.matrix
    truth = sum(
        p[i] * channel.matrix[i, j] * math.log(channel.matrix[i, j] / law[j])
        for i in range(k)
        for j in range(k)
        if channel.matrix[i, j] > 0
    )
    assert rpac.certify(outputs, channel).bound == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.name)
def test_certificates_enclose_the_answer_of_every_oracle(problem):
    certificate = rpac.certify(problem.outputs, problem.noise)
    assert certificate.lower <= problem.nats + problem.error
    assert certificate.bound >= problem.nats - problem.error
    assert certificate.bound <= 1.02 * problem.nats + 0.002
    for name, bound in certificate.bounds.items():
        assert bound >= problem.nats - problem.error, name


@pytest.mark.parametrize("problem", [p for p in problems() if "cube" in p.name], ids=str)
def test_the_released_law_is_certified_like_the_ideal_one(problem):
    law = rpac.tabulate(problem.outputs, problem.noise)
    certificate = rpac.certify(problem.outputs, law)
    assert problem.nats * 0.99 <= certificate.bound <= 1.02 * problem.nats + 0.003
    assert certificate.charged


def test_gaussian_reference_is_the_log_determinant():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    noise = rpac.GaussianNoise(np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5)
    outputs = rpac.Outputs(values)
    found = rpac.certify(outputs, noise, draws=0).bounds["log-det"]
    cov = np.cov(values.T, bias=True)
    truth = 0.5 * np.linalg.slogdet(np.eye(4) + np.linalg.solve(noise.cov, cov))[1]
    assert found == pytest.approx(truth, abs=1e-10)
    assert found >= truth


def test_log_determinant_on_the_grid_is_a_bound_and_close_to_the_ideal():
    rng = np.random.default_rng(4)
    outputs = rpac.Outputs(rng.normal(size=(200, 3)))
    for scale in (0.3, 1.0, 5.0):
        noise = rpac.GaussianNoise(scale**2 * np.eye(3))
        ideal = rpac.certify(outputs, noise, draws=0).bounds["log-det"]
        table = rpac.certify(outputs, rpac.tabulate(outputs, noise), draws=0).bounds["log-det"]
        assert table == pytest.approx(ideal, rel=1e-3)


def test_leakage_is_unchanged_by_an_invertible_map_of_output_and_noise():
    problem = rpac.oracles.sign_cube(2, 1.0)
    rng = np.random.default_rng(5)
    for _ in range(3):
        a = rng.normal(size=(2, 2)) + 2 * np.eye(2)
        outputs = rpac.Outputs(problem.outputs.values @ a.T)
        certificate = rpac.certify(outputs, rpac.GaussianNoise(a @ a.T))
        assert problem.nats <= certificate.bound <= 1.01 * problem.nats


def test_leakage_falls_with_the_scale_of_gaussian_noise_but_not_of_every_law():
    outputs = rpac.Outputs([0, 2])
    small, large = (rpac.LatticeNoise(1.0, [-k, k], [0.5, 0.5]) for k in (1, 2))
    assert rpac.certify(outputs, small).bound < rpac.certify(outputs, large).bound
    bounds = [rpac.certify(outputs, rpac.GaussianNoise(s**2)).bound for s in (0.5, 1, 2, 4)]
    assert bounds == sorted(bounds, reverse=True)


def test_equal_outputs_are_one_world():
    outputs = rpac.Outputs([[0.0, 0.0]] * 5 + [[3.0, 1.0]] * 5)
    certificate = rpac.certify(outputs, rpac.GaussianNoise(0.01 * np.eye(2)))
    assert certificate.bound == pytest.approx(math.log(2), abs=1e-3)
    assert certificate.entropy == pytest.approx(math.log(10))


def test_tiny_worlds_are_merged_and_paid_for():
    weights = np.array([0.5, 0.5 - 3e-9, 1e-9, 2e-9])
    values = np.array([[-1.0, 0], [1, 0], [50, 50], [80, 0]])
    noise = rpac.GaussianNoise(np.eye(2))
    certificate = rpac.certify(rpac.Outputs(values, weights), noise)
    alone = rpac.certify(rpac.Outputs(values[:2], weights[:2] / weights[:2].sum()), noise)
    truth = rpac.oracles.quadrature_nats([-1, 1], [0.5, 0.5], 1.0)
    assert certificate.bound >= truth
    assert certificate.bound == pytest.approx(alone.bound, abs=2e-3)
    main, merge = leakage._merge_tail(weights)
    assert main.tolist() == [0, 1]
    assert merge(0.0) == pytest.approx(3e-9 * (1 + math.log(1 / 3e-9) + math.log(3)), rel=0.3)


def test_many_worlds_skip_the_pairwise_heights(monkeypatch):
    monkeypatch.setattr(leakage, "_MOST_HEIGHTS", 10)
    problem = rpac.oracles.sign_cube(5, 2.0)
    certificate = rpac.certify(problem.outputs, problem.noise)
    assert problem.nats <= certificate.bound
    assert certificate.bounds["mixture"] <= 1.1 * problem.nats


def test_outputs_too_far_apart_for_a_determinant_fall_back_on_the_entropy():
    outputs = rpac.Outputs([[0.0, 0.0], [1e9, 1.0], [0.0, 1e9]])
    certificate = rpac.certify(outputs, rpac.GaussianNoise(np.eye(2)))
    assert "log-det" not in certificate.bounds
    assert certificate.bound == pytest.approx(math.log(3), abs=1e-9)


def test_a_lattice_sum_too_long_falls_back_on_the_entropy(monkeypatch):
    monkeypatch.setattr(leakage, "_MOST_CELLS", 10)
    noise = rpac.LatticeNoise(1.0, np.arange(9), np.full(9, 1 / 9))
    certificate = rpac.certify(rpac.Outputs([0, 100]), noise)
    assert certificate.bound == pytest.approx(math.log(2))
    assert set(certificate.bounds) == {"entropy"}


def test_independent_lattice_noise_on_several_axes_adds_up():
    coin = rpac.oracles.coin_under_uniform(3)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (coin.noise, coin.noise))
    outputs = rpac.Outputs([[0, 0], [0, 1], [1, 0], [1, 1]])
    certificate = rpac.certify(outputs, law)
    assert certificate.bound == pytest.approx(2 * coin.nats, abs=1e-11)
    assert certificate.grade == "proved"


def test_decoder_blind_outputs_are_not_missed():
    """Rings, parities and signs that a linear decoder cannot see leak all the same."""
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    parity = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    for values, truth in ((ring, math.log(64)), (parity, math.log(4))):
        certificate = rpac.certify(rpac.Outputs(values), rpac.GaussianNoise(1e-6 * np.eye(2)))
        assert certificate.bound == pytest.approx(truth, abs=1e-3)
        assert certificate.lower > 0.95 * truth


@pytest.mark.parametrize("sigma", [0.05, 0.12, 0.2, 0.4, 1.0])
@pytest.mark.parametrize("dim", [2, 3])
def test_narrow_noise_on_counts_is_never_undercharged(sigma, dim):
    """A Gaussian that is narrow against its lattice does not sum to 1 over it."""
    outputs = rpac.Outputs(np.array([[0] * dim, [1] * dim]))
    law = rpac.tabulate(outputs, rpac.GaussianNoise(sigma**2 * np.eye(dim)))
    offsets, q = law.axes[0].offsets, law.axes[0].weights
    pairs = np.array(np.meshgrid(*[offsets] * dim, indexing="ij")).reshape(dim, -1).T
    mass = np.prod(np.array(np.meshgrid(*[q] * dim, indexing="ij")).reshape(dim, -1), axis=0)
    table = {tuple(b): m for b, m in zip(pairs.tolist(), mass, strict=True)}
    truth = sum(
        m * math.log(m / (0.5 * m + 0.5 * table.get(tuple(b - s for b in key), 0.0)))
        for s in (1,)
        for key, m in table.items()
    )
    for draws in (0, 20_000):
        certificate = rpac.certify(outputs, law, draws=draws)
        assert certificate.bound >= truth - 1e-12
        assert all(bound >= truth - 1e-12 for bound in certificate.bounds.values())


def test_allowances_cover_the_rounding_of_long_sums():
    """Against long double, where the machine has it: many worlds, many cells."""
    rng = np.random.default_rng(9)
    codes = np.sort(rng.integers(0, 3_000_000, size=500))
    noise = rpac.LatticeNoise.gaussian(1.0, 1024.0)
    dense, law = noise.dense.astype(np.longdouble), np.zeros(3_100_000, np.longdouble)
    for code in codes:
        law[code : code + dense.size] += dense / 500
    law, mass = law[law > 0], dense[dense > 0]
    truth = float(-(law * np.log(law)).sum() + (mass * np.log(mass)).sum())
    certificate = rpac.certify(rpac.Outputs(codes), noise)
    assert truth - 1e-15 <= certificate.bound <= truth + 1e-10
    assert certificate.lower <= truth


def test_codes_outside_the_box_are_refused():
    law = rpac.tabulate(rpac.Outputs([0.0, 1.0]), rpac.GaussianNoise(1.0))
    box = (np.array([-5]), np.array([5]))
    with pytest.raises(rpac.InputError, match="Expected codes inside the public box; got codes"):
        leakage.open_bound(np.array([[9]]), law, rpac.GaussianReference([0.0], [[1.0]]), box, 0.1)


def test_the_diagonal_alone_is_never_below_the_log_determinant():
    rng = np.random.default_rng(3)
    for _ in range(100):
        weights = rng.dirichlet(np.ones(30))
        outputs = rpac.Outputs(rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)), weights)
        for noise, same in (
            (rpac.GaussianNoise(np.diag(rng.uniform(0.1, 9, 3))), False),
            (rpac.calibrate(outputs, 0.3, "proportional"), True),
        ):
            law = rpac.tabulate(outputs, noise)
            points, kernel = law.encode(outputs.values) / law.scales, grid_kernel(law.laws)
            diagonal = axis_log_det(points, weights, kernel)
            whole = log_det(points, weights, kernel)
            assert diagonal >= whole - 1e-12
            assert axis_log_det(points + 0.1, weights, kernel) > diagonal  # about any other point
            assert not same or diagonal == pytest.approx(whole, rel=1e-4)
    assert axis_log_det(1e9 * points, weights, kernel) == math.inf


@pytest.mark.parametrize("scale", [0.5, 3.0, 300.0])
def test_the_mean_length_of_noise_is_never_overstated(scale):
    law = gaussian_law(scale)
    kernel = grid_kernel(Laws((law, law)))
    squares = np.square(law.offsets / scale)
    _, claimed, most = kernel.lengths(np.zeros((1, 2)))
    kept = np.minimum(squares[:, None] + squares, most)
    truth = float(law.weights @ kept @ law.weights)
    assert claimed <= truth < claimed + 1.02 * leakage.TAIL
    assert most < 45  # so that the stakes of the bound stay large


@pytest.mark.parametrize("rank", [2, 10, 100])
def test_the_mean_length_of_ideal_noise_is_never_overstated(rank):
    kernel = leakage.ideal_kernel(rpac.GaussianNoise(np.eye(rank)))
    _, claimed, most = kernel.lengths(np.zeros((1, rank)))
    # E (L - l)+ of a chi-square, by its densities of rank and rank + 2 degrees of freedom.
    lost = rank * chi2.sf(most, rank + 2) - most * chi2.sf(most, rank)
    assert claimed <= rank - lost < claimed + 1.02 * leakage.TAIL


LENGTH = 4.0 - 4.0 * chi2.sf(40, 6) + 40 * chi2.sf(40, 4)
"""Mean of a chi-square of 4 degrees of freedom, clipped at 40."""
DEFICITS = {
    "explained": (lambda s, h, chance: 0.2 * s + 0.5 * h + 0.1 * chance, 0.2 * LENGTH + 0.77),
    "against": (lambda s, h, chance: 20.0 - 0.3 * s + h, 21.5 - 0.3 * LENGTH),
    "unrelated": (lambda s, h, chance: chance, 0.2),
    "shared": (lambda s, h, chance: chance * s, 0.2 * LENGTH),
}


@pytest.mark.parametrize("how", DEFICITS)
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_bound_on_deficits_holds_however_they_go_with_what_is_known(how, spread):
    rng, misses, runs, n = np.random.default_rng(0), 0, 600, 320
    made, truth = DEFICITS[how]
    limits = np.array([[LENGTH - 1e-4, -1.5], [40.0, -1.0]])
    for _ in range(runs):
        lengths = np.minimum(rng.chisquare(4, n), 40.0)
        heights = 1.5 + spread * (rng.random(n) - 0.5)
        deficits = made(lengths, heights, rng.exponential(0.2, n))
        known = np.stack([lengths, -heights], axis=1)
        misses += joint.least_deficit(deficits, known, limits, 0.1) > truth
    assert binomtest(misses, runs, 0.1, "greater").pvalue > 1e-3


def test_what_is_known_of_noise_and_worlds_explains_most_of_the_variance(monkeypatch):
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(100, 6)))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 2.0, "auto-pac"))
    shares, real = [], joint.known_slopes

    def spy(deficits, known):
        slopes = real(deficits, known)
        shares.append((deficits - known @ slopes).var() / deficits.var())
        return slopes

    monkeypatch.setattr(joint, "known_slopes", spy)
    rpac.certify(outputs, law, draws=50_000)
    assert shares[0] < 0.5
