"""Reports: what is in them, what never is, and how they stand in a real browser."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.pictures import svg as figures
from rpac.report import plan as planning
from rpac.report import record as records
from rpac.report.page import render
from tests import browser

PEOPLE = pd.DataFrame({
    "id": np.arange(60),
    "dept": np.random.default_rng(0).choice(["a<b", "lab"], 60),
    "pay": np.random.default_rng(1).lognormal(10, 0.5, 60),
})  # fmt: skip
SQL = "SELECT dept, avg(pay) AS pay, count(*) AS n FROM staff GROUP BY dept ORDER BY n LIMIT 9"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a release in SQL with its record, plan and audit."""
    db = rpac.Database({"staff": PEOPLE}, "id", public=["staff.dept"], worlds=16)
    query = db.query(SQL)
    ledger = rpac.Ledger(tmp_path_factory.mktemp("books") / "l.db", budget=2, dataset="staff")
    release = rpac.privatize(query, db.source, 1.0, ledger=ledger, method="auto-pac")
    audit = rpac.audit(release, ["bayes", "membership"], games=2_000)
    plan = planning.plan(release.sealed[0], 1.0, "auto-pac", full=query.full.ravel(), left=2.0)
    body = records.record(
        release,
        SQL,
        about={"unit": "id", "units": 60, "worlds": 16},
        plan=plan.to_dict(),
        remaining=ledger.remaining,
        audit=audit,
    )
    return release, body, audit


def test_a_record_holds_all_that_is_public_and_comes_back(made, tmp_path):
    release, body, _ = made
    records.save(body, tmp_path / "record.json")
    again, certificate = records.load(tmp_path / "record.json")
    assert again == json.loads(json.dumps(body))
    assert certificate == release.certificate
    text = (tmp_path / "record.json").read_text()
    assert str(tmp_path) not in text
    for altered in (text.replace("nats", "bits"), text.replace("rpac-record/1", "x"), text[1:]):
        (tmp_path / "record.json").write_text(altered)
        with pytest.raises(rpac.CertificateError, match="Expected a"):
            records.load(tmp_path / "record.json")


def test_intervals_stand_beside_their_own_rows(made):
    release, body, _ = made
    values = release.value["n"].tolist()
    assert values == sorted(values)
    for row, value in zip(body["answer"], values, strict=True):
        low, high = row["n"]["noise"]
        wide_low, wide_high = row["n"]["sampling"]
        assert row["n"]["value"] == value
        assert wide_low <= low < value < high <= wide_high


def test_the_public_report_names_nobody_and_the_sealed_one_does(made):
    release, body, audit = made
    public = render(body, release.certificate)
    sealed = render(body, release.certificate, worst=audit.worst_units)
    assert "Who is most exposed" not in public
    assert "Sealed: for the owner" in sealed
    assert "Who is most exposed" in sealed
    rates = [float(text) for text in re.findall(r"<td>([0-9.]+) %</td>", sealed)]
    assert rates == sorted(rates, reverse=True)
    assert len(rates) == len(audit.worst_units) > 1
    certified = f"{100 * release.certificate.worst_unit_success:.1f} % that is certified"
    assert certified in sealed
    for words in ("What is protected", "Not protected", "How to verify", "nats remain",
                  "Noise against budget", "a&lt;b"):  # fmt: skip
        assert words in public
    assert "a<b" not in public
    assert not re.search(r"(src|href)=.(?!data:,)", public)
    plain = body | {"plan": None, "audit": None, "receipt": None, "remaining": None}
    assert "No books were kept" in render(plain, release.certificate)
    assert "Nobody was attacked" in render(plain, release.certificate, worst=[])


def test_answers_of_every_form_become_rows():
    assert records.rows_of(3.0, "answer") == [{"answer": 3.0}]
    assert records.rows_of({"a": 1}, "answer") == [{"": "a", "answer": 1}]
    assert records.rows_of(np.array([1.0, 2.0]), "answer")[1] == {"": 2, "answer": 2.0}
    assert records.rows_of(pd.DataFrame({"x": [1, 2]}), "answer") == [{"x": 1}, {"x": 2}]
    assert records.rows_of(pd.Series([1.5], index=["k"]), "answer") == [{"": "k", "answer": 1.5}]
    assert records.rows_of("yes", "answer") == [{"answer": "yes"}]


def test_figures_without_anything_to_draw_are_left_out():
    assert figures.noise_against_budget([(0.1, 2.0)], 0.1, 2.0) == ""
    assert figures.intervals([{"label": "yes"}], "label") == ""
    assert "attacks" not in figures.sandwich(0.0, 0.1, budget=None, attack=None)


@pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_report_in_a_real_browser(made, tmp_path, dark):
    release, body, audit = made
    page = tmp_path / "report.html"
    page.write_text(render(body, release.certificate, worst=audit.worst_units))
    with browser.chromium(tmp_path / "profile", dark=dark) as driver:
        driver.get(page.as_uri())
        for width in (1280, 390):
            browser.resize(driver, width)
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width
            assert browser.violations(driver) == []
            browser.screenshot(driver, tmp_path / f"{width}.png")
            assert (tmp_path / f"{width}.png").stat().st_size > 20_000
            for name in ("sandwich", "noise-against-budget", "intervals"):
                box = driver.find_element("id", name).size
                assert box["width"] > 0.6 * min(width, 640)
                assert box["height"] > 50
        assert driver.get_log("browser") == []
        assert browser.requests(driver) == [page.as_uri()]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        back = "return getComputedStyle(document.body).backgroundColor"
        assert driver.execute_script(back) == "rgb(255, 255, 255)"
