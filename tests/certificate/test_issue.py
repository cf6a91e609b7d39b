"""From evidence to a certificate: grades, budgets, attempts, refusals."""

import numpy as np
import pytest

import rpac
from rpac.certificate.attempts import Memory
from rpac.certificate.issue import described, issue
from rpac.front.certify import PROCESS
from rpac.worlds.flatten import Form

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


def test_a_budget_is_held_against_the_bound_and_named_in_the_refusal():
    law = rpac.tabulate(OUTPUTS, NOISE)
    assert issue(OUTPUTS, law, 0.999, attempts=Memory(), budget=0.34).bound <= 0.34
    with pytest.raises(rpac.BudgetExceeded, match=r"at most 0\.33 nats; got .* 0\.3368") as caught:
        issue(OUTPUTS, law, 0.999, attempts=Memory(), budget=rpac.Nats(0.33))
    assert caught.value.budget == 0.33
    with pytest.raises(rpac.InputError, match="residual entropy below"):
        issue(OUTPUTS, law, 0.999, attempts=Memory(), budget=rpac.ResidualEntropy(9.0))


def test_the_least_bound_is_the_one_that_counts():
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(40, 3)))
    made = issue(outputs, rpac.tabulate(outputs, rpac.GaussianNoise(np.eye(3))), 0.99,
                 attempts=Memory(), draws=20_000)  # fmt: skip
    assert made.bound == min(made.bounds.values())
    assert set(made.bounds) == {"entropy", "log-det", "pairwise", "mixture"}
    assert made.lower <= made.bound
    assert made.confidence == 0.99


def test_power_is_told_in_the_units_of_the_answer():
    """Scaled to all units, an answer's noise is scaled with it; the certificate says so."""
    scale = np.array([10.0, 0.5])
    form = Form("array", (2,), whole=False, rebuild=lambda v: v * scale, scale=scale)
    outputs = rpac.Outputs(np.random.default_rng(2).normal(size=(20, 2)), form=form)
    law = rpac.tabulate(outputs, rpac.GaussianNoise([[2.0, 0.5], [0.5, 1.0]]))
    made = issue(outputs, law, 0.99, attempts=Memory(), draws=0)
    deviations = law.error()["noise"] * scale
    assert made.noise["power"] == pytest.approx(np.square(deviations).sum())
    assert made.noise["fingerprint"] == PROCESS.fingerprint(law.digest) != law.digest
    plain = rpac.Outputs(outputs.values)
    assert described(plain, law)["power"] == pytest.approx(law.power)
    labels = rpac.Outputs(["a", "b"])
    channel = rpac.LabelChannel.randomized_response(2, 0.7)
    assert described(labels, channel) == channel.describe()
