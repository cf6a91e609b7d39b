"""Releases: the law that was certified, drawn by the operating system, in the mechanism's form."""

import dataclasses
import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from benchmarks import release as long_run  # with smaller counts

import rpac
from rpac.certificate.attempts import Memory
from rpac.certificate.issue import issue
from rpac.front.certify import PROCESS
from rpac.release.draw import add_noise, draw_world
from rpac.release.release import Request, _certified, charge, release
from rpac.worlds.run import answer_on_fresh_draw

DATA = np.random.default_rng(0).lognormal(size=(100, 2))
PEOPLE = rpac.Subsets(DATA, worlds=128)


def test_end_to_end_stays_within_the_budget():
    for budget in (0.01, 0.5, rpac.Bits(0.5), rpac.ResidualEntropy(4.0)):
        release = rpac.privatize(lambda x: x.mean(axis=0), PEOPLE, budget)
        nats = rpac.budget.as_budget(budget).nats(np.log(128))
        assert release.certificate.charged
        assert 0.5 * nats < release.certificate.bound <= nats
        assert release.value.shape == (2,)
    release = rpac.privatize(lambda x: x.mean(axis=0), PEOPLE, rpac.SuccessRate(0.6))
    assert release.certificate.worst_unit_success <= 0.6  # on half-samples: of every person


def test_a_seed_fixes_the_study_and_never_the_release():
    first, second = (rpac.privatize(np.mean, PEOPLE, 0.2, seed=3) for _ in range(2))
    assert first.certificate.noise == second.certificate.noise
    assert first.value != second.value


def test_labels_go_through_a_channel():
    class Flip(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.LabelChannel.randomized_response(2, 0.6)

    release = rpac.privatize(
        lambda x: "up" if x.mean() > 1.6 else "down", PEOPLE, 0.1, method=Flip()
    )
    assert release.value in ("up", "down")
    assert release.certificate.bound <= 0.1
    with pytest.raises(rpac.Withheld):
        rpac.privatize(lambda x: "up" if x.mean() > 1.6 else "down", PEOPLE, 0.1, method="auto-pac")


def test_open_distributions_release_a_fresh_draw():
    source = rpac.Draws(lambda rng: rng.normal(size=2), clip=(-4, 4), draws=4_000)
    release = rpac.privatize(lambda x: x, source, 0.5)
    assert release.value.shape == (2,)
    assert release.certificate.grade == "statistical"
    assert 0.2 < release.certificate.bound <= 0.5


def test_the_best_attack_on_real_releases_stays_below_the_certificate():
    outputs = rpac.Outputs([-1.0, 1.0])
    noise = rpac.calibrate(outputs, 0.3)
    law = rpac.tabulate(outputs, noise)
    certificate = rpac.certify(outputs, law, budget=0.3)
    games = 6_000
    worlds = np.array([draw_world(outputs.weights) for _ in range(games)])
    values = np.array([add_noise(outputs.codes(law)[w], law)[0] for w in worlds])
    success = ((values > 0) == (worlds == 1)).mean()
    assert 0.7 < success <= certificate.success_rate(0.5) + 4 * 0.5 / np.sqrt(games)


def test_a_law_that_changes_after_its_certificate_is_not_released(monkeypatch):
    real = issue

    def other(outputs, law, *args, **kwargs):
        found = real(outputs, law, *args, **kwargs)
        return dataclasses.replace(found, noise=found.noise | {"fingerprint": "0" * 64})

    monkeypatch.setattr("rpac.release.release.issue", other)
    with pytest.raises(rpac.Withheld):
        rpac.privatize(lambda x: x.mean(), PEOPLE, 0.1)
    request = Request(np.mean, PEOPLE, 0.1, "auto-pac", 0.99)
    outputs = request.outputs()
    with pytest.raises(rpac.InputError, match="Expected the law that was certified; got another"):
        _certified(request, outputs, lambda o: rpac.calibrate(o, 0.1, "auto-pac"), Memory())


def test_nothing_is_drawn_when_the_budget_is_exceeded(monkeypatch):
    class None_(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.LatticeNoise(0.001, [-1, 1], [0.5, 0.5])

    def forbidden(*args):
        raise AssertionError("drew a world before the certificate")

    monkeypatch.setattr("rpac.release.draw.draw_world", forbidden)
    monkeypatch.setattr("rpac.release.release.noisy_codes", forbidden)
    with pytest.raises(rpac.BudgetExceeded):
        rpac.privatize(lambda x: x.mean(), PEOPLE, 0.1, method=None_())


def test_no_world_of_collinear_outputs_fails_at_release():
    """The middle world lies next to the centre; a relative check of its own row would refuse it."""

    def line(t):
        return np.array([12345.678, 9876.543]) + t * np.array([0.3, 0.7])

    worlds = rpac.Worlds([-1.0, 0.0, 1.0])
    outputs = rpac.simulate(worlds, line)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.1))
    for codes in outputs.codes(law):
        assert np.isfinite(add_noise(codes, law)).all()
    for _ in range(30):
        rpac.privatize(line, worlds, 0.1)


