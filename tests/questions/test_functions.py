"""Any function under the promise person: what is declared of it, and what comes back."""

import os
import time

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

import rpac
from rpac.calibrators.worst_unit import propose
from rpac.person.mechanism import Drawn
from rpac.person.source import Presence
from rpac.questions.functions import BLOCKS, FLOOR, Call, asked, by_blocks, leaving_one_out
from rpac.questions.programs import Command, Fitted

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "id": np.arange(600) % 300,
        "x": RNG.normal(2.0, 1.0, 600),
        "y": RNG.integers(0, 2, 600),
        "w": RNG.choice(["a", "b"], 600),
    }
)


def exact(mechanism, source, n_jobs=1):
    """Return the numbers of a release by blocks without noise: the mean over blocks."""
    question = by_blocks(mechanism, source, n_jobs)
    sums = question.rows().values.reshape(-1, question.question.groups).sum(axis=0)[:, None]
    none = np.zeros(0)
    return question.numbers(Drawn(none, (), none, sums, none))


def _sent_whole():
    """Return a function that travels without this module, which is slow to import."""

    def mean_x(rows):
        return rows["x"].mean()

    return mean_x


mean_x = _sent_whole()


# --- what a function is given ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (lambda t: t, mean_x),
        (pl.from_pandas, mean_x),
        (lambda t: pl.from_pandas(t).lazy(), lambda t: t.collect()["x"].mean()),
        (lambda t: pl.from_pandas(t).to_arrow(), lambda t: np.mean(t["x"].to_pylist())),
        (duckdb.from_df, lambda t: t.aggregate("avg(x)").fetchall()[0][0]),
        (lambda t: t[["id", "x"]].to_numpy(), lambda a: a[:, 1].mean()),
    ],
    ids=["pandas", "polars", "lazy", "pyarrow", "duckdb", "array"],
)
def test_functions_get_the_kind_of_table_that_they_know(kind, function):
    unit = "0" if kind(TABLE).__class__ is np.ndarray else "id"
    source = Presence(kind(TABLE), unit, middle=0.0, blocks=4)
    expected = exact(mean_x, Presence(TABLE, "id", middle=0.0, blocks=4))
    assert expected == pytest.approx([TABLE.x.mean()], abs=0.05)
    assert exact(function, source) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_functions_get_files_as_tables(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    TABLE.to_parquet(path) if suffix == "parquet" else TABLE.to_csv(path, index=False)
    source = Presence(path, "id", middle=0.0, blocks=4)
    expected = exact(mean_x, Presence(TABLE, "id", middle=0.0, blocks=4))
    assert exact(mean_x, source) == pytest.approx(expected, rel=1e-12)


def test_arrays_keep_their_shape_and_words_stay_words():
    images = RNG.normal(size=(40, 2, 3))
    found = exact(lambda a: a.shape[1:], Presence(images, middle=[0, 0], blocks=2))
    assert found.tolist() == [2.0, 3.0]
    words = np.array(["a", "b", "c", "a"] * 5)
    share = exact(lambda a: float((a == "a").mean()), Presence(words, middle=0.0, blocks=2))
    assert share == pytest.approx([0.5], abs=0.3)
    mixed = Call(len, None, None, "ndarray", (2,)).table({"0": np.ones(2), "1": ["a", None]})
    assert mixed.tolist() == [[1.0, "a"], [1.0, None]]


def test_randomness_is_seeded_by_the_block_alone():
    def random(rows, rng):
        return rng.normal()

    one, other = (
        by_blocks(random, Presence(data, middle=0.0, blocks=5)).rows().values
        for data in (np.arange(200.0), np.arange(300.0))
    )
    assert np.array_equal(one, other)
    assert len(np.unique(one)) == 5


def test_functions_of_stacks_are_asked_for_one():
    @rpac.vectorized
    def means(stack):
        return stack.mean(axis=1)

    found = exact(means, Presence(np.arange(80.0), middle=0.0, blocks=2))
    assert found == pytest.approx([40.0], abs=12)


# --- what is declared of answers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("example", "answer", "rebuilt"),
    [
        (0, 1.5, 1.5),
        (np.float64(0.0), 1.5, 1.5),
        ([0, 0], np.array([1.5, 2.5]), np.array([1.5, 2.5])),
        ([0, 0], pd.Series([1.5, 2.5]), np.array([1.5, 2.5])),
        (np.zeros((2, 2), int), np.eye(2), np.eye(2)),
        (
            pd.Series({"a": 0, "b": 0}),
            pd.Series({"a": 1.5, "b": 2.0}),
            pd.Series({"a": 1.5, "b": 2.0}),
        ),
        (pl.DataFrame({"a": [0.0]}), pl.DataFrame({"a": [1.5]}), pl.DataFrame({"a": [1.5]})),
    ],
)
def test_an_example_declares_the_form_of_real_numbers(example, answer, rebuilt):
    source = Presence(TABLE, "id", middle=example, blocks=2)
    question = by_blocks(lambda rows: answer, source)
    values = question.rows().values.reshape(2, -1)
    assert values.sum(axis=0) == pytest.approx(2 * np.ravel(np.asarray(answer, float)))
    found = question.form.rebuild(np.ravel(np.asarray(answer, float)))
    assert repr(found) == repr(rebuilt)


