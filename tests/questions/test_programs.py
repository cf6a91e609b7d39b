"""Mechanisms from outside: estimators fitted on each world, and commands that print numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression

import rpac
from rpac.questions import statistics
from rpac.questions.programs import Command, Fitted
from tests.questions.conftest import ROWS

TABLE = pd.DataFrame(ROWS)
SOURCE = rpac.Subsets(TABLE, unit="person", worlds=8)


def test_estimators_and_commands_are_mechanisms():
    with pytest.raises(rpac.InputError, match=r"got LinearRegression.*rpac\.programs\.Fitted\("):
        rpac.simulate(rpac.Subsets(range(6)), LinearRegression())
    line = Fitted(LinearRegression(), ["age"], "pay")
    named = rpac.simulate(SOURCE, statistics.regression("pay", "age"))
    assert rpac.simulate(SOURCE, line).values == pytest.approx(named.values, rel=1e-6)
    points = Fitted(LinearRegression(), ["age"], "pay", "predictions", [[20.0], [60.0]])
    at_20 = named.values @ np.array([1.0, 20.0])
    assert rpac.simulate(SOURCE, points).values[:, 0] == pytest.approx(at_20, rel=1e-6)
    centres = Fitted(KMeans(2, n_init=1), ["age"], what="centres")
    values = rpac.simulate(SOURCE, centres).values
    assert (np.diff(values, axis=1) > 0).all()
    awk = Command("awk -F, 'NR > 1 {s += $3} END {print s / (NR - 1), NR - 1}' {file}")
    found = rpac.simulate(SOURCE, awk).values
    assert found[:, 0] == pytest.approx(
        rpac.simulate(SOURCE, statistics.mean("pay")).values[:, 0], rel=1e-5
    )
    assert rpac.simulate(SOURCE, Command("wc -l")).values[:, 0] == pytest.approx(found[:, 1] + 1)


def test_commands_that_fail_tell_nothing():
    for text in ("exit 3", "echo no number", "true"):
        with pytest.raises(rpac.MechanismError):
            rpac.simulate(SOURCE, Command(text))


def test_coefficients_are_those_of_least_squares():
    x, y = TABLE["age"].to_numpy(float), TABLE["pay"].to_numpy()
    slope = np.cov(x, y, bias=True)[0, 1] / x.var()
    found = Fitted(LinearRegression(), ["age"], "pay")(TABLE)
    assert found == pytest.approx([y.mean() - slope * x.mean(), slope])


def test_worlds_may_be_tables_of_their_own():
    halves = rpac.Worlds([TABLE[:60], TABLE[60:]])
    found = rpac.simulate(halves, Fitted(LinearRegression(), ["age"], "pay")).values
    each = rpac.simulate(halves, statistics.regression("pay", "age")).values
    assert found == pytest.approx(each, rel=1e-6)


def test_an_estimator_is_copied_and_seeded():
    """One with a random state is a function of the world; the caller's own is left as it was."""
    model = KMeans(3, n_init=1)
    made = Fitted(model, ["age", "pay"], what="centres")
    first, second = made(TABLE), made(TABLE)
    np.testing.assert_array_equal(first, second)
    assert not hasattr(model, "cluster_centers_")
    assert model.random_state is None
    assert first.shape == (3, 2)
    assert (np.diff(first[:, 0]) >= 0).all()  # in lexicographic order


def test_an_estimator_without_a_random_state_will_do():
    class Mean:
        def fit(self, x, y):
            self.intercept_, self.coef_ = y.mean(), x.mean(axis=0)

    assert Fitted(Mean(), ["age"], "pay")(TABLE) == pytest.approx(
        [TABLE.pay.mean(), TABLE.age.mean()]
    )


def test_predictions_are_at_public_points():
    rows = TABLE.assign(high=(TABLE.pay > TABLE.pay.median()).astype(int))
    made = Fitted(LogisticRegression(), ["age"], "high", "predictions", [[20.0], [65.0]])
    assert set(np.ravel(made(rows))) <= {0, 1}
    assert made(rows).shape == (2,)


def test_a_command_gets_the_rows_as_a_file_or_on_standard_input():
    by_file = Command("awk -F, 'NR > 1 {s += $4} END {print s}' {file}")(TABLE)
    by_input = Command("awk -F, 'NR > 1 {s += $4} END {print s}'")(TABLE)
    assert by_file == by_input == TABLE.age.sum()


def test_what_is_printed_is_split_at_spaces_commas_and_lines():
    found = Command("printf '1, 2 3\\n4.5,-6e1'")(TABLE)
    assert found == pytest.approx([1, 2, 3, 4.5, -60])
    assert Command("echo 7")(TABLE) == 7.0


def test_a_command_that_takes_too_long_is_an_error_of_the_mechanism():
    with pytest.raises(rpac.MechanismError):
        rpac.simulate(SOURCE, Command("sleep 5", timeout=0.05))


def test_nothing_is_left_behind():
    path = Command("echo {file} >&2; ls $(dirname {file}) | wc -l")
    assert path(TABLE) == 1.0  # the world alone, in a folder of its own


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Fitted(KMeans(), ["x"], what="odds"),
            '"coefficients", "predictions" or "centres"; got \'odds\'',
        ),
        (lambda: Fitted(3, ["x"]), "an estimator with `fit`; got int"),
        (
            lambda: Fitted(KMeans(), ["x"], what="predictions"),
            "public points `at` for predictions only; got 'predictions' without points",
        ),
        (
            lambda: Fitted(KMeans(), ["x"], what="centres", at=[[1.0]]),
            "public points `at` for predictions only; got 'centres' with points",
        ),
        (lambda: Command(" "), "a shell command; got ' '"),
        (lambda: Command("true", timeout=0), "`timeout` between 0.0 and 1000000.0; got 0"),
        (
            lambda: rpac.simulate(SOURCE, Fitted(KMeans(), ["wage"])),
            "a column among .*; got 'wage'",
        ),
        (
            lambda: rpac.simulate(SOURCE, Fitted(LinearRegression(), ["age"], "dept")),
            "numbers in column 'dept'; got",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
