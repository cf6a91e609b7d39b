"""The package as a whole: what it imports, exports and weighs."""

import ast
import io
import os
import re
import subprocess
import sys
import tokenize

import rpac
from tests.conftest import ROOT

TRUSTED = [  # from any black box to a certificate
    "advantage.py",
    "certificate.py",
    "confidence.py",
    "leakage.py",
    "noise/base.py",
    "noise/grid.py",
    "noise/label.py",
    "noise/lattice.py",
    "reference/base.py",
    "reference/gaussian.py",
    "reference/mixture.py",
    "reference/table.py",
]


# Trusted too: tables of any shape, success on a person, and ideal noise, which is only a proposal.
BESIDE = ["joint.py", "membership.py", "noise/gaussian.py"]
# From a certificate to a release on record.
BOOKS = ["books.py", "ledger.py", "release.py", "sealed.py", "session.py"]
# Where the books are kept.
STORES = ["anchor.py", "postgres.py", "store.py"]


def code_lines(text):
    """Count lines of code: neither blank, nor comment, nor docstring."""
    prose = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose |= set(range(node.lineno, node.end_lineno + 1))
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in empty | {tokenize.ENDMARKER}
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - prose)


def test_the_trusted_core_is_small():
    names = TRUSTED + BESIDE + BOOKS + STORES
    lines = {name: code_lines((ROOT / "src/rpac" / name).read_text()) for name in names}
    assert sum(lines[name] for name in TRUSTED) <= 1_000
    assert sum(lines[name] for name in STORES) <= 265
    assert sum(lines[name] for name in TRUSTED + BOOKS) <= 1_800
    assert sum(lines.values()) <= 2_260


def test_the_trusted_core_is_the_one_whose_coverage_is_demanded():
    makefile = (ROOT / "Makefile").read_text()
    listed = re.search(r"TRUSTED = ([^\n]+)", makefile).group(1)
    assert sorted(listed.split(",")) == sorted(
        f"src/rpac/{name}" for name in TRUSTED + BESIDE + BOOKS + STORES
    )


def test_exports_are_complete_and_sorted():
    assert rpac.__all__ == sorted(rpac.__all__)
    for name in rpac.__all__:
        assert getattr(rpac, name).__doc__, name


def test_public_names_are_listed_before_they_are_loaded():
    probe = "import rpac; print(*sorted({*rpac.__all__} - {*dir(rpac)}), len(dir(rpac)))"
    found = subprocess.check_output([sys.executable, "-c", probe], text=True).split()
    assert len(found) == 1, found
    assert int(found[0]) > len(rpac.__all__)


def test_import_is_fast_and_light():
    heavy = ["scipy", "jax", "pandas", "joblib", "rich", "narwhals", "matplotlib"]
    probe = (
        "import sys, time, numpy; start = time.process_time(); import rpac; "
        f"print(time.process_time() - start, *(m for m in {heavy} if m in sys.modules))"
    )
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", probe]
    runs = [subprocess.check_output(command, text=True, env=env).split() for _ in range(7)]
    assert all(len(run) == 1 for run in runs), runs
    # CPU seconds beyond NumPy: other tests run beside this one. `make bench` has the whole.
    assert min(float(run[0]) for run in runs) < 0.15


def test_functions_that_use_the_package_travel_to_other_processes():
    """As those of a notebook do: by value, with the modules they name."""
    program = """
import joblib, rpac
def nats(rate):
    return rpac.SuccessRate(rate).nats(9.0)
if __name__ == "__main__":
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(nats)(r) for r in (0.6, 0.7))
    assert found == [nats(0.6), nats(0.7)]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