def test_the_certified_integers_are_the_released_ones():
    rng = np.random.default_rng(8)
    outputs = rpac.Outputs(rng.normal(size=(64, 8)))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5))
    rpac.certify(outputs, law, draws=1_000)
    stored = outputs.codes(law)
    assert outputs.codes(law) is stored
    alone = np.concatenate([law.encode_rows(row[None]) for row in outputs.values])
    assert (alone == law.encode_rows(outputs.values)).all()


def test_the_type_of_a_release_does_not_depend_on_the_fresh_draw():
    source = rpac.Draws(lambda rng: 3, clip=(0, 9), draws=100)
    outputs = rpac.simulate(source, lambda x: x)
    fresh = answer_on_fresh_draw(source, lambda x: x, outputs, 2.5)
    assert isinstance(outputs.rebuild(fresh), int)


def test_an_open_distribution_is_judged_on_new_draws_every_time(monkeypatch):
    seeds = []

    def stop(source, mechanism, n_jobs, seed, **more):
        seeds.append(seed)
        raise KeyboardInterrupt

    monkeypatch.setattr("rpac.release.release.simulate", stop)
    source = rpac.Draws(lambda rng: rng.normal(size=1), clip=(-4, 4), draws=400)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            rpac.privatize(lambda x: x, source, 0.5)
    assert len(set(seeds)) == 3


# --- with books -----------------------------------------------------------------------------


def mean(x):
    return x.mean(axis=0)


@pytest.fixture
def ledger(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=2.0, dataset="people", analyst="ann") as books:
        yield books


def test_a_release_is_charged_its_bound_and_what_its_error_could_cost(ledger):
    release = rpac.privatize(mean, PEOPLE, 0.3, ledger=ledger)
    made = release.certificate
    assert release.receipt.nano == math.ceil(charge(made) * 1e9 - 1e-6)
    assert ledger.spent == release.receipt.nats >= made.bound
    assert "booked" in str(release)
    assert release.receipt.version == ledger.fingerprint(PEOPLE.version) != PEOPLE.version
    assert made.outputs["fingerprint"] == ledger.fingerprint(release.sealed[0].digest)
    assert made.noise["fingerprint"] == ledger.fingerprint(release.sealed[1].digest)
    plain = (release.sealed[0].digest, release.sealed[1].digest, PEOPLE.version, PEOPLE.secret)
    public = str(release) + made.to_json() + json.dumps(list(ledger.entries())) + repr(release)
    assert not [mark for mark in plain if mark[:12] in public]
    ledger.verify()


def test_the_charge_of_a_statistical_bound():
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.2, 0.6, 0.2])
    proved = rpac.certify(rpac.Outputs([0.0, 1.0]), noise)
    assert charge(proved) == proved.bound
    finite = dataclasses.replace(proved, grade="statistical", confidence=0.99, bound=0.1)
    assert charge(finite) == pytest.approx(0.1 + 0.01 * math.log(2))
    open_ = dataclasses.replace(finite, entropy=None, bounds={"box": 3.0, "reference": 0.1})
    assert charge(open_) == pytest.approx(0.1 + 0.01 * 3.0)
    near = dataclasses.replace(finite, bounds={"log-det": 0.1001, "mixture": 0.1, "entropy": 0.7})
    assert charge(near) == 0.1001  # proved, and less than the statistical one with its error


