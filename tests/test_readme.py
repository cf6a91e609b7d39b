"""The README: its picture, its pages. What it says to type is run by `tests/test_docs.py`."""

import re

from tests.conftest import ROOT


def test_the_readme_has_its_picture_and_its_pages():
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert "docs/noise.svg" in links
    for link in links:
        assert (ROOT / link).exists(), link
