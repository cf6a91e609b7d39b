"""Project files: read, merged with options, and told what is wrong in them."""

import re

import pytest

from rpac.cli.project import Project
from rpac.errors import InputError
from tests.conftest import ROOT

TABLE = "[tables]\na = 'a.csv'"
WRONG = {
    "a number as unit": (
        f"unit = 3\n{TABLE}",
        "Expected a valid 'unit' in p.toml; got 3 (Input should be a valid string). "
        "Fix that entry.",
    ),
    "no unit": (TABLE, "Expected a valid 'unit' in p.toml; got nothing (Field required). Fix"),
    "no tables": ("unit = 'x'", "Expected a valid 'tables' in p.toml; got nothing (Field"),
    "empty tables": ("unit = 'x'\n[tables]", "Expected a valid 'tables' in p.toml; got {} (Dict"),
    "a misspelt entry": (f"unit = 'x'\nwrlds = 3\n{TABLE}", "a valid 'wrlds' in p.toml; got 3 (Ex"),
    "one world": (f"unit = 'x'\nworlds = 1\n{TABLE}", "valid 'worlds' in p.toml; got 1 (Input sh"),
    "half a world": (f"unit = 'x'\nworlds = 2.5\n{TABLE}", "a valid 'worlds' in p.toml; got 2.5 ("),
    "a negative seed": (f"unit = 'x'\nseed = -1\n{TABLE}", "a valid 'seed' in p.toml; got -1 (In"),
    "no cap at all": (f"unit = 'x'\ncap = 0.0\n{TABLE}", "a valid 'cap' in p.toml; got 0.0 (Input"),
    "a table of tables": ("unit = 'x'\n[tables.a]\nb = 1", "a valid 'tables.a' in p.toml; got {'b"),
    "a number as link": (f"unit = 'x'\nlinks = {{a = 1}}\n{TABLE}", "a valid 'links.a' in p.toml"),
    "no value": ("unit = ", "Expected a project file 'p.toml'; got a TOMLDecodeError (at end of d"),
    "no TOML": ("id,pay\n1,4711", "a TOMLDecodeError (at line 1, column 3). See docs/command-line"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_project_files_say_what_is_wrong(name, tmp_path):
    text, message = WRONG[name]
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        Project.load(tmp_path / "p.toml")


def test_a_file_that_is_no_project_is_not_quoted(tmp_path):
    for content in ("id = 4711\x01", "4711", "id = '4711\n'"):
        (tmp_path / "data.csv").write_text(content)
        with pytest.raises(InputError, match=r"got a TOMLDecodeError \(at .*\)\. S") as said:
            Project.load(tmp_path / "data.csv")
        assert "47" not in str(said.value)
    (tmp_path / "data.csv").write_bytes(b"\xff\xfe4711")
    with pytest.raises(InputError, match=r"'data.csv'; got a UnicodeDecodeError\. See docs"):
        Project.load(tmp_path / "data.csv")
    with pytest.raises(InputError, match=r"got No such file or directory\."):
        Project.load(tmp_path / "{gone}.toml")
    with pytest.raises(InputError, match=r"got Is a directory\."):
        Project.load(tmp_path)


def test_paths_are_relative_to_the_file_and_addresses_stay(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(f"unit = 'id'\nledger = 'l.db'\n{TABLE}\nb = '/data/b.csv'")
    made = Project.load(file)
    assert made.tables == {"a": str(tmp_path / "a.csv"), "b": "/data/b.csv"}
    assert made.ledger == str(tmp_path / "l.db")
    file.write_text(f"unit = 'id'\nledger = 'postgresql://host/db'\n{TABLE}")
    assert Project.load(str(file)).ledger == "postgresql://host/db"


def test_what_is_left_out_has_a_default():
    made = Project.checked({"tables": {"a": "a.csv"}, "unit": "rows"}, str, "")
    assert (made.worlds, made.seed, made.ledger, made.cap) == (512, 0, None, None)
    assert (made.links, made.public, made.keys) == ({}, [], {})
    assert (made.dataset, made.analyst) == ("", "")


def test_a_refusal_names_the_place_as_it_was_written():
    values = {"tables": {"a": "a.csv"}, "unit": "rows", "cap": "x" * 200}
    with pytest.raises(InputError, match=r"a valid --cap; got 'x{79} \(Input .*\)\. Retype it\."):
        Project.checked(values, lambda at: f"--{at}", "Retype it.")


def test_the_project_file_of_the_documentation_can_be_read(tmp_path):
    page = (ROOT / "docs" / "command-line.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "project.toml").write_text(example)
    made = Project.load(tmp_path / "project.toml")
    assert list(made.tables) == ["customer", "orders", "nation"]
    assert made.links == {"orders.customer": "customer.id"}
    assert made.keys == {"segment": ["retail", "trade"]}
    assert (made.protect, made.caps, made.middle) == ("person", {"rows": 50}, {"price": 20})
    assert made.columns["orders.price"].floor == 0.01
    assert made.columns["status"].domain == ["open", "paid"]
    rest = re.search(r"Further entries: (.*)\.\n", page)[1].replace("`", "").split(", ")
    assert {*example.split("\n[")[0].split()} & {*rest} == set()
    named = {*re.findall(r"^(\w+) =", example.split("\n[")[0], re.M), *rest}
    named |= {word.partition(".")[0] for word in re.findall(r"^\[(.*)\]$", example, re.M)}
    assert named == {field.alias or name for name, field in Project.model_fields.items()}
