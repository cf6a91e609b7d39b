"""Shared fixtures. Truths and data lie beside the checkout, in ../shared, or in RPAC_SHARED."""

import json
import os
from pathlib import Path

import pytest

from rpac import certificate

# Compiling is most of what small games cost; JAX reads this when it is first imported.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("RPAC_SHARED", ROOT.parent / "shared"))


def load_truths(key):
    """Return the independent truths under a key; an empty list where the file is absent."""
    path = SHARED / "oracles" / "truths.json"
    return json.loads(path.read_text())[key] if path.exists() else []


def pytest_report_header():
    path = SHARED / "oracles" / "truths.json"
    state = "found" if path.exists() else "NOT FOUND: tests of independent truths are skipped"
    return f"independent truths: {state}"


@pytest.fixture(autouse=True)
def fresh_books():
    """Tests share a process, and certificates of equal outputs share their error."""
    certificate._ATTEMPTS.clear()
    certificate._JUDGED.clear()


@pytest.fixture(scope="session")
def truths():
    if not load_truths("fano_accuracy"):
        pytest.skip("independent truths not found; set RPAC_SHARED to their folder")
    return load_truths
