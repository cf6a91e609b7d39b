"""Plans: a price and two errors, right to the digit."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac._base.sealed import publish
from rpac.questions import statistics
from rpac.report import plan as planning
from rpac.report import wording

PEOPLE = pd.DataFrame({"id": range(40), "x": np.random.default_rng(2).gamma(2.0, 3.0, 40)})
SOURCE = rpac.Subsets(PEOPLE, unit="id", worlds=16)


def test_errors_are_those_of_noise_and_of_sampling_against_the_whole_table():
    mechanism = statistics.sum("x")
    outputs = rpac.simulate(SOURCE, mechanism)
    full = planning.full_answer(SOURCE, mechanism)
    made = planning.plan(outputs, 0.2, "auto-pac", full=full, left=1.0)
    (number,) = made.numbers
    doubled = 2 * np.array([world.x.sum() for world in SOURCE.worlds(0)])
    assert number["number"] == "sum(x)"
    assert number["sampling"] == pytest.approx(
        np.sqrt(np.square(doubled - PEOPLE.x.sum()).mean()), rel=1e-12
    )
    noise = rpac.calibrate(outputs, 0.2, "auto-pac")
    assert number["noise"] == pytest.approx(2 * np.sqrt(noise.power), rel=1e-12)
    assert made.remaining == (1.0, 0.8)
    shares = [share for _, share in made.curve]
    assert shares == sorted(shares, reverse=True)
    again = planning.plan(outputs, 0.2, noise=noise)
    assert again.chosen == pytest.approx(np.sqrt(noise.power) / outputs.values.std(), rel=1e-9)
    assert "answer" not in made.to_dict()


def test_numbers_are_named():
    groups = rpac.simulate(SOURCE, lambda t: {"a": t.x.mean(), "b": t.x.max()})
    assert groups.names == ["a", "b"]
    assert rpac.Outputs([1.0, 2.0]).names == ["answer"]
    assert rpac.Outputs(np.eye(3)).names == ["number 1", "number 2", "number 3"]
    labels = rpac.simulate(SOURCE, lambda t: "high" if t.x.mean() > PEOPLE.x.mean() else "low")
    made = planning.plan(labels, 0.1)
    assert made.curve == []
    assert made.numbers[0]["number"] == "a label"


def test_the_whole_table_is_asked_only_where_that_works():
    assert planning.full_answer(rpac.Subsets(range(6)), len) is None
    assert planning.full_answer(SOURCE, lambda t: {}[0]) is None
    assert planning.full_answer(SOURCE, len) == 40


def test_a_price_is_said_for_one_person_where_half_of_them_are_drawn():
    outputs = rpac.simulate(SOURCE, statistics.mean("x"))
    for budget, after in ((0.1, 72), (rpac.SuccessRate(0.55), 55)):
        made = planning.plan(outputs, budget, "auto-pac")
        assert made.meaning == wording.before_and_after(after / 100)
    noise = rpac.calibrate(outputs, 0.1, "auto-pac")
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise))
    assert certificate.worst_unit_success < 0.72
    assert "any yes-or-no fact" in planning.plan(rpac.Outputs([1.0, 2.0]), 0.1, "auto-pac").meaning


def test_figures_by_hand():
    """One number, -1 or 3: variance 4, so Auto-PAC adds 4 / (e^(2 nats) - 1) of variance."""
    outputs = rpac.Outputs([-1.0, 3.0])
    made = planning.plan(outputs, 0.3, "auto-pac", left=0.2)
    assert made.nats == 0.3
    assert made.numbers == [{"number": "answer",
                             "noise": pytest.approx(2 / math.sqrt(math.expm1(0.6)), rel=1e-6),
                             "sampling": pytest.approx(2.0, rel=1e-12),
                             "fact": False}]  # fmt: skip
    assert made.chosen == pytest.approx(1 / math.sqrt(math.expm1(0.6)), rel=1e-6)
    assert made.remaining == (0.2, pytest.approx(-0.1))
    assert [b for b, _ in made.curve] == list(planning.CURVE)
    for nats, share in made.curve:
        least = 1 / math.sqrt(math.expm1(2 * nats))
        # as much as there is to know needs no noise; the rest is met from above
        assert share == 0.0 if nats >= math.log(2) else least <= share <= 1.001 * least


def test_worlds_count_by_their_prior():
    outputs = rpac.Outputs([[0.0, 1.0], [10.0, 1.5]], weights=[0.8, 0.2])
    made = planning.plan(outputs, 0.1, "auto-pac")
    sampling = [row["sampling"] for row in made.numbers]
    assert sampling == pytest.approx([4.0, 0.2], rel=1e-12)  # |difference| sqrt(0.8 x 0.2)
    power = sum(row["noise"] ** 2 for row in made.numbers)
    assert made.chosen == pytest.approx(math.sqrt(power / (16 + 0.04)), rel=1e-9)


def test_noise_that_is_known_is_not_sought_again(monkeypatch):
    outputs = rpac.Outputs([-1.0, 3.0])
    noise = rpac.GaussianNoise([[0.25]])
    monkeypatch.setattr(planning, "calibrate", None)  # would fail if it were reached
    made = planning.plan(outputs, 0.3, noise=noise)
    assert made.numbers[0]["noise"] == 0.5
    assert made.chosen == 0.25
    assert made.remaining is None


def test_budgets_of_every_unit_have_a_price():
    outputs = rpac.Outputs([-1.0, 3.0])
    for budget, nats in [(rpac.Nats(0.2), 0.2), (rpac.Bits(0.5), 0.5 * math.log(2)),
                         (rpac.ResidualEntropy(0.6), math.log(2) - 0.6)]:  # fmt: skip
        planned = planning.plan(outputs, budget, "auto-pac").nats
        assert nats <= planned < nats + 1.1e-9  # as the books round it


def test_no_warning_where_no_noise_is_needed():
    made = planning.plan(rpac.Outputs([-1.0, 3.0]), 1.0)  # a warning would be an error here
    assert (made.numbers[0]["noise"], made.chosen) == (0.0, 0.0)


def test_a_plan_is_plain_data():
    made = planning.plan(rpac.Outputs(np.eye(3)), 0.2, "auto-pac", left=1.0)
    body = json.loads(publish(made.to_dict()))
    assert set(body) == {
        "nats", "membership", "meaning", "numbers", "curve", "chosen", "remaining", "channel",
    }  # fmt: skip
    assert [row["number"] for row in body["numbers"]] == ["number 1", "number 2", "number 3"]
    assert body["remaining"] == [1.0, 0.8]
    assert body["curve"][3] == [0.1, pytest.approx(made.curve[3][1])]


def test_a_query_knows_its_answer_on_the_whole_table():
    db = rpac.Database({"people": PEOPLE}, "id", worlds=8)
    query = db.query("SELECT sum(x) AS total, count(*) AS n FROM people")
    outputs = rpac.simulate(db.source, query)
    assert outputs.names == ["total", "n"]
    full = planning.full_answer(db.source, query)
    assert full == pytest.approx([PEOPLE.x.sum(), 40])
    made = planning.plan(outputs, 0.2, "auto-pac", full=full)
    assert [row["number"] for row in made.numbers] == ["total", "n"]
    assert made.numbers[1]["sampling"] == 0.0  # every half-sample stands for all forty


def test_what_all_worlds_agree_on_is_marked_as_a_fact_of_the_pool():
    masks = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], bool)
    for values in ([3.5] * 4, [3] * 4, [[1.0, 2.0]] * 4, ["a"] * 4):
        outputs = rpac.Outputs(values, masks=masks)
        for budget in (0.1, rpac.Bits(1), rpac.SuccessRate(0.55), rpac.ResidualEntropy(1.0)):
            made = planning.plan(outputs, budget)
            assert all(row["fact"] and row["noise"] == 0.0 for row in made.numbers)
            assert made.chosen == 0.0
    mixed = rpac.Outputs(np.array([[1.0, 5, 3], [2, 5, 4], [4, 5, 1], [8, 5, 2]]))
    made = planning.plan(mixed, 0.1, "auto-pac")
    assert [row["fact"] for row in made.numbers] == [False, True, False]
    assert made.numbers[1]["noise"] == 0.0 < made.numbers[0]["noise"]


def random_question(rng):
    """Half-samples of a random table, and a statistic of one to three numbers."""
    columns, n = int(rng.integers(1, 4)), int(rng.integers(30, 300))
    table = rng.lognormal(sigma=rng.uniform(0.2, 1.2), size=(n, columns))
    source = rpac.Subsets(table, worlds=int(rng.choice([16, 64, 128])))
    ask = rng.choice([lambda x: x.mean(axis=0), lambda x: np.median(x, axis=0),
                      lambda x: (x > 1).sum(axis=0)])  # fmt: skip
    return rpac.simulate(source, ask)


BUDGETS = {
    "nats": lambda rng, h: rpac.Nats(10 ** rng.uniform(-2, 0)),
    "bits": lambda rng, h: rpac.Bits(10 ** rng.uniform(-2, 0)),
    "residual": lambda rng, h: rpac.ResidualEntropy(h - 10 ** rng.uniform(-2, 0)),
    "success": lambda rng, h: rpac.SuccessRate(rng.uniform(0.53, 0.8)),
}


@pytest.mark.parametrize("kind", BUDGETS)
def test_a_plan_is_an_upper_bound_of_the_charge(kind):
    rng = np.random.default_rng(sorted(BUDGETS).index(kind))
    ratios = []
    for _ in range(4):
        outputs = random_question(rng)
        budget = BUDGETS[kind](rng, outputs.entropy)
        made = planning.plan(outputs, budget, "auto-pac")
        law = rpac.tabulate(outputs, rpac.calibrate(outputs, budget, "auto-pac"))
        certificate = rpac.certify(outputs, law, budget=budget)
        proved = [b for name, b in certificate.bounds.items() if name != "mixture"]
        charge = min([*proved, certificate.bound + 1e-6 * outputs.entropy])
        assert made.nats >= charge - 1e-12, (budget, outputs)
        assert certificate.worst_unit_success <= made.membership
        ratios.append(made.nats / charge)
    assert np.median(ratios) <= 1.25


def test_a_plan_shows_the_channel_beside_noise():
    rng = np.random.default_rng(0)
    outputs = rpac.Outputs(np.repeat([[0.0, 0.0], [9.0, 1.0]], 20, 0) + rng.normal(size=(40, 2)))
    made = rpac.plan(outputs, 0.5)
    said = made.channel
    assert said["proposed"]
    assert said["error"] < said["shrunk"] < said["noise"]
    assert 0 < said["keeps"] < 1
    assert 'method="channel"' in str(made)
    assert "drawn towards the mean" in made.beside
    channel = rpac.plan(outputs, 0.5, "channel")
    assert channel.channel is None
    assert channel.beside == ""
    both = np.square([row["noise"] for row in channel.numbers]).sum()
    assert both == pytest.approx(rpac.calibrate(outputs, 0.5, "channel").power)
    near = rpac.Outputs(rng.normal(size=(400, 1)))
    assert "errs by" in rpac.plan(near, 0.001, "auto-pac").beside


def test_no_channel_for_half_samples_or_labels():
    people = rpac.simulate(rpac.Subsets(np.arange(20.0), worlds=16), np.mean)
    assert rpac.plan(people, 0.1, "auto-pac").channel is None
    assert rpac.plan(rpac.Outputs(["a", "b"]), 0.1).channel is None


def test_what_is_planned_elsewhere_is_refused_with_where():
    people = rpac.Presence([{"x": 1.0}], unit="rows", caps={"x": (0, 1)})
    question, budget = rpac.statistics.mean("x"), rpac.SuccessRate(0.55)
    with pytest.raises(
        rpac.errors.InputError, match=r"rpac.compare\(\(question, people\), \[budget\]\)"
    ):
        rpac.plan(question, people, budget)
    assert rpac.compare((question, people), [budget]).rows
    halves = rpac.Subsets([1.0, 2.0], worlds=4)
    for asked in ((np.mean, halves, 0.1), (np.mean, 0.1)):
        with pytest.raises(
            rpac.errors.InputError, match=r"rpac.plan\(rpac.simulate\(source, function\)"
        ):
            rpac.plan(*asked)
