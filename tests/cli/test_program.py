"""The command line: what people type, what they get, and no traceback ever."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rpac import __version__
from rpac._base.sealed import publish
from rpac.cli.program import main
from rpac.report.record import content_hash
from tests import browser, fuzz
from tests.conftest import ROOT

RPAC = Path(sys.executable).parent / "rpac"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("staff")
    rng = np.random.default_rng(5)
    rows = {"id": range(12), "dept": list("aabbab" * 2), "pay": rng.normal(10, 2, 12).round(3)}
    pd.DataFrame(rows).to_csv(folder / "staff.csv", index=False)
    pd.DataFrame({"id": range(12), "bonus": rng.normal(1, 1, 12)}).to_csv(
        folder / "bonus.csv", index=False
    )
    (folder / "project.toml").write_text(
        """
unit = "staff.id"
worlds = 8
ledger = "books.db"
cap = 1.0
public = ["staff.dept"]
links = { "bonus.id" = "staff.id" }
[tables]
staff = "staff.csv"
bonus = "bonus.csv"
"""
    )
    return folder


def call(*words):
    """Run a command line in this process; return its code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


MEAN = ("--statistic", "mean(pay)", "--unit", "id", "--worlds", "8", "--method", "auto-pac")


def test_from_plan_to_verified_report(folder, tmp_path):
    project = ("--project", folder / "project.toml", "--method", "auto-pac", "--budget", "0.5")
    sql = "SELECT dept, avg(pay + bonus) AS pay FROM staff JOIN bonus USING (id) GROUP BY dept"
    code, out, err = call("plan", *project, "--sql", sql)
    assert (code, err) == (0, "")
    assert "+- sampling" in out
    assert "at most 0.5 nats" in out
    assert "left       1 nats now, at least 0.5 after" in out
    assert "whether a given person was in the sample guesses right 50 % of the time now" in out
    assert not (folder / "books.db").exists()  # a plan makes no books
    record, page, sealed = (tmp_path / name for name in ("r.json", "r.html", "s.html"))
    words = ("release", *project, "--sql", sql, "--out", record, "--report", page, "--key", "k1")
    code, out, err = call(*words, "--sealed-report", sealed)
    assert (code, err) == (0, "")
    assert "guesses right 50 % of the time now, at most" in out
    assert "\n[ ] holds the answer on the drawn sample, without its noise (95 %)\n( ) holds" in out
    assert out.count("]  (") == 2  # departments
    assert "Who is most exposed" in sealed.read_text()
    assert "Who is most exposed" not in page.read_text()
    first = json.loads(record.read_text())
    code, again, _ = call(*words, "--json")
    assert json.loads(again)["value"] == first["value"]  # the same key: the same answer, free
    assert json.loads(again)["remaining"] == first["remaining"] > 0.4
    books = folder / "books.db"
    assert call("verify", record, "--ledger", books)[0] == 0
    assert call("verify", books)[1].startswith("The ledger is whole: ")
    assert call("report", record, "--out", tmp_path / "again.html")[0] == 0
    assert "nats spent" in call("ledger", books, "--export", tmp_path / "all.jsonl")[1]
    entries = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert any(entry.get("key") == "k1" for entry in entries)
    shown = call("ledger", books)[1]
    assert re.search(r"^ *version staff@[0-9a-f]{12}  ", shown, re.M)
    assert "analyst" not in shown
    code, _, err = call("release", *project, "--sql", sql, "--budget", "0.6")
    assert code == 1
    assert "what is left" in err
    assert "rpac ledger LEDGER --cap NATS" in err
    code, out, _ = call("plan", *project, "--sql", sql, "--budget", "0.6")
    assert "does not fit" in out
    damaged = first | {"certificate": first["certificate"].replace("proved", "proven")}
    record.write_text(json.dumps(damaged).replace("0.5", "0.6"))
    assert call("verify", record)[0] == 1


def edited(body, **changes):
    """Return a record as a forger writes it: changed, and its hash made to fit again."""
    body = body | changes
    return publish(body | {"sha256": content_hash(body)}, indent=1) + "\n"


