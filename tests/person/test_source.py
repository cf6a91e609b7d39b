"""The source of the promise person: what is declared, and refusals by declaration alone."""

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.person.source import INSTEAD, SECRET, Presence
from rpac.schema import Declared

FRAME = pd.DataFrame({"id": ["a", "b", "a", None], "pay": [1.0, 2.0, None, 4.0]})


def test_units_and_owners():
    assert Presence(FRAME, "id").owners().tolist() == [0, 1, 0, -1]
    assert Presence(FRAME, "rows").owners().tolist() == [0, 1, 2, 3]
    assert Presence(np.zeros(3)).owners().tolist() == [0, 1, 2]
    assert Presence([1, 2], unit="rows").unit == "rows"
    assert Presence([[7, 1], [7, 2]], unit=0).owners().tolist() == [0, 0]


def test_a_list_of_dicts_has_columns_by_key():
    rows = [{"who": "a", "pay": 1.0}, {"who": "b"}, 7, {"pay": 3, "who": "a", "odd": 1}]
    made = Presence(rows, "who")
    assert made.entries.columns == ["0", "odd", "pay", "who"]
    assert made.owners().tolist() == [0, 1, -1, 0]
    assert made.entries.texts("pay") == ["1", None, None, "3"]
    assert Presence(rows).unit == "rows"  # whether its rows have names is for them to say


def test_rows_of_one_unit():
    assert Presence(FRAME, "rows").rows_cap == 1.0
    assert Presence(FRAME, "id").rows_cap is None
    assert Presence(FRAME, "id", caps={"rows": 5}).rows_cap == 5.0


def test_what_is_declared_is_found_by_column():
    made = Presence(FRAME, "id", caps={"pay": (0, 10)}, middle={"pay": 4}, size=3, blocks=5)
    assert made.declared("pay") == Declared(low=0, high=10, middle=4)
    assert made.declared("id") == Declared()
    assert (made.size, made.blocks, made.example) == (3, 5, None)
    assert Presence(FRAME, "id", middle=[0.0, 1.0]).example == [0.0, 1.0]


def test_the_secret_is_presence_or_an_entry():
    made = Presence(FRAME, "id")
    assert (made.moves, made.statement) == (1, SECRET)
    assert (made.version, made.secret) == ("person", "person")
    made = Presence(FRAME, "id", instead={"pay": [1, 2]})
    assert (made.moves, made.statement) == (2, INSTEAD)


def test_a_database_is_asked_in_sql():
    class Database:
        presence = None

    data = Database()
    made = Presence(data, "people.id", caps={"pay": (0, 1)})
    assert made.database is data
    assert made.entries is None
    assert made.unit == "people.id"


@pytest.mark.parametrize(
    ("unit", "options", "message"),
    [
        (None, {}, "the `unit` column of a table; got none"),
        ("who", {}, "a column among 'id', 'pay'; got 'who'"),
        ("id", {"way": "guess"}, "a way among auto, .*; got 'guess'"),
        ("id", {"caps": {"age": (0, 1)}}, "a column among 'id', 'pay'; got 'age'"),
        ("id", {"caps": {"pay": (1, 0)}}, "low below high.*; got 1:0"),
        ("id", {"blocks": 1}, "a whole `blocks` of at least 2; got 1"),
        ("id", {"size": 0}, "a whole `size` of at least 1; got 0"),
        ("id", {"schema": {"pay": 3}}, "fields floor"),
        ("id", {"schema": 3}, "`schema` by column; got 3"),
        ("id", {"caps": [0, 100]}, r"`caps` by column; got \[0, 100\]. Such as caps="),
    ],
)
def test_refusals_depend_on_what_is_declared(unit, options, message):
    """With the same columns and other rows, or none, the refusal is the same."""
    for frame in (FRAME, FRAME[:0]):
        with pytest.raises(rpac.InputError, match=message):
            Presence(frame, unit, **options)


def test_nothing_is_drawn():
    with pytest.raises(rpac.InputError, match=r"a source that draws a world; got rpac.Presence"):
        Presence(FRAME, "id").worlds(0)


def test_a_column_called_rows_is_not_mistaken():
    with pytest.raises(rpac.InputError, match="without a column of that name; got a column 'rows'"):
        Presence(pd.DataFrame({"rows": [1]}), "rows")
