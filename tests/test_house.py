"""The house: its rooms, the way imports point, what trust means, and how much is tested."""

import ast
import importlib
import io
import re
import sys
import tokenize
from collections import defaultdict

import pytest

import rpac
from tests.conftest import ROOT

PACKAGE = ROOT / "src" / "rpac"
ORDER = (
    "errors", "_base", "advantage", "budget", "schema", "pictures", "worlds", "noise",
    "certificate", "ledger", "person", "answers", "questions", "sql", "release", "residual",
    "numerics", "calibrators", "learned", "front", "oracles", "attack", "contracts", "report",
    "paper", "cli", "__init__", "__main__",
)  # fmt: skip
"""Rooms and root files, the lowest first: imports point down this list."""
EXCEPTIONS: frozenset[tuple[str, str]] = frozenset()
"""Imports that point up, each with its reason: there are none."""
TRUSTED = re.search(r"TRUSTED = ([\w ]+)", (ROOT / "Makefile").read_text())[1].split()
UNTRUSTED = {"calibrators", "learned", "attack", "report", "cli", "paper"}
FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("rpac", *(p for p in parts if p != "__init__")))


MODULES = {module_of(path): path for path in FILES}


def room_of(module):
    return (module.split(".") + ["__init__"])[1]


def imports_of(path):
    """Yield the modules of the package that a file imports: at the top, deferred, for typing."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "rpac")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rpac":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


GRAPH = {module: {*imports_of(path)} - {module} for module, path in MODULES.items()}


# --- rooms --------------------------------------------------------------------------------------


def test_the_root_is_small_and_folders_are_one_deep():
    root = [path for path in PACKAGE.iterdir() if path.is_file()]
    assert len(root) <= 12, sorted(path.name for path in root)
    assert all(len(path.relative_to(PACKAGE).parts) <= 2 for path in FILES)
    assert {room_of(module) for module in MODULES} == {*ORDER}


def test_every_room_and_every_root_file_is_in_the_map_of_the_readme():
    text = (ROOT / "README.md").read_text()
    table = text[text.index("## Where things are") :]
    listed = set(re.findall(r"`([\w.]+?)(?:\.py)?/?`", table))
    assert {*ORDER} - {"__init__", "__main__"} <= listed
    assert {"__init__", "__main__"} <= listed


def test_no_room_shares_its_name_with_a_public_verb():
    rooms = {path.parent.name for path in PACKAGE.rglob("__init__.py")} - {"rpac"}
    for name in rooms & {*rpac.__all__}:
        assert getattr(rpac, name) is importlib.import_module(f"rpac.{name}")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_files_and_functions_are_short(path):
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 60, node.name


# --- imports ------------------------------------------------------------------------------------


def test_imports_point_down_the_order():
    place = {room: i for i, room in enumerate(ORDER)}
    up = {
        (module, other)
        for module, others in GRAPH.items()
        for other in others
        if place[room_of(other)] > place[room_of(module)]
    }
    assert up == EXCEPTIONS
    assert len(EXCEPTIONS) <= 3


def test_there_is_no_cycle():
    left = {module: set(others) for module, others in GRAPH.items()}
    while free := [module for module, others in left.items() if not others & left.keys()]:
        for module in free:
            del left[module]
    assert not left, f"a cycle among {sorted(left)}"


def test_trusted_folders_import_nothing_that_is_not_to_be_trusted():
    for module, others in GRAPH.items():
        if room_of(module) in TRUSTED:
            wrong = {other for other in others if room_of(other) in UNTRUSTED | {"front"}}
            assert not wrong, (module, wrong)


def test_the_graph_sees_every_kind_of_import(tmp_path):
    """The test could pass for want of looking: deferred and typing imports are seen."""
    file = tmp_path / "probe.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rpac import noise\n"
        "def f():\n    import rpac.cli.program\n    from rpac.ledger.store import Store\n"
    )
    assert {*imports_of(file)} == {"rpac.noise", "rpac.cli.program", "rpac.ledger.store"}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_can_be_imported_by_its_dotted_name(module):
    if module == "rpac.__main__":
        return  # it runs the program; tests/cli has it
    found: dict = {}
    exec(f"import {module} as found", found)
    assert found["found"] is sys.modules[module]


# --- the front door -----------------------------------------------------------------------------


def test_the_stub_tells_type_checkers_the_same_homes():
    told = defaultdict(set)
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                told[alias.asname].add(f"{node.module}.{alias.name}")
    homes = {name: {f"{home}.{name}"} for home, names in rpac.HOMES.items() for name in names}
    assert told == homes | {name: {home} for name, home in rpac.MODULES.items()}


# --- trust --------------------------------------------------------------------------------------

_FIXED = ("frozenset", "tuple", "MappingProxyType", "TypeVar", "re.compile", "struct.Struct",
          "lru_cache", "cache", "Line", "Position", "float", "object")  # fmt: skip


def mutable_state(text):
    """Yield module-level names (and class attributes) that are bound to something mutable.

    Caches of pure functions are decorators or wrapped functions, and pass; so does what cannot
    change: numbers, text, tuples, frozen sets, read-only mappings, types.
    """
    tree = ast.parse(text)
    bodies = [tree.body, *(n.body for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]
    for node in [node for body in bodies for node in body]:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or value is None:
            continue
        dataclass_field = isinstance(value, ast.Call) and ast.unparse(value.func) == "field"
        mutable = isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp)
        called = value.func if isinstance(value, ast.Call) else None
        called = called.func if isinstance(called, ast.Call) else called
        strange = called is not None and not ast.unparse(called).startswith(_FIXED)
        exported = ast.unparse(node).startswith("__all__")
        if (mutable or strange) and not dataclass_field and not exported:
            yield ast.unparse(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield ast.unparse(node)


@pytest.mark.parametrize(
    "module", [m for m in MODULES if room_of(m) in [*TRUSTED, "advantage", "budget"]]
)
def test_trusted_modules_have_no_state(module):
    assert not [*mutable_state(MODULES[module].read_text())]


def test_state_would_be_seen():
    text = "A: dict = {}\nB = []\nC = WeakSet()\nclass D:\n    E = set()\ndef f():\n    global A\n"
    assert len([*mutable_state(text)]) == 5
    assert not [*mutable_state("A = 1\nB = (1, 2)\nC = frozenset({1})\nD = lru_cache(4)(f)\n")]


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


def test_the_trusted_rooms_are_small():
    lines = {
        room: sum(code_lines(path.read_text()) for path in (PACKAGE / room).glob("*.py"))
        for room in TRUSTED
    }
    # From a law to a release on record.
    assert sum(lines[room] for room in ("noise", "certificate", "ledger", "release")) <= 4_000
    assert sum(lines.values()) <= 11_700, lines


# --- figures ------------------------------------------------------------------------------------


def test_type_tests_for_label_channels_are_few():
    """Channels and tables answer the same questions; who asks which it is has a reason."""
    asked = [
        (module, node.lineno)
        for module, path in MODULES.items()
        if room_of(module) != "noise"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call | ast.Compare)
        and "LabelChannel" in (text := ast.unparse(node))
        and ("type(" in text if isinstance(node, ast.Compare) else text[:11] == "isinstance(")
    ]
    assert len(asked) <= 5, asked


def fixed_texts(tree):
    """Return the names that some assignment binds to a plain text."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=True)
                names |= {
                    name.id
                    for name, value in pairs
                    if isinstance(name, ast.Name) and isinstance(value, ast.Constant)
                }
    return names


