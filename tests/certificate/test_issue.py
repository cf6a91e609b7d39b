"""From evidence to a certificate: grades, budgets, attempts, refusals."""

import numpy as np
import pytest

import rpac

OUTPUTS = rpac.Outputs([-1.0, 1.0])
NOISE = rpac.GaussianNoise(1.0)


CERTIFICATE = rpac.certify(OUTPUTS, rpac.tabulate(OUTPUTS, NOISE))


def test_grades_and_confidence():
    cube = rpac.oracles.sign_cube(2, 0.8)
    statistical = rpac.certify(cube.outputs, cube.noise, 0.999, draws=50_000)
    assert statistical.grade == "statistical"
    assert "with confidence 0.999" in statistical.statement
    assert CERTIFICATE.grade == "proved"
    assert statistical.bound == min(statistical.bounds.values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rpac.certify(OUTPUTS, NOISE, 1.0), "Expected `confidence` between 0.0 and 1.0"),
        (lambda: rpac.certify(OUTPUTS, NOISE, "high"), "Expected a finite number for `confidence`"),
        (lambda: rpac.certify(OUTPUTS, NOISE, draws=5), "Expected a whole `draws` of at least 100"),
        (lambda: rpac.certify(OUTPUTS, rpac.GaussianNoise(np.eye(2))), "Expected numeric outputs"),
        (lambda: rpac.certify(rpac.Outputs(["a", "b"]), NOISE), "Expected labels with a LabelCh"),
        (lambda: rpac.certify(OUTPUTS, rpac.LabelChannel(np.eye(2))), "Expected labels with a Lab"),
        (
            lambda: rpac.certify(rpac.Outputs(["a", "b", "c"]), rpac.LabelChannel(np.eye(2))),
            "LabelChannel of as many rows; got",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=message):
        call()
