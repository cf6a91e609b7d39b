"""Run an experiment of the paper from its data to its tables and panels."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

from rpac._base.checks import refuse
from rpac.paper import logits, means, published, tables
from rpac.paper.data import NAMES, Dataset, load
from rpac.paper.study import MATCHED, Row, Settings, Study, beside, run

TABULAR = ("iris", "rice")
_PACKAGES = ("numpy", "jax", "equinox", "optax", "matplotlib")


def names(name: str) -> list[str]:
    """Return the datasets that a name on the command line stands for."""
    if name == "all":
        return list(NAMES)
    if name not in NAMES:
        raise refuse(f"a dataset among {(*NAMES, 'all')}", repr(name), "Choose one of them.")
    return [name]


def reproduce(
    name: str,
    data: str | Path,
    cache: str | Path,
    settings: Settings | None = None,
    *,
    download: bool = False,
) -> Study:
    """Return every row of a dataset's experiment.

    Args:
        name: iris, rice, mnist, cifar10, cifar100 or ag_news.
        data: Folder of the datasets.
        cache: Folder in which trained classifiers keep their logits.
        settings: How much to measure.
        download: Fetch data that is missing from its publisher.
    """
    settings = settings or Settings()
    start = time.perf_counter()
    loaded = load(name, data, download=download)
    study = _of_means(loaded, settings) if name in TABULAR else _of_logits(loaded, cache, settings)
    study.made.update(
        seconds=round(time.perf_counter() - start, 1),
        settings=asdict(settings),
        versions={package: version(package) for package in ("rpac", *_PACKAGES)},
    )
    return study


def _of_means(data: Dataset, settings: Settings) -> Study:
    features = data.train_x
    rows = run(means.tasks(data.name, features, settings), settings, data.name)
    verdicts = published.verdicts(data.name, leaked=means.leaked_at(features, settings))
    found = beside(rows, means.MEMBERSHIP, verdicts)
    about = {"records": len(features), "pool": published.POOL, "columns": features.shape[1]}
    return Study(data.name, found, verdicts, dict(about))


def _of_logits(data: Dataset, cache: str | Path, settings: Settings) -> Study:
    from rpac.paper.classifier import SETTINGS, classify

    how = SETTINGS[data.name]
    data = data.first(settings.training or len(data.train_y), settings.records or len(data.test_y))
    if settings.epochs is not None:
        how = replace(how, epochs=settings.epochs, coarse=0)
    made = classify(data.name, data, cache, seed=settings.seed, settings=how)
    todo = logits.tasks(data.name, made.values, made.labels, settings)
    rows = run(todo, settings, data.name)
    verdicts = published.verdicts(data.name, labels=made.labels)
    about = {"base accuracy": round(made.accuracy, 4), "test records": len(made.labels),
             "classifier": made.made}  # fmt: skip
    return Study(data.name, beside(rows, logits.SECRET, verdicts), verdicts, about)


def write(study: Study, out: str | Path, command: str) -> list[Path]:
    """Write tables and panels of a study; return their paths."""
    from rpac.paper.panels import panels

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    study.made["command"] = command
    texts = {
        f"{study.dataset}.csv": tables.to_csv(study),
        f"{study.dataset}-printed.csv": tables.published_csv(study),
        f"{study.dataset}.md": tables.markdown(study),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    picture = folder / f"{study.dataset}.png"
    panels(study).savefig(picture, dpi=90)
    return [*(folder / file for file in texts), picture]


def broken(study: Study) -> list[Row]:
    """Return the rows whose certificate lies above their budget, of methods that promise nats."""
    promised = (r for r in study.rows if r.method not in MATCHED and r.comparable)
    return [row for row in promised if not row.certified <= row.budget]
