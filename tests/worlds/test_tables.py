"""Tables of every kind: the same certificate from each, a right answer or a typed error."""

import datetime
import itertools
import math
import warnings
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.questions import statistics
from rpac.worlds import tables as frames

RNG = np.random.default_rng(3)
ROWS = {
    "person": RNG.integers(0, 40, 120).tolist(),
    "dept": RNG.choice(["ops", "lab", "Büro ☂"], 120).tolist(),
    "pay": np.round(RNG.lognormal(10, 0.5, 120), 2).tolist(),
    "age": RNG.integers(18, 70, 120).tolist(),
}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "duckdb": lambda rows: duckdb.from_arrow(pa.table(rows)),
}


def csv(folder, rows):
    path = folder / "rows.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def parquet(folder, rows):
    path = folder / "rows.parquet"
    pd.DataFrame(rows).to_parquet(path)
    return path


def test_the_same_release_from_every_kind_has_the_same_certificate(tmp_path):
    tables = {kind: make(ROWS) for kind, make in KINDS.items()}
    tables |= {"csv": csv(tmp_path, ROWS), "parquet": str(parquet(tmp_path, ROWS))}
    tables["lazy"] = pl.LazyFrame(ROWS)
    found = {}
    for kind, table in tables.items():
        source = rpac.Subsets(table, unit="person", worlds=16)
        release = rpac.privatize(statistics.mean("pay"), source, 0.5, method="auto-pac")
        c = release.certificate
        found[kind] = (c.bound, c.lower, c.grade, c.noise, c.outputs, c.secret, c.entropy)
        assert source.version == rpac.Subsets(pd.DataFrame(ROWS), unit="person").version
    assert all(fields == found["pandas"] for fields in found.values())


CELLS = {
    "plain": [1.5, 2.0, 3.0, 4.5, 5.0, 6.0],
    "NaN": [1.0, math.nan, 3.0, 4.0, math.nan, 6.0],
    "missing": [1.0, None, 3.0, None, 5.0, 6.0],
    "nothing": [None] * 6,
    "infinite": [1.0, math.inf, 3.0, 4.0, 5.0, 6.0],
    "minus infinity": [1.0, 2.0, -math.inf, math.inf, 5.0, 6.0],
    "minus zero": [0.0, -0.0, 0.0, -0.0, 1.0, -1.0],
    "subnormal": [5e-324, 1e-310, 0.0, 1.0, 2.0, 3.0],
    "huge": [1e300, -1e300, 1e307, 1.0, 2.0, 3.0],
    "overflowing": [1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.0, 2.0],
    "constant": [7.0] * 6,
    "whole": [1, 2, 3, 4, 5, 6],
    "big whole": [2**62, 2**62, 1, 2, 3, 4],
    "true or false": [True, False, True, True, False, False],
    "text": ["a", "b", "c", "d", "e", "f"],
    "numbers as text": ["1", "2", "3", "4", "5", "6"],
    "dates": [datetime.date(2020, 1, d) for d in range(1, 7)],
    "zoned times": [datetime.datetime(2020, 1, d, tzinfo=datetime.UTC) for d in range(1, 7)],
    "durations": [datetime.timedelta(days=d) for d in range(1, 7)],
    "unicode": ["é", "☂", "", " ", "\u202e", "字"],
    "lists": [[1], [2], [3], [4], [5], [6]],
}
TASKS = ("mean(x)", "sum(x)", "count(x)", "median(x)", "group_by(g, mean(x), a)", "by x")
SAFE = {"plain", "NaN", "missing", "minus zero", "subnormal", "huge", "constant", "whole",
        "big whole", "true or false"}  # fmt: skip
EXTREME = {"nothing", "infinite", "minus infinity", "overflowing"}


def oracle(task, cells):
    """Return the answer on given cells by plain Python, and whether it is finite."""
    values = [float(c) for c in cells if c is not None and c == c]
    if task == "count(x)":
        return float(len(values))
    if task == "sum(x)":
        return math.fsum(values)
    if task == "mean(x)":
        return math.fsum(values) / len(values) if values else 0.0
    values.sort()
    half = len(values) // 2
    middle = values[half : half + 1] if len(values) % 2 else values[half - 1 : half + 1]
    return sum(value / len(middle) for value in middle) if values else 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_answer_or_a_typed_error(kind):
    """Over 500 cases: contents x tasks x units, in every kind of table."""
    cases = right = 0
    for (name, cells), task, unit in itertools.product(
        CELLS.items(), TASKS, ("rows", "u", "shared")
    ):
        rows = {"x": cells, "g": ["a", "b"] * 3, "u": list("uvwxyz"), "shared": list("ppqqrr")}
        cases += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = KINDS[kind](rows)
                source = rpac.Subsets(table, unit="x" if task == "by x" else unit, worlds=8)
                mechanism = "count()" if task == "by x" else task
                outputs = rpac.simulate(source, statistics.parse(mechanism))
        except rpac.RpacError:
            assert name not in SAFE or task == "by x", (name, task)
            continue
        right += 1
        assert np.isfinite(outputs.values).all()
        if task in {"mean(x)", "sum(x)", "count(x)", "median(x)"}:
            picked = [np.flatnonzero(mask[source._owner]) for mask in source.masks]
            expected = [oracle(task, [cells[i] for i in rows_]) for rows_ in picked]
            assert outputs.values[:, 0] == pytest.approx(expected, rel=1e-9), (name, task)
        assert name in SAFE | EXTREME or task == "by x", (name, task)
    assert cases >= 300
    assert right >= 3 * 5 * len(SAFE)


