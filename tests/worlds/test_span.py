"""The span of the worlds: orthonormal, implied, complete, and the same as a dense basis."""

import numpy as np
import pytest

import rpac
from rpac.errors import InputError, TooLarge
from rpac.worlds import span as module
from rpac.worlds.span import Span

RNG = np.random.default_rng(5)


def spanned(values, fixed=None):
    values = np.asarray(values, float)
    fixed = np.ptp(values, axis=0) == 0 if fixed is None else fixed
    return Span.of(values, values.mean(axis=0), fixed=fixed, mark="values")


def dense(span):
    return span.shifts(np.eye(span.rank)).T


@pytest.fixture(scope="module")
def wide():
    values = RNG.normal(size=(20, 700)) * np.exp(-np.linspace(0, 6, 700)) + 3.0
    values[:, 11] = 2.5
    return values


def test_its_directions_are_orthonormal_and_hold_all_differences(wide, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 1_000)  # many blocks of columns
    span = spanned(wide)
    assert (span.dim, span.rank, repr(span)) == (700, 19, "Span(dim=700, rank=19)")
    basis = dense(span)
    assert np.abs(basis.T @ basis - np.eye(19)).max() < 1e-12
    assert np.allclose(span.back(span.points), wide, rtol=0, atol=1e-12)
    assert np.allclose(span.points, (wide - wide.mean(axis=0)) @ basis, rtol=0, atol=1e-12)
    assert (basis[11] == 0).all()  # where worlds agree there is nothing at all


def test_it_keeps_digits_that_a_gram_matrix_loses():
    """Directions of a billionth of the largest are found, though its squares are below rounding."""
    values = RNG.normal(size=(10, 300))
    values[:, 0] *= 1e9
    span = spanned(values)
    assert span.rank == 9
    assert np.abs(span.back(span.points) - values)[:, 1:].max() < 1e-5


def test_a_direction_is_left_out_only_where_it_is_rounding():
    low = RNG.normal(size=(12, 3)) @ RNG.normal(size=(3, 500)) + 7.0
    span = spanned(low)
    assert span.rank == 3
    tiny = low.copy()
    tiny[4, 100] += 1e-9
    assert spanned(tiny).rank == 4


def test_coordinates_of_other_values_and_what_they_have_outside(wide):
    span, basis = spanned(wide), dense(spanned(wide))
    other = RNG.normal(size=(3, 700))
    assert np.allclose(span.along(other), (other - wide.mean(axis=0)) @ basis)
    assert np.allclose(span.directions(other), other @ basis)
    assert span.rest(span.values, span.center) == 0.0
    assert span.rest(span.values, wide[3]) < 1e-12
    assert span.rest(span.values, np.zeros(700)) > 10
    assert span.rest(wide[:3].copy(), span.center) < 1e-12
    assert span.rest(wide[:3] + np.eye(3, 700), span.center) > 0.5
    assert span.along(span.values) is span.points


def test_variances_and_weights_are_those_of_the_dense_basis(wide):
    span, basis = spanned(wide), dense(spanned(wide))
    turn = np.linalg.qr(RNG.normal(size=(19, 4)))[0]
    spread = np.array([1.0, 2.0, 3.0, 4.0])
    cov = (basis @ turn * spread) @ (basis @ turn).T
    assert np.allclose(span.variances(turn, spread), np.diag(cov))
    diagonal = RNG.uniform(size=700)
    assert np.allclose(span.weighed(diagonal), (basis * diagonal[:, None]).T @ basis)


def test_equal_worlds_have_equal_points(wide):
    values = np.concatenate([wide, wide[:7], wide[:1]])
    points = spanned(values).points
    assert (points[20:27] == points[:7]).all()
    assert (points[27] == points[0]).all()
    assert len(np.unique(points, axis=0)) == 20
    near = wide.copy()
    near[1] = near[0]
    near[1, 5] += 1e-13  # as near as that, but another
    assert len(np.unique(spanned(near).points, axis=0)) == 20


def test_its_digest_is_of_all_that_decides_a_release(wide):
    one = spanned(wide)
    assert one.digest == spanned(wide.copy()).digest
    assert one.digest != spanned(2 * wide).digest
    other = Span.of(wide, wide.mean(axis=0), fixed=np.zeros(700, bool), mark="others")
    assert one.digest != other.digest


def test_a_given_basis_is_its_own_span():
    basis = np.linalg.qr(RNG.normal(size=(50, 4)))[0]
    span = Span.given(basis)
    assert np.allclose(dense(span), basis)
    assert np.allclose(span.along(np.eye(50)), basis)


def test_worlds_that_differ_by_rounding_alone_have_none():
    values = np.full((4, 100), 1.0)
    values[2, 50] += 2e-16
    with pytest.raises(InputError, match="Expected outputs that differ between worlds"):
        spanned(values, fixed=np.zeros(100, bool))


def test_too_many_worlds_are_refused_before_their_gram_matrix(monkeypatch, tmp_path):
    """A sparse file of 400 GB, of which not a byte is read."""
    mapped = np.memmap(tmp_path / "wide", np.float64, "w+", shape=(100_000, 500_000))
    monkeypatch.setenv("RPAC_MEMORY", "16 GB")
    with pytest.raises(TooLarge, match="Gram matrix of 100000 worlds .* got 640 GB.*fewer worlds"):
        rpac.Outputs(mapped)
