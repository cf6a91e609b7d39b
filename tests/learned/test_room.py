"""JAX lives in one room: nothing outside imports it, and nothing loads it before it is asked."""

import ast
import subprocess
import sys

import pytest

from rpac.learned.libraries import LIBRARIES
from tests.conftest import ROOT

PACKAGE = ROOT / "src" / "rpac"
OUTSIDE = [p for p in sorted(PACKAGE.rglob("*.py")) if p.parent.name != "learned"]
JAX = {*LIBRARIES, "jaxlib", "paramax"}


def imported(text):
    """Return the top-level packages that a file imports: at the top, deferred, or by name."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            found |= {str(a.value).split(".")[0] for a in node.args if isinstance(a, ast.Constant)}
    return found


def test_jax_is_imported_in_this_room_alone():
    assert len(OUTSIDE) > 100
    found = {path.name: imported(path.read_text()) & JAX for path in OUTSIDE}
    assert not {name: names for name, names in found.items() if names}


def test_this_room_does_import_it():
    """The test above could pass for want of looking."""
    inside = [imported(p.read_text()) for p in (PACKAGE / "learned").glob("*.py")]
    assert {*LIBRARIES} <= set.union(*inside)
    text = (
        "def f():\n    import jax.numpy as jnp\n    from optax import adam\n"
        "    import_module('flowjax.flows')\n"
    )
    assert imported(text) == {"jax", "optax", "flowjax"}


@pytest.mark.parametrize(
    "code",
    [
        "import rpac; rpac.Stackelberg; rpac.calibrate",
        "import rpac; rpac.decoder_attack; rpac.SlicedStackelberg(); rpac.joint_play; rpac.audit",
        "import rpac.front.methods as m; m.METHODS['sr-pac'], m.METHODS['sliced-sr-pac']",
        "import rpac; rpac.calibrate(rpac.Outputs([0.0, 1.0]), 0.1, 'auto-pac')",
        "import rpac.paper.reproduce, rpac.paper.corrections",
        "import rpac.cli.program as p; assert p.main(['--help']) == 0",
    ],
)
def test_jax_is_not_loaded_before_something_is_trained(code):
    check = "; import sys; assert not {'jax', 'optax', 'equinox', 'flowjax'} & {*sys.modules}"
    run = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
