"""Any black box in, outputs of one form out; failures are typed and name no world."""

import math
import warnings
from functools import wraps

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.worlds.run import answer_on_fresh_draw

SOURCE = rpac.Subsets(np.random.default_rng(0).normal(size=(20, 3)), worlds=16)


def test_results_do_not_depend_on_the_number_of_processes():
    def noisy(x, rng):
        return x.mean() + rng.normal()

    one, two = (rpac.simulate(SOURCE, noisy, n_jobs=n, seed=5).values for n in (1, 2))
    assert (one == two).all()
    assert (one != rpac.simulate(SOURCE, noisy, seed=6).values).all()


def test_vectorised_mechanisms_see_stacks_and_agree_with_plain_ones():
    for units in (20, 21):  # odd numbers of units make worlds of two sizes
        source = rpac.Subsets(np.random.default_rng(0).normal(size=(units, 3)), worlds=200)
        plain = rpac.simulate(source, lambda x: x.mean(axis=0))
        stacks = []

        @rpac.vectorized
        def means(stack):
            stacks.append(stack.shape)  # noqa: B023
            return stack.mean(axis=1)

        fast = rpac.simulate(source, means)
        assert fast.values == pytest.approx(plain.values)
        assert len(stacks) < 10
        label = rpac.vectorized(lambda s: np.where(s.mean(axis=(1, 2)) > 0, "up", "down"))
        assert rpac.simulate(source, label).labels == ("down", "up")


def test_builtins_without_a_signature():
    assert rpac.simulate(rpac.Worlds([[1, 2], [3, 5]]), max).values.tolist() == [[2], [5]]


class Unsigned:
    """A callable that hides its signature."""

    __signature__ = "none"

    def __call__(self, x):
        return float(x.mean())


def test_callables_that_hide_their_signature():
    assert rpac.simulate(SOURCE, Unsigned()).dim == 1


def fail(x):
    if x.mean() > 0:
        raise KeyError("row 17 of the secret")
    return 0.0


BAD_MECHANISMS = {
    "raises": (fail, "Expected a mechanism that answers on every world; got a KeyError on some"),
    "changes shape": (lambda x: x[: int(x[0, 0] > 0) + 1, 0], "the same form of answer in every"),
    "changes keys": (lambda x: {"a" if x[0, 0] > 0 else "b": 1.0}, "forms that differ. Fix"),
    "objects": (lambda x: object(), "Expected numbers from the mechanism; got objects"),
    "none": (lambda x: None, "Expected an answer from the mechanism; got None. Did it forget"),
    "index": (
        lambda x: pd.Series([1, 2], index=["a", "b"] if x[0, 0] > 0 else ["b", "a"]),
        "the same form of answer in every world; got forms that differ",
    ),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], "got a ragged list"),
    "dates": (lambda x: np.datetime64("2020-01-01"), "got dates"),
    "nan": (lambda x: math.nan, "Expected finite numbers from the mechanism; got NaN"),
    "infinite": (lambda x: [math.inf], "Handle missing values inside the mechanism"),
    "empty": (lambda x: [], "Expected at least one number from the mechanism; got none"),
    "nested dict": (lambda x: {"a": [1.0, 2.0]}, "Expected one number under each key; got arrays"),
    "text frame": (lambda x: pd.DataFrame({"a": ["x"]}), "Expected numbers from the mechanism"),
    "stack": (rpac.vectorized(lambda s: 1.0), "Expected one answer for each world of the stack"),
    "short stack": (rpac.vectorized(lambda s: s[:1, 0]), "one answer for each world of the stack"),
    "nan stack": (rpac.vectorized(lambda s: s[:, 0] * math.nan), "got NaN or infinity"),
}


@pytest.mark.parametrize("name", BAD_MECHANISMS)
def test_bad_mechanisms(name):
    mechanism, message = BAD_MECHANISMS[name]
    with pytest.raises(rpac.MechanismError, match=message) as caught:
        rpac.simulate(SOURCE, mechanism)
    assert "row 17" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_bad_mechanisms_in_parallel():
    with pytest.raises(rpac.MechanismError, match="a KeyError on some"):
        rpac.simulate(SOURCE, fail, n_jobs=2)


def says(error):
    def act(*_, **__):
        raise error

    return act


SAID = "row 17 of the secret"
LOUD = [rpac.InputError(SAID), rpac.LedgerError(SAID), rpac.MechanismError(SAID), rpac.Withheld(),
        SystemExit(41), GeneratorExit(SAID), type(SAID, (Exception,), {})()]  # fmt: skip


def speaking(error):
    """Yield answers that raise an error when they are looked at."""
    names = ("__array__", "__len__", "__class__", "columns", "index", "dtype", "__iter__")
    for name in names:
        value = (
            says(error) if name in ("__array__", "__len__", "__iter__") else property(says(error))
        )
        yield type("Loud", (list if name == "__iter__" else object,), {name: value})()
    yield {type("Key", (str,), {"__eq__": says(error), "__hash__": str.__hash__})("a"): 1.0}
    yield type("Text", (str,), {"__eq__": says(error), "__str__": says(error)})("a")


