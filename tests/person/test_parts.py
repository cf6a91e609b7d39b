"""Parts of a table are read by themselves, and a function is asked in a process of its own."""

import datetime
import os
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rpac import InputError
from rpac.person.entries import Entries
from rpac.person.parts import Ask, Part, Table
from rpac.person.source import Presence
from rpac.worlds.apart import packed_function


def ask(function, size=1, **limits):
    return Ask(packed_function(function, "f"), "f", np.zeros(size), **limits)


def answers(function, data, parts, size=1, n_jobs=1, **limits):
    source = Presence(data, "rows")
    found = [Part(np.array(rows, np.int64), i) for i, rows in enumerate(parts)]
    return ask(function, size, **limits).answers(
        Table(source), found.__getitem__, len(found), n_jobs
    )


def shown(part):
    """Return all that a function may see of a part: types, order and every entry."""
    return {name: (type(column), repr(list(column))) for name, column in part.items()}


def same(one, other):
    return shown(one) == shown(other)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).to_arrow()])
@pytest.mark.parametrize("odd", [None, "word", "3.5", "inf", "-0"])
def test_nobody_else_decides_how_an_entry_is_read(kind, odd):
    """A neighbour's word, or missing entry, changes the type of the whole column."""
    plain = {"x": [1, 2, 0, -4], "b": [True, False, True, True]}
    mixed = {"x": ["1", "2", "0.0", odd], "b": ["True", "False", "TRUE", odd]}
    mine = Part(np.arange(3))
    tables = [Table(Presence(kind(data), "rows")) for data in (plain, mixed)]
    one, other = (table.part(mine) for table in tables)
    assert same(one, other)
    assert one["x"].tolist() == [1.0, 2.0, 0.0]
    assert one["b"].tolist() == [1.0, 0.0, 1.0]


def test_one_word_makes_a_part_text_and_a_declared_type_overrides_it():
    frame = pd.DataFrame(
        {"x": ["1", " two", None, "NaN", "inf"], "y": ["01", "2.50", "", "a", "b"]}
    )
    schema = {"x": {"type": "number"}, "y": {"type": "text"}}
    part = Part(np.arange(5))
    free = Table(Presence(frame, "rows")).part(part)
    assert free["x"] == ["1", "two", None, "NaN", "inf"]
    assert free["y"] == ["1", "2.5", None, "a", "b"]
    held = Table(Presence(frame, "rows", schema=schema)).part(part)
    assert np.array_equal(held["x"], [1.0, *[np.nan] * 4], equal_nan=True)
    assert Table(Presence(frame, "rows", schema=schema)).part(Part(np.arange(2)))["y"] == [
        "1",
        "2.5",
    ]


def test_what_libraries_have_for_missing_entries_is_missing():
    odd = [
        pd.NA,
        pd.NaT,
        None,
        float("nan"),
        np.array([1, 2]),
        [1],
        datetime.date(2020, 1, 2),
        (1, [2]),
    ]
    frame = pd.DataFrame({"a": pd.Series(odd, dtype=object)})
    found = Entries(frame).texts("a")
    assert found == [None] * 6 + ["2020-01-02", None]
    for dtype in ("string", "boolean"):
        values = ["a", None] if dtype == "string" else [True, None]
        texts = Entries(pd.DataFrame({"a": pd.Series(values, dtype=dtype)})).texts("a")
        assert texts == [values[0] if dtype == "string" else "true", None]


def test_an_entry_can_be_put_in_place_of_another():
    table = Table(Presence(pd.DataFrame({"x": [1.0, 2.0, 3.0], "d": ["a", "b", None]}), "rows"))
    rows = np.arange(3)
    assert table.part(Part(rows, changed=("d", np.array([1, 2]), "c")))["d"] == ["a", "c", "c"]
    assert table.part(Part(rows, changed=("x", np.array([0]), 7)))["x"].tolist() == [7.0, 2.0, 3.0]
    worded = table.part(Part(rows, changed=("x", np.array([0]), "high")))
    assert worded["x"] == ["high", "2", "3"]
    assert table.part(Part(rows))["x"].tolist() == [1.0, 2.0, 3.0]  # nothing stays behind


def test_answers_are_around_the_middle_and_none_adds_nothing():
    def moody(columns, seed):
        x = columns["0"]
        if len(x) == 2:
            raise ValueError("of these rows")
        if len(x) == 3:
            return [np.nan]
        if len(x) == 4:
            return [1.0, 2.0]
        if len(x) == 5:
            os._exit(3)
        return [x.sum() + 100 * seed]

    parts = [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [], [5]]
    source = Presence(np.arange(6.0), "rows")
    found = [Part(np.array(rows, np.int64), i) for i, rows in enumerate(parts)]
    asked = Ask(packed_function(moody, "moody"), "moody", np.array([10.0]))
    for n_jobs in (1, 2, -1):
        values = asked.answers(Table(source), found.__getitem__, len(parts), n_jobs)
        assert values[:, 0].tolist() == [-10.0, 0, 0, 0, 0, 0, 595.0]


def test_a_call_that_takes_too_long_adds_nothing():
    def slow(columns, seed):
        while columns["0"][0] == 1:
            pass
        return [7.0]

    assert answers(slow, np.array([0.0, 1.0]), [[0], [1]], seconds=0.5)[:, 0].tolist() == [7.0, 0.0]


def test_no_call_leaves_anything_for_the_next_one_or_for_who_looks_on(capfd):
    seen = []

    def greedy(columns, seed):
        print("rows", columns["0"])
        os.write(2, b"rows")
        seen.extend(columns["0"])
        return [float(len(seen))]

    found = answers(greedy, np.arange(6.0), [[0, 1], [2], [3, 4, 5]])
    assert found[:, 0].tolist() == [2.0, 1.0, 3.0]
    assert not seen
    assert capfd.readouterr() == ("", "")


def test_a_function_that_cannot_be_loaded_is_refused_whether_there_are_rows_or_not():
    broken = Ask(b"not a function", "broken", np.zeros(1))
    for size in (3, 0):
        source, part = Presence(np.zeros(size), "rows"), Part(np.arange(size))
        with pytest.raises(
            InputError, match="a function that another process can load; got broken"
        ):
            broken.answers(Table(source), [part].__getitem__, 1, 1)


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5])
def test_the_number_of_jobs_is_checked(n_jobs):
    with pytest.raises(InputError, match="a whole `n_jobs` of at least 1"):
        answers(lambda columns, seed: [0.0], np.zeros(2), [[0]], n_jobs=n_jobs)


def test_sealed_things_are_neither_printed_nor_pickled():
    table = Table(Presence(np.array([12345.0]), "rows"))
    for thing in (table, Part(np.array([12345]))):
        assert "12345" not in repr(thing)
        with pytest.raises(InputError, match="stay in this process"):
            pickle.dumps(thing)
