"""The verb `privatize`: a method proposes, the release disposes."""

import warnings

import numpy as np
import pytest

import rpac
from rpac.answers.release import answered
from rpac.front.privatize import privatize

PEOPLE = rpac.Subsets(np.random.default_rng(0).lognormal(size=(60, 2)), worlds=32)


def test_an_unknown_method_is_refused_before_anything_runs():
    def forbidden(x):
        raise AssertionError("ran")

    with pytest.raises(rpac.InputError, match="a method among .*; got 'magic'"):
        privatize(forbidden, PEOPLE, 0.1, method="magic")
    with pytest.raises(rpac.InputError, match="a method's name or a Calibrator; got 3"):
        privatize(forbidden, PEOPLE, 0.1, method=3)


def test_a_bad_budget_or_a_key_without_a_ledger_is_refused_before_anything_runs():
    def forbidden(x):
        raise AssertionError("ran")

    with pytest.raises(rpac.InputError, match="Expected a positive budget in nats; got 0"):
        privatize(forbidden, PEOPLE, 0)
    with pytest.raises(rpac.InputError, match="Expected a ledger for the key; got 'k'"):
        privatize(forbidden, PEOPLE, 0.1, key="k")


def test_whatever_is_proposed_is_certified():
    class Careless(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.GaussianNoise(1e-9 * np.eye(outputs.dim))

    with pytest.raises(rpac.Withheld):
        privatize(lambda x: x.mean(axis=0), PEOPLE, 0.1, method=Careless())


@pytest.mark.parametrize("method", ["auto-pac", "equilibrium", "isotropic", "proportional"])
def test_every_method_meets_the_budget_it_was_given(method):
    made = privatize(lambda x: x.mean(axis=0), PEOPLE, 0.2, method=method)
    assert 0.1 < made.certificate.bound <= 0.2


def test_a_bare_release_needs_to_be_allowed():
    worlds = rpac.Worlds([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would tell about the outputs
        with pytest.raises(rpac.InputError, match=r"below the 0.693147 nats.*allow_exact=True"):
            privatize(lambda x: x, worlds, 2.0)
        assert privatize(lambda x: x, worlds, 2.0, allow_exact=True).value in (0, 1)


def test_a_budget_that_needs_no_noise_is_refused_by_public_things_alone(folder):
    """Before anything runs, for nothing, and in one text for answers that differ and that agree."""
    ledger, ran = rpac.Ledger(f"{folder}/l.db", budget=9.0), []
    texts = set()
    for answer in (lambda x: ran.append(x) or x, lambda x: ran.append(x) or 1.0):
        with pytest.raises(rpac.InputError, match="Ask for less") as refused:
            privatize(answer, rpac.Worlds([0.0, 1.0, 2.0]), np.log(3), ledger=ledger)
        assert not isinstance(refused.value, rpac.Withheld)
        texts.add(str(refused.value))
    assert (len(texts), ran, ledger.spent) == (1, [], 0.0)
    weighed = rpac.Worlds([0.0, 1.0], [0.9, 0.1])
    with pytest.raises(rpac.InputError, match="below the 0.325083 nats"):
        privatize(lambda x: x, weighed, 0.4)
    with pytest.raises(rpac.Withheld, match="pass allow_exact=True"):  # that few differ is data's
        privatize(lambda x: x > 0, rpac.Worlds([0.0, 1.0, 2.0, 3.0]), 1.0)
    halves = rpac.Subsets(np.arange(20.0), worlds=16)
    with pytest.raises(rpac.InputError, match="below the 2.77259 nats"):
        privatize(np.mean, halves, 3.0)


@pytest.mark.parametrize("method", ["equilibrium", "channel"])
def test_ten_real_numbers_go_out_bare_where_that_is_allowed(method):
    rows = np.random.default_rng(0).normal(size=(40, 10))
    made = privatize(lambda x: x, rpac.Worlds([*rows]), 6.0, allow_exact=True, method=method)
    assert made.certificate.bound == pytest.approx(np.log(40), abs=1e-4)
    assert np.abs(rows - made.value).max(axis=1).min() < 1e-6
    low, high = made.noise_interval
    assert np.abs(np.asarray(low) - made.value).max() < 1e-6
    assert np.abs(np.asarray(high) - made.value).max() < 1e-6


@pytest.mark.parametrize("same", [7, 2.5, "yes"])
def test_what_all_worlds_agree_on_is_released(same):
    made = privatize(lambda x: same, PEOPLE, 0.1)
    assert made.value == same
    assert (made.certificate.bound, made.certificate.grade) == (0.0, "proved")
    assert made.certificate.worst_unit_success == 0.5
    many = privatize(lambda x: np.full(3, 1.5), rpac.Worlds([1, 2]), 0.1)
    assert (many.value == 1.5).all()
    assert many.noise_interval[0].tolist() == many.noise_interval[1].tolist() == [1.5] * 3


CLUSTERS = np.repeat([[0.0, 0.0], [6.0, 1.0], [2.0, 9.0]], 10, axis=0)
CLUSTERS = CLUSTERS + np.random.default_rng(8).normal(size=CLUSTERS.shape)


def test_a_channel_is_released_booked_and_attacked_like_every_law(tmp_path):
    source = rpac.Worlds(list(CLUSTERS))
    with rpac.Ledger(tmp_path / "books.db", budget=2.0, anchor=tmp_path / "anchor") as ledger:
        asked = {"ledger": ledger, "key": "once", "method": "channel"}
        first = rpac.privatize(lambda x: x, source, 0.7, **asked)
        again = rpac.privatize(lambda x: x, source, 0.7, **asked)
        assert (first.value == again.value).all()
        assert first.receipt == again.receipt
        assert first.certificate.bound <= ledger.spent <= 0.7
    outputs, law = first.sealed
    assert any((first.value == word).all() for word in law.words)
    text = str(first)
    assert "public code words: guesses, drawn to the mean" in text
    assert "the answer itself" in text
    assert "without its noise" not in text
    found = rpac.audit(first)
    assert not found.alarm
    assert 0.5 < found.lower <= first.certificate.bound


def test_intervals_of_code_words_hold_the_answer_in_95_of_100_releases():
    source = rpac.Worlds(list(CLUSTERS))
    outputs = rpac.simulate(source, lambda x: x)
    law = rpac.calibrate(outputs, 0.7, "channel")
    kept = answered(outputs, law, np.array([0]))
    rng = np.random.default_rng(0)
    worlds = rng.integers(0, 30, 4_000)
    made = law.applied(outputs, worlds, rng)
    for away, (low, high) in (
        (made - outputs.values[worlds], kept["ends"]),
        (made - outputs.center, kept["around"]),
    ):
        assert ((low <= away) & (away <= high)).mean(axis=0).min() > 0.94
        assert ((low < away) & (away < high)).mean(axis=0).max() < 0.96
        assert (high - low < 2 * 4.472136 * law.error()["noise"]).all()  # than Chebyshev's


def test_methods_that_a_source_cannot_have_are_refused_in_their_own_words(tmp_path):
    """By public things alone, so nothing is booked."""
    people = rpac.Subsets(np.arange(30.0), worlds=16)
    with rpac.Ledger(tmp_path / "books.db", budget=2.0, anchor=tmp_path / "anchor") as ledger:
        with pytest.raises(rpac.InputError, match="code words that are given, for half-samples"):
            rpac.privatize(np.mean, people, 0.1, ledger=ledger, method="channel")
        draws = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4))
        with pytest.raises(rpac.InputError, match="finite worlds for a channel; got rpac.Draws"):
            rpac.privatize(lambda x: x, draws, 0.1, ledger=ledger, method="channel")
        assert ledger.spent == 0
        with pytest.raises(rpac.InputError, match="code words that are given, for half-samples"):
            rpac.Session(people, 0.5, method="channel")
    given = rpac.Equilibrium(family="channel", words=np.linspace(0, 29, 30))
    found = rpac.privatize(np.mean, people, 0.1, method=given)
    assert found.value in np.linspace(0, 29, 30)
    assert found.certificate.worst_unit_success is not None


# --- several budgets for one simulation ---------------------------------------------------------


def _counted():
    seen = []

    def mean(x):
        seen.append(len(x))
        return x.mean(axis=0)

    return mean, seen


def test_several_budgets_cost_one_simulation_and_are_charged_each(tmp_path):
    mean, seen = _counted()
    outputs = rpac.simulate(PEOPLE, mean)
    ran = len(seen)
    with rpac.Ledger(tmp_path / "books.db", budget=2.0, anchor=tmp_path / "anchor") as ledger:
        made = [privatize(outputs, PEOPLE, nats, ledger=ledger) for nats in (0.05, 0.2, 0.2)]
        assert len(seen) == ran
        assert ledger.spent == pytest.approx(sum(m.certificate.bound for m in made), abs=1e-5)
        assert (made[1].value != made[2].value).any()  # a fresh world, and fresh noise
        assert made[0].certificate.noise["power"] > made[1].certificate.noise["power"]
        assert made[0].certificate.worst_unit_success is not None
        assert made[0].receipt.answer["told"]["question"] == mean.__qualname__


def test_a_key_knows_outputs_and_their_function_as_one_question(tmp_path):
    mean, _ = _counted()
    outputs = rpac.simulate(PEOPLE, mean)
    with rpac.Ledger(tmp_path / "books.db", budget=2.0, anchor=tmp_path / "anchor") as ledger:
        first = privatize(outputs, PEOPLE, 0.1, ledger=ledger, key="k")
        assert (privatize(mean, PEOPLE, 0.1, ledger=ledger, key="k").value == first.value).all()
        spent = ledger.spent
        same = rpac.Subsets(np.random.default_rng(0).lognormal(size=(60, 2)), worlds=32)
        assert (privatize(outputs, same, 0.1, ledger=ledger, key="k").value == first.value).all()
        assert ledger.spent == spent
        other = rpac.simulate(PEOPLE, lambda x: x.mean(axis=0) + 1)
        with pytest.raises(rpac.Withheld):
            privatize(other, PEOPLE, 0.1, ledger=ledger, key="k")


def test_outputs_of_a_given_secret_and_of_labels_are_released_too():
    worlds = rpac.Worlds([1.0, 2.0, 9.0])
    outputs = rpac.simulate(worlds, lambda x: x)
    assert "given by its owner" in privatize(outputs, worlds, 0.2, secret=2.0).certificate.secret
    words = rpac.simulate(worlds, lambda x: "high" if x > 1.5 else "low")
    assert privatize(words, worlds, 0.2).value in ("high", "low")


@pytest.mark.parametrize(
    "changed",
    [
        lambda o: rpac.Outputs(o.values),
        lambda o: o.under(np.arange(1.0, 33.0) / 528),
        lambda o: o.among(np.arange(3)),
        lambda o: o.stating("something else"),
        lambda o: rpac.simulate(rpac.Subsets(np.arange(60.0), worlds=32), np.mean),
        lambda o: rpac.simulate(rpac.Worlds([1.0, 2.0]), float),
    ],
)
def test_outputs_of_anything_else_are_refused_and_cost_nothing(changed, tmp_path):
    outputs = changed(rpac.simulate(PEOPLE, lambda x: x.mean(axis=0)))
    with rpac.Ledger(tmp_path / "books.db", budget=2.0, anchor=tmp_path / "anchor") as ledger:
        with pytest.raises(rpac.InputError, match="simulated on this source; got others. Pass"):
            privatize(outputs, PEOPLE, 0.1, ledger=ledger)
        assert ledger.spent == 0


def test_outputs_of_lists_draws_and_people_are_refused_with_the_next_move():
    listed = rpac.simulate(rpac.Worlds([1.0, 2.0]), float)
    with pytest.raises(rpac.InputError, match="simulated on this source; got others"):
        privatize(listed, rpac.Worlds([2.0, 1.0]), 0.1)  # in another order
    draws = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=40)
    with pytest.raises(rpac.InputError, match="got draws of a sampler. Pass the mechanism itself"):
        privatize(rpac.simulate(draws, lambda x: x), draws, 0.1)
    people = rpac.Presence(np.arange(9.0), middle=0.0)
    with pytest.raises(rpac.InputError, match="got outputs of a simulation. Pass the function"):
        privatize(listed, people, 0.1)


