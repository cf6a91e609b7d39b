"""Public names, signatures and options are those that code outside relies on; more may be added.

`interface.json` holds them as they were when the rooms were built: a name, and the parameters of
what is called (`*name`: by keyword only). What is new is not in it, and need not be.
"""

import inspect
import json

import pytest
import typer

import rpac
from rpac.cli import app
from tests.conftest import ROOT

KEPT = json.loads((ROOT / "tests" / "interface.json").read_text())
NAMES = {name: parameters for name, parameters in KEPT.items() if not name.startswith("$")}
OPTIONS = sorted(name for name in KEPT if name.startswith("$"))
MARKS = {"KEYWORD_ONLY": "*", "VAR_POSITIONAL": "*args:", "VAR_KEYWORD": "**"}


def found(name):
    """Return what a dotted public name means."""
    at = rpac
    for part in name.split("."):
        at = getattr(at, part)
    return at


def parameters(called):
    """Return the parameters of something callable, as `interface.json` writes them."""
    made = []
    for p in inspect.signature(called).parameters.values():
        plain = p.default is None or isinstance(p.default, bool | int | float | str | tuple)
        plain &= len(repr(p.default)) < 60  # longer ones are texts: another schema may reword them
        default = "" if p.default is p.empty else f"={p.default!r}" if plain else "=..."
        made.append(f"{MARKS.get(p.kind.name, '')}{p.name}{default}")
    return made


def by_position(listed):
    return [p for p in listed if not p.startswith("*")]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_still_there_and_takes_what_it_took(name):
    thing, before = found(name), NAMES[name]
    if before is None:
        return
    now = parameters(thing)
    pairs = zip(by_position(now), by_position(before), strict=False)
    same = [p if "=" in old else p.partition("=")[0] for p, old in pairs]  # it may get a default
    assert same == by_position(before)
    assert {p for p in before if p.startswith("*")} <= {*now}
    added = by_position(now)[len(by_position(before)) :]
    assert all("=" in p for p in added), "what is added has a default"


def test_every_option_is_still_there():
    commands = typer.main.get_command(app).commands
    now = {
        f"$ rpac {name} {option}"
        for name, command in commands.items()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(OPTIONS) <= now


def test_the_file_is_about_everything():
    """An empty list would pass: it has the names of section 5 of the design, and many more."""
    fixed = "Worlds Subsets Draws simulate Outputs calibrate certify privatize GaussianNoise "
    fixed += "LatticeNoise LabelChannel Ledger Session audit compare Nats Bits SuccessRate "
    fixed += "ResidualEntropy"
    assert set(fixed.split()) <= {*NAMES}
    assert len(NAMES) > 300
    assert len(OPTIONS) > 100
