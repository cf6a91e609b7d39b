"""Gather the pages, execute the tutorials, and build the site strictly: `python -m website.build`.

What is written by hand lies in `docs/` and reads well as it is. Copies with links that fit the
site, and all that is made (the interface, the commands, the tutorials), go to `build/docs`, from
which `mkdocs.yml` builds `site/`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from website import interface, tutorials

ROOT = Path(__file__).resolve().parents[1]
BUILD, SITE = ROOT / "build" / "docs", ROOT / "site"
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "measurements.md",
}
"""Pages that do not lie in `docs/`, and what they are called on the site."""
PICTURES = (".svg", ".png")
CALM = re.compile(r"Build (started|finished)|No issues found")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)((?:#[^)\s]*)?)\)")
FENCE = re.compile(r"^(```.*?^```\s*$)", re.M | re.S)


def places(root=ROOT):
    """Return what is on the site: {path in the repository: path on the site}."""
    found = {name: place for name, place in ELSEWHERE.items() if (root / name).exists()}
    for folder, under in (("docs", ""), ("results", "results/")):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".md", *PICTURES}:
                place = under + path.relative_to(root / folder).as_posix()
                found[path.relative_to(root).as_posix()] = place
    for path in sorted((root / "docs" / "tutorials").glob("*.py")):
        found[path.relative_to(root).as_posix()] = f"tutorials/{path.stem}.md"
    if "docs/index.md" in found:
        found["README.md"] = found["docs/index.md"]
    return found


def relinked(text, name, known):
    """Return a page with its links as on the site; one that leads into the source is plain text."""
    here = os.path.dirname(known[name])

    def link(match):
        mark, words, target, anchor = match.groups()
        if ":" in target:
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(name), target))
        if path not in known:
            return words
        return f"{mark}[{words}]({os.path.relpath(known[path], here or '.')}{anchor})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def gather(root=ROOT, build=BUILD):
    """Write all pages but the tutorials into a new build folder."""
    shutil.rmtree(build, ignore_errors=True)
    known = places(root)
    for name, place in known.items():
        if name.endswith(".py") or (name == "README.md" and "docs/index.md" in known):
            continue
        (build / place).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(PICTURES):
            shutil.copy(root / name, build / place)
        else:
            (build / place).write_text(relinked((root / name).read_text(), name, known))
    shutil.copytree(ROOT / "website" / "assets", build / "assets")
    for place, text in interface.pages().items():
        (build / place).parent.mkdir(parents=True, exist_ok=True)
        (build / place).write_text(text)


def listed(nav):
    """Return the pages of a navigation, in its order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in listed(part)]


def out_of_step(nav, pages):
    """Return one sentence for each page that the navigation lacks, and for each that is not."""
    given = listed(nav)
    found = [f"mkdocs.yml: add {page} to nav" for page in sorted({*pages} - {*given})]
    found += [f"mkdocs.yml: nav names {page}, which is no page" for page in {*given} - {*pages}]
    return found + [f"mkdocs.yml: nav has {page} twice" for page in given if given.count(page) > 1]


def pages(root=ROOT):
    """Return the pages that the site has, made ones included."""
    made = [place for place in places(root).values() if place.endswith(".md")]
    return sorted({*made, *interface.pages()})


def build():
    """Build the site; return the problems, none if all is well."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    problems = out_of_step(nav, pages())
    if problems:
        return problems
    gather()
    problems = tutorials.execute_all(ROOT / "docs" / "tutorials", BUILD / "tutorials")
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
    more = [line for line in said.splitlines() if line.strip() and not CALM.match(line)]
    if done.returncode or more:
        problems.append("\n".join(more).split("Traceback", 1)[0])
    return problems


if __name__ == "__main__":
    found = build()
    print("\n".join(found) or f"built {SITE.relative_to(ROOT)}/", flush=True)
    sys.exit(bool(found))
