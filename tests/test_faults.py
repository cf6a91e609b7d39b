"""Seeded privacy faults must each fail a test; here a few of them, all in `make bench`."""

import pytest
from benchmarks.faults import FAULTS, OUTSIDE, ROOT, survives

from tests.test_house import TRUSTED

QUICK = [
    "noise halved",
    "a seed in the release path",
    "always the same world",
    "the error of a bound not booked",
    "a law that differs from its certificate",
    "an exception of the drawn secret passed on",
    "outputs can be pickled",
    "bits booked as nats",
    "a retry draws anew",
    "a rolled-back ledger accepted",
]


def test_the_list_is_long_and_names_are_distinct():
    names = [fault[0] for fault in FAULTS]
    assert len(set(names)) == len(names) >= 60
    assert set(QUICK) <= set(names)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault[0] for fault in FAULTS])
def test_every_fault_can_still_be_seeded(fault):
    """A list that has fallen behind the source would raise in a long run, not here."""
    _, file, old, new, test = fault
    assert (ROOT / "src" / "rpac" / file).read_text().count(old) == 1
    assert old != new
    path, _, name = test.partition("::")
    assert name.partition("[")[0] in (ROOT / path).read_text()


def test_every_fault_lies_in_a_trusted_folder_or_says_why_not():
    files = {fault[1] for fault in FAULTS}
    outside = {file for file in files if file.split("/")[0] not in TRUSTED}
    assert outside == {*OUTSIDE}
    assert all(len(reason) > 20 for reason in OUTSIDE.values())


@pytest.mark.parametrize("name", QUICK)
def test_a_seeded_fault_is_killed(name):
    assert not survives(next(fault for fault in FAULTS if fault[0] == name))