def refusals(tree):
    """Yield, for every error that is raised with a message, whether it shows a value."""
    fixed = fixed_texts(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
            continue
        call = node.exc
        said = call.args[:2] if ast.unparse(call.func) == "refuse" else call.args
        if said:
            yield any(
                not isinstance(part, ast.Constant)
                and not (isinstance(part, ast.Name) and part.id in fixed)
                for part in said
            )


def test_refusals_name_the_value():
    found = [shown for path in FILES for shown in refusals(ast.parse(path.read_text()))]
    assert len(found) > 250
    assert sum(found) >= 0.8 * len(found), f"{sum(found)} of {len(found)}"


def lines_in(paths):
    return sum(path.read_text().count("\n") for path in paths)


def test_there_are_six_lines_of_test_to_ten_of_source():
    tests = lines_in((ROOT / "tests").rglob("*.py"))
    assert tests >= 0.6 * lines_in(FILES), f"{tests} to {lines_in(FILES)}"


@pytest.mark.parametrize("module", [m for m in MODULES if not MODULES[m].stem.startswith("__")])
def test_every_module_is_tested_by_name(module):
    room, name = ("", *module.split(".")[1:])[-2:]
    path = ROOT / "tests" / room / f"test_{name}.py"
    assert path.exists(), path
    text = path.read_text()
    assert "def test_" in text
    public = [name for name in rpac.HOMES.get(module, ())]
    public += [name for name, home in rpac.MODULES.items() if home == module]
    near = rf"{module.rpartition('.')[0]} import [^\n]*\b{name}\b"
    used = "|".join([re.escape(module), near, *(rf"rpac\.{p}\b" for p in public)])
    assert re.search(used, text), f"{path} does not name {module}"