def test_a_retry_returns_the_same_answer_for_nothing(ledger, folder):
    forms = [np.mean, mean, lambda x: {"a": x.sum()}, lambda x: "ab"[int(x.mean() > 1.6)],
             lambda x: pd.DataFrame({"a": x.mean(axis=0)})]  # fmt: skip
    for i, form in enumerate(forms):
        method = "equilibrium" if i == 3 else "auto-pac"
        settings = {"key": f"{i}", "method": method}
        first = rpac.privatize(form, PEOPLE, 0.1, ledger=ledger, **settings)
        spent = ledger.spent
        with rpac.Ledger(f"{folder}/l.db", dataset="people", analyst="ann") as ledger_again:
            again = rpac.privatize(form, PEOPLE, 0.1, ledger=ledger_again, **settings)
        assert str(again) == str(first)
        assert again.certificate.to_json() == first.certificate.to_json()
        assert again.receipt == first.receipt
        assert str(again.noise_interval) == str(first.noise_interval)
        assert str(again.sampling_interval) == str(first.sampling_interval)
        assert ledger.spent == spent
    for change in ({"budget": 0.2}, {"method": "isotropic"}, {"allow_exact": True}):
        request = {"mechanism": np.mean, "budget": 0.1, "method": "auto-pac"} | change
        with pytest.raises(rpac.InputError, match="the request that key '0' was first used for"):
            rpac.privatize(source=PEOPLE, ledger=ledger, key="0", **request)
    assert ledger.spent == spent
    with pytest.raises(rpac.Withheld):  # whether two functions agree is a fact of the data
        rpac.privatize(np.std, PEOPLE, 0.1, ledger=ledger, key="0", method="auto-pac")
    assert ledger.spent == pytest.approx(spent + 0.01)
    with pytest.raises(rpac.InputError, match="Expected a ledger for the key; got '0'"):
        rpac.privatize(np.mean, PEOPLE, 0.1, key="0")


