"""What all channels share: integer tables, the draw by look-up, likelihoods."""

import numpy as np
import pytest

import rpac
from rpac.noise import channel as module
from rpac.noise.base import TOTAL, integer_table, look_up
from rpac.noise.channel import Channel

RNG = np.random.default_rng(3)
MATRIX = np.vstack([RNG.dirichlet(np.ones(6), 8), [[1, 0, 0, 0, 0, 0], [0, 0, 0.5, 0, 0, 0.5]]])
BOOK = rpac.Codebook(RNG.normal(size=(6, 2)), MATRIX)


def test_rows_are_integers_that_sum_to_two_to_the_63():
    assert all(int(row.sum(dtype=np.uint64)) == TOTAL for row in BOOK.tables)
    assert np.abs(BOOK.matrix - MATRIX).max() < 1e-15
    for row, table in zip(MATRIX, BOOK.tables, strict=True):
        assert (integer_table(row / row.sum()) == table).all()


def test_a_row_whose_shares_round_up_still_sums_exactly():
    """Shares of a third: floor of each, and the rest to the likeliest, by wrapping integers."""
    rows = np.array([[1 / 3] * 3, [0.1] * 3 + [0.7] + [0.0] * 2][:1] + [[0.2, 0.3, 0.5]])
    assert [int(t.sum(dtype=np.uint64)) for t in integer_table(rows)] == [TOTAL, TOTAL]


def test_the_draw_is_the_exact_look_up_of_the_own_row(monkeypatch):
    monkeypatch.setattr(module, "_CELLS", 13)  # two rows at a time
    rows = np.arange(10).repeat(4)
    edges = np.cumsum(BOOK.tables[rows], axis=1, dtype=np.uint64)
    for uniforms in (edges[:, 0] - np.uint64(1), edges[:, 2] % np.uint64(TOTAL), 0 * edges[:, 0]):
        expected = [int(look_up(BOOK.tables[r], uniforms[[i]])[0]) for i, r in enumerate(rows)]
        assert BOOK.at(rows, uniforms).tolist() == expected


def test_releases_follow_their_own_row_and_come_from_the_operating_system(monkeypatch):
    outputs = rpac.Outputs(RNG.normal(size=(10, 2)))
    law = rpac.tabulate(outputs, BOOK)
    codes = outputs.codes(law)
    for world in (0, 5, 8, 9):
        seen = np.bincount([int(law.noisy(codes[world])[0]) for _ in range(6_000)], minlength=6)
        spread = np.sqrt(MATRIX[world] * (1 - MATRIX[world]) / 6_000)
        assert (np.abs(seen / 6_000 - MATRIX[world]) <= 6 * spread + 1e-9).all()
    monkeypatch.setattr("os.urandom", lambda n: bytes(n))
    assert law.noisy(codes[9]).tolist() == [2]  # the first entry of mass


def test_studied_releases_follow_the_rows_of_their_worlds():
    outputs = rpac.Outputs(RNG.normal(size=(10, 2)))
    made = BOOK.applied(outputs, np.full(5_000, 9), np.random.default_rng(1))
    hits = (made == BOOK.words[2]).all(axis=1)
    assert abs(hits.mean() - 0.5) < 0.05
    assert (hits | (made == BOOK.words[5]).all(axis=1)).all()


def test_likelihoods_are_the_tables():
    found = BOOK.log_likelihood(np.arange(10)[:, None], np.array([0]))
    assert np.exp(found) == pytest.approx(MATRIX[:, 0], abs=1e-15)
    assert found[9] == -np.inf


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.6]], "rows of `matrix` that sum to 1; got 1.1. Divide"),
        ([[1.5, -0.5]], "probabilities in `matrix`; got -0.5. Drop"),
        ([0.5, 0.5], "`matrix` with 2 axes"),
    ],
)
def test_what_is_no_channel_is_refused(matrix, message):
    with pytest.raises(rpac.InputError, match=message):
        Channel.tables_of(matrix)


def forged(law, tables):
    law.__dict__["tables"] = tables
    return law


class Liar(np.ndarray):
    """Answers another row than it shows."""


HALF = np.full((2, 2), TOTAL // 2, np.uint64)
OVER = TOTAL + 5
FORGED = {
    "rows that wrap around": np.array([[OVER, 2**64 - OVER], [OVER, 2**64 - OVER - 1]], np.uint64),
    "rows that sum to another number": HALF + np.uint64(1),
    "rows that sum to 2**63 modulo 2**64": np.array(
        [[TOTAL, 0], [2**64 - 1, TOTAL + 1]], np.uint64
    ),
    "another kind of array": HALF.view(Liar),
    "floats": HALF.astype(float),
    "one axis": HALF[0],
}


@pytest.mark.parametrize("case", FORGED)
def test_tables_that_are_no_law_are_refused_wherever_they_come_from(case):
    """A calibrator is not trusted: what it hands over is looked at before it is certified."""
    book = forged(rpac.Codebook([0.0, 10.0], [[0.5, 0.5]] * 2), FORGED[case])
    channel = forged(rpac.LabelChannel([[0.5, 0.5]] * 2), FORGED[case])
    for outputs, law in ((rpac.Outputs([0.0, 10.0]), book), (rpac.Outputs(["a", "b"]), channel)):
        with pytest.raises(rpac.InputError, match="integers that sum to 2..63; got other tables"):
            rpac.certify(outputs, law)


def test_a_law_whose_tables_or_words_change_after_its_certificate_is_not_released(monkeypatch):
    """The fingerprint is of what is there now, not of what was there once."""
    from rpac.certificate.issue import issue

    for part, other in (("tables", None), ("_words", np.array([[5.0], [6.0]]))):

        def swapped(outputs, law, *args, part=part, other=other, **kwargs):
            found = issue(outputs, law, *args, **kwargs)
            tables = np.array([[TOTAL, 0], [0, TOTAL]], np.uint64)
            law.__dict__[part] = tables if other is None else other
            return found

        class Careful(rpac.Calibrator):
            def propose(self, outputs, nats):
                return rpac.Codebook([0.0, 10.0], [[0.5, 0.5]] * 2)

        monkeypatch.setattr("rpac.release.release.issue", swapped)
        with pytest.raises(rpac.Withheld):
            rpac.privatize(float, rpac.Worlds([0.0, 10.0]), 1e-3, method=Careful())