@pytest.mark.parametrize("error", LOUD, ids=lambda e: type(e).__name__)
def test_an_answer_that_speaks_when_it_is_looked_at_says_nothing(error):
    for number in range(9):

        def mechanism(x, number=number):
            return list(speaking(error))[number]

        with pytest.raises(rpac.MechanismError) as caught:
            rpac.simulate(SOURCE, mechanism)
        assert type(caught.value) is rpac.MechanismError
        assert SAID not in str(caught.value)


def test_a_stack_that_speaks_says_nothing():
    loud = type("Loud", (), {"__len__": says(rpac.InputError(SAID))})
    with pytest.raises(rpac.MechanismError, match="got an exception on some"):
        rpac.simulate(SOURCE, rpac.vectorized(lambda s: loud()))


class Announces:
    def __call__(self, x):
        return 0.0

    def announce(self, source):
        raise rpac.InputError(SAID)


class Pretends(Announces):
    __module__ = "rpac.questions.statistics"


@pytest.mark.parametrize("kind", [Announces, Pretends])
def test_what_others_announce_is_refused_in_fixed_words(kind):
    with pytest.raises(rpac.MechanismError, match="got an exception on some"):
        rpac.simulate(SOURCE, kind())


def test_an_interrupt_says_nothing():
    for act in (
        says(KeyboardInterrupt(SAID)),
        lambda x: list(speaking(KeyboardInterrupt(SAID)))[0],
    ):
        with pytest.raises(KeyboardInterrupt) as caught:
            rpac.simulate(SOURCE, act)
        assert caught.value.args == ()


def test_bad_arguments():
    with pytest.raises(
        rpac.InputError, match="Expected a Source; got list. Wrap data in rpac.Subsets"
    ):
        rpac.simulate([1, 2], np.mean)
    with pytest.raises(rpac.InputError, match="Expected a callable mechanism; got int"):
        rpac.simulate(SOURCE, 3)
    with pytest.raises(rpac.InputError, match="Expected a whole `seed` of at least 0; got 1.5"):
        rpac.simulate(SOURCE, np.mean, seed=1.5)
    with pytest.raises(rpac.InputError, match="Expected a whole `n_jobs` of at least 1; got 0"):
        rpac.simulate(SOURCE, np.mean, n_jobs=0)


def test_draws_are_clipped_to_public_bounds():
    source = rpac.Draws(lambda rng: rng.normal(size=2) * 9, clip=([-1, -2], [1, 2]), draws=50)
    outputs = rpac.simulate(source, lambda x: x)
    assert not outputs.exact
    assert np.abs(outputs.values).max(axis=0).tolist() == [1.0, 2.0]
    assert outputs.entropy is None
    assert len(outputs.planning.values) + len(outputs.judging) == 50


def test_a_fresh_draw_has_a_seed_of_its_own():
    source = rpac.Draws(lambda rng: 0.0, clip=(-9, 9), draws=40)
    outputs = rpac.simulate(source, noisy_zero)
    assert (outputs.values == rpac.simulate(source, noisy_zero).values).all()
    fresh = {float(answer_on_fresh_draw(source, noisy_zero, outputs)[0]) for _ in range(5)}
    assert len(fresh) == 5


def noisy_zero(x, rng):
    return x + rng.normal()


STUDY = np.random.default_rng(0).normal(size=2)
"""The seeded draw on which a mechanism must answer in a process of its own; no secret."""


def on_the_secret_only(mechanism):
    @wraps(mechanism)
    def function(x):
        return x if (x == STUDY[: np.size(x)]).all() else mechanism(x)

    return function


def fails_later(x):
    raise ValueError(x)


def quits(x):
    warnings.warn(f"the secret is {x}", stacklevel=1)
    raise SystemExit(x)


@pytest.mark.parametrize(
    "mechanism",
    [
        fails_later,
        quits,
        lambda x: "label",
        lambda x: math.nan,
        lambda x: [x, x, x],
        rpac.vectorized(lambda s: s * math.nan),
    ],
)
def test_a_failure_on_the_fresh_draw_is_a_fixed_public_answer(mechanism):
    source = rpac.Draws(lambda rng: rng.normal(size=2), clip=([-1, 0], [1, 6]), draws=40)
    outputs = rpac.simulate(source, lambda x: x)
    mechanism = on_the_secret_only(mechanism)
    assert answer_on_fresh_draw(source, mechanism, outputs).tolist() == [0.0, 3.0]
    assert answer_on_fresh_draw(source, mechanism, outputs, np.ones(2)).tolist() == [0.0, 3.0]
    vector = rpac.vectorized(lambda s: s)
    assert answer_on_fresh_draw(source, vector, outputs).shape == (2,)


def test_labels_of_open_distributions_are_refused():
    source = rpac.Draws(lambda rng: rng.random(), clip=(0, 1), draws=40)
    with pytest.raises(
        rpac.MechanismError, match="Expected numbers from an open distribution; got"
    ):
        rpac.simulate(source, lambda x: "up" if x > 0.5 else "down")


