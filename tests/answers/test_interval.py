"""Error bars: exact quantiles over known laws, and 95 % of releases inside them."""

import numpy as np
import pytest

import rpac
from rpac.answers import interval
from rpac.answers.interval import around, ends, mixture, weighted
from rpac.answers.release import _errors, answered
from rpac.numerics import normal_tail

_RNG = np.random.default_rng(5)
WORLDS = {
    "three points": ([[0.0], [1.0], [5.0]], None),
    "three of given weights": ([[0.0], [1.0], [9.0]], [0.48, 0.42, 0.10]),
    "skewed": (_RNG.lognormal(0.0, 1.5, (60, 2)), None),
    "clustered": (np.repeat([[0.0, 1.0], [10.0, 0.0]], [45, 15], axis=0)
                  + _RNG.normal(0.0, 0.1, (60, 2)), None),
    "counts": (_RNG.poisson(3.0, (40, 1)), None),
}  # fmt: skip
DRAWS = 4_000
FEWEST = 0.95 - 5 * (0.95 * 0.05 / DRAWS) ** 0.5
"""Five deviations of a binomial below 95 %."""


def coverage(outputs, law, seed=3):
    """Return how many releases lie within the quantiles, of one world and of all."""
    rng = np.random.default_rng(seed)
    worlds = rng.choice(len(outputs.values), DRAWS, p=outputs.weights)
    released = law.applied(outputs, worlds, rng)
    kept = answered(outputs, law, outputs.codes(law)[0])
    found = []
    for away, both in zip(
        (released - outputs.values[worlds], released - outputs.center),
        _errors(outputs, kept), strict=True,
    ):  # fmt: skip
        room = 1e-9 * (1.0 + np.abs(both))
        found.append(((both[0] - room[0] <= away) & (away <= both[1] + room[1])).mean(axis=0))
    return np.array(found)


@pytest.mark.parametrize("method", ["auto-pac", "equilibrium", "channel"])
@pytest.mark.parametrize("name", WORLDS)
def test_ends_hold_95_of_100_releases(name, method):
    outputs = rpac.Outputs(*WORLDS[name])
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.4, method))
    assert coverage(outputs, law).min() > FEWEST


@pytest.mark.parametrize("name", ["three points", "skewed", "clustered"])
def test_ends_of_gaussians_hold_no_more_than_that(name):
    """What 1.96 deviations of noise and worlds together held: 80 % of some, 99 % of others."""
    outputs = rpac.Outputs(*WORLDS[name])
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.4, "auto-pac"))
    assert coverage(outputs, law).max() < 0.95 + (0.95 - FEWEST)


def test_quantiles_of_a_mixture_are_those_of_its_law():
    x, w = np.array([[0.0, 5.0], [1.0, 5.0], [60.0, 6.0]]), np.array([0.5, 0.47, 0.03])
    sd = np.array([0.2, 1e-9])
    found = mixture(x, w, sd, np.zeros(2))
    below = w @ normal_tail((found[:, None, 0] - x[:, 0]).T / sd[0])
    assert below == pytest.approx([0.025, 0.975], abs=2e-6)
    assert found[:, 1] == pytest.approx([5.0, 6.0], abs=1e-7)
    one = mixture(np.zeros((1, 2)), np.ones(1), np.array([1.0, 0.0]), np.ones(2))
    assert one[:, 0] == pytest.approx([-1 - 1.959964, -1 + 1.959964], abs=1e-4)
    assert one[:, 1] == pytest.approx([-1.0, -1.0])


def test_lattice_noise_has_its_own_quantiles():
    outputs = rpac.Outputs([0, 10])
    law = rpac.tabulate(outputs, rpac.LatticeNoise(1.0, [-3, 0, 1], [0.02, 0.95, 0.03]))
    found = ends(outputs, law)
    assert np.rint(found["ends"]).ravel().tolist() == [0, 1]  # -3 is below the 2.5 % quantile
    assert np.rint(found["around"]).ravel().tolist() == [-5, 5]
    small = rpac.tabulate(outputs, rpac.LatticeNoise.gaussian(1.0, 0.8))
    assert np.abs(ends(outputs, small)["ends"]).max() == pytest.approx(
        1.0, abs=1e-6
    )  # beyond it 2.2 % a side


