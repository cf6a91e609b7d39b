"""The verb `privatize`: a method proposes, the release disposes."""

import warnings

import numpy as np
import pytest

import rpac
from rpac.front.privatize import privatize

PEOPLE = rpac.Subsets(np.random.default_rng(0).lognormal(size=(60, 2)), worlds=32)


def test_an_unknown_method_is_refused_before_anything_runs():
    def forbidden(x):
        raise AssertionError("ran")

    with pytest.raises(rpac.InputError, match="a method among .*; got 'magic'"):
        privatize(forbidden, PEOPLE, 0.1, method="magic")
    with pytest.raises(rpac.InputError, match="a method's name or a Calibrator; got 3"):
        privatize(forbidden, PEOPLE, 0.1, method=3)


def test_a_bad_budget_or_a_key_without_a_ledger_is_refused_before_anything_runs():
    def forbidden(x):
        raise AssertionError("ran")

    with pytest.raises(rpac.InputError, match="Expected a positive budget in nats; got 0"):
        privatize(forbidden, PEOPLE, 0)
    with pytest.raises(rpac.InputError, match="Expected a ledger for the key; got 'k'"):
        privatize(forbidden, PEOPLE, 0.1, key="k")


def test_whatever_is_proposed_is_certified():
    class Careless(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.GaussianNoise(1e-9 * np.eye(outputs.dim))

    with pytest.raises(rpac.Withheld):
        privatize(lambda x: x.mean(axis=0), PEOPLE, 0.1, method=Careless())


@pytest.mark.parametrize("method", ["auto-pac", "equilibrium", "isotropic", "proportional"])
def test_every_method_meets_the_budget_it_was_given(method):
    made = privatize(lambda x: x.mean(axis=0), PEOPLE, 0.2, method=method)
    assert 0.1 < made.certificate.bound <= 0.2


def test_a_bare_release_needs_to_be_allowed():
    worlds = rpac.Worlds([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would tell about the outputs
        with pytest.raises(rpac.Withheld):
            privatize(lambda x: x, worlds, 2.0)
        assert privatize(lambda x: x, worlds, 2.0, allow_exact=True).value in (0, 1)


@pytest.mark.parametrize("same", [7, 2.5, "yes"])
def test_what_all_worlds_agree_on_is_released(same):
    made = privatize(lambda x: same, PEOPLE, 0.1)
    assert made.value == same
    assert (made.certificate.bound, made.certificate.grade) == (0.0, "proved")
    assert made.certificate.worst_unit_success == 0.5
    many = privatize(lambda x: np.full(3, 1.5), rpac.Worlds([1, 2]), 0.1)
    assert (many.value == 1.5).all()
    assert many.noise_interval[0].tolist() == many.noise_interval[1].tolist() == [1.5] * 3
