"""Entries are read one by one: nobody's row changes how another's is read, and none is refused."""

import datetime as dt
import gzip
import math
import random
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv

import rpac
from rpac.person.entries import Entries, number, text

UTC, EAST = dt.UTC, dt.timezone(dt.timedelta(hours=1))


class Hostile:
    """An entry that can be neither compared nor spelled."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError

    def __str__(self):
        raise RuntimeError


ODD = [
    None, math.nan, math.inf, "", "  ", "nan", "NULL", "01", "1e3", "1_000", True, False, "TRUE",
    -0.0, 2**60 + 1, str(2**60 + 1), 10**400, "9" * 5_000, Decimal("1.50"), Decimal("sNaN"),
    Decimal("NaN"), Fraction(1, 3), 1j, b"12", np.float32(0.1), np.int64(7), np.bool_(True),  # noqa: FBT003
    np.array([1, 2]), np.array(5), pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), np.datetime64("NaT"),
    dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 0, tzinfo=UTC),
    dt.datetime(2020, 1, 1, 1, tzinfo=EAST), dt.timedelta(1), [1, 2], (1, [2]), {"a": 1}, {1},
    object, Hostile(), "\x00", "\ud800", 'a"b',
]  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        (3, 3.0), ("3", 3.0), (" 1.50 ", 1.5), (True, 1.0), (np.bool_(False), 0.0), ("1e3", 1e3),  # noqa: FBT003
        (Decimal("1.5"), 1.5), (Fraction(1, 4), 0.25), (np.float32(0.5), 0.5),
    ],
)  # fmt: skip
def test_a_number_is_what_reads_as_one(entry, wanted):
    assert number(entry) == wanted


@pytest.mark.parametrize(
    "entry",
    [None, "", "x", "nan", "inf", math.inf, 10**400, Decimal("sNaN"), pd.NA, pd.NaT, [1], b"12",
     np.array([1.0]), 1j, Hostile(), dt.date(2020, 1, 1)],
)  # fmt: skip
def test_everything_else_is_missing(entry):
    assert math.isnan(number(entry))


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        (1, "1"), (1.0, "1"), ("01", "1"), ("1.0", "1"), (np.int8(1), "1"), (Decimal("1.00"), "1"),
        (-0.0, "0"), (0.1, "0.1"), ("0.10", "0.1"), (np.float32(0.1), "0.1"), (True, "true"),
        ("True", "true"), (np.bool_(False), "false"), (" lab", "lab"), ("", None), (None, None),  # noqa: FBT003
        (math.nan, None), (pd.NaT, None), (pd.NA, None), (Decimal("sNaN"), None), ("nan", "nan"),
        (math.inf, "inf"), (2**60 + 1, str(2**60 + 1)), (str(2**60 + 1), str(2**60 + 1)),
        (1e16, "1" + "0" * 16), (1e22, "1e+22"), ("9" * 5_000, "9" * 5_000),
        (np.array([1, 2]), None), (Hostile(), None), (dt.date(2020, 1, 1), "2020-01-01"),
    ],
)  # fmt: skip
def test_text_has_one_spelling(entry, wanted):
    assert text(entry) == wanted


def same_numbers(one, two):
    return np.array_equal(one, two, equal_nan=True)


def test_an_entry_is_read_alike_whatever_stands_beside_it():
    """Every odd entry beside every other, in lists and in frames: each as it is alone."""
    rng = random.Random(0)
    kinds = (
        (lambda entries: [[entry] for entry in entries], "0"),
        (lambda entries: pd.DataFrame({"a": pd.Series(entries, dtype=object)}), "a"),
    )
    for made, name in kinds:
        alone = [(number(entry), Entries(made([entry])).texts(name)[0]) for entry in ODD]
        for _ in range(60):
            order = rng.sample(range(len(ODD)), rng.randrange(1, len(ODD)))
            read = Entries(made([ODD[i] for i in order]))
            assert same_numbers(read.numbers(name), [alone[i][0] for i in order])
            assert read.texts(name) == [alone[i][1] for i in order]
            assert len(read.owners(name)) == read.size == len(order)


WRITTEN = {
    "truths": ["True", "False", "TRUE", "false"], "whole": ["1", "02", "-3", "+4"],
    "numbers": ["1.50", "2e3", "0.1", "-0.0"], "days": ["2020-01-02", "1999-12-31"],
    "moments": ["2020-01-02 00:00:00", "1999-12-31 10:00:00"],
    "moments of ISO": ["2020-01-02T01:02:03", "2020-01-02T01:02:03.5", "2020-01-02T00:00:00"],
    "minutes": ["2020-01-02T01:02", "2020-01-02 01:00"],
    "moments of a zone": ["2020-01-02T01:02:03Z", "2020-01-02T00:00:00+02:00"],
    "times": ["10:00:00", "11:30:00", "1:00:00"], "small": ["1e5", "1E5", "1e-7", "100000"],
    "missing": ["NA", "null", "None", "x"], "padded": [" 1", " 2", "3 ", "4"],
    "endless": ["inf", "Infinity", "1", "-inf"], "words": ["yes", "no", "Y", "t"],
    "long": ["0.1234567890123456789", "123456789.123456789", "1.7976931348623157e308", "5e-324"],
}  # fmt: skip
BESIDE = (
    "maybe", "", "1.5", "true", "2020-01-01", "1e400", "-5", "0x10", "2020-01-01 10:00:00", "9" * 19
)  # fmt: skip
READERS = {
    "pandas": pd.read_csv,
    "pandas, dates": lambda file: pd.read_csv(  # which makes today's of times of day
        file, parse_dates=["v"] if "p0,2020-" in file.read_text() else False
    ),
    "pandas, nullable": lambda file: pd.read_csv(file, dtype_backend="numpy_nullable"),
    "pandas, Arrow": lambda file: pd.read_csv(file, dtype_backend="pyarrow"),
    "polars": lambda file: pl.read_csv(file, infer_schema_length=None),
    "polars, dates": lambda file: pl.read_csv(file, infer_schema_length=None, try_parse_dates=True),
    "Arrow": lambda file: csv.read_csv(file),
    "DuckDB": lambda file: duckdb.sql(
        f"SELECT * FROM read_csv('{file}', header=true, sample_size=-1)"
    ).to_arrow_table(),
    "a path": str,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.filterwarnings("ignore:Could not infer format:UserWarning")
def test_what_a_reader_makes_of_a_column_does_not_show(reader, tmp_path):
    """Programs that read files take a column's type from all its entries; one is odd."""
    file = tmp_path / "t.csv"

    def read(entries):
        file.write_text("".join(f"p{i},{entry}\n" for i, entry in enumerate(["v", *entries])))
        found = Entries(READERS[reader](file))
        return found.numbers("v")[: len(written)], found.texts("v")[: len(written)]

    for written in WRITTEN.values():
        numbers, texts = read(written)
        for odd in BESIDE:
            again = read([*written, odd])
            assert same_numbers(again[0], numbers), (written, odd)
            assert again[1] == texts, (written, odd)


