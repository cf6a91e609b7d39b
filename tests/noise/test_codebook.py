"""Code books: what they are, what they cost, and that they stay as they were made."""

import copy
import math
import pickle

import numpy as np
import pytest

import rpac

RNG = np.random.default_rng(11)
VALUES = RNG.normal(size=(30, 3)) * [1.0, 4.0, 0.5] + [5.0, -2.0, 0.0]
OUTPUTS = rpac.Outputs(VALUES, RNG.dirichlet(np.ones(30)))
WORDS, MATRIX = RNG.normal(size=(7, 3)), RNG.dirichlet(np.full(7, 0.5), 30)
BOOK = rpac.Codebook(WORDS, MATRIX)


def test_a_code_book_shows_its_words_and_its_matrix():
    assert BOOK.words.shape == (7, 3)
    assert BOOK.matrix.shape == (30, 7)
    assert repr(BOOK) == "Codebook(worlds=30, words=7, dim=3)"
    assert rpac.Codebook([1.0, 2.0], [[0.5, 0.5]]).words.shape == (2, 1)
    assert math.isnan(BOOK.power)  # nobody has said of which outputs


def test_its_power_is_the_mean_squared_error_on_its_outputs():
    law = rpac.tabulate(OUTPUTS, BOOK)
    joint = OUTPUTS.weights[:, None] * MATRIX
    errors = np.square(VALUES[:, None] - WORDS)
    by_hand = np.einsum("ij,ijd->d", joint, errors)
    assert law.power == pytest.approx(by_hand.sum())
    assert law.power_in(np.array([2.0, 0.0, 0.0])) == pytest.approx(4 * by_hand[0])
    found = law.error()
    bias = np.einsum("ij,ijd->d", joint, WORDS - VALUES[:, None])
    assert found["bias"] == pytest.approx(bias)
    assert np.square(found["noise"]) + np.square(bias) == pytest.approx(by_hand)
    mean = OUTPUTS.weights @ VALUES
    around = joint.sum(axis=0) @ np.square(WORDS - mean - bias)
    assert np.square(found["both"]) == pytest.approx(around)
    assert law.digest == BOOK.digest  # what is released is the same
    assert rpac.tabulate(OUTPUTS, law) is law
    other = rpac.tabulate(rpac.Outputs(VALUES + 1.0, OUTPUTS.weights), law)
    assert other.power != law.power
    even = rpac.tabulate(rpac.Outputs(VALUES), law)  # another prior has other errors
    assert even.power == pytest.approx(
        np.mean([m @ e for m, e in zip(MATRIX, errors.sum(axis=2), strict=True)])
    )


def test_equal_outputs_may_have_other_rows_and_then_leak():
    """A code book is a law of worlds: that all outputs agree is no proof that nothing is told."""
    outputs = rpac.Outputs(np.zeros((2, 1)))
    telling = rpac.Codebook([0.0, 1.0], [[0.9, 0.1], [0.1, 0.9]])
    truth = math.log(2) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    assert rpac.certify(outputs, telling).bound == pytest.approx(truth, abs=1e-9)


def test_a_certificate_says_what_a_book_costs_and_nothing_of_its_words():
    found = rpac.certify(OUTPUTS, BOOK)
    assert found.noise["power"] == pytest.approx(rpac.tabulate(OUTPUTS, BOOK).power)
    assert set(found.noise) == {"family", "dim", "words", "power", "fingerprint"}
    assert (found.noise["family"], found.noise["words"]) == ("codebook", 7)


