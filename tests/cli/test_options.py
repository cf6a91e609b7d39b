"""Options: what may be typed is fixed, every option says what it is for, records carry them."""

import inspect
import re
from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer

from rpac.cli import commands, options, paper, program
from tests.cli.conftest import call
from tests.conftest import ROOT

QUESTION = {
    "data", "unit", "protect", "sql", "statistic", "command", "budget", "success", "mu", "caps",
    "middle", "schema", "size", "way", "blocks", "public", "keys", "link", "project", "ledger",
    "cap", "dataset", "analyst", "worlds", "seed", "method", "jobs", "executor", "checkpoint",
    "json",
}  # fmt: skip
TYPED = {
    "plan": QUESTION,
    "release": QUESTION | {"key", "out", "report", "sealed_report", "audit", "author", "whole"},
    "audit": QUESTION | {"games"},
    "compare": QUESTION | {"methods", "budgets"},
    "verify": {"file", "ledger", "json"},
    "ledger": {"ledger", "cap", "dataset", "analyst", "export", "export_dp", "delta",
               "trust_head", "json"},
    "recover": {"ledger", "out", "json"},
    "report": {"record", "out", "author", "json"},
    "paper": {"dataset", "data", "out", "cache", "download", "full", "quick", "seed", "jobs",
              "json"},
}  # fmt: skip


@pytest.fixture(scope="module")
def parsed():
    """The commands as typer reads them."""
    return typer.main.get_command(program.app).commands


def test_commands_and_their_options_are_those_that_people_know(parsed):
    assert {name: {p.name for p in made.params} for name, made in parsed.items()} == TYPED
    for name, made in parsed.items():
        for p in made.params:
            spelled = f"--{p.name.replace('_', '-')}"
            assert p.opts in ([spelled], [p.name]), (name, p.name)


def test_defaults_are_those_of_the_records(parsed):
    for name, record, _ in program.COMMANDS:
        defaults = {f.name: f.default for f in fields(record)}
        for p in parsed[name].params:
            assert p.required == (
                p.name in {"file", "record", "dataset"} and p.opts == [p.name]
            ) or (name in {"ledger", "recover"} and p.name == "ledger")
            if not p.required and p.default is not None:
                assert p.default == defaults[p.name]


def test_every_option_says_what_it_is_for_in_a_sentence(parsed):
    for name, made in parsed.items():
        assert made.help.endswith("."), name
        for p in made.params:
            assert p.help[0].isupper() or p.help.startswith("iris"), (name, p.name)
            assert p.help.endswith("."), (name, p.name)
    assert call("plan", "--help")[1].count("success of guessing whether a") == 1


def test_every_command_has_a_function_that_takes_its_record():
    for name, record, _ in program.COMMANDS:
        home = paper if name == "paper" else commands
        (given,) = inspect.signature(getattr(home, name)).parameters.values()
        assert given.annotation == record.__name__


def test_the_page_on_the_command_line_has_all_commands_and_options():
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert re.findall(r"^\| `rpac (\w+)` \|", page, re.M) == list(TYPED)
    for word in re.findall(r"`--([a-z-]+)", page):
        assert word.replace("-", "_") in set().union(*TYPED.values()) | {"version"}, word


def test_a_function_of_a_record_is_called_with_options():
    @dataclass
    class Cooking:
        dish: Annotated[str, typer.Argument(help="What.")]
        minutes: Annotated[int, typer.Option(help="How long.")] = 10

    seen = []
    run = options.takes(Cooking, lambda given: seen.append(given) or 7)
    kinds = inspect.signature(run).parameters
    assert list(kinds) == ["dish", "minutes"]
    assert kinds["dish"].default is inspect.Parameter.empty
    assert kinds["minutes"].default == 10
    assert run(dish="soup") == 7
    assert run(dish="rice", minutes=20) == 7
    assert seen == [Cooking("soup", 10), Cooking("rice", 20)]
    with pytest.raises(TypeError, match="dish"):
        run(minutes=3)
