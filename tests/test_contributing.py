"""The contributor pages: there are examples, every link leads somewhere, every name exists."""

import doctest
import importlib
import re

import pytest

import rpac
from rpac import attack, contracts
from tests.conftest import ROOT

PAGES = ("source", "calibrator", "attack", "statistic")
TEXTS = {
    "CONTRIBUTING.md": 2,
    "docs/audit.md": 8,
    "docs/glossary.md": 0,
    "docs/scale.md": 4,
    **{f"docs/contributing/{page}.md": 12 for page in PAGES},
}
"""Files, and how many examples each has at least."""
GLOSSARY = (ROOT / "docs/glossary.md").read_text()


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_has_examples_that_say_what_they_print(name):
    """Whether it is so is seen in `tests/test_docs.py`."""
    examples = doctest.DocTestParser().get_examples((ROOT / name).read_text())
    assert len(examples) >= TEXTS[name]
    for block in re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.S):
        assert block.startswith(">>> "), block


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_somewhere(name):
    path = ROOT / name
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize("name", TEXTS)
def test_every_path_and_module_exists(name):
    text = (ROOT / name).read_text()
    for path in re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path
    for dotted in re.findall(r"`(rpac(?:\.\w+)+)", text):
        assert found(dotted) is not None, dotted


def found(dotted):
    """Return what a dotted name means: a module, or a name in one."""
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError:
        home, _, name = dotted.rpartition(".")
        return getattr(rpac if home == "rpac" else found(home), name)


def test_every_page_names_its_base_and_its_contract():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for page, base in zip(
        PAGES,
        (rpac.Source, rpac.Calibrator, attack.Attack, rpac.statistics.Statistic),
        strict=True,
    ):
        own = (ROOT / f"docs/contributing/{page}.md").read_text()
        check = f"check_{page}"
        assert callable(getattr(contracts, check))
        assert check in own
        assert base.__name__ in own
        assert f"docs/contributing/{page}.md" in text
        assert check in text
        for heading in ("What it may rely on", "Where it goes"):
            assert heading in own


def test_the_commands_are_those_of_the_makefile():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    commands = re.findall(r"^make (\w+)", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    assert {"test", "bench", "demo", "paper"} <= set(commands) <= targets


def test_the_rooms_are_listed_in_the_order_in_which_imports_point():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    part = text[text.index("Imports point back along this list") : text.index("Trust is a folder")]
    listed = re.findall(r"`(\w+)`", part)
    package = ROOT / "src/rpac"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    files = {path.stem for path in package.glob("*.py") if not path.stem.startswith("__")}
    assert sorted(listed) == sorted(rooms | files)
    seen = set()
    for room in listed:  # nothing imports what comes after it
        for path in [*(package / room).glob("*.py"), *package.glob(f"{room}.py")]:
            used = re.findall(r"^\s*(?:from|import) rpac\.(\w+)", path.read_text(), re.M)
            assert set(used) <= seen | {room}, path
        seen.add(room)


ENTRIES = re.findall(r"^\*\*(.+?)\*\*(.*?)(?=\n\n|\Z)", GLOSSARY, re.M | re.S)


def test_the_glossary_is_in_order_and_its_entries_are_short():
    terms = [term.lower() for term, _ in ENTRIES]
    assert len(terms) >= 50
    assert terms == sorted(terms)
    assert len(set(terms)) == len(terms)
    for term, text in ENTRIES:
        assert len(text.split()) <= 75, term
        assert re.search(r"`[\w.]+`", text), f"{term} says nowhere where it lives"


@pytest.mark.parametrize(
    "term",
    ["world", "pool", "unit", "source", "mechanism", "outputs", "law", "noise", "releasable law",
     "reference", "leakage", "nat", "budget", "certificate", "grade", "confidence",
     "information density", "residual entropy", "attempt", "release", "ledger", "account", "line",
     "session", "posterior", "control variate", "deficit", "height", "kernel", "calibrator",
     "equilibrium", "attack", "audit", "one-pass", "degree"],
)  # fmt: skip
def test_the_glossary_has_the_words_that_the_project_uses(term):
    assert any(term in listed.lower() for listed, _ in ENTRIES), term


def test_the_glossary_is_linked():
    assert "(docs/glossary.md)" in (ROOT / "CONTRIBUTING.md").read_text()
