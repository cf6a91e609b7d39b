"""What is gathered for the site: pages, their links, the navigation."""

import yaml
from website import build

from tests.conftest import ROOT

NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]


def test_every_page_is_in_the_navigation_once():
    assert build.out_of_step(NAV, build.pages()) == []


def test_what_is_out_of_step_is_named():
    nav = [{"Start": ["index.md", {"Twice": "a.md"}]}, {"More": ["a.md", "gone.md"]}]
    found = build.out_of_step(nav, ["index.md", "a.md", "new.md"])
    assert sorted(set(found)) == [
        "mkdocs.yml: add new.md to nav",
        "mkdocs.yml: nav has a.md twice",
        "mkdocs.yml: nav names gone.md, which is no page",
    ]


KNOWN = {
    "README.md": "index.md",
    "docs/sql.md": "sql.md",
    "docs/contributing/source.md": "contributing/source.md",
    "benchmarks/RESULTS.md": "measurements.md",
    "docs/noise.svg": "noise.svg",
}


def test_links_lead_to_the_page_on_the_site():
    there = build.relinked(
        "[a](../sql.md#x) ![b](../noise.svg)", "docs/contributing/source.md", KNOWN
    )
    assert there == "[a](../sql.md#x) ![b](../noise.svg)"
    there = build.relinked("[a\nb](docs/sql.md) ![b](docs/noise.svg)", "README.md", KNOWN)
    assert there == "[a\nb](sql.md) ![b](noise.svg)"
    assert (
        build.relinked("[r](../benchmarks/RESULTS.md)", "docs/sql.md", KNOWN)
        == "[r](measurements.md)"
    )


def test_links_into_the_source_are_text_and_others_stay():
    text = (
        "[code](../src/rpac) [out](https://example.org) [here](#part)\n```md\n[x](../src/y)\n```\n"
    )
    there = build.relinked(text, "docs/sql.md", KNOWN)
    assert there == text.replace("[code](../src/rpac)", "code")


def test_all_pages_are_gathered(tmp_path):
    build.gather(build=tmp_path)
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    assert made == {page for page in build.pages() if not page.startswith("tutorials/")}
    assert (tmp_path / "assets" / "style.css").exists()
    assert "](choose.md#which-promise)" in (tmp_path / "guarantee.md").read_text()
