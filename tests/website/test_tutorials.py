"""Tutorials: their cells, what they print and draw, and how a broken one fails."""

import pytest
from website import tutorials

SOURCE = '''"""For the linter."""

# %% [markdown]
# # A title
#
# Text with `code`.

# %%
import subprocess, sys
x = 3
print("printed")
x + 1

# %%
subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
y = 2
'''


def test_cells_are_text_or_code():
    title, first, second = tutorials.cells(SOURCE)
    assert title.prose
    assert title.text == "# A title\n\nText with `code`."
    assert (first.prose, first.line) == (False, 9)
    assert second.text.startswith("subprocess.run")
    with pytest.raises(ValueError, match="Expected cells that begin with '# %%'"):
        tutorials.cells("x = 3\n")
    assert tutorials.cells("x = 3\n# %%\ny = 4\n")[0].text == "x = 3"


def test_a_page_has_text_code_and_what_was_printed(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(SOURCE)
    assert tutorials.execute(path, tmp_path) == ""
    page = (tmp_path / "one.md").read_text()
    assert page.index("# A title") < page.index("```python\nimport subprocess")
    assert "printed\n4\n```" in page
    assert "from a child" in page
    assert "For the linter" not in page


def test_a_cell_that_raises_is_named(tmp_path):
    path = tmp_path / "two.py"
    path.write_text("# %%\nx = 1\n\n# %%\ny = 2\n1 / 0\n")
    said = tutorials.execute_all(tmp_path, tmp_path)
    assert len(said) == 1
    assert "two.py:5: cell 2 failed" in said[0]
    assert "line 6" in said[0]
    assert "ZeroDivisionError" in said[0]


def test_without_data_the_page_has_code_alone(tmp_path, monkeypatch, capsys):
    path = tmp_path / "three.py"
    path.write_text("# %% [markdown]\n# Text\n\n# %%\nimport os\nos.environ['RPAC_DATA']\n")
    monkeypatch.setenv("RPAC_DATA", str(tmp_path / "gone"))
    assert tutorials.execute(path, tmp_path) == ""
    assert "SKIPPED, NOT EXECUTED: three.py" in capsys.readouterr().out
    assert "Not executed" in (tmp_path / "three.md").read_text()


def test_figures_are_saved_in_place(tmp_path):
    path = tmp_path / "four.py"
    path.write_text(
        "# %%\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('A line')\n"
    )
    assert tutorials.execute(path, tmp_path) == ""
    assert "![A line](four-1-1.svg)" in (tmp_path / "four.md").read_text()
    assert "<svg" in (tmp_path / "four-1-1.svg").read_text()
