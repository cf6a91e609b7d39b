"""The pages in docs/: links and anchors lead somewhere, and modules and tests named there exist."""

import re

import pytest

from tests.conftest import ROOT
from tests.test_contributing import found

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
CODE = re.compile(r"`[^`]*`")
PART = re.compile(r"`((?:src|tests|benchmarks|docs|examples)/[\w./-]+)(?:::(\w+))?`")


def text_of(name):
    """Return a page without its blocks of code."""
    return FENCE.sub("", (ROOT / name).read_text())


def anchors(name):
    """Return what headings of a page are called in links to them."""
    found = re.findall(r"^#+ (.*)$", text_of(name), re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in found]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title).strip()) for title in plain}


@pytest.mark.parametrize("name", [*PAGES, "SECURITY.md"])
def test_every_link_leads_to_a_page_and_to_a_heading_there(name):
    links = re.findall(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)", CODE.sub("", text_of(name)))
    for link, anchor in links:
        path = ((ROOT / name).parent / link).resolve() if link else ROOT / name
        assert path.exists(), link
        if anchor:
            assert anchor in anchors(path.relative_to(ROOT).as_posix()), f"{link}#{anchor}"


@pytest.mark.parametrize("name", [*PAGES, "SECURITY.md"])
def test_every_module_and_test_that_is_named_exists(name):
    for path, test in PART.findall(text_of(name)):
        assert (ROOT / path).exists(), path
        if test:
            assert re.search(rf"^def {test}\(", (ROOT / path).read_text(), re.M), f"{path}::{test}"
    for dotted in re.findall(r"`(rpac(?:\.[A-Za-z_]\w*)+)[`(]", text_of(name)):
        assert found(dotted) is not None, dotted


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title_and_says_first_what_it_is_for(name):
    lines = (ROOT / name).read_text().splitlines()
    assert lines[0].startswith("# ")
    assert sum(line.startswith("# ") for line in text_of(name).splitlines()) == 1
    assert lines[1] == ""
    assert re.match(r"[`*]*[A-Z0-9\[]|rpac", lines[2]), lines[2]


def test_every_page_can_be_reached():
    """From the first page or the README, by links alone."""
    seen, left = set(), ["docs/index.md", "README.md"]
    while left:
        name = left.pop()
        if name in seen or not name.endswith(".md"):
            continue
        seen.add(name)
        for link in re.findall(r"\]\(([^)#:\s]+)", text_of(name)):
            path = ((ROOT / name).parent / link).resolve()
            if path.exists():
                left.append(path.relative_to(ROOT).as_posix())
    assert {*PAGES} <= seen, {*PAGES} - seen


def test_every_bound_names_a_proof_a_module_and_a_test():
    rows = re.findall(r"^\| (?!statement|---)(.*) \|$", text_of("docs/bounds.md"), re.M)
    assert len(rows) >= 40
    for row in rows:
        _, _, module, tests = row.split(" | ")
        assert re.search(r"\]\([\w-]+\.md(#[\w-]+)?\)", row), row
        assert module.startswith("`src/rpac/"), row
        assert "::test_" in tests, row


def test_every_mended_weakness_names_a_test_that_would_notice_it():
    page = text_of("docs/vulnerabilities.md")
    part = page[page.index("## Found and mended") : page.index("## Known and open")]
    rows = re.findall(r"^\| \d+ \|.*$", part, re.M)
    assert len(rows) >= 20
    assert all("::test_" in row for row in rows)