def test_an_edited_record_is_not_what_the_books_say(folder, tmp_path):
    books, file = tmp_path / "l.db", tmp_path / "r.json"
    words = ("release", folder / "staff.csv", *MEAN, "--ledger", books, "--cap", "1")
    assert call(*words, "--out", file)[0] == 0
    text = file.read_text()
    body = json.loads(text)
    code, out, _ = call("verify", file, "--ledger", books)
    assert (code, "this very record" in out) == (0, True)
    answer = [{"answer": body["answer"][0]["answer"] | {"value": 1e6}}]
    changes = {"answer": answer, "value": 1e6, "question": "SELECT 1", "remaining": 9.0,
               "about": {"unit": "id", "units": 9, "worlds": 9}}  # fmt: skip
    for name, value in changes.items():
        file.write_text(publish(body | {name: value}, indent=1))  # by accident
        for words in (("verify", file), ("report", file, "--out", tmp_path / "r.html")):
            code, _, err = call(*words)
            assert (code, "got one that was changed" in err) == (1, True), name
        file.write_text(edited(body, **{name: value}))  # by somebody who knows the format
        code, out, _ = call("verify", file)
        assert (code, "which anybody can recompute\nnot compared with" in out) == (0, True)
        code, _, err = call("verify", file, "--ledger", books)
        assert (code, "another text about the same receipt" in err) == (1, True), name
    file.write_text(edited(body, receipt="paid"))
    assert "none that fits" in call("verify", file, "--ledger", books)[2]
    file.write_text(edited(body, meaning="Nobody learns anything."))
    assert call("verify", file)[0] == 1
    for place in range(0, len(text), 997):
        file.write_text(text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :])
        assert call("verify", file)[0] == 1, place
    file.write_text(text.replace('{\n "schema"', '{\n "question": "another",\n "schema"'))
    assert call("verify", file)[0] == 1
    file.write_text(text)
    assert call("verify", file, "--ledger", books)[0] == 0


def test_what_cannot_be_written_is_refused_before_it_is_charged(folder, tmp_path, monkeypatch):
    books = tmp_path / "l.db"
    words = ("release", folder / "staff.csv", *MEAN, "--ledger", books, "--cap", "1")
    for option in ("--out", "--report", "--sealed-report"):
        code, out, err = call(*words, option, tmp_path / "no" / "x.html")
        assert (code, out) == (1, "")
        assert "'x.html' that can be written; got No such file or directory. Nothing was" in err
    assert not books.exists()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rpac.record.save", full)
    code, out, err = call(*words, "--key", "a", "--out", tmp_path / "r.json")
    assert code == 1
    assert "leaks at most" in out
    assert "The answer stands, but its record and reports are not complete: No space" in err
    code, out, err = call(*words, "--key", "a", "--out", tmp_path / "r.json", "--json")
    assert (code, "No space" in err) == (1, True)
    assert json.loads(out)["remaining"] == pytest.approx(0.9, abs=1e-3)


def test_books_are_made_capped_and_refused(folder, tmp_path):
    books = tmp_path / "l.db"
    assert call("ledger", books)[0] == 1
    assert call("ledger", books, "--cap", "1")[0] == 0
    assert call("ledger", books, "--cap", "0.2", "--dataset", "staff")[0] == 0
    shown = json.loads(call("ledger", books, "--json")[1])
    assert {"kind": "dataset", "name": "staff", "spent": 0.0, "cap": 0.2} in shown["accounts"]
    code, _, err = call("release", folder / "staff.csv", *MEAN, "--budget", 0.5, "--ledger", books)
    assert code == 1
    assert "0.2" in err
    code, out, _ = call("release", folder / "staff.csv", *MEAN, "--ledger", books, "--json")
    assert code == 0
    other = tmp_path / "other.db"
    call("ledger", other, "--cap", "1")
    (tmp_path / "r.json").write_text(out)
    assert call("verify", tmp_path / "r.json", "--ledger", books)[0] == 0
    code, _, err = call("verify", tmp_path / "r.json", "--ledger", other)
    assert (code, "none that fits" in err) == (1, True)
    code, _, err = call("release", folder / "staff.csv", *MEAN, "--ledger", tmp_path / "new.db")
    assert "Expected a cap for a new ledger" in err
    words = ("plan", folder / "staff.csv", *MEAN, "--ledger", books, "--cap")
    assert call(*words, "1")[0] == 0
    code, _, err = call(*words, "5")
    assert code == 1
    assert "the cap of this ledger, 1 nats, or no --cap; got 5. `rpac ledger l.db --cap 5`" in err
    assert call("ledger", books, "--cap", "5")[0] == 0
    assert call(*words, "5")[0] == 0


