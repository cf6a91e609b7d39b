"""The page beside neighbours has what was measured, and what measures it runs."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from benchmarks import black_boxes, neighbours
from benchmarks import which_tool as bench

from rpac.advantage import distance_to_success, epsilon_to_success
from tests.conftest import ROOT

KEPT = json.loads(bench.KEPT.read_text())
PAGE = (ROOT / "docs" / "comparison.md").read_text()


@pytest.fixture(scope="module")
def people():
    """Return a made-up table with the columns of the benchmark's."""
    rng = np.random.default_rng(5)
    education, hours = rng.integers(0, 16, 400), rng.integers(1, 100, 400)
    return pd.DataFrame({
        "hours": hours, "age": rng.integers(17, 91, 400), "gain": 100 * rng.poisson(3, 400),
        "education": education, "rich": rng.integers(0, 2, 400),
        "cell": 2 * education + rng.integers(0, 2, 400),
        "bin": np.searchsorted(bench.EDGES, hours, side="right") - 1,
    }).astype(np.int32)  # fmt: skip


def test_the_page_has_every_figure_of_the_ten_questions():
    lines = [line for at in (0, 1) for line in bench.table(KEPT["ten"], at)]
    assert len(lines) == 20
    assert [line for line in lines if line not in PAGE] == []


def test_the_page_has_the_errors_under_wider_bounds():
    assert [line for line in bench.widened(KEPT["wider"]) if line not in PAGE] == []


def test_the_page_says_what_each_had_to_know():
    assert f"| *had to be known* | {' | '.join(bench.TOOLS.values())} |" in PAGE


def test_the_questions_are_those_that_were_kept(people):
    named = [asked.name for asked in bench.questions(people)]
    assert [*named, "logistic regression", "k-means centres"] == list(KEPT["ten"])
    known = {name.partition(": ")[2] for name in neighbours.KNOWN}
    assert set(KEPT["ten"]) <= known


def test_everybody_may_spend_what_allows_the_same_success():
    made = bench.strength(bench.SUCCESS)
    assert epsilon_to_success(made["epsilon"]) == pytest.approx(bench.SUCCESS)
    assert distance_to_success(made["distance"]) == pytest.approx(bench.SUCCESS)
    assert made["approximate, half"] < made["approximate"]


def test_the_questions_run_under_both_promises(people):
    for asked in bench.questions(people):
        for wider in (0, 1) if asked.read else (0,):
            error, seconds = bench.by_name(people, asked, 1, wider)
            assert np.isfinite(error)
            assert seconds >= 0
    bins = next(asked for asked in bench.questions(people) if asked.name == "histogram of hours")
    drawn, _ = bench.halves(people, bins.asked, 20, 8)
    assert drawn.shape == (20, 8)
    assert 0 < bench.error(drawn, bench.numbers(bins.asked(people)), bins.judged) < np.inf


def test_a_neighbour_that_is_not_installed_has_no_answers(monkeypatch, people):
    monkeypatch.delenv("RPAC_NEIGHBOURS", raising=False)
    found = black_boxes.asked_of("OpenDP: count", bench.arrays(people), [], 1)
    assert found == {"answers": [], "seconds": 0.0}


def test_errors_are_root_mean_squares_over_what_is_judged():
    answers, truth = [[1.0, 5.0, 9.0], [3.0, 5.0, 9.0]], np.array([2.0, 5.0, 0.0])
    assert bench.error(answers, truth, slice(2)) == pytest.approx(0.5**0.5)


def test_neighbours_links_lead_to_projects_not_to_registries():
    hosts = set(re.findall(r"https://([\w.-]+)/", PAGE))
    assert hosts <= {"arxiv.org", "docs.opendp.org", "diffprivlib.readthedocs.io", "github.com",
                     "docs.smartnoise.org", "duckdb.org"}  # fmt: skip