@pytest.mark.parametrize("given", [{"n_jobs": 2}, {"seed": 1}, {"store": "."}])
def test_how_to_simulate_is_said_when_it_is_simulated(given):
    outputs = rpac.simulate(PEOPLE, lambda x: x.mean(axis=0))
    (name,) = given
    with pytest.raises(rpac.InputError, match=f"simulated already; got {name}=. Say it to"):
        privatize(outputs, PEOPLE, 0.1, **given)


def test_several_questions_are_one_select():
    people = rpac.Presence([{"x": 1.0}], unit="rows", caps={"x": (0, 1)})
    several = [rpac.statistics.mean("x"), rpac.statistics.count()]
    expected = "Expected one question; got several, in a list. Ask several numbers in one SQL"
    for source in (people, rpac.Subsets([1.0, 2.0], worlds=4)):
        with pytest.raises(rpac.errors.InputError, match=expected):
            rpac.privatize(several, source, 0.1)


class Careless(rpac.Calibrator):
    """Computes in place on what it was given, as careless code does, and proposes no noise."""

    def propose(self, outputs, nats):
        low, high = outputs.extremes
        high -= low
        return rpac.LatticeNoise(1e-3, [-1, 0, 1], [1e-3, 0.998, 1e-3])


def test_what_a_calibrator_is_given_cannot_be_changed_in_place():
    """Equal extremes would say that all worlds agree, and a bare answer be certified at 0 nats."""
    with pytest.raises(rpac.Withheld):
        rpac.privatize(lambda x: x, rpac.Worlds([1.0, 2.0]), 0.01, method=Careless())
    outputs = rpac.Outputs([[1.0, 3.0], [2.0, 5.0]])
    for kept in (*outputs.extremes, outputs.constant, outputs.spread):
        with pytest.raises(ValueError, match="read-only"):
            kept[...] = 0


