"""The command `rpac paper`: checked before any work, a table for people, files for the record."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from rpac.cli import paper
from rpac.cli.options import Reproducing
from rpac.paper import means, study
from tests.cli.conftest import call
from tests.conftest import SHARED

DATA = SHARED / "data"
SMALL = replace(study.QUICK, sr_pac=0, n_jobs=1)
needs_data = pytest.mark.skipif(
    not (DATA / "iris.csv").exists(), reason=f"datasets not found in {DATA.name}"
)


def made_up(name="iris", certified=0.05):
    """A study of one row, as if it had been run."""
    row = study.Row(name, means.MEMBERSHIP, 6.0, "auto-pac", 0.1, certified=certified, power=1.0,
                    success_bound=0.6, attack=0.0, lira=0.5)  # fmt: skip
    return study.Study(name, [row], {}, {"seconds": 0.0})


@pytest.fixture
def asked(monkeypatch):
    """What `reproduce` was asked for; made-up studies come back at once."""
    seen = []

    def reproduce(name, data, cache, settings, *, download):
        seen.append((name, data, cache, settings, download))
        return made_up(name)

    monkeypatch.setattr(paper, "reproduce", reproduce)
    return seen


def test_folders_and_jobs_are_checked_before_any_work(tmp_path, asked):
    file = tmp_path / "file"
    file.write_text("")
    usual = ("paper", "iris", "--out", tmp_path, "--cache", tmp_path)
    for option in ("--out", "--cache"):
        code, _, err = call(*usual, option, file)
        assert code == 1
        assert f"a folder to write to for {option}; got {file}: File exists. Name another." in err
    for jobs in ("0", "-2"):
        code, _, err = call(*usual, "--jobs", jobs)
        assert code == 1
        assert f"Expected at least 1 process, or -1; got {jobs}. Give --jobs another" in err
    code, _, err = call("paper", "wine")
    assert code == 1
    assert "got 'wine'. Choose one of them." in err
    assert asked == []


def test_options_become_settings(tmp_path, asked):
    words = ("paper", "rice", "--out", tmp_path, "--cache", tmp_path / "c", "--data", "d")
    assert call(*words, "--seed", "3", "--jobs", "2", "--download")[0] == 0
    assert call(*words, "--quick", "--full")[0] == 0
    (whole, quick) = asked
    assert whole == ("rice", Path("d"), tmp_path / "c",
                     replace(study.Settings(), seed=3, n_jobs=2), True)  # fmt: skip
    assert quick[3] == replace(study.QUICK, seed=0, n_jobs=-1, sr_pac=None)
    assert quick[4] is False
    assert {path.name for path in tmp_path.iterdir()} >= {"c", "rice.csv", "quick"}
    assert (tmp_path / "quick" / "rice.csv").exists()  # never over the files of a whole run
    page = (tmp_path / "quick" / "rice.md").read_text()
    assert "rpac paper rice --full --quick --seed 0" in page
    assert "a small version (--quick), not comparable with printed figures" in page
    assert str(tmp_path) not in page


def test_all_datasets_run_one_after_another(tmp_path, asked):
    code, out, err = call("paper", "all", "--out", tmp_path, "--cache", tmp_path, "--json")
    names = ["iris", "rice", "mnist", "cifar10", "cifar100", "ag_news"]
    assert (code, [one[0] for one in asked]) == (0, names)
    assert err.splitlines() == [f"{name}: 0 s" for name in names]
    bodies = json.loads(out)
    assert [body["dataset"] for body in bodies] == names
    for body in bodies:
        assert set(body) == {"dataset", "made", "rows", "above budget", "incompatible", "files"}
        assert all(Path(file).exists() for file in body["files"])


def test_a_broken_certificate_is_an_exit_code(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "reproduce", lambda *a, **k: made_up(certified=0.2))
    words = ("paper", "iris", "--out", tmp_path, "--cache", tmp_path)
    code, out, _ = call(*words)
    assert code == 1
    assert "certificates above their budget: auto-pac at 0.1" in out
    code, out, _ = call(*words, "--json")
    assert (code, json.loads(out)[0]["above budget"]) == (1, 1)


def test_trained_classifiers_lie_in_the_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert paper.default_cache() == tmp_path / "rpac"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paper.default_cache() == tmp_path / ".cache" / "rpac"


def test_a_study_says_how_to_make_it_again(tmp_path, asked):
    given = Reproducing("iris", out=tmp_path, cache=tmp_path, seed=7)
    found = paper.paper(given)
    assert (found.code, found.finish) == (0, None)
    assert "iris: 1 rows in 0 s" in found.text
    assert "rpac paper iris --seed 7" in (tmp_path / "iris.md").read_text()


@needs_data
def test_iris_from_data_to_tables(tmp_path):
    words = ("paper", "iris", "--data", DATA, "--out", tmp_path, "--quick", "--json")
    code, out, _ = call(*words, "--jobs", "1")
    (body,) = json.loads(out)
    assert (code, body["above budget"], len(body["incompatible"])) == (0, 0, 28)
    quick = tmp_path / "quick"
    with (quick / "iris.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert {r["method"] for r in rows} >= {"dp", "equilibrium", "sr-pac", "success-rate"}
    for r in rows:
        person, lira, bound = (float(r[name]) for name in ("person", "lira", "success_bound"))
        assert person <= bound + 1e-9
        assert 0.45 <= lira <= bound
    page = (quick / "iris.md").read_text()
    assert "28 of 28 printed rows are incompatible" in page
    assert "25 of them if features were standardised" in page
    assert "not comparable with printed figures" in page
    assert (quick / "iris.png").stat().st_size > 20_000
    with (quick / "iris-printed.csv").open() as lines:
        assert sum(row["verdict"] == "incompatible" for row in csv.DictReader(lines)) == 28


@needs_data
def test_people_see_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "QUICK", replace(SMALL, worlds=64, games=400))
    without_games = lambda budgets, n: [] if n is None else study.few(budgets, n)  # noqa: E731
    monkeypatch.setattr(means, "few", without_games)
    words = ("paper", "rice", "--data", DATA, "--out", tmp_path, "--quick", "--full")
    code, out, _ = call(*words, "--jobs", "1")
    assert code == 0
    assert "LiRA success" in out
    assert "certificates above their budget: none" in out
