"""How a law errs: against brute force, for noise and for code books."""

import math

import numpy as np
import pytest

import rpac
from rpac.front import bias as module
from rpac.front.bias import bias

RNG = np.random.default_rng(4)
OUTPUTS = rpac.Outputs(
    RNG.normal(size=(40, 3)) @ RNG.normal(size=(3, 3)), RNG.dirichlet(np.ones(40))
)


def test_noise_is_unbiased_and_shrinking_helps_it():
    noise = rpac.GaussianNoise(np.diag([1.0, 2.0, 0.5]))
    found = bias(OUTPUTS, noise)
    off = OUTPUTS.values - OUTPUTS.center
    whole = (off * OUTPUTS.weights[:, None]).T @ off
    best = whole - whole @ np.linalg.solve(whole + noise.cov, whole)
    assert found.error == pytest.approx(3.5)
    assert found.shrunk == pytest.approx(np.trace(best))
    assert found.keeps == 1.0
    shifted = rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.LatticeNoise(1.0, [1], [1.0]),))
    assert bias(rpac.Outputs([0, 4]), shifted).error == pytest.approx(1.0)  # its mean counts


def test_a_code_book_is_shrunk_already():
    law = rpac.calibrate(OUTPUTS, 0.7, "channel")
    found = bias(OUTPUTS, law)
    assert found.error == pytest.approx(law.power)
    assert found.shrunk == pytest.approx(law.power, rel=1e-6)  # words are means
    assert found.keeps == pytest.approx(1 - law.power / OUTPUTS.spread.sum(), rel=1e-6)


def test_any_words_against_least_squares():
    book = rpac.Codebook(RNG.normal(size=(5, 3)), RNG.dirichlet(np.ones(5), 40))
    found = bias(OUTPUTS, book)
    joint = (OUTPUTS.weights[:, None] * book.matrix).ravel()
    z = np.repeat(OUTPUTS.values - OUTPUTS.center, 5, axis=0)
    y = np.column_stack([np.tile(book.words, (40, 1)), np.ones(200)])
    root = np.sqrt(joint)[:, None]
    fit = np.linalg.lstsq(root * y, root * z, rcond=None)[0]
    assert found.shrunk == pytest.approx(joint @ np.square(z - y @ fit).sum(axis=1))


def test_what_is_not_worked_out_is_not_a_number(monkeypatch):
    labels = rpac.Outputs(["a", "b"])
    assert math.isnan(bias(labels, rpac.LabelChannel(np.eye(2))).shrunk)
    monkeypatch.setattr(module, "MOST_NUMBERS", 2)
    assert math.isnan(bias(OUTPUTS, rpac.GaussianNoise(np.eye(3))).error)
    monkeypatch.undo()
    same = rpac.Outputs(np.ones((3, 1)))
    assert bias(same, rpac.GaussianNoise(2.0)) == module.Bias(2.0, 0.0, 1.0)


def test_noise_that_drops_directions_pays_for_them():
    basis = np.array([[1.0], [0.0], [0.0]])
    noise = rpac.GaussianNoise.on(basis, [0.5], drop=True)
    found = bias(OUTPUTS, noise)
    assert found.error == pytest.approx(0.5 + OUTPUTS.spread[1:].sum())
    assert found.keeps == pytest.approx(OUTPUTS.spread[0] / OUTPUTS.spread.sum())
    assert found.shrunk < found.error
    wide = rpac.Outputs(np.random.default_rng(0).normal(size=(4, 40)))
    assert bias(wide, rpac.calibrate(wide, 0.3, "auto-pac")).keeps == 1.0