def test_nothing_is_drawn_when_the_books_refuse(ledger, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("drew before the books were asked")

    ledger.cap(0.05, analyst="ann")
    monkeypatch.setattr("rpac.release.release.draw_among", forbidden)
    monkeypatch.setattr("rpac.release.release.answer_on_fresh_draw", forbidden)
    with pytest.raises(rpac.BudgetSpent, match="what is left for analyst 'ann'"):
        rpac.privatize(np.mean, PEOPLE, 0.1, ledger=ledger, method="auto-pac")
    source = rpac.Draws(lambda rng: rng.normal(size=1), clip=(-4, 4), draws=400)
    with pytest.raises(rpac.BudgetSpent):
        rpac.privatize(lambda x: x, source, 0.5, ledger=ledger)
    with pytest.raises(rpac.Withheld):  # its charge is known too late
        rpac.privatize(np.mean, PEOPLE, rpac.SuccessRate(0.7), ledger=ledger)
    assert ledger.spent == 0.01
    ledger.cap(0.015, analyst="ann")  # too little for a refusal
    with pytest.raises(rpac.BudgetSpent, match=r"got 0\.010000000"):
        rpac.privatize(np.mean, PEOPLE, 0.001, ledger=ledger)


def test_attempts_are_counted_across_processes(ledger):
    made = []
    for _ in range(3):
        PROCESS.clear()  # another process knows nothing of the last
        made.append(rpac.privatize(mean, PEOPLE, 0.3, ledger=ledger, method="auto-pac"))
    assert [r.certificate.attempt for r in made] == [1, 2, 3]


def test_who_comes_second_with_a_key_gets_the_first_ones_release(ledger, monkeypatch):
    first = []
    check, calls = rpac.Ledger.check, []

    def overtaken(books, *args):
        calls.append(args)
        if len(calls) == 1:  # before anything was run
            return
        monkeypatch.setattr(rpac.Ledger, "check", check)
        first.append(rpac.privatize(mean, PEOPLE, 0.3, ledger=books, key="k", method="auto-pac"))
        check(books, *args)

    monkeypatch.setattr(rpac.Ledger, "check", overtaken)
    second = rpac.privatize(mean, PEOPLE, 0.3, ledger=ledger, key="k", method="auto-pac")
    assert second.certificate == first[0].certificate
    assert second.certificate.attempt == 2  # its own was the first, and of another law
    assert (second.value == first[0].value).all()
    assert (second.receipt, second.sealed) == (first[0].receipt, None)


def test_other_data_or_another_secret_are_other_lines(ledger):
    rpac.privatize(np.mean, PEOPLE, 0.1, ledger=ledger, method="auto-pac")
    other = rpac.Subsets(DATA, worlds=64)
    with pytest.raises(rpac.InputError, match="charges about one secret"):
        rpac.privatize(np.mean, other, 0.1, ledger=ledger, method="auto-pac")
    changed = DATA.copy()
    changed[0, 0] += 1e-9
    rpac.privatize(np.mean, rpac.Subsets(changed, worlds=64), 0.1, ledger=ledger, method="auto-pac")
    assert sum(a["kind"] == "version" for a in ledger.accounts()) == 2


def test_a_given_secret_is_released_under_its_declared_prior():
    worlds = rpac.Worlds([np.array([0.0]), np.array([50.0]), np.array([50.0])])
    values = [rpac.privatize(lambda x: x, worlds, 0.6, secret=np.array([50.0]), method="auto-pac",
                             ).value[0] for _ in range(60)]  # fmt: skip
    sigma = np.sqrt(rpac.calibrate(rpac.Outputs([0.0, 50.0, 50.0]), 0.6, "auto-pac").power)
    assert np.mean(values) == pytest.approx(50, abs=5 * sigma / np.sqrt(60))
    release = rpac.privatize(lambda x: x, worlds, 0.1, secret=np.array([0.0]), method="auto-pac")
    assert "who declares the prior" in release.certificate.secret
    source = rpac.Draws(lambda rng: rng.normal(size=1), clip=(-4, 4), draws=400)
    value = rpac.privatize(lambda x: x, source, 3.0, secret=np.array([99.0])).value
    assert value[0] < 30  # clipped to the box before the noise
    with pytest.raises(rpac.InputError, match="Expected a secret among the worlds; got another"):
        rpac.privatize(lambda x: x, worlds, 0.1, secret=np.array([7.0]))
    with pytest.raises(rpac.InputError, match="Expected a drawn half-sample; got a given one"):
        rpac.privatize(np.mean, PEOPLE, 0.1, secret=DATA[:50])


def test_a_key_fixes_the_study_draws_of_an_open_distribution(ledger):
    source = rpac.Draws(lambda rng: rng.normal(size=1), clip=(-4, 4), draws=400)
    ask = lambda: rpac.privatize(lambda x: x, source, 0.6, ledger=ledger, key="k")  # noqa: E731
    assert ask().value == ask().value


def test_the_released_bytes_hold_no_value_without_noise(ledger):
    worlds = rpac.Worlds([123456.0, 654321.0])
    release = rpac.privatize(lambda x: x, worlds, 0.05, ledger=ledger, method="auto-pac")
    public = str(release) + release._repr_html_() + json.dumps(list(ledger.entries()))
    assert "123456" not in public
    assert "654321" not in public


# --- attacks on the kernel --------------------------------------------------------------------


def test_the_exact_bayes_attack_stays_below_the_bound():
    for name, budget, success, error, bound in long_run.bayes(20_000, (0.05, 0.7)):
        assert success - 4 * error <= bound, (name, budget)


def test_who_proposes_never_sees_the_judging_half():
    source = rpac.Draws(lambda rng: rng.normal(size=1), clip=(-4, 4), draws=400)
    seen = []

    def curious(outputs):
        seen.append(len(outputs.values))
        return rpac.AutoPAC().propose(outputs, 0.6)

    release(Request(lambda x: x, source, 0.6, "curious", 0.99), curious, Memory())
    assert seen == [200]


# --- given secrets ------------------------------------------------------------------------------


def renamed(rng):
    return rng.normal(size=1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (rpac.Worlds([1.0, 2.0, 4.0]), rpac.Worlds([4.0, 2.0, 1.0])),
        (rpac.Worlds([1.0, 2.0, 4.0]), rpac.Worlds([1.0, 2.0, 4.0, 8.0], [0.1, 0.2, 0.3, 0.4])),
        (rpac.Draws(renamed, clip=(-4, 4), draws=400), rpac.Draws(renamed, (-3, 4), draws=400)),
        (rpac.Draws(renamed, clip=(-4, 4), draws=400),
         rpac.Draws(lambda rng: rng.normal(size=1), clip=(-4, 4), draws=400)),
    ],
    ids=["order", "another list", "clip", "sampler's name"],
)  # fmt: skip
def test_a_subject_is_asked_about_once_however_it_is_listed(ledger, first, second):
    ask = lambda source, **more: rpac.privatize(  # noqa: E731
        np.sum, source, 0.6, ledger=ledger, secret=2.0, **more
    )
    ask(first, subject="ann")
    with pytest.raises(rpac.InputError, match=r"a given secret asked about again\. Use the same"):
        ask(second, subject="ann")
    ask(second, subject="bob")
    with pytest.raises(rpac.InputError, match="Expected a given secret for the subject; got 'x'"):
        rpac.privatize(np.sum, first, 0.6, subject="x")


