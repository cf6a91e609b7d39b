"""Laws of every noise: density, samples, moments, tables; and what is refused."""

import copy
import math
import pickle

import numpy as np
import pytest

import rpac
from rpac.contracts import check_noise
from rpac.release.draw import add_noise

GRID_OUTPUTS = rpac.Outputs(np.random.default_rng(0).normal(size=(20, 2)))
REGISTRY = {
    "gaussian": rpac.GaussianNoise([[2.0, 0.5], [0.5, 1.0]]),
    "gaussian on a line": rpac.GaussianNoise.on([[0.6], [0.8]], [4.0]),
    "lattice": rpac.LatticeNoise(0.5, [-2, 0, 1, 5], [0.1, 0.4, 0.3, 0.2]),
    "discrete gaussian": rpac.LatticeNoise.gaussian(0.1, 3.0),
    "grid": rpac.tabulate(GRID_OUTPUTS, rpac.GaussianNoise([[2.0, 0.5], [0.5, 1.0]])),
}


@pytest.mark.parametrize("name", [n for n in REGISTRY if n not in ("grid", "gaussian on a line")])
def test_contract(name):
    check_noise(REGISTRY[name])


@pytest.mark.parametrize("noise", REGISTRY.values(), ids=REGISTRY)
def test_moments_and_density_agree_with_samples(noise):
    draws = noise.sample(50_000, np.random.default_rng(1))
    assert draws.shape == (50_000, noise.dim)
    assert np.square(draws).sum(axis=1).mean() == pytest.approx(noise.power, rel=0.03)
    assert np.cov(draws.T).reshape(noise.dim, noise.dim) == pytest.approx(noise.cov, abs=0.06)
    assert np.isfinite(noise.log_density(draws)).all()
    assert noise.describe()["power"] == noise.power
    assert len(noise.describe()["digest"]) == 64
    assert type(noise).__name__ in repr(noise)


def test_counts_keep_their_lattice():
    outputs = rpac.Outputs([[3, 10], [5, 20], [9, 30]])
    law = rpac.tabulate(outputs, rpac.GaussianNoise(np.diag([4.0, 9.0])))
    assert law.steps.tolist() == [1.0, 1.0]
    assert law.encode(outputs.values).tolist() == outputs.values.astype(int).tolist()
    wide = rpac.tabulate(outputs, rpac.GaussianNoise(np.diag([4.0, 5000.0**2])))
    assert wide.steps.tolist() == [1.0, 4.0]
    turned = rpac.tabulate(outputs, rpac.GaussianNoise([[4.0, 1.0], [1.0, 9.0]]))
    assert turned.steps[0] == pytest.approx(math.sqrt(turned.axes[0].cov[0, 0]) / 1024)


def test_encode_and_decode_are_within_half_a_step():
    law = REGISTRY["grid"]
    back = law.decode(law.encode(GRID_OUTPUTS.values))
    assert np.abs((back - GRID_OUTPUTS.values) @ law.basis / law.steps).max() <= 0.5 + 1e-9


