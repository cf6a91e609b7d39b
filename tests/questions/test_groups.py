"""Groups by several columns: all that are listed, a table of them, refusals by what is typed."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac import statistics as st
from rpac.questions import groups
from tests.cli.conftest import call
from tests.sql.presences import exact

KEYS = {"sex": ["f", "m"], "dept": ["lab", "ops", "hr"]}
ROWS = [("f", "lab"), ("f", "ops"), ("f", "hr"), ("m", "lab"), ("m", "ops"), ("m", "hr")]
REST = ("other", "other")


def staff(**changes):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"id": range(40), "sex": rng.choice(["f", "m", "x"], 40),
                          "dept": rng.choice(["lab", "ops", "law"], 40),
                          "pay": rng.integers(1, 9, 40).astype(float)})  # fmt: skip
    for name, entry in changes.items():
        frame[name] = frame[name].astype(object)
        frame.loc[7, name] = entry
    return frame


def by_hand(frame, function):
    sex = frame["sex"].isin(KEYS["sex"]) & frame["dept"].isin(KEYS["dept"])
    inside = [frame[(frame["sex"] == a) & (frame["dept"] == b)] for a, b in ROWS]
    return [function(part["pay"]) for part in (*inside, frame[~sex])]


def mean(pay):
    return pay.mean() if len(pay) else 0.0


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_every_group_has_a_row_and_every_key_a_column(make):
    data = make(staff())
    asked = st.group_by(["sex", "dept"], st.mean("pay"), KEYS)
    assert (asked.name, asked.reads) == ("group_by((sex, dept), mean(pay))", ("pay", "sex", "dept"))
    release = rpac.privatize(asked, rpac.Subsets(data, unit="id", worlds=8), 1.0)
    assert type(release.value) is type(data)
    shown = release.value
    columns = getattr(shown, "column_names", None) or list(shown.columns)
    assert columns == ["sex", "dept", "mean(pay)"]
    keys = zip(*(list(map(str, shown[c])) for c in columns[:2]), strict=True)
    assert list(keys) == [*ROWS, REST]


def test_half_samples_are_added_up_as_one_by_one():
    source, frame = rpac.Subsets(staff(), unit="id", worlds=8), staff()
    for inner, function in ((st.mean("pay"), mean), (st.sum("pay"), sum), (st.count(), len)):
        asked = st.group_by(("sex", "dept"), inner, keys=list(KEYS.values()))
        assert asked(frame).tolist() == pytest.approx(by_hand(frame, function))
        whole = asked.on_half_samples(source)
        alone = np.array([asked(world) for world in source.worlds(0)])
        assert whole == pytest.approx(alone)


def test_people_are_counted_in_the_group_of_all_their_keys():
    frame, source = staff(), rpac.Presence(staff(), unit="id")
    asked = st.group_by(("sex", "dept"), st.count(), KEYS).asked(source)
    value = asked.form.rebuild(asked.numbers(exact(asked.question, asked.rows())))
    assert value["count()"].tolist() == by_hand(frame, len)
    assert value["count()"].dtype == np.int64
    assert asked.form.labels[0] == "group_by((sex, dept), count()): f, lab"
    assert asked.question.groups == 7


def test_rows_of_dicts_give_rows_of_dicts():
    rows = [{"a": "1", "b": "u"}, {"a": 1.0, "b": "v"}, {"a": None, "b": "u"}]
    source = rpac.Presence(rows, unit="rows")
    release = rpac.privatize(st.group_by(("a", "b"), st.count(), [[1], ["u", "v"]]), source, 9.0)
    assert [(row["a"], row["b"]) for row in release.value] == [("1", "u"), ("1", "v"), REST]
    assert {type(row["count()"]) for row in release.value} == {int}
    ends = release.noise_interval
    assert ends[0][0]["count()"] <= release.value[0]["count()"] <= ends[1][0]["count()"]


TWINS = [{}, {"sex": "m", "pay": 1e9}, {"sex": None, "dept": None, "pay": None}, {"dept": "zoo"}]


def test_names_rows_and_books_are_those_of_the_question_whoever_is_there(tmp_path):
    """A person in no group, in a rare one, or of odd entries: nothing but numbers moves."""
    asked, seen = st.group_by(["sex", "dept"], st.mean("pay"), KEYS), set()
    for i, changes in enumerate([*TWINS, None]):
        frame = staff().drop(index=7) if changes is None else staff(**changes)
        with rpac.Ledger(tmp_path / f"{i}.db", budget=1.0) as ledger:
            release = rpac.privatize(
                asked, rpac.Presence(frame, unit="id"), rpac.SuccessRate(0.55), ledger=ledger
            )
            (row,) = ledger.history()
            booked = row["question"], row["nats"], ledger.spent
        shown = release.value[["sex", "dept"]].to_csv(), str(release.value.dtypes)
        seen.add((*shown, booked, release.certificate.distance))
    assert len(seen) == 1


BAD = {
    "no keys": (("sex", "dept"), None, "Expected keys of 'sex'; got none. List them for each:"),
    "one is missing": (("sex", "dept"), {"sex": ["f"]}, "Expected keys of 'dept'; got none."),
    "text": (("sex", "dept"), {"sex": "fm", "dept": ["a"]}, "Expected keys of 'sex'; got 'fm'."),
    "unknown": (("sex", "dept"), KEYS | {"sexx": ["f"]}, "keys of sex, dept alone; got 'sexx'."),
    "too many": (("sex", "dept"), [["f"], ["a"], ["b"]], "keys of sex, dept alone; got 3 lists."),
    "twice": (("sex", "dept"), [["f", "f"], ["a"]], "Expected keys that differ, without 'other'"),
    "other": (("sex", "dept"), [["f"], ["other"]], "Expected keys that differ, without 'other'"),
    "another column": ("sex", {"dept": ["a"]}, "Expected keys of sex alone; got 'dept'."),
    "no list": ("sex", {}, "Expected keys of 'sex'; got none. List the public groups"),
    "one column": (("sex",), [["f"]], "Expected several columns that differ; got ('sex',)."),
    "same": (("sex", "sex"), [["f"], ["m"]], "Expected several columns that differ; got"),
    "vast": (("a", "b"), [range(1000), range(1000)], "Expected at most 100000 groups; got 1000000"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    columns, keys, message = BAD[name]
    with pytest.raises(rpac.InputError, match=re.escape(message)):
        st.group_by(columns, st.count(), keys)


def test_columns_that_are_not_there_are_refused_before_rows():
    asked = st.group_by(("sex", "depp"), st.count(), [["f"], ["a"]])
    for source in (rpac.Presence(staff(), unit="id"), rpac.Subsets(staff(), unit="id", worlds=4)):
        with pytest.raises(rpac.InputError, match="a column among 'id', 'sex', 'dept', 'pay'; got"):
            rpac.privatize(asked, source, 0.5)


def test_as_it_is_typed(tmp_path):
    listed = st.parse("group_by((sex, dept), mean(pay), (f, m), (lab, '11th'))")
    assert listed.labels == (("f", "lab"), ("f", "11th"), ("m", "lab"), ("m", "11th"), REST)
    assert st.parse("group_by((sex, dept), count())", KEYS).labels == (*ROWS, REST)
    staff().to_csv(tmp_path / "staff.csv", index=False)
    words = ("--unit", "id", "--statistic", "group_by((sex, dept), mean(pay))")
    keys = ("--keys", "sex=f,m", "--keys", "dept=lab,ops")
    for promise in ((), ("--protect", "sample", "--worlds", "8")):
        code, out, err = call("release", tmp_path / "staff.csv", *words, *keys, *promise)
        assert (code, err) == (0, "")
        assert out.split()[:3] == ["sex", "dept", "mean(pay)"]
        code, _, err = call("release", tmp_path / "staff.csv", *words, *keys[:2], *promise)
        assert (code, "keys of 'dept'; got none" in err) == (1, True)


def test_labels_and_entries():
    assert groups.listed("g", {"g": ["a", 1]}) == groups.listed("g", ["a", 1]) == [["a", 1]]
    assert groups.columns_of(None) == ()
    assert groups.labels("g", [["a", 1]]) == ("a", "1", "other")
    assert groups.in_words("count()", "a") == "count(): a"