def test_a_key_knows_which_secret_was_given(ledger):
    worlds = rpac.Worlds([1.0, 2.0, 4.0])
    ask = lambda secret, subject: rpac.privatize(  # noqa: E731
        float, worlds, 0.1, ledger=ledger, secret=secret, key="k", subject=subject
    )
    first = ask(2.0, "ann")
    assert ask(2.0, "ann").value == first.value
    for other in ((4.0, "ann"), (2.0, "bob")):
        with pytest.raises(rpac.InputError, match="the request that key 'k' was first used for"):
            ask(*other)


# --- refusals -----------------------------------------------------------------------------------


def fails(x):
    raise ValueError("secret") if x.mean() > 1.6 else 0


class Silly(rpac.Calibrator):
    def propose(self, outputs, nats):
        raise np.linalg.LinAlgError("secret")


class Weak(rpac.Calibrator):
    def propose(self, outputs, nats):
        return rpac.AutoPAC().propose(outputs, 3 * nats)


REASONS = {
    "fails on some worlds": {"mechanism": fails},
    "another form on some": {"mechanism": lambda x: np.ones(1 + int(x.mean() > 1.6))},
    "not a number on some": {"mechanism": lambda x: np.nan if x.mean() > 1.6 else 1.0},
    "too wide a spread": {"mechanism": lambda x: 1e300 * x.mean() ** 9},
    "no certificate": {"method": Weak()},
    "a search that fails": {"method": Silly()},
    "no noise is needed": {"mechanism": lambda x: int(x.mean() > 1.6), "budget": 4.0},
}


@pytest.mark.parametrize("reason", REASONS)
def test_refusals_because_of_data_are_alike_and_booked(ledger, reason):
    """One type, text and entry; a retry says the same for nothing; nothing else is told."""
    ledger.cap(20.0)
    asked = {"mechanism": np.mean, "budget": 0.1, "method": "auto-pac"} | REASONS[reason]
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(rpac.Withheld) as caught:
                rpac.privatize(source=PEOPLE, ledger=ledger, key="k", **asked)
        error = caught.value
        assert (type(error), str(error)) == (rpac.Withheld, str(rpac.Withheld()))
        assert (error.__cause__, error.__context__) == (None, None)
    *_, entry = (e for e in ledger.entries() if e["kind"] == "spend")
    assert ledger.spent == 0.01
    kept = {n: entry[n] for n in ("nano", "key", "dataset", "analyst", "version", "answer")}
    assert kept == {"nano": 10_000_000, "key": "k", "dataset": "people", "analyst": "ann",
                    "version": "", "answer": {"withheld": True}}  # fmt: skip
    with pytest.raises(rpac.Withheld):
        rpac.privatize(source=PEOPLE, **asked)
    ledger.verify()


class Odd:
    def __reduce_ex__(self, protocol):
        raise RuntimeError("secret")