BAD = {
    "indefinite": (lambda: rpac.GaussianNoise([[1, 2], [2, 1]]), "Expected a positive-definite"),
    "singular": (lambda: rpac.GaussianNoise([[1, 1], [1, 1]]), "GaussianNoise.on"),
    "zero": (lambda: rpac.GaussianNoise(0.0), "Expected a positive-definite"),
    "negative": (lambda: rpac.GaussianNoise(-1.0), "got a least eigenvalue of -1"),
    "asymmetric": (lambda: rpac.GaussianNoise([[1, 0.5], [0, 1]]), "Expected a symmetric matrix"),
    "not square": (lambda: rpac.GaussianNoise([[1.0, 0.5]]), "Expected a symmetric matrix"),
    "a vector": (lambda: rpac.GaussianNoise([1.0, 2.0]), "Expected `cov` with 2 axes"),
    "nan": (lambda: rpac.GaussianNoise([[math.nan]]), "Expected finite numbers in `cov`; got 1"),
    "text": (lambda: rpac.GaussianNoise([["a"]]), "Expected numbers in `cov`; got list"),
    "skew basis": (
        lambda: rpac.GaussianNoise.on([[1.0, 1.0], [0.0, 1.0]], [1, 1]),
        "Expected 2 orthonormal columns; got a basis of shape",
    ),
    "no variance": (
        lambda: rpac.GaussianNoise.on(np.eye(2), [1.0, 0.0]),
        "Expected positive variances; got 0.0. Drop",
    ),
    "step": (lambda: rpac.LatticeNoise(0.0, [0], [1.0]), "Expected a positive `step`; got 0.0"),
    "fractions": (lambda: rpac.LatticeNoise(1, [0.5], [1.0]), "Expected distinct whole `offsets`"),
    "repeats": (lambda: rpac.LatticeNoise(1, [1, 1], [0.5, 0.5]), "distinct whole `offsets`"),
    "few weights": (lambda: rpac.LatticeNoise(1, [0, 1], [1.0]), "Expected 2 weights in `weights`"),
    "negative weight": (
        lambda: rpac.LatticeNoise(1, [0, 1], [1.5, -0.5]),
        "Expected non-negative weights in `weights`",
    ),
    "weights off": (
        lambda: rpac.LatticeNoise(1, [0, 1], [0.5, 0.6]),
        "Expected `weights` that sum to 1; got 1.1. Divide",
    ),
    "not square channel": (lambda: rpac.LabelChannel([[1.0, 0.0]]), "Expected a square `matrix`"),
    "rows off": (
        lambda: rpac.LabelChannel([[0.5, 0.6], [0, 1]]),
        "rows of `matrix` that sum to 1; got 1.1",
    ),
    "keep": (
        lambda: rpac.LabelChannel.randomized_response(3, 1.0),
        "Expected `keep` between 0.0 and 1.0; got 1.0",
    ),
    "excess": (
        lambda: REGISTRY["lattice"].excess,
        "Expected a discrete Gaussian; got LatticeNoise",
    ),
    "mismatch": (
        lambda: rpac.tabulate(GRID_OUTPUTS, rpac.GaussianNoise(1.0)),
        "Expected numeric outputs with 1 coordinates; got Outputs",
    ),
    "fewer axes than columns": (
        lambda: rpac.GridNoise(np.eye(2), np.zeros(2), (REGISTRY["lattice"],)),
        r"Expected a \(d, r\) basis, a \(d,\) center and r axes; got \(2, 2\)",
    ),
    "no axes": (
        lambda: rpac.GridNoise(np.zeros((1, 0)), np.zeros(1), ()),
        "Expected LatticeNoise on every axis; got ",
    ),
    "a center with two axes": (
        lambda: rpac.GridNoise(np.eye(1), np.zeros((1, 1)), (REGISTRY["lattice"],)),
        r"Expected a \(d, r\) basis, a \(d,\) center and r axes; got \(1, 1\), \(1, 1\)",
    ),
    "foreign axis": (
        lambda: rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.GaussianNoise(1.0),)),
        "Use rpac.tabulate",
    ),
    "far apart": (
        lambda: REGISTRY["grid"].encode(np.array([[1e300, 0.0]])),
        r"Expected outputs within 2\*\*50 grid steps; got a wider spread. Clip",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    call, message = BAD[name]
    with pytest.raises(rpac.InputError, match=message):
        call()


@pytest.mark.parametrize("noise", [*REGISTRY.values(), rpac.LabelChannel(np.eye(2))], ids=str)
def test_noise_stays_as_it_was_made(noise):
    with pytest.raises((rpac.InputError, AttributeError)):
        noise.scale = 1e6
    for name in ("basis", "center", "variances", "offsets", "table", "tables"):
        if hasattr(noise, name):
            with pytest.raises(ValueError, match="read-only"):
                getattr(noise, name)[0] = 0


def test_foreign_noise_is_never_tabulated():
    class Mine(rpac.Noise):
        dim, power, cov = 1, 1.0, np.eye(1)

        def sample(self, n, rng):
            return rng.normal(size=(n, 1))

        def log_density(self, points):
            return points[:, 0]

        def describe(self):
            return {}

    with pytest.raises(rpac.InputError, match="Only tables are released"):
        rpac.tabulate(rpac.Outputs([0.0, 1.0]), Mine())


def test_axes_with_tables_of_their_own():
    axes = (rpac.LatticeNoise(0.5, [0, 7], [0.5, 0.5]), rpac.LatticeNoise.gaussian(2.0, 3.0))
    noise = rpac.GridNoise(np.eye(2), np.zeros(2), axes)
    uniforms = np.array([[0, 1 << 62], [1 << 62, 5]], np.uint64)
    expected = np.stack([axis.at(uniforms[:, i]) for i, axis in enumerate(axes)], axis=1)
    assert noise.at(uniforms).tolist() == expected.tolist()
    assert noise.mean == pytest.approx([0.5 * 3.5, 0.0])
    assert np.isnan(noise.scales).tolist() == [True, False]
    assert not noise.gaussian


def test_axes_that_share_a_table():
    noise = rpac.GridNoise.gaussians(np.eye(2), np.zeros(2), [0.5, 2.0], 3.0)
    assert noise.axes[0].table is noise.axes[1].table
    assert [axis.power for axis in noise.axes] == pytest.approx([0.25 * 9, 4 * 9], rel=1e-6)
    assert noise.power == pytest.approx(sum(axis.power for axis in noise.axes), rel=1e-12)
    for wrong in ([1.0, 0.0], [1.0, math.inf], [-1.0, 1.0], [1.0, math.nan]):
        with pytest.raises(rpac.InputError, match="positive steps; got|finite numbers in"):
            rpac.GridNoise.gaussians(np.eye(2), np.zeros(2), wrong, 3.0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_as_frozen_as_what_was_certified(copied):
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(20, 2)))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    other = copied(law)
    assert other.describe() == law.describe()
    for name in ("basis", "center", "steps"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(other, name)[:] *= 2
    with pytest.raises(rpac.InputError, match="stays as it was made"):
        other.steps = 2 * other.steps
    with pytest.raises(rpac.InputError, match="stays as it was made"):
        law.laws.each[0].entropy = 9.0


def test_the_likelihood_of_a_release_is_the_mass_of_the_noise_that_explains_it():
    shared = REGISTRY["grid"]
    mixed = rpac.GridNoise(
        np.eye(2), np.zeros(2),
        (rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25]), rpac.LatticeNoise.gaussian(1.0, 2)),
    )  # fmt: skip
    codes = np.random.default_rng(5).integers(-3, 4, size=(12, 2))
    for law in (shared, mixed):
        released = codes[4] + np.array([1, -1])
        shifts = ((released - codes) * law.steps) @ law.basis.T
        with np.errstate(divide="ignore"):
            expected = law.log_density(shifts)
        assert law.log_likelihood(codes, released) == pytest.approx(expected, abs=1e-9)


