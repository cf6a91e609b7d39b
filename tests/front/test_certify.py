"""The verb `certify`: the trusted judgement, with this process's memory."""

import inspect

import numpy as np
import pytest

import rpac
from rpac.certificate.attempts import Memory
from rpac.certificate.issue import issue
from rpac.front.certify import PROCESS, certify, remembered

OUTPUTS = rpac.Outputs(np.random.default_rng(0).normal(size=(20, 2)))
LAW = rpac.tabulate(OUTPUTS, rpac.GaussianNoise(3 * np.eye(2)))


def test_it_says_what_the_trusted_judgement_says():
    mine, theirs = certify(OUTPUTS, LAW, draws=0), issue(
        OUTPUTS, LAW, 1 - 1e-6, attempts=Memory(), draws=0
    )  # fmt: skip
    assert mine == theirs


def test_equal_outputs_share_their_error_whoever_made_them():
    again = rpac.Outputs(OUTPUTS.values)
    assert certify(OUTPUTS, LAW, draws=500).attempt == 1
    assert certify(again, LAW, draws=500).attempt == 2
    other = rpac.Outputs(OUTPUTS.values + 1)
    assert (
        certify(other, rpac.tabulate(other, rpac.GaussianNoise(np.eye(2))), draws=500).attempt == 1
    )


def test_nobody_can_judge_without_a_memory():
    assert inspect.signature(issue).parameters["attempts"].default is inspect.Parameter.empty
    with pytest.raises(TypeError, match="attempts"):
        issue(OUTPUTS, LAW, 0.99)


def test_a_ledger_is_asked_too(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        both = remembered(ledger)
        assert both.attempt("x") == 1
        PROCESS.clear()
        assert remembered(ledger).attempt("x") == 2
