"""The made pages: all public names, all commands and options."""

import ast
import importlib
import inspect
import re

import pytest
import typer
from website import interface

import rpac
from rpac.cli import app
from tests.conftest import ROOT
from tests.test_interface import NAMES, found

PAGES = interface.pages()
TEXT = "\n".join(PAGES.values())
FILES: set[str] = set()
"""Names of files that begin like names of the package."""
SHOWN = re.findall(r"^::: (\S+)$", TEXT, re.M)


def test_every_public_name_has_its_place():
    assert len(set(SHOWN)) == len(SHOWN)
    for name in rpac.__all__:
        home = rpac.MODULES.get(name)
        assert any(shown == f"rpac.{name}" or shown.startswith(f"{home}.") for shown in SHOWN), name


def test_every_name_of_a_public_module_has_its_place():
    for name in NAMES:
        first, _, rest = name.partition(".")
        if first in rpac.MODULES and rest and "." not in rest:
            assert f"{rpac.MODULES[first]}.{rest}" in SHOWN, name


def test_every_shown_name_has_a_docstring():
    for name in SHOWN:
        short = name.removeprefix("rpac.")
        for public, home in rpac.MODULES.items():
            short = short.replace(home.removeprefix("rpac."), public)
        thing = found(short)
        assert not callable(thing) or thing.__doc__, name


def test_what_debug_returns_is_on_the_page_of_asking():
    assert {"rpac.debug", "rpac.Trial"} <= {*rpac_names(PAGES["interface/asking.md"])}


def test_texts_name_what_exists():
    """Every `rpac.x` in a text of the package: a public name, a module, or a field of one."""
    told = set()
    for path in (ROOT / "src" / "rpac").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                told |= {*re.findall(r"(?<![\w./:-])rpac((?:\.[A-Za-z_]\w*)+)", node.value)}
    assert {".debug", ".Subsets", ".Ledger"} <= told
    missing = {name for name in told if not _is_there(name)}
    assert missing <= FILES, missing


def _is_there(dotted):
    at, path = rpac, "rpac"
    for part in dotted[1:].split("."):
        path = f"{path}.{part}"
        try:
            at = getattr(at, part)
        except AttributeError:
            try:
                at = importlib.import_module(path)
            except ImportError:
                return False
    return True


def rpac_names(page):
    return re.findall(r"^::: (\S+)$", page, re.M)


def test_a_module_without_a_page_is_refused():
    with pytest.raises(LookupError, match="Expected a page for rpac.newroom.base; got none"):
        interface.subject("rpac.newroom.base")
    assert interface.subject("rpac.worlds.source") == "sources"
    assert interface.subject("rpac.worlds.outputs") == "steps"


def test_the_commands_are_as_their_help_says():
    page = PAGES["commands.md"]
    for name, command in typer.main.get_command(app).commands.items():
        part = page[page.index(f"## rpac {name}\n") :].split("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts:
                assert option in part, (name, option)


def test_examples_of_docstrings_are_code():
    """Each line of each example, and nothing else; Markdown would quote them, and link lists."""
    text = inspect.getdoc(rpac.debug)
    shown = interface.fenced(text)
    code = re.findall(r"^```pycon\n(.*?)\n```$", shown, re.M | re.S)
    assert [block.splitlines()[0] for block in code] == [">>> import numpy, rpac"]
    assert code[0].endswith("(False, 'numpy.exceptions.AxisError: axis 1 is ou')")
    assert shown.replace("```pycon\n", "").replace("\n```", "") == text
    assert interface.fenced("One line.\n\n    >>> inside") == "One line.\n\n    >>> inside"


def test_what_people_call_stands_before_what_it_returns():
    asking = rpac_names(PAGES["interface/asking.md"])
    assert asking[:4] == ["rpac.privatize", "rpac.plan", "rpac.compare", "rpac.debug"]
    verbs = [inspect.isroutine(found(name.removeprefix("rpac."))) for name in asking]
    assert verbs == sorted(verbs, reverse=True)
    assert rpac_names(PAGES["interface/steps.md"])[:3] == [
        "rpac.simulate", "rpac.calibrate", "rpac.certify",
    ]  # fmt: skip
    assert rpac_names(PAGES["interface/budgets.md"])[0].startswith("rpac.Bits")