def test_what_a_release_says_of_its_noise():
    law = REGISTRY["grid"]
    assert law.error()["noise"] == pytest.approx(np.sqrt(np.diag(law.cov)))
    assert "bias" not in law.error()  # Gaussians are even
    one = rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.LatticeNoise(2.0, [1, 2], [0.5, 0.5]),))
    assert one.error()["bias"].tolist() == [3.0]
    assert one.error()["noise"] == pytest.approx([1.0])
    assert one.power_in(np.array([10.0])) == pytest.approx(100 * one.power)
    turned = law.power_in(np.array([3.0, 1.0]))
    assert turned == pytest.approx(9 * law.cov[0, 0] + law.cov[1, 1])


def test_a_release_for_study_lies_on_the_grid_of_the_release():
    law = REGISTRY["grid"]
    made = law.applied(GRID_OUTPUTS, np.arange(len(GRID_OUTPUTS.values)), np.random.default_rng(6))
    steps = (made - law.center) @ law.basis / law.steps
    assert np.abs(steps - np.rint(steps)).max() < 1e-6


def test_axes_have_noise_of_their_own():
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(9, 2)))
    law = rpac.tabulate(outputs, rpac.GaussianNoise(np.eye(2)))
    draws = np.array([add_noise(outputs.codes(law)[0], law) for _ in range(2_000)])
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.15


def test_what_is_no_law_has_no_tables():
    for given in ("no law", 3, np.eye(2)):
        with pytest.raises(rpac.InputError, match="Expected labels with a LabelChannel"):
            rpac.tabulate(rpac.Outputs([[1.0, 2.0], [2.0, 3.0]]), given)
