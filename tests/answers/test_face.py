"""An answer as a table: a line a number, error bars beside it."""

from rpac.answers.face import table

PAY = {"value": 200.0, "noise": [150.0, 240.0], "sampling": [100.0, 300.0]}
N = {"value": 3, "noise": [0, 6], "sampling": [-1, 7]}


def test_each_number_has_a_line_with_its_names():
    head, body = table([{"dept": "lab", "pay": PAY, "n": N}])
    assert head == [
        "dept", "number", "released", "+-", "without its noise (95 %)", "mean of all worlds (95 %)",
    ]  # fmt: skip
    assert body == [
        ["lab", "pay", "200", "25 %", "150 to 240", "100 to 300"],
        ["lab", "n", "3", "100 %: too noisy to publish", "0 to 6", "-1 to 7"],
    ]


def test_columns_that_would_be_empty_are_left_out():
    bare = {"value": 7.5, "noise": None}
    assert table([{"": "a", "answer": bare}]) == (["key", "released"], [["a", "7.5"]])
    open_ = {"value": 2.0, "noise": [None, None]}
    assert table([{"m": open_}])[1] == [["2", ""]]
    fact = {"value": 1, "fact": "of the pool"}
    assert table([{"": "k", "x": fact}]) == (["key", "released"], [["k", "1 (a fact of the pool)"]])
    assert table([{"answer": "yes"}]) == (["released"], [["yes"]])
    assert table([]) == (["released"], [])


def test_code_words_are_guesses_at_the_answer():
    assert table([{"x": PAY}], words=True)[0][2] == "the answer itself (95 %)"


def test_what_is_missing_is_blank():
    head, body = table([{"dept": None, "pay": PAY}, {"dept": "x", "n": N}])
    assert [line[:3] for line in body] == [["", "pay", "200"], ["x", "n", "3"]]