@pytest.mark.parametrize(
    "answer", [None, "text", True, [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], {"a": 1.0}, [1.0, np.nan]]
)
def test_another_form_is_the_middle(answer):
    source = Presence(TABLE, "id", middle=[3.0, 4.0], blocks=2)
    assert not by_blocks(lambda rows: answer, source).rows().values.any()
    assert exact(lambda rows: answer, source).tolist() == [3.0, 4.0]


def test_a_guarded_function_declares_its_sentinel_and_its_limits():
    def slow(rows):
        if rows["x"].max() > 4:
            time.sleep(60)
        return {"mean": rows["x"].mean(), "n": 1.0}

    source = Presence(TABLE, "id", blocks=6)
    guarded = rpac.guarded(slow, {"mean": 2, "n": 0}, seconds=1.0)
    question = by_blocks(guarded, source)
    start = time.monotonic()
    values = question.rows().values.reshape(6, 2)
    assert time.monotonic() - start < 30
    assert 0 < (values[:, 1] == 0).sum() < 6
    assert question.form.rebuild(np.array([2.0, 0.5])) == {"mean": 2.0, "n": 0.5}
    assert asked(guarded, source)[0].seconds == 1.0
    assert asked(rpac.guarded(slow, {"mean": 2, "n": 0}), source)[0].seconds == 600.0


def test_named_statistics_know_their_form():
    source = Presence(TABLE, "id", blocks=3)
    question = by_blocks(rpac.statistics.regression("y", "x"), source)
    assert set(question.form.rebuild(np.zeros(2))) == {"intercept", "x"}
    assert np.abs(question.rows().values).max() > 0
    total = exact(rpac.statistics.sum("x"), source)
    assert total == pytest.approx([TABLE.x.sum()])
    assert by_blocks(rpac.statistics.sum("x"), source).notes[0].startswith("sum over 3 blocks")
    with pytest.raises(rpac.InputError, match="a column among"):
        by_blocks(rpac.statistics.mean("z"), source)
    with pytest.raises(rpac.InputError, match="a column among"):
        by_blocks(rpac.statistics.group_by("z", rpac.statistics.mean("x"), ["a"]), source)


def test_estimators_know_their_form():
    source = Presence(TABLE, "id", blocks=3)
    logistic = Fitted(LogisticRegression(), ["x"], "y")
    question = by_blocks(logistic, source)
    assert question.form.labels == ("intercept", "x")
    assert np.abs(question.rows().values).min() > 0
    points = Fitted(LogisticRegression(), ["x"], "y", "predictions", [[0.0], [1.0], [2.0]])
    assert by_blocks(points, source).question.groups == 3
    centres = Fitted(KMeans(2, n_init=1), ["x"], None, "centres")
    with pytest.raises(rpac.InputError, match="an answer such as the function's own"):
        by_blocks(centres, source)
    held = Presence(TABLE, "id", blocks=3, middle=[[1.0], [3.0]])
    assert exact(centres, held) == pytest.approx([1.2, 2.8], abs=0.4)
    with pytest.raises(rpac.InputError, match="a column among"):
        by_blocks(Fitted(LogisticRegression(), ["z"], "y"), source)


def test_commands_read_a_pipe_where_no_file_may_be_written():
    awk = "awk -F, 'NR > 1 {s += $2} END {print s / (NR - 1)}'"
    source = Presence(TABLE, "id", blocks=3, middle=0.0)
    expected = exact(mean_x, source)
    assert exact(Command(awk), source) == pytest.approx(expected, rel=1e-4)
    assert exact(Command(awk + " {file}"), source) == pytest.approx(expected, rel=1e-4)
    assert exact(Command("false"), source).tolist() == [0.0]


@pytest.mark.parametrize(
    ("middle", "message"),
    [
        (None, "an answer such as the function's own, as its middle; got none"),
        ("text", "numbers of the answer's shape as its middle; got str"),
        (True, "numbers of the answer's shape as its middle; got bool"),
        ([[1], [2, 3]], "numbers of the answer's shape as its middle; got list"),
        ([np.nan], "numbers of the answer's shape as its middle; got list"),
        (object(), "numbers of the answer's shape as its middle; got object"),
    ],
)
def test_what_declares_no_form_is_refused(middle, message):
    with pytest.raises(rpac.InputError, match=message):
        by_blocks(mean_x, Presence(TABLE, "id", middle=middle))


def test_examples_of_another_size_than_announced_are_refused():
    source = Presence(TABLE, "id", middle=[0.0, 0.0, 0.0])
    with pytest.raises(rpac.InputError, match="numbers of the answer's shape"):
        by_blocks(rpac.statistics.regression("y", "x"), source)


def test_functions_are_checked_and_sql_has_no_blocks():
    with pytest.raises(rpac.InputError, match="got str. Read text with rpac.statistics.parse"):
        by_blocks("mean(x)", Presence(TABLE, "id", middle=0.0))
    with pytest.raises(rpac.InputError, match="a callable mechanism; got int"):
        by_blocks(3, Presence(TABLE, "id", middle=0.0))
    source = Presence(TABLE, "id", middle=0.0)
    source.entries = None
    with pytest.raises(rpac.InputError, match="a table for a function of its rows; got a database"):
        by_blocks(mean_x, source)


