"""The figures of independent computations: quadrature, a conic solver, bisection."""

import numpy as np
import pytest

import rpac
from rpac.advantage import fano_accuracy


def cases(truths):
    for case in truths("mi_gaussian_1d") + truths("mi_gaussian_2d"):
        cov = case.get("cov", [[case.get("sigma", 0.0) ** 2]])
        yield case, rpac.Worlds(case["atoms"], weights=case["p"]), rpac.GaussianNoise(cov)


def test_planning_figure_encloses_the_truth(truths):
    checked = 0
    for case, source, noise in cases(truths):
        outputs = rpac.simulate(source, lambda atom: atom)
        certificate = rpac.certify(outputs, noise, draws=300_000)
        assert not certificate.charged
        assert case["mi"] <= certificate.bound <= 1.02 * case["mi"] + 0.002, case
        assert 0.97 * case["mi"] - 0.002 <= certificate.lower <= case["mi"], case
        checked += 1
    assert checked == 18


def test_tabulated_gaussian_is_within_a_percent_of_the_ideal(truths):
    for case, _, noise in cases(truths):
        outputs = rpac.Outputs(np.asarray(case["atoms"], float), case["p"])
        ideal = rpac.certify(outputs, noise, draws=300_000).bound
        table = rpac.certify(outputs, rpac.tabulate(outputs, noise), draws=300_000)
        assert table.charged
        assert table.bound == pytest.approx(ideal, rel=0.01), case
        assert table.bound == pytest.approx(case["mi"], rel=0.01), case


def test_lattice_optima_are_certified_to_a_billionth(truths):
    for case in truths("lattice_optimum"):
        reach = np.arange(-case["halfwidth"], case["halfwidth"] + 1)
        noise = rpac.LatticeNoise(1.0, reach, case["q"])
        certificate = rpac.certify(rpac.Outputs(case["atoms"], case["p"]), noise)
        assert certificate.bound == pytest.approx(case["mi"], abs=1e-9)
        assert certificate.lower <= certificate.bound
        assert certificate.grade == "proved"
        assert noise.power == pytest.approx(case["power"], rel=1e-6)


def test_fano_ceilings(truths):
    for case in truths("fano_accuracy"):
        found = float(fano_accuracy(case["budget"], case["classes"]))
        assert found == pytest.approx(case["accuracy"], abs=1e-6)