def test_an_inferred_type_would_be_noticed():
    """What NumPy makes of a list depends on one word in it: digits that float64 has not."""
    plain, one_word = [True, 2**60 + 1], [True, 2**60 + 1, "x"]
    assert same_numbers(Entries(plain).numbers("0"), Entries(one_word).numbers("0")[:2])
    assert Entries(plain).texts("0") == Entries(one_word).texts("0")[:2]
    inferred = [np.asarray(listed) for listed in (plain, one_word)]
    assert [*map(text, inferred[0])] != [*map(text, inferred[1])][:2]
    assert Entries(inferred[0]).texts("0") == Entries(inferred[1]).texts("0")[:2]


def test_equal_moments_have_one_spelling():
    """A reader may tell all moments of a column in universal time, or none."""
    early, late = dt.datetime(2020, 1, 1, 0, tzinfo=UTC), dt.datetime(2020, 1, 1, 1, tzinfo=EAST)
    for entry in (early, late, "2020-01-01T01:00:00.0+01:00", "2020-01-01 00:00Z"):
        assert text(entry) == "2020-01-01 00:00:00+00:00"
    assert text("2020-01-01T25:00") == "2020-01-01T25:00"  # which is no moment
    spelled = {"9:05": "09:05:00", "9:05:00.50": "09:05:00.500000", "9:75": "9:75"}
    assert [*map(text, spelled)] == [*spelled.values()]
    assert text("0001-01-01T00:00+02:00") == "0001-01-01T00:00+02:00"  # before all years


