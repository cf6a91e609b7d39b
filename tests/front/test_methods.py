"""From a method's name to noise: every method keeps the contract."""

import numpy as np
import pytest

import rpac
from rpac.contracts import check_calibrator
from rpac.front.methods import METHODS

CLUSTERS = rpac.Outputs([-6, -5, -4, -1, 0, 1, 4, 5, 6])


REALS = rpac.Outputs(np.random.default_rng(1).normal(size=(80, 3)) * [3, 1, 0.5])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract(name):
    check_calibrator(METHODS[name], REALS)


@pytest.mark.parametrize("name", [n for n in METHODS if n != "confident-auto-pac"])
def test_rotating_and_shifting_the_outputs_changes_nothing(name):
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    moved = rpac.Outputs(REALS.values @ turn + 100.0)
    a, b = (rpac.calibrate(o, 0.7, name).power for o in (REALS, moved))
    assert a == pytest.approx(b, rel=0.01)  # Algorithm 1 tests a norm: it is not shift-invariant


def test_the_contract_names_a_cheat():
    class Half(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.AutoPAC().propose(outputs, nats).scaled(0.5)

    with pytest.raises(rpac.ContractError, match="Expected a certified bound of at most 0.1 nats"):
        check_calibrator(Half(), REALS)
