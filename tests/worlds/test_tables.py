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
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression

import rpac
from rpac.questions import programs, statistics
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


NAMED = {
    "mean(pay)": lambda t: t.pay.mean(),
    "sum(pay)": lambda t: t.pay.sum(),
    "count()": len,
    "count(age)": lambda t: t.age.count(),
    "median(pay)": lambda t: t.pay.median(),
    "quantile(pay, 0.9)": lambda t: t.pay.quantile(0.9),
    "histogram(age, 18, 30, 50)": lambda t: [
        t.age.between(18, 29).sum(), t.age.between(30, 49).sum(), (t.age >= 50).sum()],
    "group_by(dept, mean(pay), ops, lab)": lambda t: [
        t[t.dept == "ops"].pay.mean(), t[t.dept == "lab"].pay.mean(),
        t[~t.dept.isin(["ops", "lab"])].pay.mean()],
    "group_by(dept, count(), 'Büro ☂')": lambda t: [
        (t.dept == "Büro ☂").sum(), (t.dept != "Büro ☂").sum()],
    "correlation(pay, age)": lambda t: t.pay.corr(t.age),
    "regression(pay, age)": lambda t: [
        t.pay.mean() - t.pay.cov(t.age) / t.age.var() * t.age.mean(),
        t.pay.cov(t.age) / t.age.var()],
}  # fmt: skip


@pytest.mark.parametrize("text", NAMED)
def test_named_statistics_are_what_pandas_computes(text):
    source = rpac.Subsets(pd.DataFrame(ROWS), unit="person", worlds=8)
    statistic = statistics.parse(text)
    outputs = rpac.simulate(source, statistic)
    expected = np.array([np.ravel(NAMED[text](world)) for world in source.worlds(0)], float)
    assert outputs.values == pytest.approx(expected, rel=1e-9)
    doubled = text.startswith(("sum", "count", "histogram")) or "count()" in text
    shown = outputs.rebuild(outputs.values[0])
    numbers = list(shown.values()) if isinstance(shown, dict) else [shown]
    assert numbers == pytest.approx(expected[0] * (2 if doubled else 1))
    assert (outputs.kind == "count") == ("count" in text or "histogram" in text)


def test_sums_over_worlds_that_are_no_half_samples_are_not_scaled():
    worlds = rpac.Worlds([pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [5.0]})])
    outputs = rpac.simulate(worlds, statistics.sum("x"))
    assert [outputs.rebuild(row) for row in outputs.values] == [3.0, 5.0]


def test_estimators_and_commands_are_mechanisms():
    source = rpac.Subsets(pd.DataFrame(ROWS), unit="person", worlds=8)
    with pytest.raises(rpac.InputError, match=r"got LinearRegression.*rpac\.programs\.Fitted\("):
        rpac.simulate(rpac.Subsets(range(6)), LinearRegression())
    line = programs.Fitted(LinearRegression(), ["age"], "pay")
    named = rpac.simulate(source, statistics.regression("pay", "age"))
    assert rpac.simulate(source, line).values == pytest.approx(named.values, rel=1e-6)
    points = programs.Fitted(LinearRegression(), ["age"], "pay", "predictions", [[20.0], [60.0]])
    at_20 = named.values @ np.array([1.0, 20.0])
    assert rpac.simulate(source, points).values[:, 0] == pytest.approx(at_20, rel=1e-6)
    centres = programs.Fitted(KMeans(2, n_init=1), ["age"], what="centres")
    values = rpac.simulate(source, centres).values
    assert (np.diff(values, axis=1) > 0).all()
    awk = programs.Command("awk -F, 'NR > 1 {s += $3} END {print s / (NR - 1), NR - 1}' {file}")
    found = rpac.simulate(source, awk).values
    assert found[:, 0] == pytest.approx(
        rpac.simulate(source, statistics.mean("pay")).values[:, 0], rel=1e-5
    )
    assert rpac.simulate(source, programs.Command("wc -l")).values[:, 0] == pytest.approx(
        found[:, 1] + 1
    )


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
    "suffix": (lambda: frames.read("rows.xls"), "Expected a .csv or .parquet file; got 'rows.xls'"),
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
    "level": (lambda: statistics.quantile("x", 2), "Expected `level` between 0.0 and 1.0"),
    "empty": (lambda: statistics.mean("x", empty=math.nan), "Expected a finite number for `empty`"),
    "edges": (lambda: statistics.histogram("x", [2, 1]), "Expected at least two rising `edges`"),
    "keys": (lambda: statistics.group_by("g", statistics.mean("x"), []), "Expected keys that diff"),
    "nested": (
        lambda: statistics.group_by("g", statistics.histogram("x", [0, 1]), ["a"]),
        "Expected a statistic of one number",
    ),
    "features": (lambda: statistics.regression("y"), "Expected at least one feature; got regression"),
    "no such": (lambda: statistics.parse("mode(x)"), "Expected a statistic such as mean"),
    "syntax": (lambda: statistics.parse("mean(x"), "Known: correlation, count"),
    "code": (lambda: statistics.parse("__import__('os')"), "Expected a statistic such as mean"),
    "what": (lambda: programs.Fitted(KMeans(), ["x"], what="odds"), 'Expected "coefficients"'),
    "no fit": (lambda: programs.Fitted(3, ["x"]), "Expected an estimator with `fit`; got int"),
    "no points": (
        lambda: programs.Fitted(KMeans(), ["x"], what="predictions"),
        "Expected public points `at` for predictions only",
    ),
    "no command": (lambda: programs.Command(" "), "Expected a shell command; got ' '"),
    "timeout": (lambda: programs.Command("true", timeout=0), "Expected `timeout` between"),
    "estimator column": (
        lambda: rpac.simulate(
            rpac.Subsets(pd.DataFrame(ROWS), unit="rows"), programs.Fitted(KMeans(), ["wage"])
        ),
        "got 'wage'",
    ),
    "statistic column": (
        lambda: rpac.simulate(
            rpac.Subsets(pd.DataFrame(ROWS), unit="rows"), statistics.mean("wage")
        ),
        "Expected a column among 'person', 'dept', 'pay', 'age'; got 'wage'",
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


def test_commands_that_fail_tell_nothing():
    source = rpac.Subsets(pd.DataFrame(ROWS), unit="person", worlds=8)
    for text in ("exit 3", "echo no number", "true"):
        with pytest.raises(rpac.MechanismError):
            rpac.simulate(source, programs.Command(text))


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
    monkeypatch.setattr("rpac.worlds.tables._READERS", ())
    with pytest.raises(rpac.InputError, match="Expected a reader of tables; got none"):
        frames.read(tmp_path / "x.csv")