def test_tables_on_turned_axes_are_convolved():
    outputs = rpac.Outputs(_RNG.normal(size=(30, 2)))
    step = rpac.LatticeNoise(1.0, [-1, 1], [0.5, 0.5])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    law = rpac.tabulate(outputs, _grid(turn, outputs.center, (step, step)))
    found = ends(outputs, law)
    assert found["around"].shape == (2, 2)
    assert coverage(outputs, law).min() > FEWEST
    # 0.6 and 0.8 with signs: -1.4, -0.2, 0.2, 1.4; the grid's own rounding comes on top.
    assert 1.4 < np.abs(found["ends"]).max() < 2.2


def test_what_is_not_released_of_a_number_is_in_its_error_bars():
    outputs = rpac.Outputs(_RNG.lognormal(size=(90, 3)))
    solver = rpac.Equilibrium(utility=rpac.calibrators.utility.Weighted([1.0, 1.0, 0.0]))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.3, solver))
    found = ends(outputs, law)
    assert coverage(outputs, law).min() > FEWEST
    # The mean of all worlds stands in place of the third: off by what worlds differ, and exact.
    third = weighted(outputs.center[2] - outputs.values[:, [2]], outputs.weights)
    assert found["ends"][:, 2] == pytest.approx(third.ravel(), rel=1e-5)
    assert found["around"][:, 2] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_nothing_is_kept_where_deviations_say_it_all():
    outputs = rpac.Outputs(*WORLDS["skewed"])
    assert ends(outputs, rpac.tabulate(outputs, rpac.GaussianNoise(np.eye(2)))) == {}
    labels = rpac.Outputs(["a", "b"])
    assert ends(labels, rpac.LabelChannel(np.eye(2))) == {}


def test_books_too_large_to_list_keep_chebyshevs_ends(monkeypatch):
    outputs = rpac.Outputs(*WORLDS["clustered"])
    law = rpac.calibrate(outputs, 0.4, "channel")
    near = ends(outputs, law)["ends"]
    monkeypatch.setattr(interval, "_PAIRS", 10)
    assert ends(outputs, law) == {}
    wide = _errors(outputs, answered(outputs, law, np.array([0])))[0]
    assert (wide[1] - wide[0] > near[1] - near[0]).all()


def test_long_answers_are_worked_out_from_fewer_components(monkeypatch):
    outputs = rpac.Outputs(_RNG.normal(size=(60, 3)) * [1.0, 5.0, 0.1])
    exact = around(outputs, np.full(3, 0.5))
    monkeypatch.setattr(interval, "_EXACT", 100)
    few = around(outputs, np.full(3, 0.5))
    assert few == pytest.approx(exact, rel=0.15)
    monkeypatch.setattr(interval, "_GATHERED", 100)
    one = around(outputs, np.full(3, 0.5))
    half = 1.959964 * np.sqrt(outputs.spread + 0.25)
    assert one == pytest.approx(np.stack([-half, half]))


def test_very_many_numbers_with_tables_are_taken_for_gaussians(monkeypatch):
    outputs = rpac.Outputs(_RNG.normal(size=(20, 2)))
    table = rpac.LatticeNoise(0.5, [-1, 0, 1], [0.3, 0.3, 0.4])
    law = rpac.tabulate(outputs, _grid(np.eye(2), outputs.center, (table, table)))
    exact = ends(outputs, law)["around"]
    monkeypatch.setattr(interval, "_CELLS", 10)
    assert ends(outputs, law)["around"] == pytest.approx(exact, abs=0.5)


def _grid(basis, center, axes):
    from rpac.noise.grid import GridNoise

    return GridNoise(basis, center, axes)


def test_a_law_without_noise_on_turned_axes_has_ends_of_no_width():
    """Three axes to a number, and no deviation from which a cell could be taken."""
    outputs = rpac.Outputs(np.random.default_rng(3).normal(size=(30, 3)))
    with pytest.warns(rpac.ExactRelease):
        law = rpac.tabulate(outputs, rpac.calibrate(outputs, 9.0))
    found = ends(outputs, law)
    assert np.abs(found["ends"]).max() < 1e-8
    about = outputs.values - outputs.center
    assert (about.min(axis=0) - 1e-6 <= found["around"][0]).all()
    assert (found["around"][1] <= about.max(axis=0) + 1e-6).all()
