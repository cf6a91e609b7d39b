"""The command `rpac paper`."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.cli.commands import Result
from rpac.cli.options import Reproducing
from rpac.paper import tables
from rpac.paper.published import count_text
from rpac.paper.reproduce import broken, names, reproduce, write
from rpac.paper.study import QUICK, Settings, Study


def paper(given: Reproducing) -> Result:
    """Run the experiments asked for, one after another; each is written as soon as it is done."""
    settings = replace(QUICK if given.quick else Settings(), seed=given.seed, n_jobs=given.jobs)
    if given.full:
        settings = replace(settings, sr_pac=None)
    if given.jobs < 1 and given.jobs != -1:
        raise refuse("at least 1 process, or -1", given.jobs, "Give --jobs another number.")
    chosen = names(given.dataset)
    cache = _folder(given.cache or default_cache(), "--cache")
    out = _folder(given.out / "quick" if given.quick else given.out, "--out")
    texts, bodies = [], []
    for name in chosen:
        study = reproduce(name, given.data, cache, settings, download=given.download)
        if given.quick:
            study.made["note"] = "a small version (--quick), not comparable with printed figures"
        paths = write(study, out, _command(given, name))
        texts.append(_text(study, paths))
        bodies.append(_body(study, paths))
        if len(bodies) > 1 or given.dataset == "all":
            print(f"{name}: {study.made['seconds']:.0f} s", file=sys.stderr, flush=True)
    code = int(any(body["above budget"] for body in bodies))
    return Result("\n\n".join(texts), bodies, code)


def _folder(path: Path, option: str) -> Path:
    """Return a folder, made if need be, that can be written: known before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise refuse(
            f"a folder to write to for {option}", f"{path}: {error.strerror}", "Name another."
        ) from None
    return path


def default_cache() -> Path:
    """Return the user's cache folder for trained classifiers."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rpac"


def _command(given: Reproducing, name: str) -> str:
    """Return the command that makes this study again, without paths."""
    flags = [flag for flag in ("full", "quick") if getattr(given, flag)]
    return " ".join(["rpac paper", name, *(f"--{flag}" for flag in flags), f"--seed {given.seed}"])


def _text(study: Study, paths: list[Path]) -> str:
    bad = [f"{row.method} at {row.budget:g}" for row in broken(study)]
    lines = [
        f"{study.dataset}: {len(study.rows)} rows in {study.made['seconds']:.0f} s",
        "",
        tables.summary(study),
        "",
        f"certificates above their budget: {', '.join(bad) or 'none'}",
        count_text(study.verdicts),
        f"all methods and secrets: {paths[2]}; how to read it: docs/experiments.md",
        *(f"wrote {path}" for path in paths),
    ]
    return "\n".join(lines)


def _body(study: Study, paths: list[Path]) -> Json:
    return {
        "dataset": study.dataset,
        "made": study.made,
        "rows": [row.cells() for row in study.rows],
        "above budget": len(broken(study)),
        "incompatible": [
            {"method": c.method, "budget": c.budget, "why": v.why}
            for c, v in study.verdicts.items()
            if v.word == "incompatible"
        ],
        "files": [str(path) for path in paths],
    }
