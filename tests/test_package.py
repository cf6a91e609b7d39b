"""The package as a whole: what it imports, exports and weighs."""

import os
import subprocess
import sys

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
