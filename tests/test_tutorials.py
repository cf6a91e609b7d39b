"""The tutorials as the site and an editor read them; `make docs` executes all of them."""

import ast
import re

import pytest
from website import build, tutorials

import rpac
from tests.conftest import ROOT

FILES = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
LINK = re.compile(r"\]\(([^)#]+)")


def tree(path):
    return ast.parse(path.read_text())


def chain(node):
    """Return the names of `rpac.a.b`, without the first; None for anything else."""
    names = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return names if isinstance(node, ast.Name) and node.id == "rpac" else None


def test_there_is_one_for_each_user():
    assert [path.stem for path in FILES] == [
        "1_notebook", "2_custodian", "3_engineer", "4_researcher", "5_auditor",
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestTutorial:
    def test_is_text_and_code_by_turns(self, path):
        cells = tutorials.cells(path.read_text())
        assert cells[0].prose
        assert cells[0].text.startswith("# ")
        assert sum(cell.prose for cell in cells) > 5
        assert ast.get_docstring(tree(path))
        for cell in cells:
            if not cell.prose:
                compile(cell.text, path.name, "exec")

    def test_is_read_in_minutes(self, path):
        """At 200 words a minute; code is looked at, not read."""
        cells = tutorials.cells(path.read_text())
        words = sum(len(cell.text.split()) for cell in cells if cell.prose)
        assert 400 < words < 1_200

    def test_uses_names_that_exist(self, path):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom):
                exec(ast.unparse(node), {})
            names = chain(node)
            if names is not None:
                found = rpac
                for name in names:
                    found = getattr(found, name)

    def test_holds_what_it_claims(self, path):
        """A claim that no longer holds breaks the build."""
        assert sum(isinstance(node, ast.Assert) for node in ast.walk(tree(path))) >= 5

    def test_links_lead_to_pages(self, path):
        pages = set(build.pages())
        for cell in tutorials.cells(path.read_text()):
            for target in LINK.findall(cell.text) if cell.prose else ():
                place = (path.parent / target).resolve().relative_to(ROOT / "docs")
                assert place.as_posix() in pages, target

    def test_says_where_its_data_are(self, path):
        """Else it would fail where there are none, in place of being skipped aloud."""
        reads = "adult.csv.gz" in path.read_text() or "mnist.npz" in path.read_text()
        assert tutorials.needs_data(path) == reads


def test_a_figure_that_stands_last_is_shown(tmp_path):
    """Those of rpac are drawn outside of pyplot; one of pyplot is not shown twice."""
    page = tmp_path / "x.py"
    page.write_text(
        "# %%\nfrom rpac.pictures.plots import blank_figure\n\nblank_figure()\n"
        "# %%\nimport matplotlib.pyplot as plt\n\nplt.figure()\n# %%\n1 + 1\n"
    )
    assert tutorials.execute(page, tmp_path) == ""
    text = (tmp_path / "x.md").read_text()
    assert re.findall(r"\((x-\S+)\)", text) == ["x-1-1.svg", "x-2-1.svg"]
    assert "Figure size" not in text
    assert "```{ .text .printed }\n2\n```" in text