LARGE = 2**60 + 1


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: pd.DataFrame({"a": pd.array(x, dtype="Int64")}),
        lambda x: pl.DataFrame({"a": x}),
        lambda x: pl.DataFrame({"a": x}).lazy(),
        lambda x: pa.table({"a": x}),
        lambda x: duckdb.from_arrow(pa.table({"a": x})),
        lambda x: pl.DataFrame({"a": [None if v is None else str(v) for v in x]}),
        lambda x: pl.DataFrame({"a": [None if v is None else Decimal(v) for v in x]}),
    ],
)
def test_a_missing_entry_leaves_the_others_as_they_are(make, missing):
    """Integers beside a missing one become floats in many libraries, and large ids run together."""
    entries = [LARGE, LARGE - 1, 5, *([None] if missing else [])]
    read = Entries(make(entries))
    assert read.texts("a")[:3] == [str(LARGE), str(LARGE - 1), "5"]
    assert same_numbers(read.numbers("a")[:3], [float(LARGE), float(LARGE - 1), 5.0])
    assert read.owners("a").tolist() == [0, 1, 2, *([-1] if missing else [])]


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, bool, object, "U5", np.uint8])
def test_arrays_of_all_types_read_alike(dtype):
    read = Entries(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert read.columns == ["0", "1"]
    assert read.texts("1") == ["0", "1"]
    assert read.numbers("0").tolist() == [1.0, 0.0]


def test_arrays_and_lists_of_any_shape():
    assert Entries(np.zeros((0, 3))).columns == ["0", "1", "2"]
    assert Entries(np.zeros((2, 2, 2))).columns == ["0", "1", "2", "3"]
    assert Entries(np.array(5)).size == 1
    assert Entries(np.zeros((4, 0))).size == 4
    assert Entries([]).size == 0
    assert Entries(range(3)).numbers("0").tolist() == [0, 1, 2]
    ragged = Entries([(1, 2), [3], np.array([4, 5, 6]), 7])
    assert ragged.texts("0") == ["1", "3", "4", "7"]
    assert ragged.texts("1") == ["2", None, "5", None]
    assert np.isnan(Entries(np.array([1.0, np.inf])).numbers("0")[1])


def test_unknown_columns_are_refused():
    with pytest.raises(rpac.InputError, match="a column among '0', '1'; got 'x'"):
        Entries(np.zeros((2, 2))).of("x")


# --- files ----------------------------------------------------------------------------------------


def write(tmp_path, body, name="t.csv"):
    path = tmp_path / name
    data = body if isinstance(body, bytes) else body.encode()
    path.write_bytes(gzip.compress(data) if name.lower().endswith("gz") else data)
    return path


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.csv.gz", "T.CSV.GZ"])
def test_files_are_read_as_they_are_written(tmp_path, name):
    body = '\ufeffid, pay \n01,2.5\n,x\n\n7,"a,\nb""c",9\n8\n'
    read = Entries(write(tmp_path, body, name))
    assert read.columns == ["id", "pay"]
    assert read.texts("id") == ["1", None, "7", "8"]
    assert read.of("pay") == ["2.5", "x", 'a,\nb"c', None]
    assert read.owners("id").tolist() == [0, -1, 1, 2]
    assert Entries(str(write(tmp_path, body, name))).size == 4


@pytest.mark.parametrize(
    "row",
    [b"5,x", b"5", b"5,1,2,3,4", b"", b",", b"5,\xff\xfe", b"5,\xe2\x82", b"5,a\x00b",
     b"5," + b"9" * 300_000, b'5,"a,\nb"', b'5,a"b', b"5,nan", b"5,True", b"5,1e999", b'5,"a""'],
)  # fmt: skip
def test_nobodys_row_changes_how_others_are_read(tmp_path, row):
    """Words, bytes of no encoding, long and short rows; the last is closed by its own quote."""
    if row == b'5,"a""':
        row += b'"'
    others = [b"1,10", b"2,0.5", b"03,30"]
    plain = Entries(write(tmp_path, b"\n".join([b"id,pay", *others, b""]), "plain.csv"))
    for at in range(4):
        lines = [*others[:at], row, *others[at:]]
        read = Entries(write(tmp_path, b"\n".join([b"id,pay", *lines, b""])))
        kept = [i for i, word in enumerate(read.texts("id")) if word in {"1", "2", "3"}]
        assert same_numbers(read.numbers("pay")[kept], plain.numbers("pay"))
        assert [read.texts("pay")[i] for i in kept] == plain.texts("pay")


def test_a_reader_that_infers_types_would_be_noticed(tmp_path):
    """pandas reads 03 as 3, until somebody's word makes text of the column."""
    seen = [
        pd.read_csv(write(tmp_path, f"id,g\n1,03\n2,{g}\n"))["g"].tolist()[0] for g in ("4", "x")
    ]
    assert [str(g) for g in seen] == ["3", "03"]
    read = [Entries(write(tmp_path, f"id,g\n1,03\n2,{g}\n")).texts("g")[0] for g in ("4", "x")]
    assert read == ["3", "3"]


@pytest.mark.parametrize(
    ("body", "got"),
    [
        ("", r"none in '.*csv'. Write their names in its first line."),
        ("a,a\n1,2\n", r"\['a', 'a'\]. Rename them."),
        ("\n", "none in"),
    ],
)
def test_files_without_names_are_refused(tmp_path, body, got):
    with pytest.raises(rpac.InputError, match=f"one column, with unique names; got {got}"):
        Entries(write(tmp_path, body))


def test_files_with_names_alone_are_empty(tmp_path):
    read = Entries(write(tmp_path, "id,pay\n"))
    assert (read.size, read.columns, read.texts("pay")) == (0, ["id", "pay"], [])


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(rpac.InputError, match=r"a file that exists; got 'no.csv'"):
        Entries(tmp_path / "no.csv")


def test_parquet_files(tmp_path):
    pl.DataFrame({"a": [1, None]}).write_parquet(tmp_path / "t.parquet")
    assert Entries(tmp_path / "t.parquet").texts("a") == ["1", None]


# --- what a library cannot show -------------------------------------------------------------------


def odd_columns():
    """Columns of two entries each, the second of which raises where all are read at once."""
    import duckdb
    import polars as pl
    import pyarrow as pa

    late = pa.array([0, 253402300799 * 10**6], pa.timestamp("us", tz="Europe/Paris"))
    days = pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes()),
                         pa.py_buffer(b"a\xff")])  # fmt: skip
    yield pa.table({"x": late})
    yield pl.from_arrow(pa.table({"x": late}))
    yield pa.table({"x": days})
    yield pl.from_arrow(pa.table({"x": days}))
    yield pa.table({"x": broken})
    yield pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([late])))})
    yield duckdb.sql("SELECT DATE '1970-01-01' AS x UNION ALL SELECT DATE 'infinity'")


