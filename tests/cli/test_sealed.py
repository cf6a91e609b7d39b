"""What the owner's own report is made of: exposure under *person*, a plan under *sample*."""

import pytest

import rpac
from rpac.cli.options import Releasing
from rpac.cli.question import prepare
from rpac.cli.sealed import exposed, planned, sealed_part
from rpac.front.privatize import privatize


def prepared(staff, **options):
    return prepare(Releasing([staff / "staff.csv"], statistic="mean(pay)", unit="id", **options),
                   ledger=None)  # fmt: skip


def test_under_person_it_shows_everybodys_own_figure(staff):
    ask = prepared(staff, success=0.6)
    made = privatize(ask.mechanism, ask.source, ask.budget)
    told = sealed_part(ask, made, None, 0.5)
    assert (told.units, told.worst, told.plan, told.audit) == (12, [], None, None)
    assert (told.charged, told.remaining) == (None, 0.5)
    assert told.exposure == exposed(made)
    assert sum(bar["people"] for bar in told.exposure["histogram"]) == 12


def test_a_retry_has_nothing_sealed_left(staff, tmp_path):
    ask, ledger = prepared(staff, success=0.6), rpac.Ledger(tmp_path / "l.db", 1.0)
    for _ in range(2):
        made = privatize(ask.mechanism, ask.source, ask.budget, ledger=ledger, key="k")
    assert exposed(made) is None
    told = sealed_part(ask, made, None, None)
    assert (told.units, told.exposure) == (None, None)
    assert told.charged == pytest.approx(made.receipt.nats)
    ledger.close()


def test_under_sample_it_shows_the_plan_of_the_noise_that_was_released(staff):
    ask = prepared(staff, protect="sample", worlds=8, method="auto-pac", budget=0.1)
    made = privatize(ask.mechanism, ask.source, ask.budget, method="auto-pac")
    told = sealed_part(ask, made, None, None)
    assert (told.units, told.worst, told.exposure) == (12, [], None)
    assert told.plan == planned(ask, *made.sealed).to_dict()
