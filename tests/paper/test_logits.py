"""Logits: power, accuracy and leakage of every method, and labels at their ceiling."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rpac
from rpac.paper import logits, published, study

SMALL = replace(study.QUICK, sr_pac=0, n_jobs=1)


def synthetic(n=400, k=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return 6.0 * np.eye(k)[labels] + rng.normal(size=(n, k)), labels


def test_logits_rows_tell_power_accuracy_and_leakage():
    values, labels = synthetic()
    rows = study.run(logits.tasks("ag_news", values, labels, SMALL), SMALL, "synthetic")
    noisy = [r for r in rows if r.comparable and r.method != "labels"]
    assert {r.method for r in noisy} == {*study.CLOSED_FORMS, *study.CHANNELS, "equilibrium"}
    for r in noisy:
        assert r.attack <= r.certified <= r.budget
        assert r.accuracy <= r.ceiling + 3 * math.sqrt(0.25 / len(labels))
    bare = {r.budget for r in rows if r.method == "all"}
    grid = study.few(published.budgets("ag_news"), SMALL.budgets)
    assert bare == {b for b in grid if b >= math.log(400)} != set()
    best = {r.budget: r for r in noisy if r.method == "equilibrium"}
    for r in noisy:
        noise = r.method not in study.CHANNELS
        assert best[r.budget].power <= 1.005 * r.power or r.method == "equilibrium" or not noise
    for r in (r for r in noisy if r.method == "channel"):
        assert r.limit <= r.error * (1 + 1e-9) < best[r.budget].error
        assert r.grade == "proved"


def test_a_budget_that_words_meet_bare_has_no_row():
    values, labels = synthetic()
    assert logits.channel_rows("channel", 6.0, "ag_news", values, labels, SMALL) == []


def test_labels_reach_the_ceiling():
    values, labels = synthetic()
    base = (values.argmax(axis=1) == labels).mean()
    rows = logits.label_rows([0.1, 0.5, 1.0, 3.0], "ag_news", values, labels, SMALL)
    for r in rows[:3]:
        assert r.accuracy == pytest.approx(r.ceiling * base, rel=0.01)
        assert r.certified <= r.budget
        assert r.grade == "proved"
    assert rows[3].note == "no noise needed"
    assert rows[3].accuracy == base


def test_accuracy_without_noise_is_the_base():
    values, labels = synthetic()
    still = rpac.GaussianNoise(1e-12 * np.eye(4))
    assert logits.accuracy(values, labels, still, SMALL) == (values.argmax(axis=1) == labels).mean()


def test_accuracy_under_great_noise_is_that_of_a_guess():
    values, labels = synthetic(n=2_000)
    loud = rpac.GaussianNoise(1e8 * np.eye(4))
    found = logits.accuracy(values, labels, loud, replace(SMALL, trials=10))
    assert found == pytest.approx(0.25, abs=0.02)
    assert found == logits.accuracy(values, labels, loud, replace(SMALL, trials=10))  # seeded


def test_budgets_that_need_no_noise_are_rows_without_any():
    values, labels = synthetic()
    rows = logits.bare_rows([6.0, 7.0], "ag_news", values, labels)
    assert [row.budget for row in rows] == [6.0, 7.0]
    base = (values.argmax(axis=1) == labels).mean()
    for row in rows:
        assert (row.method, row.note, row.power) == ("all", "no noise needed", 0.0)
        assert row.accuracy == base
        assert row.entropy == pytest.approx(math.log(400))
        assert not row.comparable


def test_tasks_hold_every_method_once_and_only_budgets_below_the_entropy():
    values, labels = synthetic()
    tasks = logits.tasks("ag_news", values, labels, replace(SMALL, budgets=None, sr_pac=2))
    methods = [task[1] for task in tasks if task[0] is logits.method_rows]
    assert methods == ["equilibrium", *study.CLOSED_FORMS, "sr-pac", "sr-pac"]
    below = [b for b in published.budgets("ag_news") if b < math.log(400)]
    assert tasks[0][2] == below
    bare = next(task for task in tasks if task[0] is logits.bare_rows)
    assert [*below, *bare[1]] == published.budgets("ag_news")


def test_each_label_is_kept_as_often_as_its_channel_says():
    """Two classes, perfect predictions: the accuracy of the best channel is Fano's."""
    values = np.repeat([[4.0, 0.0], [0.0, 4.0]], 50, axis=0)
    labels = np.repeat([0, 1], 50)
    (row,) = logits.label_rows([0.2], "ag_news", values, labels, SMALL)
    assert row.accuracy == pytest.approx(float(rpac.advantage.fano_accuracy(0.2, 2)), abs=1e-4)
    assert row.power == pytest.approx(1 - row.accuracy, abs=1e-6)
