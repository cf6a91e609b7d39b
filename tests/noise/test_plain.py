"""A proposed law made anew: what is certified is what is drawn, whoever holds the proposal."""

import numpy as np
import pytest

import rpac
from rpac.noise.base import study_uniforms
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import TableLaw
from rpac.noise.plain import anew
from tests.noise.test_grid import REGISTRY


def wide_and_narrow():
    outputs = rpac.Outputs([[1.0, 3.0], [2.0, 5.0]])
    wide, narrow = (rpac.tabulate(outputs, rpac.GaussianNoise(np.eye(2) * p)) for p in (1e4, 1e-8))
    return outputs, wide, narrow


def forged(name):
    """Return a law that shows wide noise to whoever certifies it, and draws next to none."""
    outputs, wide, narrow = wide_and_narrow()
    if name == "axes":
        narrow.__dict__["axes"] = wide.axes
        return outputs, narrow
    if name == "laws":
        wide.__dict__["steps"] = narrow.steps
        return outputs, wide
    table = np.array([2, 2**63 - 4, 2], np.uint64)
    k = np.arange(-1, 2)
    if name == "a scale that is believed":
        axis = rpac.LatticeNoise.of(1e-3, TableLaw(k, table, 1e6, -1e9))
        return outputs, GridNoise(np.eye(2), np.zeros(2), (axis, axis))
    law = TableLaw(k, table)
    law.__dict__["entropy"] = 10.0
    axis = rpac.LatticeNoise.of(1e-3, law)
    return outputs, GridNoise(np.eye(2), np.zeros(2), (axis, axis))


@pytest.mark.parametrize("name", ["axes", "laws", "a scale that is believed", "an entropy"])
def test_a_law_made_anew_is_the_law_that_is_drawn(name):
    """What follows from tables is worked out from them again: a certificate cannot be misled."""
    outputs, law = forged(name)
    plain = anew(law)
    noise = plain.at(study_uniforms(np.random.default_rng(0), 2_000, 2)) * plain.steps
    assert np.square(noise).sum(axis=1).mean() == pytest.approx(plain.power, rel=0.2, abs=1e-9)
    assert sum(axis.power for axis in plain.axes) == pytest.approx(plain.power)
    with pytest.raises(rpac.errors.BudgetExceeded):
        rpac.certify(outputs, plain, budget=0.1)


@pytest.mark.parametrize("name", ["axes", "laws", "a scale that is believed", "an entropy"])
def test_a_forged_law_is_not_released(name):
    outputs, law = forged(name)

    class Forges(rpac.Calibrator):
        def propose(self, outputs, nats):
            return law

    worlds = rpac.Worlds([0, 1])
    with pytest.raises(rpac.Withheld):
        rpac.privatize(lambda i: outputs.values[i], worlds, 0.1, method=Forges())


@pytest.mark.parametrize("noise", REGISTRY.values(), ids=REGISTRY)
def test_an_honest_law_made_anew_is_the_same(noise):
    plain = anew(noise)
    assert plain is not noise
    assert plain.describe() == noise.describe()
    channel = rpac.LabelChannel([[0.9, 0.1], [0.2, 0.8]])
    assert anew(channel).digest == channel.digest
    book = rpac.Codebook([-1.0, 1.0], [[0.9, 0.1], [0.1, 0.9]])
    assert anew(book).digest == book.digest
    assert anew("no law") == "no law"


def test_tables_that_are_no_law_cannot_be_made_anew():
    law = TableLaw(np.arange(2), np.array([1, 2**63 - 1], np.uint64))
    law.__dict__["table"] = np.array([1, 1], np.uint64)
    with pytest.raises(rpac.InputError, match="rising offsets, and integers that sum to"):
        anew(rpac.LatticeNoise.of(1.0, law))


def test_shared_tables_cannot_be_made_writable():
    law = rpac.LatticeNoise.gaussian(0.1, 3.0).law
    for kept in (law.cumulative, law.table, law.dense, law.log_mass[1], law._guide):
        with pytest.raises(ValueError, match="WRITEABLE"):
            kept.setflags(write=True)
