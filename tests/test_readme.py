"""The command-line example of the README, as a newcomer would type it."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from examples import make_staff

from tests.conftest import ROOT

BIN = Path(sys.executable).parent


def test_the_commands_of_the_readme_run(tmp_path):
    make_staff.write(tmp_path / "staff.csv", people=200)
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(lines) == 3
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "rpac"
        done = subprocess.run(
            [BIN / program, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_the_readme_has_its_picture_and_its_pages():
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert "docs/noise.svg" in links
    for link in links:
        assert (ROOT / link).exists(), link
