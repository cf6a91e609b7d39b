"""Declarations as they are written: schemas in public tables, caps, middles; all typed by hand."""

import re

import pytest

from rpac.cli.project import Project
from rpac.cli.schema import FIELDS, caps, keys, listed_once, middles, pair, read_schema
from rpac.errors import InputError
from rpac.schema import Declared, declared

WHOLE = """column,type,floor,step,low,high,middle,domain
pay,number,0.01,,0,1e6,40000,
dept,text,,,,,,lab| ops |sales

born,date,,,,,,
"""


def refused(message):
    return pytest.raises(InputError, match=re.escape(message))


def test_a_schema_is_read_from_a_public_table(tmp_path):
    (tmp_path / "s.csv").write_text(WHOLE)
    found = read_schema(tmp_path / "s.csv")
    assert found == {
        "pay": {"type": "number", "floor": 0.01, "low": 0.0, "high": 1e6, "middle": 40_000.0},
        "dept": {"type": "text", "domain": ["lab", "ops", "sales"]},
        "born": {"type": "date"},
    }
    assert {*FIELDS} - {"column"} == {*vars(Declared())}
    assert declared({}, {}, found)["pay"].high == 1e6


def test_a_schema_may_leave_columns_out(tmp_path):
    (tmp_path / "s.csv").write_text("\ufefffloor,column\n5,pay\n,age\n")
    assert read_schema(tmp_path / "s.csv") == {"pay": {"floor": 5.0}, "age": {}}


WRONG = {
    "an unknown field": ("column,flor\npay,1\n", "step, low, high, middle, domain in a schema; go"),
    "too many entries": ("column\npay,1\n", "in a schema; got 'more' in s.csv. Fix"),
    "no name": ("column,floor\n,1\n", "Expected columns named once in a schema; got '' in s.csv."),
    "a name twice": ("column\npay\npay\n", "Expected columns named once in a schema; got 'pay' in"),
    "no number": ("column,low\npay,much\n", "Expected a number for low in s.csv; got 'much'. Such"),
}


@pytest.mark.parametrize("name", WRONG)
def test_schemas_say_what_is_wrong(name, tmp_path):
    text, message = WRONG[name]
    (tmp_path / "s.csv").write_text(text)
    with refused(message):
        read_schema(tmp_path / "s.csv")


def test_a_schema_that_is_not_there(tmp_path):
    with refused("Expected a schema that exists; got 's.csv'. Check the path."):
        read_schema(tmp_path / "s.csv")


def test_a_project_file_has_a_schema_or_names_one(tmp_path):
    (tmp_path / "s.csv").write_text(WHOLE)
    tables = "unit = 'id'\n{}\n[tables]\na = 'a.csv'\n"
    file = tmp_path / "p.toml"
    file.write_text(tables.format("schema = 's.csv'"))
    named = Project.load(file)
    assert (named.columns["pay"].high, named.columns["dept"].domain[2]) == (1e6, "sales")
    file.write_text(tables.format("") + "[schema.pay]\nlow = 0\nhigh = 10\ntype = 'number'\n")
    made = Project.load(file)
    assert (made.columns["pay"].low, made.columns["pay"].floor, made.protect) == (0, 1, "person")
    for line, said in [
        ("flor = 1", "Expected a valid 'schema.pay.flor' in p.toml; got 1 (Extra"),
        ("type = 'int'", "Expected a valid 'schema.pay.type' in p.toml; got 'int' (Input"),
        ("low = 'a'", "Expected a valid 'schema.pay.low' in p.toml; got 'a' (Input should be a v"),
    ]:
        file.write_text(tables.format("") + f"[schema.pay]\n{line}\n")
        with refused(said):
            Project.load(file)


def test_names_and_values_are_joined_by_a_sign():
    assert pair("a=b=c", "--x") == ("a", "b=c")
    for text in ("a", "=b", "a="):
        with refused(f"Expected NAME=VALUE after --x; got {text!r}. Join them with =."):
            pair(text, "--x")


def test_caps_are_two_ends_or_a_number_of_rows():
    assert caps(["pay=-1.5:2e3", "rows=5", "rows=1:5"]) == {"pay": [-1.5, 2000.0], "rows": [1, 5]}
    for text in ("pay=5", "pay=1:2:3"):
        with refused(f"Expected COLUMN=low:high after --caps; got {text!r}. Such as age=0:120."):
            caps([text])
    with refused("Expected a number for --caps; got 'x'. Such as 40."):
        caps(["pay=x:1"])


def test_a_middle_is_a_number_or_the_form_of_an_answer():
    assert middles(["pay=40", "answer=0,1"]) == {"pay": 40.0, "answer": [0.0, 1.0]}
    assert middles(["answer=0"]) == {"answer": 0.0}
    with refused("Expected one number after --middle COLUMN=; got 'pay=1,2'. Such as age=40;"):
        middles(["pay=1,2"])
    with refused("Expected a number for --middle; got ''. Such as 40."):
        middles(["answer=1,"])


def test_groups_are_listed_once():
    assert keys(["a=1,2", "b=x"]) == {"a": ["1", "2"], "b": ["x"]}
    assert keys(["ward=surgery, cardiology ,x y"]) == {"ward": ["surgery", "cardiology", "x y"]}
    listed_once({"a": ["1", "2", None]})
    with refused("Expected groups of a that differ; got '1' twice. List it once."):
        listed_once({"a": [1, "1.0"]})
    with refused("Expected each column once in --keys; got 'a' twice. Such as a=a,b,c."):
        keys(["a=1", "a=2"])
