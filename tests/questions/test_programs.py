"""Mechanisms from outside: estimators fitted on each world, and commands that print numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

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
            '"components" or "variances"; got \'odds\'',
        ),
        (lambda: Fitted(3, ["x"]), "an estimator with `fit`; got int"),
        (
            lambda: Fitted(KMeans(), ["x"], what="predictions"),
            "for predictions, probabilities, classes only; got 'predictions' without points",
        ),
        (
            lambda: Fitted(KMeans(), ["x"], what="centres", at=[[1.0]]),
            "for predictions, probabilities, classes only; got 'centres' with points",
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


# --- pipelines, probabilities, classes, components ------------------------------------------------

RICH = TABLE.assign(
    kind=np.where(TABLE.pay > TABLE.pay.median(), "high", "low"),
    job=np.where(TABLE.age % 3 == 0, "cook", "nurse"),
    three=[("red", "green", "blue")[int(a) % 3] for a in TABLE.age],
)
POOL = rpac.Subsets(RICH, unit="person", worlds=8)
POLARS = rpac.Subsets(pl.from_pandas(RICH), unit="person", worlds=8)


def encoded(model):
    words = ("job", OneHotEncoder(handle_unknown="ignore"), ["job"])
    encode = ColumnTransformer([words, ("age", StandardScaler(), ["age"])])
    return Pipeline([("encode", encode), ("model", model)])


@pytest.mark.parametrize("source", [POOL, POLARS], ids=["pandas", "polars"])
def test_pipelines_get_frames_with_text_and_numbers(source):
    points = [["cook", 30.0], ["nurse", 50.0]]
    odds = Fitted(encoded(LogisticRegression()), ["job", "age"], "kind", "probabilities", points)
    found = rpac.simulate(source, odds)
    assert found.dim == 4
    assert found.values.reshape(-1, 2, 2).sum(axis=2) == pytest.approx(1.0)
    by_hand = encoded(LogisticRegression()).fit(RICH[["job", "age"]], RICH["kind"])
    where = pd.DataFrame(points, columns=["job", "age"])
    whole = odds(RICH)
    assert whole == pytest.approx(by_hand.predict_proba(where), abs=1e-9)
    table = Fitted(encoded(LogisticRegression()), ["job", "age"], "kind", "probabilities", where)
    assert table(RICH) == pytest.approx(whole, abs=1e-12)
    slopes = Fitted(encoded(LinearRegression()), ["job", "age"], "pay")
    assert rpac.simulate(source, slopes).dim == 4


def test_declared_classes_have_a_place_in_every_world():
    made = Fitted(
        LogisticRegression(), ["age"], "three", "probabilities", [[30.0]],
        classes=["blue", "green", "red", "white"],
    )  # fmt: skip
    found = made(RICH)
    assert found.shape == (1, 4)
    assert found[0, 3] == 0
    assert found.sum() == pytest.approx(1.0)
    two = made(RICH[RICH.three != "red"])
    assert two[0, 2] == 0
    assert rpac.simulate(POOL, made).dim == 4


def test_classes_go_through_the_channel_of_labels():
    made = Fitted(LogisticRegression(), ["age"], "kind", "classes", [[30.0]])
    outputs = rpac.simulate(POOL, made)
    assert outputs.kind == "label"
    assert set(outputs.labels) <= {"high", "low"}
    assert rpac.privatize(made, POOL, 0.5).value in ("high", "low")


def test_components_have_signs_of_their_own():
    made = Fitted(PCA(2), ["age", "pay"], what="components")
    found = made(RICH)
    own = PCA(2).fit(RICH[["age", "pay"]]).components_
    assert np.abs(found) == pytest.approx(np.abs(own))
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1)
    assert (largest > 0).all()
    flipped = made(RICH.assign(age=-RICH.age, pay=-RICH.pay))  # the same axes
    assert flipped == pytest.approx(found)
    assert rpac.simulate(POOL, made).dim == 4
    spread = Fitted(Pipeline([("s", StandardScaler()), ("p", PCA(2))]), ["age", "pay"],
                    what="variances")  # fmt: skip
    assert spread(RICH).shape == (2,)
    assert (np.diff(spread(RICH)) <= 0).all()


def test_steps_are_seeded_and_searches_are_looked_into():
    forest = encoded(RandomForestClassifier(5))
    made = Fitted(forest, ["job", "age"], "kind", "probabilities", [["cook", 30.0]])
    np.testing.assert_array_equal(made(RICH), made(RICH))
    assert forest.steps[-1][1].random_state is None
    search = GridSearchCV(encoded(LogisticRegression()), {"model__C": [0.1, 1.0]}, cv=2)
    assert Fitted(search, ["job", "age"], "kind")(RICH).shape == (4,)


def test_what_an_estimator_lacks_is_said_before_anything_runs_or_is_charged(tmp_path):
    forest = Fitted(RandomForestClassifier(3), ["age"], "kind")
    text = (
        r"Expected an estimator with coef_; got RandomForestClassifier. Next: "
        r"what='predictions' or what='probabilities' with at=..."
    )
    with pytest.raises(rpac.InputError, match=text):
        rpac.simulate(POOL, forest)
    with rpac.Ledger(tmp_path / "books.db", budget=2.0, anchor=tmp_path / "anchor") as ledger:
        with pytest.raises(rpac.InputError, match="estimator with coef_; got RandomForest"):
            rpac.privatize(forest, POOL, 0.1, ledger=ledger)
        people = rpac.Presence(RICH, "person", blocks=4)
        with pytest.raises(rpac.InputError, match="estimator with coef_; got RandomForest"):
            rpac.privatize(forest, people, 0.1, ledger=ledger)
        assert ledger.spent == 0
    listed = rpac.Worlds([RICH[:60], RICH[60:]])
    with pytest.raises(rpac.InputError, match="estimator with coef_; got RandomForest"):
        rpac.simulate(listed, forest)
    with pytest.raises(rpac.InputError, match="estimator with predict_proba; got LinearSVC"):
        Fitted(LinearSVC(), ["age"], "kind", "probabilities", [[1.0]])
    with pytest.raises(rpac.InputError, match="with cluster_centers_; got PCA. Fit another"):
        rpac.simulate(POOL, Fitted(PCA(1), ["age"], what="centres"))


def test_types_of_columns_are_checked_before_anything_runs():
    with pytest.raises(
        rpac.InputError, match="numbers in column 'job'; got String. Convert it, or"
    ):
        rpac.simulate(POOL, Fitted(LinearRegression(), ["job"], "pay"))
    with pytest.raises(rpac.InputError, match="to predict in column 'kind'; got String. Ask what="):
        rpac.simulate(POOL, Fitted(LogisticRegression(), ["age"], "kind", "predictions", [[3.0]]))


def test_an_estimator_that_fails_on_made_up_rows_proves_nothing():
    class Picky(LinearRegression):
        def fit(self, x, y):
            if len(x) == 80:
                raise ValueError("made up")
            return super().fit(x, y)

    assert rpac.simulate(POOL, Fitted(Picky(), ["age"], "pay")).dim == 2


def test_under_person_forms_follow_from_declarations():
    schema = {"kind": {"domain": ["high", "low"]}, "three": {"domain": ["blue", "green", "red"]},
              "job": {"domain": ["cook", "nurse"]}}  # fmt: skip
    people = rpac.Presence(RICH, "person", blocks=4, schema=schema)

    def form(made):
        return made.announce(people)

    assert form(Fitted(LogisticRegression(), ["age"], "kind")).labels == ("intercept", "age")
    three = form(Fitted(LogisticRegression(), ["age"], "three"))
    assert len(three.labels) == 6
    assert three.labels[0] == "number 1"
    odds = Fitted(
        encoded(LogisticRegression()), ["job", "age"], "kind", "probabilities", [["cook", 30]],
        classes=["high", "low"],
    )  # fmt: skip
    assert form(odds).labels == ("point 1: high", "point 1: low")
    assert form(Fitted(PCA(2), ["age", "pay"], what="components")).layout == (2, 2)
    made = rpac.privatize(odds, people, rpac.SuccessRate(0.7))
    assert np.shape(made.value) == (1, 2)
    assert made.certificate.promise == "person"
    centres = Fitted(KMeans(2, n_init=1), ["age"], what="centres")
    assert form(centres) is None
    bare = rpac.Presence(RICH, "person", blocks=4)
    binary = Fitted(LogisticRegression(), ["age"], "kind")
    assert binary.announce(bare).labels == ("intercept", "age")  # two classes, unless declared
    assert binary.assumed(bare)[0].startswith("two classes are assumed of 'kind'")
    assert binary.assumed(people) == ()
    beside = rpac.privatize(binary, bare, rpac.SuccessRate(0.7)).certificate.outputs["notes"]
    assert binary.assumed(bare)[0] in beside


def test_under_person_a_middle_of_one_number_is_that_of_each():
    """A single number has not the form of the answers: no block could answer, and nobody knew."""
    odds = Fitted(LogisticRegression(), ["age"], "kind", "probabilities", [[20.0], [60.0]],
                  classes=["high", "low"])  # fmt: skip
    options = {"blocks": 4, "caps": {"answer": (0, 1)}}
    for middle in (0.5, [[0.5, 0.5], [0.5, 0.5]]):
        people = rpac.Presence(RICH, "person", middle=middle, **options)
        release = rpac.privatize(odds, people, rpac.SuccessRate(0.999))
        assert np.shape(release.value) == (2, 2)
    with pytest.raises(rpac.InputError, match="a `middle` of one number, or of 4; got 3 numbers"):
        odds.announce(rpac.Presence(RICH, "person", middle=[0.5] * 3, **options))
    text = {"kind": {"type": "text"}, "age": {"type": "text"}}
    components = Fitted(PCA(1), ["age"], what="components")
    for made in (Fitted(LinearRegression(), ["pay"], "kind"), components):
        with pytest.raises(rpac.InputError, match="got text, as declared. Convert it."):
            made.announce(rpac.Presence(RICH, "person", blocks=4, schema=text))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Fitted(LogisticRegression(), ["x"], "y", "classes", [[1.0], [2.0]]),
            "one public point for classes: one label; got 2. Ask one point",
        ),
        (
            lambda: Fitted(LogisticRegression(), ["x"], "y", "predictions", [1.0]),
            "points `at` of 1 entries each; got list of another shape",
        ),
        (
            lambda: Fitted(LogisticRegression(), ["x"], "y", "predictions", [[1.0, 2.0]]),
            "points `at` of 1 entries each",
        ),
        (
            lambda: Fitted(LogisticRegression(), ["x"], "y", "predictions", RICH),
            "a column among .*; got 'x'",
        ),
        (
            lambda: Fitted(LogisticRegression(), ["x"], "y", classes=["a", "b"]),
            "two `classes` or more, for probabilities only; got 2 for 'coefficients'",
        ),
        (
            lambda: Fitted(PCA(1), ["x"], None, "predictions", [[1.0]]),
            "an estimator with predict; got PCA. Fit another",
        ),
        (
            lambda: Fitted(LogisticRegression(), ["age"], "kind", "classes", [[1.0]]).announce(
                rpac.Presence(RICH, "person")
            ),
            "numbers under the promise person; got what='classes'. Ask what='probabilities'",
        ),
        (
            lambda: Fitted(LogisticRegression(), ["age"], "kind", "probabilities", [[1]]).announce(
                rpac.Presence(RICH, "person")
            ),
            "declared classes under the promise person; got none. Say classes=",
        ),
    ],
)
def test_refusals_of_what_is_asked(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
