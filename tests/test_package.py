"""The package as a whole: what it imports, exports and weighs."""

import os
import subprocess
import sys

import pytest

import rpac


def test_exports_are_complete_and_sorted():
    assert rpac.__all__ == sorted(rpac.__all__)
    for name in rpac.__all__:
        assert getattr(rpac, name).__doc__, name


def test_public_names_are_listed_before_they_are_loaded():
    probe = "import rpac; print(*sorted({*rpac.__all__} - {*dir(rpac)}), len(dir(rpac)))"
    found = subprocess.check_output([sys.executable, "-c", probe], text=True).split()
    assert len(found) == 1, found
    assert int(found[0]) > len(rpac.__all__)


HEAVY = {
    "numpy", "scipy", "jax", "pandas", "joblib", "rich", "narwhals", "matplotlib", "pydantic",
    "jinja2", "asyncio", "importlib.metadata", "sqlite3",
}  # fmt: skip
"""What takes its time to load; `make bench` has the times."""


@pytest.mark.parametrize("program", ["", "; from rpac.cli import main; main(['--help'])"])
def test_import_and_help_are_light(program):
    """A clean process has loaded nothing that is not needed to show names and options."""
    probe = f"import sys, rpac{program}; print(); print(*sys.modules)"
    told = subprocess.check_output([sys.executable, "-c", probe], text=True, env=_plain())
    loaded = {*told.splitlines()[-1].split()}
    assert not loaded & HEAVY
    assert "rpac.cli.program" in loaded or len(loaded) < 120


def test_a_first_release_loads_no_more_than_it_needs():
    probe = """
import sys, rpac
rows = [{"id": i, "pay": 1000.0 + i} for i in range(900)]
people = rpac.Presence(rows, unit="id")
rpac.privatize(rpac.statistics.mean("pay"), people, rpac.SuccessRate(0.55))
print(*sys.modules)
"""
    loaded = {
        *subprocess.check_output([sys.executable, "-c", probe], text=True, env=_plain()).split()
    }
    assert not loaded & {"scipy", "jax", "pandas", "pyarrow", "rich", "pydantic", "matplotlib"}
    assert "numpy" in loaded


def _plain():
    """Return the environment without what would measure coverage in a new process."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}


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
