"""The verb `debug`: errors in full for the owner, and nothing for anybody else."""

import pickle
import sqlite3
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac._base.sealed import publish
from rpac.front import debug as room
from rpac.front.debug import debug
from rpac.front.trial import MARK

SECRET = "diagnosis-of-p17"
TABLE = pd.DataFrame(
    {"id": range(60), "pay": np.arange(60.0), "note": ["x"] * 17 + [SECRET] + ["x"] * 42}
)  # fmt: skip
POOL = rpac.Subsets(TABLE, "id", worlds=8)
PEOPLE = rpac.Presence(TABLE, "id", middle=0.0, blocks=4, schema={"note": {"type": "text"}})


def wrong(rows):
    return rows["pya"].mean()


def mean_pay(rows):
    return rows["pay"].mean()


@pytest.mark.parametrize("source", [POOL, PEOPLE], ids=["sample", "person"])
def test_an_error_is_shown_in_full_and_from_the_function_on(source):
    found = debug(wrong, source)
    assert not found.fine
    assert "KeyError: 'pya'" in found.traceback
    assert 'rows["pya"].mean()' in found.traceback
    assert "front/debug.py" not in found.traceback
    assert found.on == "made-up rows"
    assert str(found).startswith(MARK)
    assert "KeyError" in found._repr_html_()
    assert repr(found) == "Trial(an error; print it: owner only)"


def test_what_works_is_described_without_an_answer():
    def stats(rows):
        return {"mean": rows["pay"].mean(), "most": rows["pay"].max()}

    found = debug(stats, POOL)
    assert found.fine
    assert found.answer == "dict with 2 numbers: mean, most"
    assert (found.agrees, found.changed, found.reads, found.runs) == (True, (), ("pay",), 8)
    text = str(found)
    assert "8 calls: about" in text
    assert repr(found) == "Trial(nothing in the way; print it: owner only)"
    value = stats(TABLE)
    assert not any(str(number) in text for number in value.values())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda rows: 1.0, "a number"),
        (lambda rows: 3, "a whole number"),
        (lambda rows: "high", "a label"),
        (lambda rows: np.eye(2), "array of shape (2, 2) with 4 numbers"),
        (lambda rows: rows[["pay"]].head(2), "frame with 2 numbers"),
    ],
)
def test_forms_in_words(function, said):
    assert debug(function, POOL).answer == said


@pytest.mark.parametrize("source", [POOL, PEOPLE], ids=["sample", "person"])
def test_a_form_that_depends_on_the_rows_is_seen_on_made_up_ones(source):
    found = debug(lambda rows: np.asarray(rows["pay"])[np.asarray(rows["pay"]) > 5.0], source)
    assert not found.fine
    assert found.on == "made-up rows, others"
    assert "got forms that differ" in found.problems[0]


def test_as_many_numbers_as_rows_are_one_form_where_all_halves_have_as_many():
    assert debug(lambda x: x, rpac.Subsets(np.arange(10.0))).fine
    found = debug(lambda x: x, rpac.Subsets(np.arange(11.0)))
    assert found.on == "made-up rows, fewer"


def test_a_function_that_changes_its_frame_is_told_which_columns():
    def shift(rows):
        rows["pay"] -= 1
        rows["new"] = 0
        return rows["pay"].mean()

    found = debug(shift, POOL)
    assert found.changed == ("pay", "new")
    assert "got changes of pay, new. Work on a copy" in found.problems[0]
    before = TABLE.copy()
    debug(shift, POOL, whole=True)
    debug(shift, rpac.Worlds([TABLE, TABLE.head(9)]), whole=True)
    debug(shift, POOL, on=TABLE)
    pd.testing.assert_frame_equal(TABLE, before)
    rows = np.arange(9.0)
    assert debug(lambda x: x.sort() or x[0], rpac.Subsets(rows[::-1]), whole=True).changed
    assert debug(lambda x: x.append(1) or 1.0, rpac.Subsets([1, 2, 3, 4])).changed == ("the list",)


def test_an_answer_that_changes_by_itself_is_seen():
    count = iter(range(99))
    found = debug(lambda rows: float(next(count)), POOL)
    assert found.agrees is False
    assert "got another. Drop caches" in found.problems[0]
    for turns in ([1.0, [1.0]], [1.0, None], ["a", "b"], [1.0]):
        given = iter(turns)
        assert debug(lambda rows: next(given), POOL).agrees is False  # noqa: B023
    assert debug(lambda rows: "a", POOL).agrees

    def noisy(rows, rng):
        return rng.normal()

    assert debug(noisy, POOL).agrees