@pytest.mark.parametrize("i", range(7))
def test_what_cannot_be_shown_is_missing_and_changes_no_other(i, capfd):
    table = [*odd_columns()][i]
    first, second = Entries(table).texts("x")
    assert second is None
    assert first == (
        "a" if i == 4 else "1970-01-01" if i in (2, 3, 6) else "1970-01-01 00:00:00+00:00"
    )  # noqa: E501
    assert np.isnan(Entries(table).numbers("x")).all()
    assert capfd.readouterr() == ("", "")


def test_parquet_is_read_without_looking_at_entries(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    late = pa.array([0, 253402300799 * 10**6], pa.timestamp("us", tz="Europe/Paris"))
    parquet.write_table(pa.table({"id": [1, 2], "x": late}), tmp_path / "t.parquet")
    assert Entries(tmp_path / "t.parquet").texts("x")[1] is None
    assert Entries(tmp_path / "t.parquet").library == "polars"
    (tmp_path / "u.parquet").write_text("none")
    with pytest.raises(rpac.InputError, match="rows in 'u.parquet'; got a"):
        Entries(tmp_path / "u.parquet")


def test_names_are_checked_without_reading():
    class Unread:
        columns = ("x",)

    entries = Entries(pd.DataFrame({"x": [1]}))
    entries._frame = Unread()
    entries.check("x")
    with pytest.raises(rpac.InputError, match="a column among 'x'; got 'y'"):
        entries.check("y")


def test_numbers_of_numpy_are_spelled_as_one_missing_entry_would_make_them():
    large = 2**53 + 1
    whole, holes = pd.DataFrame({"x": [large]}), pd.DataFrame({"x": [large, None]})
    assert Entries(whole).texts("x")[0] == Entries(holes).texts("x")[0] == str(2**53)
    assert Entries(np.array([large])).texts("0") == [str(2**53)]
    for words in (pd.DataFrame({"x": [str(large), "x"]}), np.array([[large], ["x"]])):
        assert Entries(words).texts(words.columns[0] if hasattr(words, "columns") else "0") == [
            str(2**53), "x",
        ]  # fmt: skip
    kept = pd.DataFrame({"x": pd.array([str(large), "x"], "string")})  # by declaration
    assert Entries(kept).texts("x") == [str(large), "x"]
    assert Entries(pd.DataFrame({"x": ["9" * 400, "x"]})).texts("x") == ["inf", "x"]


def test_whole_numbers_are_spelled_alike_whatever_stands_beside_them():
    ids = [2**53 + i for i in range(4)]
    wanted = Entries(pd.DataFrame({"x": ids})).texts("x")
    for more in ("x", 2**64, 0.5, None):
        mixed = pd.DataFrame({"x": pd.Series([*ids, more], dtype=object)})
        assert Entries(mixed).texts("x")[:4] == wanted
        assert Entries(pd.DataFrame({"x": [*ids, more]})).texts("x")[:4] == wanted
    assert Entries(pl.DataFrame({"x": ids})).texts("x") == [str(i) for i in ids]
    large = pl.DataFrame({"x": [*ids, 2**64]}, strict=False)  # of 128 bits
    assert Entries(large).numbers("x").tolist()[:4] == [float(i) for i in ids]


def test_things_with_parts_are_missing():
    """One person's part would show in everybody's text."""
    for entries in ([{"a": 1}, {"b": 1}], [[1], [1.0]]):
        assert Entries(pa.table({"x": pa.array(entries)})).texts("x") == [None, None]
    assert text(pd.Interval(0, 1)) is None
    assert (text(b"x"), text(np.timedelta64(1, "D")), text(dt.timedelta(1))) == ("b'x'", None, None)


def test_one_imaginary_entry_changes_no_other():
    found = Entries(pd.DataFrame({"x": [1, 2, 1j]}))
    assert found.numbers("x").tolist()[:2] == [1.0, 2.0]
    assert np.isnan(found.numbers("x")[2])
    assert found.texts("x")[:2] == ["1", "2"]


def test_one_hour_changes_no_other_day():
    found = Entries(np.array(["2020-01-01", "2020-01-01T05"], "datetime64"))
    assert found.texts("0") == ["2020-01-01", "2020-01-01 05:00:00"]


def test_days_have_one_spelling():
    day = "2020-01-01"
    for entry in (day, "2020-01-01 00:00:00", "2020-01-01T00:00:00", dt.date(2020, 1, 1),
                  dt.datetime(2020, 1, 1), pd.Timestamp(day),
                  np.datetime64(day, "ns")):  # fmt: skip
        assert text(entry) == day
    assert text("2020-01-01 12:00:00") == "2020-01-01 12:00:00"


def test_lists_of_rows_have_no_width_of_their_own():
    for rows in ([], [[9.0]], [[9.0], [1.0, 2.0]], [[1.0, 2.0], [9.0]], [3.0]):
        entries = Entries(rows)
        assert len(entries.numbers("1")) == len(entries.texts("7")) == len(rows)
    assert Entries([[9.0], [1.0, 2.0]]).numbers("1").tolist()[1:] == [2.0]
    assert Entries([[1.0]]).texts("x") == [None]  # nobody's row decides which names there are


def test_lists_of_named_rows():
    rows = [{"a": 1}, {"b": "2", "a": None}, [7], 5]
    assert Entries(rows).columns == ["0", "a", "b"]
    assert Entries(rows).texts("a") == ["1", None, None, None]
    assert Entries(rows).numbers("b").tolist()[1] == 2.0
    assert Entries(rows).texts(0) == [None, None, "7", "5"]
    assert Entries([{}]).columns == ["0"]


def test_what_an_array_masks_is_missing():
    masked = np.ma.masked_array([[1.0, 2.0]], [[False, True]])
    assert np.isnan(Entries(masked).numbers("1")).all()


def test_lengths_of_time_are_no_numbers():
    assert math.isnan(number(np.timedelta64(5, "s")))


@pytest.mark.parametrize("more", ["x", 2.5, None])
def test_truths_of_an_array_are_read_alike_whatever_stands_beside_them(more):
    """NumPy makes numbers of truths beside a number, and words beside a word."""
    alone = Entries(np.array([True, False]))
    for beside in (np.array([True, False, more]), np.array([True, False, more], object)):
        read = Entries(beside)
        assert read.texts("0")[:2] == alone.texts("0") == ["1", "0"]
        assert read.numbers("0").tolist()[:2] == alone.numbers("0").tolist() == [1.0, 0.0]
    assert alone.spelled(True) == alone.spelled("True") == "1"  # noqa: FBT003
    assert Entries([True]).spelled(True) == "true"  # noqa: FBT003


def test_groups_of_truths_are_found_in_arrays():
    asked = rpac.statistics.group_by("1", rpac.statistics.count(), [True, False])
    rows = np.array([[i, i % 4 == 0] for i in range(4_000)])
    words = np.array([[str(i), str(i % 4 == 0)] for i in range(4_000)])
    for table in (rows, words):
        found = rpac.privatize(asked, rpac.Presence(table, unit="0"), rpac.SuccessRate(0.9999))
        assert {key: round(n, -2) for key, n in found.value.items()} == {
            "True": 1000, "False": 3000, "other": 0,
        }  # fmt: skip


def test_text_of_bytes_is_text_in_arrays():
    read = Entries(np.array([b"lab", b"1.0", b"\xff"]))
    assert read.texts("0") == ["lab", "1", "\ufffd"]
    assert read.numbers("0").tolist()[1] == 1.0


def test_moments_have_one_spelling_however_they_are_written():
    for entry in ("2020-01-01 05:00:00", "2020-01-01T05:00:00", dt.datetime(2020, 1, 1, 5)):
        assert text(entry) == "2020-01-01 05:00:00"
    assert text("2020-01-01Tuesday") == "2020-01-01Tuesday"
