"""The units of a database: the bytes that DuckDB computes are those of `rpac.worlds.keyed`."""

import numpy as np
import pytest

import rpac
from rpac.sql.people import FETCHED
from rpac.worlds.keyed import keyed_bits
from tests.sql.elsewhere import fill_postgres, there
from tests.sql.people import frame

NAMES = ["ann", "bob", "Zoë", "x'y", "d"]


@pytest.mark.parametrize("worlds", [2, 16, 34, 128, 300, 512])
def test_membership_is_that_of_the_ids_text_in_their_order(worlds):
    table = frame(id=NAMES[::-1] * 2, x=range(10))
    db = rpac.Database({"t": table}, "id", worlds=worlds, seed=5)
    members = db.source.members
    assert np.array_equal(members.bits, keyed_bits(sorted(NAMES), worlds // 2, 5))
    assert db.unit_names() == sorted(NAMES)
    matrix = members.matrix()
    assert db.people.sizes.tolist() == matrix.sum(axis=1).tolist()
    assert db.people.units == 5
    for world in {0, worlds // 2 - 1, worlds - 1}:
        db.enter(world)
        inside = db.connection.execute("SELECT k FROM world.__members ORDER BY k").fetchall()
        assert [name for (name,) in inside] == list(np.array(sorted(NAMES))[matrix[world]])


def test_numbers_are_hashed_as_their_text_whatever_their_type():
    found = [
        rpac.Database({"t": frame(id=np.array([7, 30, 200], kind))}, "id", worlds=16).source.members
        for kind in ("int64", "uint8", "int32")
    ]
    expected = keyed_bits(["7", "30", "200"], 8, 0)
    assert all(np.array_equal(members.bits, expected) for members in found)


def test_one_unit_has_no_half_samples():
    with pytest.raises(rpac.InputError, match="at least 2 units; got 1. One unit has no half"):
        _ = rpac.Database({"t": frame(id=[1, 1])}, "id").source


def test_elsewhere_bytes_of_many_are_not_fetched(database, monkeypatch):
    db = there(fill_postgres(database("many")))
    assert FETCHED == 1 << 19
    monkeypatch.setattr("rpac.sql.people.FETCHED", 100)
    many = there(db.engine)
    assert not many.source.members.at_hand
    outputs = rpac.simulate(many.source, many.query("SELECT count(*) AS n FROM bill"))
    assert outputs.members is None
    release = rpac.privatize(
        many.query("SELECT avg(sum) AS a FROM bill"), many.source, rpac.SuccessRate(0.6)
    )
    assert release.certificate.worst_unit_success is None
    with pytest.raises(rpac.errors.TooLarge, match=r"at most 25 units elsewhere.*got 60\. Audit"):
        _ = many.source.masks