@pytest.mark.parametrize("kind", [lambda t: t, pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_columns_that_are_read_are_found(kind):
    source = rpac.Subsets(kind(TABLE), "id", worlds=4)

    def both(rows):
        rows = rows.collect() if hasattr(rows, "collect") else rows
        return float(rows["pay"].sum()) + float(rows["id"].max())

    assert debug(both, source).reads == ("id", "pay")


def test_columns_are_not_looked_for_where_calls_are_long(monkeypatch):
    monkeypatch.setattr(room, "_PATIENCE", 0.0)
    found = debug(mean_pay, POOL)
    assert found.reads is None
    assert ("columns read", "not looked for") in found.lines()


def test_warnings_are_shown_each_once():
    def warns(rows):
        for _ in range(3):
            warnings.warn("look", RuntimeWarning, stacklevel=1)
        return 1.0

    found = debug(warns, POOL)
    assert found.warned == ("RuntimeWarning: look",)
    assert ("warned", "RuntimeWarning: look") in found.lines()


def test_what_is_no_answer_is_refused_in_the_words_of_a_run():
    assert "got NaN or infinity" in debug(lambda rows: np.nan, POOL).problems[0]
    assert "got None. Did it forget" in debug(lambda rows: None, POOL).problems[0]


# --- on what --------------------------------------------------------------------------------------


def quotes(rows):
    found = [entry for entry in rows["note"] if entry != "x"]
    raise ValueError(f"cannot read {found}")


def test_rows_of_a_private_table_are_looked_at_only_if_it_is_said(capfd):
    assert SECRET not in str(debug(quotes, PEOPLE))
    whole = debug(quotes, PEOPLE, whole=True)
    assert SECRET in whole.traceback
    assert whole.on == "ALL ROWS OF THE DATA"
    assert capfd.readouterr() == ("", "")  # it is returned, never printed or logged
    assert SECRET not in repr(whole)
    with pytest.raises(rpac.InputError, match="sealed Trial"):
        pickle.dumps(whole)
    with pytest.raises(rpac.InputError, match="got sealed Trial"):
        publish({"found": whole})


def test_nothing_is_written_charged_or_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rpac.release.draw.draw_world", None)
    with rpac.Ledger(tmp_path / "books.db", budget=1.0, anchor=tmp_path / "anchor") as ledger:
        before, files = ledger.spent, sorted(tmp_path.rglob("*"))
        for source in (POOL, PEOPLE):
            debug(quotes, source, whole=True)
            debug(mean_pay, source)
        assert ledger.spent == before
        assert {*sorted(tmp_path.rglob("*"))} <= {*files}
    with sqlite3.connect(tmp_path / "books.db") as books:
        assert SECRET not in "".join(books.iterdump())


def test_half_samples_and_blocks_are_tried_on_the_whole_data():
    def few(rows):
        if len(rows) < 60:
            raise ValueError("too few rows")
        return 1.0

    assert debug(few, POOL).fine
    found = debug(few, POOL, whole=True)
    assert (found.on, "too few rows" in found.traceback) == ("world 1 of 8", True)
    found = debug(few, PEOPLE, whole=True)
    assert found.on.startswith("block 1 of 4, of ")
    found = debug(lambda rows: np.ones(len(rows)), POOL, whole=True)
    assert "the same form of answer in every world" in found.problems[0]
    assert debug(mean_pay, POOL, whole=True).on == "ALL ROWS OF THE DATA"


def test_a_public_table_may_be_passed(tmp_path):
    seen = []

    def keep(rows):
        seen.append(sorted(rows["pay"]))
        return 1.0

    public = pd.DataFrame({"id": [1, 2], "pay": [7.0, 8.0], "note": ["a", "b"]})
    assert debug(keep, POOL, on=public).on == "the table that was passed"
    path = tmp_path / "public.csv"
    public.to_csv(path, index=False)
    debug(keep, POOL, on=str(path))
    debug(keep, PEOPLE, on=public)
    assert [one for one in seen if one != [7.0, 8.0]] == []
    assert debug(lambda x: x + 1, rpac.Worlds([1.0, 2.0]), on=5.0).fine


def test_lists_of_worlds_and_samplers_need_a_word():
    worlds = rpac.Worlds([1.0, 2.0])
    draws = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=40)
    for source in (worlds, draws):
        with pytest.raises(rpac.InputError, match="list of rows; got .*whole=True, on your own"):
            debug(lambda x: x, source)
        assert debug(lambda x: x, source, whole=True).fine
    assert debug(lambda x: x, draws, whole=True).runs == 40
    assert debug(lambda x: 1 / (x - 2.0), worlds, whole=True).on == "world 2 of 2"


def test_only_declared_columns_are_there_for_a_function_that_declares_them():
    def one(rows):
        return float(len([*rows]))

    one.reads = ("pay",)
    assert debug(one, POOL).fine
    assert debug(one, POOL, whole=True).fine
    one.reads = ("pay", "pya")
    with pytest.raises(rpac.InputError, match="a column among 'id', 'pay', 'note'; got 'pya'"):
        rpac.simulate(POOL, one)
    assert "got 'pya'" in debug(one, PEOPLE).problems[0]


# --- what person asks beside ---------------------------------------------------------------------


def _travels(form):
    def function(rows):
        return form

    return function


def test_a_middle_that_is_missing_or_of_another_form_is_told():
    bare = rpac.Presence(TABLE, "id", blocks=4)
    assert "as its middle; got none. Declare one" in debug(_travels(1.0), bare).problems[0]
    found = debug(_travels([1.0, 2.0]), PEOPLE)
    assert "form of its middle (scalar), in a process of its own" in found.problems[0]
    assert "got array of shape (2,) with 2 numbers, which counts as none" in found.problems[0]
    fine = debug(_travels(1.0), PEOPLE)
    assert fine.fine
    assert fine.runs == 4
    assert "which counts as none" in debug(_travels("label"), PEOPLE).problems[0]


def test_a_function_that_cannot_leave_this_process_is_told(tmp_path):
    path = str(tmp_path / "note")

    def writes(rows):
        with open(path, "w") as file:
            file.write("x")
        return 1.0

    found = debug(writes, PEOPLE)
    assert "it may write no file" in found.problems[0]
    names = rpac.Presence(TABLE, "id", middle=0.0)
    assert (
        "one that names the whole table" in debug(lambda r: TABLE["pay"].mean(), names).problems[0]
    )


def test_guarded_functions_show_what_the_sentinel_hides():
    assert "KeyError" in debug(rpac.guarded(wrong, 0.0), POOL).traceback


def test_estimators_and_commands_are_tried_too():
    from sklearn.linear_model import LinearRegression

    line = rpac.programs.Fitted(LinearRegression(), ["id"], "pay")
    assert debug(line, POOL).answer == "array of shape (2,) with 2 numbers"
    typo = rpac.programs.Fitted(LinearRegression(), ["idd"], "pay")
    assert "got 'idd'" in debug(typo, POOL).problems[0]
    failed = debug(rpac.programs.Command("echo no such thing >&2; exit 3"), POOL)
    assert "It printed for its errors:\nno such thing" in failed.traceback
    slow = debug(rpac.programs.Command("echo early >&2; sleep 5", timeout=0.3), POOL)
    assert "TimeoutExpired" in slow.traceback


def test_vectorized_functions_get_a_stack_of_one():
    @rpac.vectorized
    def means(stack):
        return stack.mean(axis=1)

    assert debug(means, rpac.Subsets(np.ones((9, 2)), worlds=4)).answer.startswith(
        "array of shape (2,)"
    )


def test_time_is_told():
    def slow(rows):
        time.sleep(0.02)
        return 1.0

    found = debug(slow, rpac.Subsets(np.arange(9.0), worlds=6))
    assert found.seconds >= 0.02


def test_refusals():
    with pytest.raises(rpac.InputError, match="callable mechanism and a Source; got int and Subs"):
        debug(3, POOL)
    with pytest.raises(rpac.InputError, match="a table to try it on, or whole=True; got both"):
        debug(len, POOL, on=TABLE, whole=True)
    database = rpac.Database({"t": TABLE}, unit="id")
    with pytest.raises(rpac.InputError, match="a table for a function of its rows; got a database"):
        debug(len, database.presence)
    with pytest.raises(rpac.InputError, match="a list of rows; got Subsets"):
        debug(len, database.source)


def test_a_refusal_because_of_data_names_the_verb():
    assert "rpac.debug(function, source)" in str(rpac.Withheld())
    with pytest.raises(rpac.MechanismError, match=r"rpac\.debug\(mechanism, source\) shows it"):
        rpac.simulate(POOL, wrong)