SHAPES = {
    "no rows": ({"x": pa.array([], pa.float64()), "u": pa.array([], pa.string())}, None),
    "one row": ({"x": [1.0], "u": ["a"]}, None),
    "one person": ({"x": [1.0, 2.0], "u": ["a", "a"]}, None),
    "two people": ({"x": [1.0, 2.0], "u": ["a", "b"]}, {1.0, 2.0}),
    "a thousand columns": ({"x": [1.0, 2.0], "u": ["a", "b"]}
                           | {f"c{i}": [i, i] for i in range(1_000)}, {1.0, 2.0}),
    "odd names": ({"x": [1.0, 2.0], "u": ["a", "b"], "é ☂'\"": [1, 2]}, {1.0, 2.0}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(kind, name):
    rows, expected = SHAPES[name]
    table = pa.table(rows)
    made = {
        "pandas": table.to_pandas,
        "polars": lambda: pl.from_arrow(table),
        "pyarrow": lambda: table,
        "duckdb": lambda: duckdb.from_arrow(table),
    }[kind]()
    if expected is None:
        with pytest.raises(rpac.InputError, match="Expected at least 2 units"):
            rpac.Subsets(made, unit="u")
        return
    source = rpac.Subsets(made, unit="u", worlds=8)
    assert set(rpac.simulate(source, statistics.mean("x")).values[:, 0]) == expected
    if "odd" in name:
        odd = statistics.parse('mean("é ☂\'\\"")')
        assert set(rpac.simulate(source, odd).values[:, 0]) == {1.0, 2.0}


def test_worlds_are_of_the_kind_that_came():
    for kind, make in KINDS.items():
        table = make(ROWS)
        world = rpac.Subsets(table, unit="person", worlds=8).worlds(0)[0]
        assert type(world) is type(table), kind
    lazy = rpac.Subsets(pl.LazyFrame(ROWS), unit="person", worlds=8).worlds(0)[0]
    assert isinstance(lazy, pl.LazyFrame)


BAD = {
    "no file": (lambda: frames.read("gone.csv"), "Expected a file that exists; got 'gone.csv'"),
    "suffix": (lambda: frames.read("rows.xls"), "a .csv, .parquet or .duckdb file; got 'rows.xls'"),
    "no table": (lambda: frames.table(3), "Expected a table; got int"),
    "twice": (
        lambda: frames.table(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        "Expected",
    ),
    "no column": (lambda: frames.numbers(frames.table(pd.DataFrame(ROWS)), "wage"), "got 'wage'"),
    "text": (
        lambda: frames.numbers(frames.table(pd.DataFrame(ROWS)), "dept"),
        "Expected numbers in column 'dept'; got",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    call, message = BAD[name]
    with pytest.raises(rpac.InputError, match=message):
        call()


def test_a_file_that_is_no_table(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"not parquet")
    with pytest.raises(rpac.InputError, match=r"Expected rows in 'rows.parquet'; got a .* Check"):
        frames.read(tmp_path / "rows.parquet")


def test_decimals_and_holes_become_floats():
    frame = pa.table({"d": pa.array([Decimal("1.50"), Decimal("2.25")]), "i": pa.array([1, None])})
    assert frames.numbers(frames.table(frame), "d").tolist() == [1.5, 2.25]
    found = frames.numbers(frames.table(frame), "i")
    assert found[0] == 1.0
    assert np.isnan(found[1])


def test_text_is_no_number_and_names_are_unique(monkeypatch, tmp_path):
    with pytest.raises(rpac.InputError, match="Expected numbers in column 'x'; got String"):
        frames.numbers(frames.table(pd.DataFrame({"x": ["a", "b"]})), "x")
    with pytest.raises(rpac.InputError, match=r"at least one column, with unique names; got \[\]"):
        frames.table(pd.DataFrame())
    with pytest.raises(rpac.InputError, match="Expected a table; got Table"):
        frames.table(pa.table([[1], [2]], names=["a", "a"]))
    (tmp_path / "x.csv").write_text("a\n1\n")
    monkeypatch.setattr("rpac.worlds.files._READERS", ())
    with pytest.raises(rpac.InputError, match="Expected a reader of tables; got none"):
        frames.read(tmp_path / "x.csv")


def test_the_type_of_a_column_tells_no_entry():
    """An Enum prints its categories, which are the entries of the column."""
    frame = pl.DataFrame({"c": pl.Series(["hiv", "flu"], dtype=pl.Enum(["hiv", "flu"]))})
    with pytest.raises(rpac.InputError, match="Expected numbers in column 'c'; got Enum. Convert"):
        frames.numbers(frames.table(frame), "c")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_memory_cannot_hold_is_not_opened(kind, tmp_path):
    path = tmp_path / f"nation.{kind}"
    with path.open("wb") as file:
        file.truncate(2**43)  # sparse: it takes no room on the disk
    with pytest.raises(
        rpac.TooLarge, match=r"Expected the rows of 'nation.*; got 8.8 TB, with room"
    ):
        rpac.Subsets(path, unit="id")


LAZY = {
    "polars": lambda: pl.LazyFrame({"pay": ["1", "n/a"]}).select(pl.col("pay").cast(pl.Int64)),
    "duckdb": lambda: duckdb.sql("SELECT CAST(x AS INT) AS x FROM (VALUES ('1'), ('n/a')) t(x)"),
}


@pytest.mark.parametrize("kind", LAZY)
def test_a_lazy_table_that_fails_says_nothing_of_its_rows(kind):
    with pytest.raises(rpac.InputError, match=r"Expected a table; got a \w+ that fails. Compute"):
        frames.table(LAZY[kind]())
