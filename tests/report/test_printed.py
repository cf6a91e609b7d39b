"""An answer on a terminal: numbers, how noisy they are, and what the brackets mean."""

from rpac.certificate.certificate import FACT, FACTS
from rpac.report import wording
from rpac.report.printed import NOTHING, TIDIED, answer_text

ROWS = [
    {
        "dept": d,
        "n": {"value": n, "noise": [n - 8, n + 8]},
        "pay": {"value": x, "noise": [x - 1, x]},
    }
    for d, n, x in (("lab", -3, 50.0), ("ops", 40, 8.0))
]


def test_numbers_have_their_error_in_words_and_ends():
    lines = answer_text(ROWS).splitlines()
    assert lines[0].split() == ["dept", "n", "pay"]
    assert "-3  +-270 %: too noisy to publish  [-11, 5]" in lines[1]
    assert lines[1].endswith("50  +-2 %  [49, 50]")
    assert "40  +-20 %  [32, 48]" in lines[2]
    assert wording.RELATIVE in lines
    assert "\n".join(lines).endswith(wording.NOISE_ONLY)
    assert "beyond 33 %" in wording.RELATIVE


def test_counts_may_be_shown_as_what_they_can_be():
    text = answer_text(ROWS, whole=True)
    assert "  0  beyond +-1000 %: too noisy to publish  [-11, 5]" in text
    assert TIDIED in text
    assert "50  +-2 %" in text
    assert ROWS[0]["n"]["value"] == -3


def test_labels_facts_and_samples_have_words_of_their_own():
    assert answer_text([{"answer": "yes"}]).split() == ["answer", "yes"]
    fact = answer_text([{"": "k", "x": {"value": 1, "fact": FACT}}])
    assert "1  *" in fact
    assert fact.endswith(FACTS)
    sampled = {"value": 5.0, "noise": [4, 6], "sampling": [3, 7]}
    text = answer_text([{"x": sampled}])
    assert "5  +-20 %  [4, 6]  (3, 7)" in text
    assert "( ) holds the mean answer over all samples" in text


def test_a_table_without_rows_is_said_to_be_one():
    assert answer_text([]) == answer_text([], whole=True) == NOTHING
