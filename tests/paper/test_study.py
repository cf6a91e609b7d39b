"""Rows and studies: what is beside what, which budgets, and noise that misses its certificate."""

import math
from dataclasses import replace

import numpy as np

import rpac
from rpac.paper import study
from rpac.paper.published import Claim, Verdict

SMALL = replace(study.QUICK, sr_pac=0, n_jobs=1)
OUTPUTS = rpac.Outputs(np.random.default_rng(0).normal(size=(64, 2)))


def row(method="auto-pac", budget=0.5, secret="who", **figures):
    return study.Row("iris", secret, 3.0, method, budget, **figures)


def test_few_budgets_are_spread():
    assert study.few([1, 2, 3, 4, 5, 6, 7], 3) == [2, 4, 6]
    assert study.few([1, 2], None) == study.few([1, 2], 5) == [1, 2]
    assert study.few([1, 2], 0) == []


def test_noise_whose_certificate_misses_its_budget_grows_a_little():
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(64, 2)))
    noise = rpac.calibrate(outputs, 0.5, "auto-pac").scaled(0.995)
    grown, certificate, attack = study.judged(outputs, noise, 0.5, SMALL, 0)
    assert noise.power < grown.power <= 1.011 * noise.power
    assert attack <= certificate.bound <= 0.5
    same, over, _ = study.judged(outputs, noise, math.inf, SMALL, 0)
    assert same is noise
    assert over.bound > 0.5


def test_noise_that_is_not_gaussian_is_left_as_it_is():
    law = rpac.tabulate(OUTPUTS, rpac.calibrate(OUTPUTS, 1.0, "auto-pac"))
    same, over, _ = study.judged(OUTPUTS, law, 0.1, SMALL, 0)
    assert same is law
    assert over.bound > 0.1


def test_noise_comes_only_where_it_is_needed():
    small = rpac.Outputs([0.0, 1.0])
    found = list(study.noises(small, [0.1, 0.5, 0.7, 3.0], "auto-pac"))
    assert [budget for budget, _ in found] == [0.1, 0.5]  # above log 2 there is nothing to hide
    assert found[0][1].power > found[1][1].power
    assert list(study.noises(small, [2.0], "auto-pac")) == []
    own = rpac.Proportional()
    assert [b for b, _ in study.noises(OUTPUTS, [0.2], own)] == [0.2]


def test_cells_are_empty_where_nothing_was_measured():
    made = row(power=2.0, lira=math.nan)
    cells = made.cells()
    assert tuple(cells) == study.COLUMNS
    assert (cells["power"], cells["lira"], cells["verdict"], cells["why"]) == (2.0, "", "", "")
    claim = Claim("iris", "Auto-PAC", 0.5, power=0.01)
    told = replace(made, published=claim, verdict=Verdict("incompatible", "too quiet")).cells()
    assert (told["published_power"], told["published_accuracy"]) == (0.01, "")
    assert (told["verdict"], told["why"]) == ("incompatible", "too quiet")


def test_rows_that_need_no_noise_are_not_compared():
    rows = [row(budget=0.1, power=1.0), row(budget=0.5, power=2.0, note="no noise needed")]
    made = study.Study("iris", rows, {})
    assert made.column("who", "auto-pac", "power") == [1.0]
    assert made.column("who", "dp", "power") == made.column("which", "auto-pac", "power") == []


def test_a_study_tells_means_from_logits_and_lists_its_secrets():
    rows = [row(secret=s, success_bound=0.6) for s in ("b", "a", "b")]
    made = study.Study("iris", rows, {})
    assert made.of_means
    assert made.secrets == ["b", "a"]
    assert not study.Study("mnist", [row()], {}).of_means


def test_what_is_printed_stands_beside_the_same_secret_method_and_budget():
    claim = Claim("iris", "SR-PAC", 0.5)
    verdicts = {claim: Verdict("compatible")}
    rows = [
        row("dp"), row("equilibrium", secret="other"), row("equilibrium"), row("sr-pac", 0.25),
        row("auto-pac"), row("sr-pac"),
    ]  # fmt: skip
    found = study.beside(rows, "who", verdicts)
    assert [(r.method, r.budget) for r in found[:5]] == [
        ("equilibrium", 0.5), ("auto-pac", 0.5), ("sr-pac", 0.25), ("sr-pac", 0.5), ("dp", 0.5),
    ]  # fmt: skip
    assert found[5].secret == "other"
    beside = [r.method for r in found if r.published is claim]
    assert beside == ["equilibrium", "sr-pac"]
    assert all(r.verdict == verdicts[claim] for r in found if r.published)


def test_tasks_run_in_order_whatever_they_return():
    tasks = [(lambda n: [row(budget=float(i)) for i in range(n)], n) for n in (2, 0, 3)]
    found = study.run(tasks, SMALL, "rows")
    assert [r.budget for r in found] == [0.0, 1.0, 0.0, 1.0, 2.0]


def test_every_method_that_is_measured_has_a_place():
    assert {*study.CLOSED_FORMS, *study.MATCHED, *study.PRINTED_AS} <= {*study.ORDER}
    assert len(study.ORDER) == len({*study.ORDER})
