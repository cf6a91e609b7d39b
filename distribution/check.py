"""What a release must agree on: version, changelog, citation; what wheel and sdist hold."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = re.compile(rb"/work/|/home/|/root/|/Users/|[A-Z]:\\\\Users")
"""Folders of somebody's machine."""


def version(root=ROOT):
    """Return the version that the package says it has."""
    text = (root / "src" / "rpac" / "__init__.py").read_text()
    return re.search(r'^__version__ = "([^"]+)"', text, re.M)[1]


def changelog(root=ROOT):
    """Return version and date of the changelog's first entry."""
    text = (root / "CHANGELOG.md").read_text()
    return re.search(r"^## \[([^\]]+)\] - (\S+)$", text, re.M).groups()


def citation(root=ROOT):
    """Return the plain fields of CITATION.cff."""
    text = (root / "CITATION.cff").read_text()
    return {key: value.strip('"') for key, value in re.findall(r"^([\w-]+): (.+)$", text, re.M)}


def disagreements(root=ROOT):
    """Return, in words, where version, changelog, citation and pyproject.toml differ."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    (logged, date), cited, now = changelog(root), citation(root), version(root)
    pairs = {
        "version in the changelog": (logged, now),
        "version in CITATION.cff": (cited.get("version"), now),
        "date in CITATION.cff": (cited.get("date-released", "unreleased"), date),
        "title in CITATION.cff": (cited.get("title"), project["name"]),
        "abstract in CITATION.cff": (cited.get("abstract"), project["description"]),
        "license in CITATION.cff": (cited.get("license"), project["license"]),
    }
    return [f"{what}: {a!r}, not {b!r}" for what, (a, b) in pairs.items() if a != b]


def unready(root=ROOT):
    """Return, in words, what keeps this checkout from being tagged."""
    date = changelog(root)[1]
    dated = re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    found = disagreements(root)
    found += [] if dated else [f"the changelog's first entry has no date: {date!r}"]
    found += ["files differ from the last commit"] if _git(root, "status", "--porcelain") else []
    tagged = _git(root, "tag", "--list", f"v{version(root)}")
    return [*found, f"{tagged} is tagged already"] if tagged else found


def _git(root, *words):
    return subprocess.check_output(["git", *words], cwd=root, text=True).strip()


def files_of(path):
    """Return name and bytes of every file in a wheel or sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}


def defects(wheel, root=ROOT):
    """Return, in words, what a wheel lacks, and what it should not hold."""
    found = files_of(wheel)
    tracked = _git(root, "ls-files", "src/rpac").splitlines()
    wanted = {name.removeprefix("src/") for name in tracked if (root / name).exists()}
    about = f"rpac-{version(root)}.dist-info"
    wanted |= {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    wanted.add(f"{about}/licenses/LICENSE")
    wrong = [f"{name} is missing" for name in sorted(wanted - found.keys())]
    wrong += [f"{name} is too much" for name in sorted(found.keys() - wanted)]
    wrong += [f"{name} names a folder of a machine" for name, data in found.items()
              if PLACES.search(data)]  # fmt: skip
    return wrong


def main(words):
    """Check the checkout, or the files in a folder; return an exit code."""
    if words:
        wrong = [defect for wheel in Path(words[0]).glob("*.whl") for defect in defects(wheel)]
    else:
        wrong = unready()
    print(*(wrong or ["nothing is wrong"]), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
