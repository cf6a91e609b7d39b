"""A real Spark cluster of separate processes, asked in place: the same worlds and sums as here."""

import datetime

import pytest

import rpac
from rpac.sql.spark import Spark
from tests.sql.elsewhere import ASKED, TABLES, here, rows_of, there

TYPES = {
    "person": "id bigint, town string, born date",
    "bill": "number bigint, payer bigint, kind string, sum double",
    "item": "bill bigint, count int, code bigint",
    "code": "code bigint, label string",
}


@pytest.fixture(scope="module")
def both(spark):
    for name in TABLES:
        spark.createDataFrame(rows_of(name), TYPES[name]).createOrReplaceTempView(name)
    return here(), there(spark)


def test_the_answers_on_all_worlds_are_those_of_the_embedded_database(both):
    for name in (
        "sum, count and average",
        "extremes",
        "rows of the unit inside",
    ):
        outputs = [rpac.simulate(db.source, db.query(ASKED[name])) for db in both]
        assert outputs[0].form.layout == outputs[1].form.layout
        assert outputs[0].values == pytest.approx(outputs[1].values, rel=1e-12), name


def test_the_certificate_is_the_same(both):
    made = []
    for db in both:
        outputs = rpac.simulate(db.source, db.query(ASKED["a public table's names"]))
        noise = rpac.calibrate(outputs, 0.5, method="auto-pac")
        made.append(rpac.certify(outputs, noise, draws=0).bound)
    assert made[0] == pytest.approx(made[1], rel=1e-9)


def test_its_types_and_settings(both, spark):
    engine = both[1].engine
    assert isinstance(engine, Spark)
    assert engine.columns("bill")["sum"] == "DOUBLE"
    before = spark.conf.get("spark.sql.ansi.enabled")
    assert engine.fetch("SELECT CAST('x' AS INT)") == [(None,)]  # what fails is NULL there
    assert spark.conf.get("spark.sql.ansi.enabled") == before
    assert engine.fetch("SELECT DATE'2020-01-02'") == [(datetime.date(2020, 1, 2),)]
    with pytest.raises(rpac.InputError, match="a table 'nothing' that can be read; got a"):
        engine.columns("nothing")
