"""The lowest versions that pyproject.toml allows, as constraints for pip: `make lowest`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def constraints(project):
    """Return a line `name==version` for each dependency with a lower bound, extras included."""
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    lowest = {}
    for line in wanted:
        name, _, version = re.sub(r"\[.*?\]", "", line).partition(">=")
        if version:
            lowest.setdefault(name, set()).add(version)
    return [f"{name}=={min(found, key=_ordered)}" for name, found in sorted(lowest.items())]


def _ordered(version):
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    print(*constraints(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]), sep="\n")
