"""Small versions of the paper's experiments, on its real data; and the committed full results."""

import csv
from dataclasses import replace

import pytest

from rpac.errors import InputError
from rpac.paper import reproduce, study, tables
from tests.conftest import ROOT, SHARED

DATA = SHARED / "data"
SMALL = replace(study.QUICK, sr_pac=0, n_jobs=1)
needs_data = pytest.mark.skipif(
    not (DATA / "iris.csv").exists(), reason=f"datasets not found in {DATA.name}"
)


def numbers(path):
    with path.open() as lines:
        rows = list(csv.DictReader(lines))
    text = ("dataset", "secret", "method", "note", "grade", "verdict", "why")
    return [{k: v if k in text else float(v or "nan") for k, v in r.items()} for r in rows]


def test_unknown_datasets_are_refused():
    with pytest.raises(InputError, match=r"Expected a dataset among .*; got 'wine'"):
        reproduce.names("wine")
    assert reproduce.names("all") == list(published_names())
    assert reproduce.names("rice") == ["rice"]


def published_names():
    return ("iris", "rice", "mnist", "cifar10", "cifar100", "ag_news")


@needs_data
@pytest.mark.parametrize("name", ["cifar10", "ag_news"])
def test_classifiers_from_data_to_tables(name, tmp_path):
    made = reproduce.reproduce(name, DATA, tmp_path, SMALL)
    assert not reproduce.broken(made)
    assert made.made["test records"] == SMALL.records
    assert tables.markdown(made).startswith(f"# {name}")
    paths = reproduce.write(made, tmp_path / "out", f"rpac paper {name}")
    assert all(path.stat().st_size > 100 for path in paths)


def test_missing_data_is_refused_with_a_next_move(tmp_path):
    with pytest.raises(InputError, match="--data DIR"):
        reproduce.reproduce("iris", tmp_path, tmp_path, SMALL)


RESULTS = ROOT / "results"


@pytest.fixture(params=published_names())
def committed(request):
    return request.param, numbers(RESULTS / f"{request.param}.csv")


def by(rows, method):
    return {r["budget"]: r for r in rows if r["method"] == method and not r["note"]}


def test_committed_results_keep_their_budgets(committed):
    _, rows = committed
    promised = [r for r in rows if r["method"] not in study.MATCHED and not r["note"]]
    assert promised
    for r in promised:
        assert r["attack"] <= r["certified"] <= r["budget"]


def test_committed_results_have_the_least_noise(committed):
    name, rows = committed
    for secret in {r["secret"] for r in rows}:
        own = [r for r in rows if r["secret"] == secret]
        auto, best, shape = (by(own, m) for m in ("auto-pac", "equilibrium", "proportional"))
        assert auto
        assert auto.keys() == best.keys() == shape.keys()
        for b, r in best.items():
            assert r["power"] <= 1.005 * auto[b]["power"] <= 1.006 * shape[b]["power"]
            if name not in ("iris", "rice"):
                assert r["accuracy"] >= auto[b]["accuracy"] - 0.005


def test_committed_ratios():
    mnist, cifar = (by(numbers(RESULTS / f"{d}.csv"), "equilibrium") for d in ("mnist", "cifar10"))
    auto = by(numbers(RESULTS / "mnist.csv"), "auto-pac")
    assert mnist[7.0]["ratio"] <= 0.40
    assert mnist[5.0]["ratio"] <= 0.56
    assert mnist[7.0]["accuracy"] >= auto[7.0]["accuracy"] + 0.02
    assert cifar[6.0]["ratio"] <= 0.8


def test_committed_labels_are_at_the_ceiling(committed):
    name, rows = committed
    if name in ("iris", "rice"):
        assert not by(rows, "labels")
        return
    base = float((RESULTS / f"{name}.md").read_text().split("base accuracy: ")[1].split()[0])
    for r in by(rows, "labels").values():
        assert r["accuracy"] >= 0.99 * r["ceiling"] * base


def test_committed_membership_attacks_lie_between_chance_and_bound():
    for name in ("iris", "rice"):
        rows = numbers(RESULTS / f"{name}.csv")
        assert by(rows, "dp")
        for r in rows:
            assert 0.5 <= r["lira"] <= r["success_bound"]


def test_committed_verdicts():
    flagged = {}
    for name in published_names():
        with (RESULTS / f"{name}-printed.csv").open() as lines:
            flagged[name] = sum(r["verdict"] == "incompatible" for r in csv.DictReader(lines))
    assert flagged == {"iris": 28, "rice": 28, "mnist": 3, "cifar10": 0, "cifar100": 2,
                       "ag_news": 5}  # fmt: skip


def test_certificates_above_their_budget_are_found():
    def row(method, certified, note=""):
        return study.Row("iris", "who", 3.0, method, 0.5, note=note, certified=certified)

    rows = [
        row("auto-pac", 0.4), row("equilibrium", 0.6), row("dp", 9.0), row("all", 9.0, "no noise"),
        row("sr-pac", float("nan")),
    ]  # fmt: skip
    found = reproduce.broken(study.Study("iris", rows, {}))
    assert [r.method for r in found] == ["equilibrium", "sr-pac"]


def test_files_are_named_by_the_dataset_and_say_how_they_were_made(tmp_path):
    rows = [study.Row("rice", "who", 3.0, "auto-pac", 0.5, power=1.0, certified=0.4, attack=0.1,
                      lira=0.5, success_bound=0.6)]  # fmt: skip
    made = study.Study("rice", rows, {})
    paths = reproduce.write(made, tmp_path / "new" / "folder", "rpac paper rice")
    names = [path.name for path in paths]
    assert names == ["rice.csv", "rice-printed.csv", "rice.md", "rice.png"]
    assert "- command: rpac paper rice" in paths[2].read_text()
    assert paths[0].read_text() == tables.to_csv(made)


@needs_data
def test_means_from_data_to_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce.means, "CLOSED_FORMS", ("auto-pac",))
    tiny = replace(SMALL, budgets=1, worlds=32, games=200, draws=0)
    made = reproduce.reproduce("iris", DATA, tmp_path, tiny)
    assert made.of_means
    assert {r.method for r in made.rows} == {"auto-pac", "equilibrium", "dp", "success-rate"}
    assert (made.made["records"], made.made["pool"], made.made["columns"]) == (150, 30, 4)
    assert made.made["settings"]["worlds"] == 32
    assert {"rpac", "numpy", "jax"} <= {*made.made["versions"]}
    assert made.rows[0].secret == reproduce.means.MEMBERSHIP