def test_words_and_rows_stay_as_they_were_made():
    book = rpac.Codebook(WORDS, MATRIX)
    with pytest.raises(ValueError, match="read-only"):
        book.words[0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        book.tables[0] = 0
    with pytest.raises(rpac.InputError, match="stays as it was made"):
        book.tables = BOOK.tables
    mine = WORDS.copy()
    made = rpac.Codebook(mine, MATRIX)
    mine[:] = 0.0
    assert (made.words == WORDS).all()
    for twin in (copy.deepcopy(book), pickle.loads(pickle.dumps(book))):
        assert twin.digest == book.digest
        with pytest.raises(ValueError, match="read-only"):
            twin.words[0] = 9.0
    assert rpac.Codebook(WORDS + 1e-12, MATRIX).digest != book.digest


def test_rows_are_those_of_all_worlds_in_their_order():
    assert BOOK.encode(VALUES).tolist() == [[i] for i in range(30)]
    with pytest.raises(rpac.InputError, match="outputs of 30 worlds; got 29"):
        BOOK.encode(VALUES[:29])


REFUSED = {
    "another number of worlds": (rpac.Outputs(VALUES[:29]), "numbers of 30 worlds with 3 coord"),
    "another number of columns": (rpac.Outputs(VALUES[:, :2]), "got Outputs.*with Codebook"),
    "labels": (rpac.Outputs([f"{i}" for i in range(30)]), "numbers of 30 worlds"),
    "draws": (rpac.Outputs(VALUES, clip=(np.full(3, -9.0), np.full(3, 9.0))), "Match the two"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_outputs_are_refused(case):
    outputs, message = REFUSED[case]
    with pytest.raises(rpac.InputError, match=message):
        rpac.tabulate(outputs, BOOK)


def test_words_and_columns_must_match():
    with pytest.raises(rpac.InputError, match="a column of `matrix` for every word; got 2 words"):
        rpac.Codebook([1.0, 2.0], [[1.0]])


def test_a_subclass_that_would_draw_another_law_is_refused():
    class Open(rpac.Codebook):
        def at(self, rows, uniforms):
            return rows

    with pytest.raises(rpac.InputError, match="LabelChannel"):
        rpac.certify(OUTPUTS, Open(WORDS, MATRIX))


def test_books_of_many_numbers_are_lifted_out_of_the_span_of_the_worlds(monkeypatch):
    wide = rpac.Outputs(np.random.default_rng(0).normal(size=(6, 60)))
    law = rpac.calibrate(wide, 0.5, "channel")
    dense = rpac.Equilibrium(family="channel").propose(wide, 0.5)
    assert law.words.shape[1] == 60
    assert law.power == pytest.approx(dense.power, rel=1e-3)
    assert rpac.certify(wide, law).bound <= 0.5
    monkeypatch.setenv("RPAC_MEMORY", "1000")
    with pytest.raises(rpac.TooLarge, match="words that fit"):
        law.lifted(wide.span)


def test_a_book_without_error_is_a_bare_release_which_must_be_allowed():
    bare = rpac.Codebook(VALUES, np.eye(30))
    assert rpac.tabulate(OUTPUTS, bare).power == 0.0

    class Bare(rpac.Calibrator):
        def propose(self, outputs, nats):
            return bare

    source = rpac.Worlds(list(VALUES))
    with pytest.raises(rpac.InputError, match="allow_exact=True"):
        rpac.privatize(lambda x: x, source, 3.5, method=Bare())
    found = rpac.privatize(lambda x: x, source, 3.5, method=Bare(), allow_exact=True)
    assert any(np.allclose(found.value, row) for row in VALUES)


def test_errors_do_not_cancel_far_from_the_worlds():
    far = rpac.tabulate(OUTPUTS, rpac.Codebook(WORDS + 1e8, MATRIX)).error()
    near = rpac.tabulate(OUTPUTS, BOOK).error()
    assert far["noise"] == pytest.approx(near["noise"], rel=1e-5)
    assert far["both"] == pytest.approx(near["both"], rel=1e-5)
    one = rpac.tabulate(OUTPUTS, rpac.Codebook(WORDS[:1], np.ones((30, 1)))).error()
    assert (one["both"] > 0).all()  # never narrower than rounding


def test_words_that_were_put_in_later_are_refused_wherever_a_law_is_used():
    for words in (WORDS[:6], np.full_like(WORDS, np.inf)):
        book = rpac.Codebook(WORDS, MATRIX)
        book.__dict__["_words"] = words
        with pytest.raises(rpac.InputError, match="finite words, one for each column; got other"):
            rpac.tabulate(OUTPUTS, book)


def test_errors_are_those_of_the_words_it_has_now():
    law = rpac.tabulate(OUTPUTS, BOOK)
    law.__dict__["_words"] = WORDS + 1.0
    assert rpac.tabulate(OUTPUTS, law).power != law.power


def test_a_law_with_a_draw_of_its_own_is_refused():
    book = rpac.Codebook(WORDS, MATRIX)
    book.__dict__["noisy"] = lambda codes: codes[0]
    with pytest.raises(rpac.InputError, match="Codebook as its type has it; got its own `noisy`"):
        rpac.certify(OUTPUTS, book)


def test_words_for_half_samples_say_nothing_of_the_whole_table():
    """A word and how far it is from the worlds, word by word, are the answer on the pool."""
    people = rpac.Subsets(np.random.default_rng(0).normal(size=40), worlds=16)
    grid = rpac.Equilibrium(family="channel", words=np.linspace(-1, 1, 41))
    release = rpac.privatize(np.mean, people, 0.1, method=grid)
    assert release.noise_interval is None
    assert release.sampling_interval is None
    assert "power" not in release.certificate.noise
    assert "not said" in str(release.certificate)
    assert float(release.value) in np.linspace(-1, 1, 41)
    constant = rpac.privatize(lambda x: [x.mean(), 7.0], people, 0.1, method=rpac.Equilibrium(
        family="channel", words=[[-1.0, 0.0], [1.0, 3.0]]))  # fmt: skip
    assert constant.value[1] in (0.0, 3.0)  # no fact of the pool, whatever worlds agree on
    assert constant.certificate.facts == ()
    assert "a fact of the pool" not in str(constant)
