"""Who asked what, when and for how much."""

import pytest

from rpac.pictures.history import History, asked


def entry(seq, **given):
    usual = {"kind": "spend", "seq": seq, "at": "2026-11-18T20:03:37+00:00", "nano": 7_895_390,
             "key": None, "dataset": "staff", "analyst": "ann", "session": "", "version": "v",
             "promise": "person", "answer": None}  # fmt: skip
    return usual | given


TOLD = {
    "numbers": [3.5],
    "told": {
        "question": "SELECT avg(pay)\n  FROM staff",
        "value": {"a": 3.5},
        "about": {"unit": "id"},
    },  # fmt: skip
}
ENTRIES = [
    {"kind": "open", "seq": 0},
    entry(1, answer=TOLD, key="k"),
    entry(2, answer={"withheld": True}, promise="", session="s", nano=10_000_000),
    {"kind": "seal", "seq": 3},
    entry(4, promise="", version="", analyst="", dataset=""),
    entry(5, answer={"numbers": [1.0]}, session="s"),
]


def test_a_history_is_the_charges_as_plain_data():
    found = History.of(ENTRIES)
    assert [row["entry"] for row in found] == [1, 2, 4, 5]
    assert [row["what"] for row in found] == ["answer", "refusal", "charge", "answer"]
    assert [row["promise"] for row in found] == ["person", "sample", "", "person"]
    assert found[0] == {
        "entry": 1, "at": "2026-11-18T20:03:37+00:00", "key": "k", "analyst": "ann",
        "dataset": "staff", "unit": "id", "promise": "person", "session": "", "what": "answer",
        "question": "SELECT avg(pay)\n  FROM staff", "value": {"a": 3.5}, "nats": 0.00789539,
    }  # fmt: skip
    assert found[3]["value"] == [1.0]  # an older version kept no more
    assert [row["entry"] for row in History.of(ENTRIES, "s")] == [2, 5]
    assert len(found[1:3]) == 2


def test_it_is_shown_as_a_table():
    text = str(History.of(ENTRIES))
    assert text == repr(History.of(ENTRIES))
    head, first, second, *rest = text.splitlines()
    named = ["entry", "when", "who", "dataset", "unit", "promise", "nats", "question"]
    assert head.split() == named
    told = ["1", "2026-11-18", "20:03", "ann", "staff", "id", "person", "0.00789539"]
    assert first.split()[:8] == told
    assert first.endswith("SELECT avg(pay) FROM staff")
    assert second.split()[-2:] == ["0.01", "(refusal)"]
    assert rest[0].split() == [
        "4",
        "2026-11-18",
        "20:03",
        "-",
        "-",
        "-",
        "-",
        "0.00789539",
        "(charge)",
    ]
    assert "<td>SELECT avg(pay) FROM staff</td>" in History.of(ENTRIES)._repr_html_()
    assert str(History([])) == "Nothing was asked."


def test_long_histories_and_questions_are_cut_and_nothing_moves_the_cursor():
    rows = [asked("x" * 99, 1.0, 0.1, entry=i) for i in range(25)]
    text = str(History(rows))
    assert text.count("x" * 57 + "...") == 20
    assert text.endswith("(5 earlier ones are left out)")
    assert "x" * 58 not in text
    odd = str(History([asked("a\x1b[2Jb", 1.0, 0.1, analyst="\x1b]0;")]))
    assert "\x1b" not in odd
    assert "a?[2Jb" in odd


@pytest.mark.parametrize("question", ["<script>", "a & b"])
def test_html_is_escaped(question):
    assert question not in History([asked(question, 1.0, 0.1)])._repr_html_()
