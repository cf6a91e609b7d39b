"""Control variates: what is said of their means and ranges holds, and they explain deficits."""

import numpy as np
import pytest

import rpac
from rpac.certificate import controls
from rpac.certificate.controls import Controls
from rpac.certificate.kernel import TAIL, form_limit, grid_kernel, ideal_kernel
from rpac.certificate.references import MixtureReference
from rpac.noise.grid import Laws
from rpac.noise.lattice import gaussian_law

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(7, 2)) * [2.0, 0.5]
P = RNG.dirichlet(np.ones(7))
MIXTURE = MixtureReference(POINTS - P @ POINTS, P)
WORLDS = np.arange(7)


@pytest.mark.parametrize("scale", [0.6, 3.0, 40.0])
def test_what_is_said_of_means_and_ranges_holds_for_every_noise_there_is(scale):
    """All worlds and all noise of a table, enumerated."""
    law = gaussian_law(scale)
    kernel = grid_kernel(Laws((law, law)))
    known = Controls.of(MIXTURE, kernel, WORLDS, P)
    b = np.array(np.meshgrid(law.offsets, law.offsets, indexing="ij")).reshape(2, -1).T / scale
    mass = np.outer(law.weights, law.weights).ravel()
    (low, high), (least, most) = known.means, known.ends
    truth = np.zeros(3)
    for i in WORLDS:
        seen = known.at(kernel, np.full(len(b), i), b)
        assert (seen >= least - 1e-12).all()
        assert (seen <= most + 1e-12).all()
        truth += P[i] * (mass @ seen)
    assert (low <= truth + 1e-12).all()
    assert (truth <= high + 1e-12).all()
    assert (high - low <= 1.03 * TAIL * max(1.0, known.limits.max())).all()


def test_forms_are_scaled_down_where_they_are_out_of_the_ordinary():
    left, right = RNG.normal(size=(60, 2)) * 0.1 + 2, RNG.normal(size=(60, 2)) * 0.1 - 2
    points = np.concatenate([left, right, np.zeros((1, 2))])  # one world from which both are seen
    mixture = MixtureReference(points, np.full(121, 1 / 121))
    kernel = ideal_kernel(rpac.GaussianNoise(np.eye(2)))
    known = Controls.of(mixture, kernel, np.arange(121), np.full(121, 1 / 121))
    plain = mixture.views(np.arange(121))[1]
    sizes = [np.linalg.eigvalsh(forms)[:, -1] for forms in (plain, known.forms)]
    assert sizes[0][-1] > 20 * np.median(sizes[0])
    assert sizes[1][-1] < 2 * np.median(sizes[1])
    assert np.array_equal(known.forms[:50], plain[:50])


def test_a_form_explains_a_small_deficit_nearly_whole():
    kernel = ideal_kernel(rpac.GaussianNoise(np.eye(2)))
    mixture = MixtureReference(0.2 * MIXTURE.points, P)
    known = Controls.of(mixture, kernel, WORLDS, P)
    noise, worlds = RNG.normal(size=(4_000, 2)), RNG.integers(0, 7, 4_000)
    plus, minus = mixture.densities(worlds, noise)
    deficits = known.heights[worlds] - 0.5 * (plus + minus)
    rest = deficits - 0.5 * known.at(kernel, worlds, noise)[:, 0]
    assert rest.std() < 0.15 * deficits.std()


@pytest.mark.parametrize(("name", "size"), [("MOST_AXES", 1), ("MOST_FORMS", 3)])
def test_what_would_take_too_long_is_left_out(monkeypatch, name, size):
    monkeypatch.setattr(controls, name, size)
    kernel = ideal_kernel(rpac.GaussianNoise(np.eye(2)))
    known = Controls.of(MIXTURE, kernel, WORLDS, P)
    assert known.forms.shape == (7, 0, 0)
    assert (known.at(kernel, WORLDS, np.ones((7, 2)))[:, 0] == 0).all()
    assert known.ends[1, 0] == known.means[0, 0] == 0
    exact = MIXTURE.heights() if name == "MOST_AXES" else -np.log(P)
    assert known.heights == pytest.approx(exact)


def test_some_worlds_are_known_by_themselves():
    kernel = ideal_kernel(rpac.GaussianNoise(np.eye(2)))
    some = Controls.of(MIXTURE, kernel, np.array([2, 5]), np.array([0.5, 0.5]))
    assert some.heights == pytest.approx(MIXTURE.heights()[[2, 5]])
    assert some.limits.shape == (2,)
    assert form_limit(2.0, 1.0) > 2.0
