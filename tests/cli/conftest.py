"""What the tests of the command line share: a folder of data, and how to type a command."""

import contextlib
import io

import numpy as np
import pandas as pd
import pytest

from rpac.cli.program import main

SAMPLE = ("--protect", "sample")
MEAN = ("--statistic", "mean(pay)", "--unit", "id", "--worlds", "8", "--method", "auto-pac",
        *SAMPLE)  # fmt: skip
PROJECT = """
unit = "staff.id"
protect = "sample"
worlds = 8
ledger = "books.db"
cap = 1.0
public = ["staff.dept"]
links = { "bonus.id" = "staff.id" }
[tables]
staff = "staff.csv"
bonus = "bonus.csv"
"""


@pytest.fixture
def staff(tmp_path):
    """A folder of two tables and a project file, in which nothing has happened yet."""
    folder = tmp_path / "staff"
    folder.mkdir()
    rng = np.random.default_rng(5)
    rows = {"id": range(12), "dept": list("aabbab" * 2), "pay": rng.normal(10, 2, 12).round(3)}
    pd.DataFrame(rows).to_csv(folder / "staff.csv", index=False)
    bonus = pd.DataFrame({"id": range(12), "bonus": rng.normal(1, 1, 12)})
    bonus.to_csv(folder / "bonus.csv", index=False)
    (folder / "project.toml").write_text(PROJECT)
    return folder


def call(*words):
    """Run a command line in this process; return its code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()