@pytest.mark.parametrize("name", ["extremes", "weights", "constant", "values"])
def test_what_a_calibrator_writes_to_its_outputs_stays_there(name):
    class Writes(rpac.Calibrator):
        def propose(self, outputs, nats):
            small = np.r_[1 - 15e-12, np.full(15, 1e-12)]
            told = {"extremes": (np.zeros(1), np.zeros(1)), "weights": small}
            told |= {"constant": np.ones(1, bool), "values": np.zeros((16, 1))}
            outputs.__dict__[name] = told[name]
            return rpac.GaussianNoise.on(np.eye(1), np.array([1e-4]))

    worlds = rpac.Worlds([float(i) for i in range(16)])
    with pytest.raises(rpac.Withheld):
        rpac.privatize(lambda x: x, worlds, 0.01, method=Writes(), secret=7.0)


class Shifty:
    """An array that changes under its readers."""

    def __array__(self, dtype=None, copy=None):
        BOOKS[0].__dict__["tables"] = BOOKS[1].tables
        return np.array([[1.0], [2.0]])


BOOKS = [rpac.Codebook([1.0, 2.0], p) for p in (np.full((2, 2), 0.5), np.eye(2))]


def test_a_code_book_is_certified_and_released_as_a_plain_copy():
    class Swaps(rpac.Calibrator):
        def propose(self, outputs, nats):
            BOOKS[0].__dict__["_words"] = Shifty()
            return BOOKS[0]

    with pytest.raises(rpac.Withheld):
        rpac.privatize(lambda x: x, rpac.Worlds([1.0, 2.0]), 0.01, method=Swaps())
