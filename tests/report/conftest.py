"""One release in SQL with its ledger, record, plan and audit, for records and pages."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.report import plan as planning
from rpac.report import record as records
from rpac.report.page import Sealed

PEOPLE = pd.DataFrame({
    "id": np.arange(60),
    "dept": np.random.default_rng(0).choice(["a<b", "lab"], 60),
    "pay": np.random.default_rng(1).lognormal(10, 0.5, 60),
})  # fmt: skip
SQL = "SELECT dept, avg(pay) AS pay, count(*) AS n FROM staff GROUP BY dept ORDER BY n LIMIT 9"


@pytest.fixture(scope="package")
def made(tmp_path_factory):
    """A release, the ledger it is booked in, its audit, and the record of it all."""
    db = rpac.Database({"staff": PEOPLE}, "id", public=["staff.dept"], worlds=16)
    query = db.query(SQL)
    ledger = rpac.Ledger(tmp_path_factory.mktemp("books") / "l.db", budget=2, dataset="staff")
    release = rpac.privatize(query, db.source, 1.0, ledger=ledger, method="auto-pac")
    audit = rpac.audit(release, ["bayes", "membership"], games=2_000)
    plan = planning.plan(release.sealed[0], 1.0, "auto-pac", full=query.full.ravel(), left=2.0)
    body = records.record(records.said(release), SQL, about={"unit": "id", "worlds": 16})
    sealed = Sealed(
        release.certificate, 60, audit.worst_units, plan.to_dict(), records.audit_summary(audit),
        release.receipt.nats, ledger.remaining,
    )  # fmt: skip
    return SimpleNamespace(
        release=release, body=body, audit=audit, ledger=ledger, sealed=sealed,
        certificate=rpac.Certificate.from_json(body["certificate"]),
    )  # fmt: skip