def test_compare_audit_and_certificates(folder, tmp_path):
    staff = folder / "staff.csv"
    code, out, _ = call("compare", staff, *MEAN, "--methods", "auto-pac,isotropic", "--json")
    assert (code, len(json.loads(out))) == (0, 8)
    code, out, _ = call("audit", staff, *MEAN, "--games", "2000")
    assert code == 0
    assert "No alarm" in out
    code, out, _ = call("release", staff, *MEAN, "--success", "0.6", "--json")
    body = json.loads(out)
    (tmp_path / "c.json").write_text(body["certificate"])
    assert call("verify", tmp_path / "c.json")[0] == 0
    assert "at most 60 % after" in body["meaning"] or "at most 5" in body["meaning"]
    code, out, _ = call("release", staff, "--unit", "rows", "--command", "wc -c < {file}",
                        "--worlds", "8", "--method", "auto-pac")  # fmt: skip
    assert code == 0
    assert "no books were kept" in out


BY_DEPT = ("--unit", "id", "--worlds", "8", "--method", "auto-pac",
           "--sql", "SELECT dept, avg(pay) AS pay FROM staff GROUP BY dept")  # fmt: skip
REFUSED = {
    "nothing": ((), 2, "Usage"),
    "unknown command": (("pln",), 2, "No such command"),
    "unknown option": (("plan", "--nope"), 2, "No such option"),
    "no number": (("plan", "--budget", "much"), 2, "number. Try `rpac --help`."),
    "no data": (("plan", "--sql", "SELECT 1", "--unit", "id"), 1, "Expected tables of the data"),
    "no unit": (("plan", "staff.csv", "--sql", "SELECT 1"), 1, "Expected unit of the data"),
    "no question": (("plan", "staff.csv", "--unit", "id"), 1, "one of --sql, --statistic"),
    "two questions": (
        ("plan", "staff.csv", "--unit", "id", "--sql", "S", "--statistic", "s"), 1, "sql and stat"),
    "two budgets": (("plan", "staff.csv", *MEAN, "--budget", "1", "--success", ".6"), 1, "both"),
    "method": (("plan", "staff.csv", *MEAN[:-1], "magic"), 1, "Expected a known --method"),
    "methods": (("compare", "staff.csv", *MEAN, "--methods", "magic"), 1, "Expected known --meth"),
    "budgets": (("compare", "staff.csv", *MEAN, "--budgets", "a"), 1, "numbers in --budgets"),
    "worlds": (("plan", "staff.csv", *MEAN, "--worlds", "1"), 1, "Expected a valid --worlds"),
    "link": (("plan", "staff.csv", *MEAN, "--link", "a"), 1, "Expected NAME=VALUE after --link"),
    "tables": (("plan", "staff.csv", "bonus.csv", *MEAN), 1, "Expected one table for --statistic"),
    "public": (("plan", "staff.csv", *BY_DEPT, "--public", "dpt"), 1,
               "Expected one of staff, staff.id, staff.dept, staff.pay in `public`; got 'dpt'"),
    "keys": (("plan", "staff.csv", *BY_DEPT, "--public", "dept", "--keys", "dpt=a,b"), 1,
             "before = in --keys; got 'dpt'. Columns: id, dept, pay"),
    "file": (("plan", "gone.csv", *MEAN), 1, "Expected a file that exists; got 'gone.csv'"),
    "project": (("plan", "--project", "gone.toml"), 1, "Expected a project file 'gone.toml'"),
    "verify": (("verify", "gone.json"), 1, "Expected a file that exists"),
    "no such record": (("report", "gone.json"), 1, "Expected a file that exists; got 'gone.json'"),
    "no record": (("report", "staff.csv"), 1, "Expected a record of schema"),
    "not a certificate": (("verify", "staff.csv"), 1, "Expected an unaltered certificate"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, folder, monkeypatch):
    words, code, message = REFUSED[name]
    monkeypatch.chdir(folder)
    found = call(*words)
    assert found[0] == code
    assert message in found[2]
    if "--nope" not in words and words:
        shown = json.loads(call(*words, "--json")[1])
        assert message in shown["error"]["message"]


def test_project_files_say_what_is_wrong(tmp_path):
    file = tmp_path / "p.toml"
    for text, message in [
        ("unit = 3\n[tables]\na = 'a.csv'", "Expected a valid 'unit' in p.toml"),
        ("unit = 'x'", "Expected a valid 'tables' in p.toml"),
        ("unit = 'x'\nwrlds = 3\n[tables]\na = 'a.csv'", "Expected a valid 'wrlds'"),
        ("unit = ", "Expected a project file 'p.toml'; got a TOMLDecodeError"),
    ]:
        file.write_text(text)
        code, _, err = call("plan", "--project", file)
        assert code == 1
        assert message in err


def test_an_unforeseen_failure_shows_no_traceback(monkeypatch):
    def broken(given):
        raise ZeroDivisionError("secret 42")

    monkeypatch.setattr("rpac.commands.plan", broken)
    code, out, err = call("plan")
    assert code == 1
    assert "ZeroDivisionError" in err
    assert "42" not in err + out
    monkeypatch.setenv("RPAC_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        call("plan")
    monkeypatch.setattr(
        "rpac.commands.plan", lambda given: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert call("plan")[0] == 1


def test_five_thousand_random_command_lines(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("staff.csv", "bonus.csv", "project.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    files = ["staff.csv", "bonus.csv", "project.toml", "gone.csv", "l.db", "."]
    codes = {0: 0, 1: 0, 2: 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for words in fuzz.lines(11, int(os.environ.get("RPAC_FUZZ", "5000")), files):
            code, out, err = call(*words)
            assert code in codes, words
            assert "Traceback" not in out + err, words
            assert "withheld, since it may quote data" not in out + err, words
            codes[code] += 1
    assert min(codes.values()) > 10, codes


def test_a_hundred_random_command_lines_as_processes(folder, tmp_path):
    files = [str(folder / "staff.csv"), "gone.csv", "."]
    running = []
    for words in fuzz.lines(12, 100, files):
        command = [str(RPAC), *words]
        running.append(subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL))  # fmt: skip
        if len(running) == 4:
            for process in running:
                out, err = process.communicate(timeout=120)
                assert process.returncode in (0, 1, 2), process.args
                assert "Traceback" not in out + err, process.args
            running = []
    assert not running


def test_help_is_quick_and_light():
    probe = (
        "import sys, time; from rpac.cli import main; main(['--help']); "
        "heavy = [m for m in ('numpy', 'pydantic', 'rich') if m in sys.modules]; "
        "print(time.process_time(), *heavy)"
    )
    runs = []
    for _ in range(5):
        out = subprocess.check_output([sys.executable, "-c", probe], text=True)
        runs.append(out.splitlines()[-1].split())
    assert all(len(run) == 1 for run in runs), runs
    assert min(float(run[0]) for run in runs) < 0.3  # CPU seconds: other tests run beside


def test_the_package_runs_as_the_program():
    said = subprocess.check_output([sys.executable, "-m", "rpac", "--version"], text=True)
    assert said == f"rpac {__version__}\n"


def test_the_demo_runs_and_its_report_is_whole(tmp_path):
    command = ["sh", str(ROOT / "examples" / "demo.sh"), str(Path(sys.executable).parent)]
    done = subprocess.run(
        [*command, str(tmp_path / "demo")], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert "receipt in the books, with this certificate and this very record" in done.stdout
    page = tmp_path / "demo" / "report.html"
    assert page.read_text().count("<svg") == 3
    assert "Who is most exposed" in (tmp_path / "demo" / "sealed.html").read_text()
    if browser.missing():
        pytest.skip(f"the report was not opened in a browser; not installed: {browser.missing()}")
    with browser.chromium(tmp_path / "profile") as driver:
        driver.get(page.as_uri())
        assert browser.violations(driver) == []
        assert driver.get_log("browser") == []
        assert browser.requests(driver) == [page.as_uri()]