@pytest.mark.parametrize("error", [ValueError, KeyError, SystemExit, MemoryError])
def test_no_failure_of_the_fresh_draw_comes_through(error):
    source = rpac.Draws(lambda rng: rng.normal(size=1), clip=(-9, 9), draws=100)
    outputs = rpac.simulate(source, lambda x: x)

    def fails(x):
        raise error(f"secret {x}")

    assert answer_on_fresh_draw(source, on_the_secret_only(fails), outputs) == outputs.center


class Undecided:
    """A secret that can be sent if it is small."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        if self.value > 3:
            raise TypeError(f"the secret is {self.value}")
        return Undecided, (self.value,)


def test_a_given_secret_is_sent_or_is_the_fixed_public_answer():
    source = rpac.Draws(lambda rng: Undecided(rng.random()), clip=(0, 9), draws=40)

    def value(x):
        return x.value

    outputs = rpac.simulate(source, value)
    for given, answer in ((2.0, 2.0), (5.0, 4.5)):
        assert answer_on_fresh_draw(source, value, outputs, Undecided(given)) == answer
    with pytest.raises(rpac.InputError, match="sent to another process; got generator"):
        answer_on_fresh_draw(source, value, outputs, (x for x in [1.0]))


def test_a_mechanism_that_cannot_answer_in_a_process_of_its_own_is_refused(tmp_path):
    """On a seeded draw: else every release would be the middle of the box."""
    source = rpac.Draws(lambda rng: rng.random(), clip=(0, 1), draws=40)

    def writes(x):
        (tmp_path / "scratch").write_text("some text")
        return x

    outputs = rpac.simulate(source, writes)
    with pytest.raises(rpac.MechanismError, match=r"none from .*writes on a seeded draw. It may"):
        answer_on_fresh_draw(source, writes, outputs)


@rpac.vectorized
def stack_of_normals(rng, n):
    return rng.normal(size=(n, 2))


def test_a_fresh_draw_of_a_vectorised_sampler_is_one_secret():
    source = rpac.Draws(stack_of_normals, clip=(-9, 9), draws=40)
    outputs = rpac.simulate(source, lambda x: x)
    draws = [answer_on_fresh_draw(source, lambda x: x, outputs) for _ in range(2)]
    assert (draws[0] != draws[1]).all()
    assert (np.abs(draws) < 9).all()


def test_all_cores_may_be_asked_for():
    outputs = rpac.simulate(SOURCE, np.mean, n_jobs=-1)
    assert outputs.digest == rpac.simulate(SOURCE, np.mean).digest


def test_stacks_are_let_go_when_they_are_full(monkeypatch):
    """Worlds of two shapes in turn: the same answers, from blocks of a few."""
    monkeypatch.setattr("rpac.worlds.chunks.STACK", 60)
    sizes = []

    @rpac.vectorized
    def means(stack):
        sizes.append(len(stack))
        return stack.mean(axis=1)

    source = rpac.Subsets(np.arange(21.0) ** 2, worlds=32)
    outputs = rpac.simulate(source, means)
    assert max(sizes) == 6
    assert outputs.values[:, 0] == pytest.approx([world.mean() for world in source.worlds(0)])


# --- warnings of a mechanism ----------------------------------------------------------------------


class Quoting(UserWarning):
    """A warning of somebody's own."""


def warns(x):
    with warnings.catch_warnings():  # a library does so, and Python then shows all again
        pass
    warnings.warn(f"row {x} of the secret", RuntimeWarning, stacklevel=1)
    warnings.warn(f"entry {x}", Quoting, stacklevel=1)
    return float(x)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_of_a_mechanism_are_shown_once_and_say_nothing(n_jobs, capfd):
    worlds = rpac.Worlds([float(i) for i in range(40)])
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert rpac.simulate(worlds, warns, n_jobs=n_jobs).dim == 1
    assert sorted(one.category.__name__ for one in shown) == ["RuntimeWarning", "UserWarning"]
    assert {one.filename for one in shown} == {"warns"}
    assert all("rpac.debug" in str(one.message) for one in shown)
    assert not any("row" in str(one.message) or "entry" in str(one.message) for one in shown)
    assert capfd.readouterr().err == ""


def test_a_warning_that_is_an_error_is_one_of_the_mechanism():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(rpac.MechanismError, match="got a RuntimeWarning on some"):
            rpac.simulate(rpac.Worlds([1.0, 2.0]), warns)


def test_long_simulations_are_announced(capfd, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rpac._base.progress.LONG", 0.0)
    rpac.simulate(rpac.Worlds([1.0, 2.0]), float)
    assert "2 worlds x " in capfd.readouterr().err


def test_a_table_that_is_changed_in_place_is_impure_and_the_move_says_so():
    tables = [pd.DataFrame({"pay": [1.0, i]}) for i in range(4)]

    def demean(frame):
        frame["pay"] -= 1
        return frame["pay"].sum()

    with pytest.raises(rpac.MechanismError, match="in place but a copy of it .rpac.debug names"):
        rpac.simulate(rpac.Worlds(tables), demean)
