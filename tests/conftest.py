"""Shared fixtures. Truths and data lie beside the checkout, in ../shared, or in RPAC_SHARED."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from rpac.front.certify import PROCESS

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


def pytest_configure(config):
    """Anchors of this run's ledgers lie in a folder of its own, not in the user's."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    config.rpac_state = os.environ.get("XDG_STATE_HOME"), tempfile.mkdtemp(dir=fast)
    os.environ["XDG_STATE_HOME"] = config.rpac_state[1]


def pytest_unconfigure(config):
    before, folder = config.rpac_state
    os.environ.pop("XDG_STATE_HOME")
    if before is not None:
        os.environ["XDG_STATE_HOME"] = before
    shutil.rmtree(folder)


def pytest_report_header():
    path = SHARED / "oracles" / "truths.json"
    state = "found" if path.exists() else "NOT FOUND: tests of independent truths are skipped"
    return f"independent truths: {state}", f"PostgreSQL: {_postgres() or 'NOT FOUND: skipped'}"


def _postgres():
    try:
        import psycopg  # noqa: F401
        from benchmarks.ledger import postgres_programs
    except ImportError:
        return None
    return postgres_programs()


@pytest.fixture
def folder():
    """A folder in memory where there is one: what is tested is order, not the disk."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = tempfile.mkdtemp(dir=fast)
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def database():
    """Make a database by name, on a real PostgreSQL server of this test run's own."""
    if _postgres() is None:
        pytest.skip("PostgreSQL or psycopg not found; install postgresql and rpac[postgres]")
    from benchmarks.ledger import postgres

    with postgres("/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as make:
        yield make


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A Spark session on a cluster of two worker processes, on loopback alone."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark not found; install it")
    if shutil.which("java") is None:
        pytest.skip("Java not found: Spark is not tested")
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", os.path.dirname(pyspark.__file__))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    folder = str(tmp_path_factory.mktemp("spark"))
    settings = {
        "spark.driver.memory": "1g", "spark.executor.memory": "512m", "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": folder, "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
    }  # fmt: skip
    made = SparkSession.builder.master("local-cluster[2,1,512]").appName("rpac")
    for name, value in settings.items():
        made = made.config(name, value)
    session = made.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def fresh_books():
    """Tests share a process, and certificates of equal outputs share their error."""
    PROCESS.clear()


@pytest.fixture(scope="session")
def truths():
    if not load_truths("fano_accuracy"):
        pytest.skip("independent truths not found; set RPAC_SHARED to their folder")
    return load_truths