def test_a_cell_that_cannot_be_hashed_is_withheld(ledger, folder):
    """Books want the version of a table, and reading it meets every cell."""
    table = pd.DataFrame({"x": pd.Series([1.0, 2.0, Odd(), 4.0], dtype=object)})
    source = rpac.Subsets(table, unit="rows", worlds=4)
    asks = [
        lambda: rpac.privatize(len, source, 0.1, ledger=ledger),
        lambda: rpac.Session(source, 0.5, ledger),
    ]
    for i, ask in enumerate(asks, 1):
        with pytest.raises(rpac.Withheld) as caught:
            ask()
        assert (str(caught.value), caught.value.__context__) == (str(rpac.Withheld()), None)
        assert ledger.spent == pytest.approx(0.01 * i)


def test_what_public_things_decide_is_refused_first_and_for_nothing(ledger):
    def forbidden(x):
        raise AssertionError("ran")

    wrong = [
        ({"confidence": 2.0}, "`confidence` between"),
        ({"source": [1, 2]}, "Expected a Source; got list"),
        ({"budget": rpac.ResidualEntropy(50.0)}, "residual entropy below"),
        ({"secret": 1.0}, "a drawn half-sample"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"mechanism": 7}, "a callable mechanism"),
    ]
    for change, message in wrong:
        asked = {"mechanism": forbidden, "source": PEOPLE, "budget": 0.1} | change
        with pytest.raises(rpac.InputError, match=message):
            rpac.privatize(ledger=ledger, **asked)
    weighted = rpac.Worlds([1.0, 2.0], [0.4, 0.6])
    for source in (weighted, rpac.Draws(renamed, clip=(-4, 4))):
        with pytest.raises(rpac.InputError, match="residual entropy below|known entropy"):
            rpac.privatize(forbidden, source, rpac.ResidualEntropy(5.0), ledger=ledger)
    assert ledger.spent == 0


def test_a_charge_above_what_was_asked_is_withheld(ledger, monkeypatch):
    monkeypatch.setattr("rpac.release.release.charge", lambda made: 0.2)
    with pytest.raises(rpac.Withheld):
        rpac.privatize(np.mean, PEOPLE, 0.1, ledger=ledger, method="auto-pac")


def test_who_comes_second_with_a_refused_key_is_refused(ledger, monkeypatch):
    check, calls = rpac.Ledger.check, []

    def overtaken(books, *args):
        calls.append(args)
        if len(calls) == 2:
            monkeypatch.setattr(rpac.Ledger, "check", check)
            with pytest.raises(rpac.Withheld):
                rpac.privatize(fails, PEOPLE, 0.3, ledger=books, key="k", method="auto-pac")

    monkeypatch.setattr(rpac.Ledger, "check", overtaken)
    with pytest.raises(rpac.Withheld):
        rpac.privatize(mean, PEOPLE, 0.3, ledger=ledger, key="k", method="auto-pac")
    assert ledger.spent == 0.01


def test_draws_are_counted_in_the_books(ledger):
    """The k-th certificate of a dataset's draws errs with 1 / (k (k + 1)) of the error."""
    source = rpac.Draws(renamed, clip=(-4, 4), draws=400)
    made = [rpac.privatize(lambda x: x, source, 0.05, ledger=ledger) for _ in range(3)]
    assert [m.certificate.attempt for m in made] == [1, 2, 3]
    assert rpac.privatize(lambda x: x, source, 0.05).certificate.attempt == 1
    other = ledger.under(dataset="others")
    assert rpac.privatize(lambda x: x, source, 0.05, ledger=other).certificate.attempt == 1


def test_what_fails_when_an_answer_is_told_is_withheld_at_its_full_price(tmp_path, monkeypatch):
    """That it fails may be told by the answer itself, which a refusal's price does not cover."""
    monkeypatch.setattr("rpac.release.release.told", lambda *_: 1 / 0)
    with rpac.Ledger(f"{tmp_path}/l.db", budget=1.0) as ledger:
        with pytest.raises(rpac.Withheld):
            rpac.privatize(lambda x: x, rpac.Worlds([0.0, 1.0, 5.0]), 0.2, ledger=ledger, key="k")
        assert 0.15 < ledger.spent <= 0.2
        with pytest.raises(rpac.Withheld):  # a retry: for nothing
            rpac.privatize(lambda x: x, rpac.Worlds([0.0, 1.0, 5.0]), 0.2, ledger=ledger, key="k")
        assert ledger.spent <= 0.2
