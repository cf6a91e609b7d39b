"""What is published: wheel and sdist, what an installation weighs, and a newcomer's first hour."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from distribution import check, lowest, sbom

import rpac
from tests.conftest import ROOT

CORE_MB = 190
PIP = ("-m", "pip", "--disable-pip-version-check")


def run(*command, cwd, **changed):
    """Run a command as somebody without this checkout would; return what it printed."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV", "COVERAGE"))}
    command = [str(word) for word in command]
    done = subprocess.run(
        command, cwd=cwd, env=env | changed, text=True, capture_output=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Wheel and sdist of this checkout, built once by whichever process is first."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / "rpac-dist"
    with (folder.parent / "rpac-dist.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            run(sys.executable, "-m", "build", "-n", "-w", "-s", "-o", folder, ROOT, cwd=ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def registry(tmp_path_factory):
    """Whether packages can be had; without, nothing can be installed."""
    folder = tmp_path_factory.mktemp("registry")
    asked = [sys.executable, *PIP, "download", "-q", "--no-deps", "-d", folder, "hatchling"]
    if subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("no package registry can be reached: nothing is installed")


def test_the_wheel_holds_the_package_and_nothing_else(built):
    wheel, sdist = built
    assert check.defects(wheel) == []
    names = {*check.files_of(wheel)}
    assert {"rpac/py.typed", "rpac/__init__.pyi", "rpac/report/report.html.j2"} <= names
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, cwd=wheel.parent)


def test_defects_of_a_wheel_are_found(built, tmp_path):
    import zipfile

    bad = Path(shutil.copy(built[0], tmp_path))
    with zipfile.ZipFile(bad, "a") as wheel:
        wheel.writestr("tests/test_x.py", "")
        wheel.writestr("rpac/notes.txt", "see /" + "home/somebody/data.csv")
    assert check.defects(bad) == [
        "rpac/notes.txt is too much",
        "tests/test_x.py is too much",
        "rpac/notes.txt names a folder of a machine",
    ]
    empty = tmp_path / "empty.whl"
    with zipfile.ZipFile(empty, "w"):
        pass
    assert "rpac/py.typed is missing" in check.defects(empty)


@pytest.mark.usefixtures("registry")
def test_the_sdist_builds_the_same_wheel_with_what_it_asks_for(built, tmp_path):
    wheel, sdist = built
    run(sys.executable, *PIP, "wheel", "-q", "--no-deps", "-w", tmp_path, sdist, cwd=tmp_path)
    assert check.files_of(tmp_path / wheel.name) == check.files_of(wheel)


@pytest.mark.usefixtures("registry")
def test_a_first_hour_on_a_clean_machine(built, tmp_path, capsys):
    """Install the core, weigh it, use it; then all that the README shows, in an empty folder."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    before = {path.name for path in site_of(home).iterdir()}
    run(python, *PIP, "install", "-q", built[0], cwd=tmp_path)
    weighed = weight(site_of(home), before)
    assert weighed <= CORE_MB
    assert use_the_core(python, tmp_path) == {"person", f"rpac {rpac.__version__}"}
    hold_a_bill(sbom.bill(site_of(home)))
    state = str(tmp_path / "state")
    told = run(
        "sh", ROOT / "examples" / "first_hour.sh", built[0], tmp_path, cwd=tmp_path,
        XDG_STATE_HOME=state, TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert (tmp_path / "record.json").exists()
    times = [line for line in told.splitlines() if line.startswith("== ")]
    with capsys.disabled():
        print(f"\ncore: {weighed:.0f} MB", *times, sep="\n")


def site_of(home):
    return next((home / "lib").glob("python*/site-packages"))


def weight(site, before):
    """Return megabytes of files in an environment, without what was there before."""
    parts = [path for path in site.iterdir() if path.name not in before]
    files = [f for part in parts for f in ([part] if part.is_file() else part.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def use_the_core(python, folder):
    """Answer a question with nothing but the core's packages; return what it says of itself."""
    program = (
        "import rpac, sys\n"
        "rows = [{'id': i, 'pay': 1000.0 + i} for i in range(900)]\n"
        "people = rpac.Presence(rows, unit='id')\n"
        "mean = rpac.statistics.mean('pay')\n"
        "release = rpac.privatize(mean, people, rpac.SuccessRate(0.55))\n"
        "assert isinstance(release.value, float)\n"
        "halves = rpac.Subsets([r['pay'] for r in rows], worlds=16)\n"
        "outputs = rpac.simulate(halves, len)\n"
        "rpac.audit(rpac.privatize(sum, halves, 0.1))\n"
        "assert not {'scipy', 'pandas', 'jax'} & {*sys.modules}\n"
        "print(release.certificate.promise)\n"
    )
    first = run(python, "-c", program, cwd=folder)
    return {first.strip(), run(python.parent / "rpac", "--version", cwd=folder).strip()}


def hold_a_bill(bill):
    """Hold a bill of materials to the form of CycloneDX, and to what the package needs."""
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert bill["metadata"]["component"]["name"] == "rpac"
    names = {part["name"] for part in bill["components"]}
    assert {"numpy", "narwhals", "typer"} <= names
    assert not {"pip", "rpac", "scipy", "pandas"} & names
    parts = [*bill["components"], bill["metadata"]["component"]]
    refs = {part["bom-ref"] for part in parts}
    assert len(refs) == len(parts)
    assert all(part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}" for part in parts)
    assert {entry["ref"] for entry in bill["dependencies"]} == refs
    assert all(refs >= {*entry["dependsOn"]} for entry in bill["dependencies"])


def test_a_bill_is_the_same_for_the_same_packages():
    site = next(p for p in map(Path, sys.path) if (p / "numpy" / "__init__.py").exists())
    one, two = json.dumps(sbom.bill(site)), json.dumps(sbom.bill(site))
    assert one == two
    assert json.loads(one)["serialNumber"].startswith("urn:uuid:")


def test_version_changelog_and_citation_agree(tmp_path):
    assert check.disagreements() == []
    assert check.version() == rpac.__version__
    for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "src/rpac/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    cited = (ROOT / "CITATION.cff").read_text()
    (tmp_path / "CITATION.cff").write_text(cited.replace(rpac.__version__, "9.9.9"))
    assert check.disagreements(tmp_path) == [
        f"version in CITATION.cff: '9.9.9', not '{rpac.__version__}'"
    ]
    (tmp_path / "CITATION.cff").write_text(cited)
    dated = f"# Changelog\n\n## [{rpac.__version__}] - 2031-02-03\n"
    (tmp_path / "CHANGELOG.md").write_text(dated)
    assert check.disagreements(tmp_path) == ["date in CITATION.cff: 'unreleased', not '2031-02-03'"]


def test_a_release_needs_a_date_a_clean_checkout_and_a_new_tag(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "src/rpac/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    new = f"## [{rpac.__version__}] - 2031-02-03\n"
    (tmp_path / "CHANGELOG.md").write_text(new)
    with (tmp_path / "CITATION.cff").open("a") as cited:
        cited.write('date-released: "2031-02-03"\n')
    run("git", "init", "-q", cwd=tmp_path)
    assert check.unready(tmp_path) == ["files differ from the last commit"]
    run("git", "add", ".", cwd=tmp_path)
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    run("git", *who, "commit", "-qm", "all", cwd=tmp_path)
    assert check.unready(tmp_path) == []
    run("git", "tag", f"v{rpac.__version__}", cwd=tmp_path)
    assert check.unready(tmp_path) == [f"v{rpac.__version__} is tagged already"]


def test_constraints_are_the_lowest_that_is_allowed():
    project = {
        "dependencies": ["numpy>=1.26", "jinja2"],
        "optional-dependencies": {"a": ["b[c]>=2.9"], "d": ["rpac[a]", "numpy>=1.9", "b>=2.10"]},
    }
    assert lowest.constraints(project) == ["b==2.9", "numpy==1.9"]


def test_what_is_scheduled_and_documented_can_be_made():
    scheduled = (ROOT / ".ci" / "scheduled").read_text()
    assert "for target in lowest newest; do" in scheduled
    documented = (ROOT / "CONTRIBUTING.md").read_text()
    for target in ("lowest", "newest", "release"):
        assert f"make {target}" in documented
        assert "pip install" in run("make", "-n", target, "PYTHON=python3", "VENV=.none", cwd=ROOT)
