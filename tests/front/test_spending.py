"""What a ledger says was spent on presence, by itself and to another accountant."""

import json
import math
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.advantage import distance_to_epsilon, distance_to_success, success_to_distance
from rpac.front.spending import dp_events, spending
from rpac.ledger.entries import Line

PEOPLE = pd.DataFrame({"pay": np.arange(200.0), "ward": ["a", "b"] * 100})
RATES = (0.55, 0.6, 0.52, 0.7)


@pytest.fixture
def books(tmp_path):
    """A ledger with answers about presence, others, and two datasets."""
    ledger = rpac.Ledger(tmp_path / "l.db", budget=5, dataset="people")
    source = rpac.Presence(PEOPLE, unit="rows")
    for i, rate in enumerate(RATES):
        rpac.privatize(
            rpac.statistics.mean("pay"), source, rpac.SuccessRate(rate), ledger=ledger, key=f"k{i}"
        )
    rpac.privatize(  # a retry costs nothing
        rpac.statistics.mean("pay"), source, rpac.SuccessRate(0.55), ledger=ledger, key="k0"
    )
    elsewhere = ledger.under(dataset="others")
    rpac.privatize(rpac.statistics.count(), source, rpac.GaussianDP(1.0), ledger=elsewhere)
    sample = rpac.Subsets(PEOPLE["pay"].to_numpy(), worlds=16)
    rpac.privatize(np.mean, sample, 0.1, ledger=ledger)
    ledger.spend(0.3, line=Line(promise="person, given the level"))
    return ledger


def test_squares_of_distances_add(books):
    found = spending(books)
    square = math.fsum(success_to_distance(rate) ** 2 for rate in RATES)
    assert found["answers"] == 4
    assert found["delta_squared"] == pytest.approx(square, rel=1e-6)
    assert found["delta_squared"] >= square  # charges are rounded up
    assert found["mu"] == pytest.approx(math.sqrt(square), rel=1e-6)
    assert found["nats"] == pytest.approx(square / 8, rel=1e-6)
    assert found["success"] == distance_to_success(found["mu"])
    assert found["epsilon"] == distance_to_epsilon(found["mu"], 1e-5)
    assert spending(books, delta=1e-9)["epsilon"] > found["epsilon"]
    assert spending(books, "others")["mu"] == pytest.approx(1.0, rel=1e-6)
    nobody = spending(books, "nobody")
    assert (nobody["answers"], nobody["mu"], nobody["success"], nobody["epsilon"]) == (0, 0, 0.5, 0)


def test_each_answer_is_an_event_and_a_level_that_is_given_is_none(books):
    found = dp_events(books)
    assert found["class_name"] == "ComposedDpEvent"
    assert {event["class_name"] for event in found["events"]} == {"GaussianDpEvent"}
    noises = [event["noise_multiplier"] for event in found["events"]]
    wanted = [1 / success_to_distance(rate) for rate in RATES]
    assert noises == pytest.approx(wanted, rel=1e-6)
    assert all(noise < want for noise, want in zip(noises, wanted, strict=True))
    assert dp_events(books, "nobody")["events"] == []
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("delta", [0.0, 1.0, -1, math.nan])
def test_deltas_that_are_none(books, delta):
    with pytest.raises(rpac.InputError, match="delta"):
        spending(books, delta=delta)


def read(events):
    """Return an export as dp_accounting's own event, as the docs say."""
    dp_accounting = pytest.importorskip(
        "dp_accounting", reason="dp-accounting is not installed: `pip install dp-accounting`"
    )
    text = json.dumps(events)
    named = json.loads(text, object_hook=lambda d: namedtuple("Event", d)(**d))
    return dp_accounting, dp_accounting.DpEvent.from_named_tuple(named)


@pytest.mark.parametrize("delta", [1e-5, 1e-8])
def test_the_package_dp_accounting_agrees(books, delta):
    package, event = read(dp_events(books))
    assert isinstance(event, package.ComposedDpEvent)
    ours = spending(books, delta=delta)["epsilon"]
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    exact = PLDAccountant().compose(event).get_epsilon(delta)
    assert ours == pytest.approx(exact, rel=1e-3)
    assert exact <= RdpAccountant().compose(event).get_epsilon(delta) < 1.4 * ours