# --- the question ---------------------------------------------------------------------------------


def test_caps_floors_and_numbers_of_blocks_are_declared():
    question = by_blocks(mean_x, Presence(TABLE, "id", middle=0.0))
    assert question.way == "blocks"
    column = question.question.columns[0]
    assert (column.floor, column.cap) == (FLOOR, None)
    assert (
        question.notes[0]
        == f"mean over {BLOCKS} blocks of people, not the function of the whole table"
    )
    capped = by_blocks(mean_x, Presence(TABLE, "id", middle=1.0, caps={"answer": (0, 5)}, blocks=9))
    assert capped.question.columns[0].cap == 4.0
    assert len(capped.notes) == 2
    few = by_blocks(mean_x, Presence(TABLE, "id", middle=1.0, blocks=9))
    assert few.notes[-1].startswith("with fewer than 200 blocks")
    schema = {"answer": {"floor": 0.25, "middle": 3.0}}
    floored = by_blocks(rpac.statistics.mean("x"), Presence(TABLE, "id", schema=schema))
    assert floored.question.columns[0].floor == 0.25
    source = Presence(TABLE, "id", schema=schema, blocks=2)
    assert asked(rpac.statistics.mean("x"), source)[0].middle.tolist() == [3.0]
    halfway = Presence(TABLE, "id", caps={"answer": (0, 5)})
    assert asked(rpac.statistics.mean("x"), halfway)[0].middle.tolist() == [2.5]


def test_instead_has_the_same_question_and_its_own_statement():
    source = Presence(TABLE, "id", middle=0.0, instead={"w": ["a", "b"]})
    assert by_blocks(mean_x, source).question.moves == 2
    assert source.statement.startswith("what a given person's entries are")


def test_privatize_asks_any_function_by_blocks(capfd):
    def loud(rows):
        print(rows)
        os.write(1, b"rows")
        return rows["x"].mean()

    source = Presence(TABLE, "id", middle=2.0, blocks=50, caps={"answer": (0, 4)})
    released = rpac.privatize(loud, source, rpac.SuccessRate(0.6), n_jobs=2)
    assert abs(released.value - TABLE.x.mean()) < 9 * 2 / (0.25 * 50)
    assert released.certificate.promise == "person"
    assert capfd.readouterr().out == ""


# --- one left out at a time -----------------------------------------------------------------------


def test_a_release_given_the_level_is_near_the_answer():
    source = Presence(TABLE.head(60), "rows", middle=[0.0, 0.0])

    def f(rows):
        return [rows["x"].mean(), rows["y"].sum()]

    made = leaving_one_out(f, source, propose, n_jobs=2)
    drawn = made.given(0.5)
    numbers, scales, form, notes = made.numbers(drawn), drawn.scales, made.form, made.notes
    expected = [TABLE.x.head(60).mean(), TABLE.y.head(60).sum()]
    assert (np.abs(numbers - expected) < 9 * scales).all()
    worst = np.array([np.abs(TABLE.x.head(60) - expected[0]).max() / 59, 1.0])
    assert (scales >= worst / 0.5 * 0.99).all()
    assert (scales <= 1.1 * 1.42 * worst / 0.5).all()
    assert form.name == "array"
    assert "given the noise's own size" in notes[0]


def test_alternatives_are_checked_before_anything_runs():
    source = Presence(TABLE, "id", middle=0.0, instead={"w": ["a", "b"], "y": [0, 1]})
    with pytest.raises(rpac.InputError, match="one column in `instead`; got 2"):
        leaving_one_out(mean_x, source, propose)


@pytest.mark.parametrize("how", ["global", "closure", "default"])
def test_a_function_that_names_the_table_itself_is_refused(how):
    held = TABLE
    functions = {
        "global": lambda rows: TABLE["x"].mean(), "closure": lambda rows: held["x"].mean(),
        "default": lambda rows, all_of_it=held: all_of_it["x"].mean(),
    }  # fmt: skip
    with pytest.raises(rpac.InputError, match="one that names the whole table. Use its argument"):
        by_blocks(functions[how], Presence(TABLE, "id", middle=0.0))


def test_functions_of_a_list_see_rows_as_long_as_those_of_their_block():
    seen = []
    for rows in ([[1.0, 2.0]] * 20, [[1.0, 2.0]] * 20 + [[9.0]], [[9.0, 1.0, 7.0]] + [[1.0]] * 20):
        source = Presence(rows, way="blocks", middle=0.0, blocks=4)
        made = by_blocks(lambda part: float(np.ndim(part)), source)
        seen.append(sorted(set(made.rows().values.ravel().tolist()))[-1])
    assert seen == [2.0, 2.0, 2.0]
    flat = by_blocks(lambda part: float(np.ndim(part)), Presence([1, 2, 3], middle=0.0, blocks=2))
    assert flat.rows().values.max() == 1.0
