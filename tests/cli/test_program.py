"""The program: what people type, what they get, and no traceback ever."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from rpac import __version__
from rpac.cli import app, main, program, run
from rpac.cli.commands import Result
from rpac.errors import BudgetExceeded, BudgetSpent, InputError
from rpac.ledger.ledger import Ledger
from tests import browser, fuzz
from tests.cli.conftest import MEAN, call
from tests.conftest import ROOT

RPAC = Path(sys.executable).parent / "rpac"
REFUSED = {
    "nothing": ((), 2, "Usage"),
    "unknown command": (("pln",), 2, "No such command"),
    "unknown option": (("plan", "--nope"), 2, "No such option"),
    "no number": (("plan", "--budget", "much"), 2, "number. Try `rpac --help`."),
    "no file to verify": (("verify",), 2, "Missing"),
    "no data": (("plan", "--sql", "SELECT 1", "--unit", "id"), 1, "Expected tables of the data"),
    "no unit": (("plan", "staff.csv", "--sql", "SELECT 1"), 1, "Expected unit of the data"),
    "no question": (("plan", "staff.csv", "--unit", "id"), 1, "one of --sql, --statistic"),
    "method": (("plan", "staff.csv", *MEAN, "--method", "magic"), 1, "Expected a known --method"),
    "file": (("plan", "gone.csv", *MEAN), 1, "Expected a file that exists; got 'gone.csv'"),
    "project": (("plan", "--project", "gone.toml"), 1, "Expected a project file 'gone.toml'"),
    "verify": (("verify", "gone.json"), 1, "Expected a file that exists"),
    "no such record": (("report", "gone.json"), 1, "Expected a file that exists; got 'gone.json'"),
    "no record": (("report", "staff.csv"), 1, "Expected a record of schema"),
    "not a certificate": (("verify", "bare.json"), 1, "Expected an unaltered certificate"),
    "nothing of ours": (
        ("verify", "staff.csv"), 1,
        "Expected a record, a certificate or a ledger; got 'staff.csv'. Pass a file that"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, staff, monkeypatch):
    words, code, message = REFUSED[name]
    monkeypatch.chdir(staff)
    (staff / "bare.json").write_text("{}")
    found = call(*words)
    assert found[0] == code
    assert message in found[2]
    if "--nope" not in words and words:
        code_of_json, out, err = call(*words, "--json")
        assert (code_of_json, err) == (code, "")
        assert message in json.loads(out)["error"]["message"]


def test_from_plan_to_verified_report(staff, tmp_path):
    project = ("--project", staff / "project.toml", "--method", "auto-pac", "--budget", "0.5")
    sql = "SELECT dept, avg(pay + bonus) AS pay FROM staff JOIN bonus USING (id) GROUP BY dept"
    code, out, err = call("plan", *project, "--sql", sql)
    assert (code, err) == (0, "")
    assert "+- sampling" in out
    assert "at most 0.5 nats" in out
    assert "left       1 nats now, at least 0.5 after" in out
    assert "a given person was in the sample guesses right 50 % of the time without this" in out
    assert "answers about the same people add up" in out
    assert not (staff / "books.db").exists()  # a plan makes no ledger
    record, page, sealed = (tmp_path / name for name in ("r.json", "r.html", "s.html"))
    words = ("release", *project, "--sql", sql, "--out", record, "--report", page, "--key", "k1")
    code, out, err = call(*words, "--sealed-report", sealed)
    assert (code, err) == (0, "")
    assert "any yes-or-no fact about the sample, and is right 50 % of the time without" in out
    assert "\n[ ] holds the answer on the drawn sample, without its noise (95 %)\n( ) holds" in out
    assert out.count("]  (") == 2  # departments
    assert "Who is most exposed" in sealed.read_text()
    assert "Who is most exposed" not in page.read_text()
    first = json.loads(record.read_text())
    code, again, _ = call(*words, "--json")
    assert json.loads(again)["value"] == first["value"]  # the same key: the same answer, free
    assert json.loads(again)["receipt"] == first["receipt"]
    books = staff / "books.db"
    assert call("verify", record, "--ledger", books)[0] == 0
    assert call("verify", books)[1].startswith("The ledger is whole: ")
    assert call("report", record, "--out", tmp_path / "again.html")[0] == 0
    assert "nats spent" in call("ledger", books, "--export", tmp_path / "all.jsonl")[1]
    assert (tmp_path / "all.jsonl").stat().st_mode & 0o077 == 0  # charges and exposure: the owner's
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


def test_the_commands_of_the_documentation_run(staff, monkeypatch):
    monkeypatch.chdir(staff)
    page = (ROOT / "docs" / "command-line.md").read_text()
    (block,) = re.findall(r"```console\n\$ (.*?)```", page, re.S)
    inline = re.findall(r"`(?:rpac )?((?:verify|ledger) [a-z.]+ --[^`]*)`", page)
    assert len(inline) == 2
    for line in (block.replace("\\\n", ""), *sorted(inline, reverse=True)):
        code, _, err = call(*shlex.split(line.removeprefix("rpac ")))
        assert (code, err) == (0, ""), line
    assert "too noisy to publish" in (staff / "report.html").read_text()  # twelve people
    (cap,) = (a["cap"] for a in Ledger(staff / "books.db").accounts() if a["kind"] == "ledger")
    assert cap == 2.0


def raising(error):
    def fails(given):
        raise error

    return fails


FAILURES = {
    "a refusal": (InputError("Expected x; got y. Do z."), "InputError", "Expected x; got y. Do z."),
    "a budget spent": (
        BudgetSpent("0.5", "0.2", "the ledger", 0.2), "BudgetSpent",
        "raise the cap. (--budget; rpac ledger LEDGER --cap NATS.)"),
    "a budget exceeded": (
        BudgetExceeded(0.5, 0.2), "BudgetExceeded",
        "its interval. Raise --budget, ask for fewer numbers, or take another --method."),
    "a disk": (
        OSError(28, "No space left on device", "/home/ann/x"), "OSError",
        "Expected files that can be read and written; got: No space left on device. Check the"),
    "an interrupt": (KeyboardInterrupt(), "Interrupted", "Interrupted. Nothing further was done."),
    "a fault": (
        ZeroDivisionError("secret 42"), "Internal",
        "rpac failed with a ZeroDivisionError. Its text is withheld, since it may quote data; "),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_is_a_sentence_and_exit_code_one(name, monkeypatch):
    error, kind, message = FAILURES[name]
    monkeypatch.setattr("rpac.cli.commands.plan", raising(error))
    code, out, err = call("plan")
    assert (code, out) == (1, "")
    assert message in err
    assert "42" not in err
    assert "ann" not in err
    code, out, err = call("plan", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["error"]["kind"] == kind
    assert message in json.loads(out)["error"]["message"]


def test_a_developer_sees_the_fault(monkeypatch):
    monkeypatch.setattr("rpac.cli.commands.plan", raising(ZeroDivisionError("secret 42")))
    monkeypatch.setenv("RPAC_DEBUG", "1")
    with pytest.raises(ZeroDivisionError, match="secret 42"):
        call("plan")


@pytest.mark.parametrize(("stop", "code"), [(0, 0), (1, 1), (2, 2), (3, 1), ("text", 1)])
def test_a_program_that_exits_has_one_of_three_codes(stop, code, monkeypatch):
    monkeypatch.setattr("rpac.cli.commands.plan", raising(SystemExit(stop)))
    assert call("plan")[0] == code


@pytest.mark.parametrize("code", [0, 1])
def test_text_is_for_people_and_data_for_programs(code, monkeypatch):
    found = Result("in words", {"é": [1, None]}, code)
    monkeypatch.setattr("rpac.cli.commands.plan", lambda given: found)
    assert call("plan") == (code, "in words\n", "")
    assert call("plan", "--json") == (code, '{\n "é": [\n  1,\n  null\n ]\n}\n', "")


def test_what_is_left_to_do_comes_after_the_text(monkeypatch, capsys):
    shown = []

    def finish():
        shown.append(capsys.readouterr().out)
        return "and more"

    monkeypatch.setattr("rpac.cli.commands.plan", lambda _: Result("words", {}, 0, finish))
    assert main(["plan"]) == 0
    assert shown == ["words\n"]
    assert capsys.readouterr().out == "\nand more\n"
    assert main(["plan", "--json"]) == 0
    assert shown == ["words\n", "{}\n"]  # for programs the body alone
    assert capsys.readouterr().out == ""


def test_a_refusal_of_what_is_left_to_do_is_told_in_full(monkeypatch):
    def finish():
        raise InputError("Expected public values; got a set. Publish a certificate instead.")

    monkeypatch.setattr("rpac.cli.commands.plan", lambda _: Result("words", {"a": 1}, 0, finish))
    code, out, err = call("plan", "--json")
    assert (code, json.loads(out)) == (1, {"a": 1})
    assert err == (
        "The answer stands, but its record and reports are not complete: Expected public values; "
        "got a set. Publish a certificate instead - with the same --key a retry is free.\n"
    )


def test_the_package_offers_its_program():
    assert (app, main, run) == (program.app, program.main, program.run)
    assert {made.name for made in app.registered_commands} == {c[0] for c in program.COMMANDS}


@pytest.mark.parametrize(
    ("words", "said"), [((), b"\\xdf\n"), (("--json",), '["ß"]\n'.encode())], ids=["text", "json"]
)
def test_letters_that_a_terminal_lacks_do_not_hide_the_answer(words, said, monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("rpac.cli.commands.plan", lambda _: Result("ß", ["ß"]))
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.argv", ["rpac", "plan", *words])
    with pytest.raises(SystemExit) as stop:
        run()
    terminal.flush()
    assert stop.value.code == 0
    assert terminal.buffer.getvalue().replace(b"\n ", b"").replace(b'"\n]', b'"]') == said


def test_a_stream_of_another_kind_is_left_as_it_is(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr("sys.argv", ["rpac", "--version"])
    with pytest.raises(SystemExit) as stop:
        run()
    assert (stop.value.code, stream.getvalue()) == (0, f"rpac {__version__}\n")


def test_five_thousand_random_command_lines(staff, monkeypatch):
    monkeypatch.chdir(staff)
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


def test_random_command_lines_as_processes(staff, tmp_path):
    files = [str(staff / "staff.csv"), "gone.csv", "."]
    running = []
    for words in fuzz.lines(12, 40, files):
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
    assert "receipt in the ledger, with this certificate and this very record" in done.stdout
    page = tmp_path / "demo" / "report.html"
    sealed = (tmp_path / "demo" / "sealed.html").read_text()
    assert (page.read_text().count("<svg"), sealed.count("<svg")) == (1, 2)
    assert "Everybody's own figure" in sealed
    if browser.missing():
        pytest.skip(f"the report was not opened in a browser; not installed: {browser.missing()}")
    with browser.chromium(tmp_path / "profile") as driver:
        driver.get(page.as_uri())
        assert browser.violations(driver) == []
        assert driver.get_log("browser") == []
        assert browser.requests(driver) == [page.as_uri()]


@pytest.mark.parametrize("words", [("plan",), ("plan", "--json"), ("--help",)], ids=" ".join)
def test_a_reader_who_leaves_early_is_no_failure(words, monkeypatch):
    """Whatever is left to do is done, but nothing counts as printed."""
    done = []
    found = Result("words", {}, 0, lambda: done.append("files") or "", lambda: done.append("shown"))
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("rpac.cli.commands.plan", lambda _: found)
    monkeypatch.setattr("sys.stdout", os.fdopen(writer, "w"))
    monkeypatch.setattr("sys.argv", ["rpac", *words])
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 0
    assert done == ([] if words == ("--help",) else ["files"])
    sys.stdout.close()  # nothing is left that could fail


def test_a_release_into_a_closed_pipe_writes_its_reports(staff):
    words = [sys.executable, "-m", "rpac", "release", "staff.csv", "--unit", "id", "--statistic",
             "count()", "--report", "r.html", "--sealed-report", "s.html"]  # fmt: skip
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words, cwd=staff, stdout=writer, stderr=subprocess.PIPE, timeout=300)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (staff / "r.html").exists()
    assert (staff / "s.html").exists()


def test_bytes_that_are_no_characters_are_refused_before_anything_is_charged(staff):
    words = ("release", staff / "staff.csv", "--statistic", "mean(pay)", "--unit", "rows",
             "--ledger", staff / "l.db", "--cap", "1", "--author", "a\udcff")  # fmt: skip
    code, out, err = call(*words)
    assert (code, out) == (1, "")
    assert "Expected whole characters in `words of the command line`; got 'a\\udcff'." in err
    assert not (staff / "l.db").exists()
    assert call("report", "größe.json")[2].startswith("Expected")  # which is a name of no file
