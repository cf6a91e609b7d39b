"""Attacks on what stands beside the certified value, as a curious analyst or reader would try them.

Each works on two tables that differ in one person's values, or on one secret listed in two ways,
through Python and the command line. What it reads must be the same for both. The exceptions are
facts of a pool that was declared public (`POOL_FACTS`): they are read here, and said to be.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.answers import told
from rpac.certificate.certificate import FACT
from rpac.worlds.flatten import Form
from tests.cli.conftest import SAMPLE, call

PEOPLE, VICTIM = 40, 17


def staff(salary=50_000.0, sick=1, note="12", joined="2020-02-02"):
    """Return 40 people; all but one of them are the same in every test."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({
        "id": np.arange(PEOPLE),
        "name": [f"p{i}" for i in range(PEOPLE)],
        "dept": ["lab", "ops"] * (PEOPLE // 2),
        "city": ["x", "x", "y", "y"] * (PEOPLE // 4),
        "salary": rng.normal(40_000, 5_000, PEOPLE).round(2),
        "sick": np.arange(PEOPLE) % 2,
        "note": [str(i) for i in range(PEOPLE)],
        "joined": ["2019-01-01"] * PEOPLE,
    })  # fmt: skip
    frame.loc[0, ["note", "joined"]] = ["n/a", "unknown"]  # text, whatever the others are
    frame.loc[VICTIM, ["salary", "sick", "note", "joined"]] = [salary, sick, note, joined]
    return frame


def masked(text):
    """Return a text with its numbers and keyed fingerprints taken out.

    How far off a released number may be, in shares of itself, is said with a word of its own.
    """
    word = r"(:\s+(use\s+with\s+caution|too\s+noisy\s+to\s+publish))"
    text = re.sub(rf"(beyond\s+)?(\+-|±)?\s*[\d.]+(e[+-]?\d+)?\s+%{word}?", "0 %", text)
    text = re.sub(r"\b(?=\d*[a-f])[0-9a-f]{8,64}\b", "#", text)
    text = re.sub(r"-?\d[-\d.,]*(e[+-]?\d+,?)?", "#", text)
    return re.sub(r"[\s#,()\[\]]+", " ", text)  # how many digits a number has is its own


def shape(value):
    """Return a JSON value with its numbers taken out, names and structure left.

    Whether all worlds agree on a number is a fact of a public pool, and tested below.
    """
    if isinstance(value, dict) and ("noise" in value or "fact" in value) and "value" in value:
        return "a number"
    if isinstance(value, dict):
        return {key: shape(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value]
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d.*", value):
        return "a date"
    return "#" if isinstance(value, float | int) and not isinstance(value, bool) else value


def published(folder, frame, *words, ledger="books.db"):
    """Release through the command line; return all that an outsider sees, without the numbers."""
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "staff.csv", index=False)
    codes = pd.DataFrame({"code": ["lab", "ops"], "site": ["north", "south"]})
    codes.to_csv(folder / "sites.csv", index=False)
    files = ("--out", folder / "r.json", "--report", folder / "r.html")
    common = (*SAMPLE, "--worlds", "16", "--method", "auto-pac", "--ledger", folder / ledger,
              "--cap", "9")  # fmt: skip
    code, out, err = call("release", folder / "staff.csv", *words, *common, *files)
    record = json.loads((folder / "r.json").read_text()) if code == 0 else None
    page = masked((folder / "r.html").read_text()) if code == 0 else ""
    return {
        "code": code, "error": err, "words": {*masked(out).split()} - _MARKED,
        "page": {*re.sub(r"<svg.*?</svg>", "", page).split()} - _MARKED,
        "facts": record and json.loads(record["certificate"])["facts"],
        "record": shape(_opened(record)), "booked": _booked(folder / ledger),
    }  # fmt: skip


def _opened(record):
    """Return a record with its certificate as data; keyed fingerprints and hashes are random."""
    if record is None:
        return None
    certificate = json.loads(record["certificate"])
    for name in ("rank", "gaussian"):  # of the level: how many numbers vary, and how
        certificate["noise"].pop(name)
    for part in (certificate["noise"], certificate["outputs"]):
        assert re.fullmatch("[0-9a-f]{64}", part.pop("fingerprint"))
    for name in ("statement", "sha256", "facts"):
        certificate.pop(name)
    receipt = {k: v for k, v in record["receipt"].items() if k not in ("ledger", "hash")}
    kept = {k: v for k, v in record.items() if k != "sha256"}
    return kept | {"certificate": certificate, "receipt": receipt}


def _booked(path):
    if not path.exists():  # refused by what was typed, before anything was made
        return None
    with rpac.Ledger(path) as ledger:
        found = [(e["kind"], (e.get("answer") or {}).get("withheld")) for e in ledger.entries()]
    return [pair for pair in found if pair[0] != "attempt"]


_MARKED = {"*", "protected", "not"}
SQL = ("--unit", "id", "--public", "dept", "--public", "city", "--sql")
BESIDE = {
    "plan and error bars": [
        (*SQL, "SELECT sum(salary) AS s FROM staff WHERE name = 'p17'"),
        (*SQL, "SELECT dept, count(*) AS n, avg(salary) AS s FROM staff GROUP BY dept"),
        (*SQL, "SELECT max(CAST(joined AS DATE)) AS d, sum(length(note)) AS t FROM staff"),
        ("--unit", "id", "--statistic", "histogram(salary, 0, 45000, 55000, 90000)"),
    ],
    "names": [
        (*SQL, "SELECT CASE WHEN EXISTS (SELECT 1 FROM staff WHERE name = 'p17' AND salary > 55000)"
               " THEN 'rich' ELSE 'poor' END AS g, count(*) AS n FROM staff GROUP BY 1"),
        (*SQL, "SELECT dept, count(*) AS n FROM staff WHERE salary > 55000 GROUP BY dept"),
        (*SQL, "SELECT g, count(*) AS n FROM (SELECT 'rich' AS g FROM staff WHERE salary > 55000"
               " UNION ALL SELECT 'any' FROM staff) AS t GROUP BY g"),
        (*SQL, "SELECT n, count(*) AS k FROM (SELECT id, count(*) FILTER (salary > 55000) AS n"
               " FROM staff GROUP BY id) AS t GROUP BY n"),
        (*SQL, "SELECT dept, city, count(*) AS n FROM staff WHERE joined > '2020-01-01'"
               " GROUP BY dept, city HAVING max(salary) > 55000 ORDER BY dept, city LIMIT 3"),
        (*SQL, "WITH t AS (SELECT dept FROM staff WHERE note = 'x') SELECT dept, count(*) AS n"
               " FROM t GROUP BY dept"),
    ],
    "refusals": [
        (*SQL, "SELECT sum(CAST(note AS INT)) AS s FROM staff"),
        (*SQL, "SELECT avg(CASE WHEN name = 'p17' AND salary > 55000 THEN CAST('x' || note AS INT)"
               " ELSE 1 END) AS s FROM staff"),
        (*SQL, "SELECT avg(CAST(joined AS DATE) - DATE '2019-01-01') AS s FROM staff"),
        (*SQL, "SELECT sum(CAST(salary AS TINYINT)) AS s FROM staff"),
        (*SQL, "SELECT dept, sum(1 / (salary - 60000)) AS s FROM staff GROUP BY dept"),
    ],
}  # fmt: skip
CASES = [(line, i) for line, found in BESIDE.items() for i in range(len(found))]


@pytest.mark.parametrize(("line", "i"), CASES, ids=[f"{line} {i}" for line, i in CASES])
def test_nothing_beside_the_numbers_depends_on_a_persons_values(line, i, tmp_path):
    here = published(tmp_path / "a", staff(), *BESIDE[line][i])
    there = published(tmp_path / "b", staff(60_000.0, 0, "x", "9999-99-99"), *BESIDE[line][i])
    if here["facts"] != there["facts"]:  # of a public pool: another note below the numbers
        for found in (here, there):
            found.update(facts=None, words=None, page=None)
    assert here == there
    if here["record"] is not None:
        words = set(re.findall(r'"(\w+)":', json.dumps(here["record"])))
        assert not words & {"plan", "units", "audit", "nano", "remaining", "digest", "version"}


# --- refusals -----------------------------------------------------------------------------------


def fails_if_rich(frame):
    if (frame["salary"] > 55_000).any():
        raise ValueError(f"salary {frame['salary'].max()}")
    return frame["salary"].mean()


REASONS = {
    "an exception": fails_if_rich,
    "another shape": lambda f: np.zeros(2 if (f["salary"] > 55_000).any() else 1),
    "NaN": lambda f: float("nan") if (f["salary"] > 55_000).any() else f["salary"].mean(),
    "a spread that cannot be released": lambda f: np.array(
        [1e300 if (f["salary"] > 55_000).any() else 1.0, f["salary"].mean() * 1e-300]),
    "text": lambda f: "rich" if (f["salary"] > 55_000).any() else 1.0,
}  # fmt: skip


def test_refusals_because_of_data_share_one_text_and_are_booked(tmp_path):
    """A salary was read by bisection, from refusals that nobody booked."""
    texts, before = set(), 0.0
    ledger = rpac.Ledger(tmp_path / "l.db", budget=1.0, dataset="staff")
    source = rpac.Subsets(staff(60_000.0), unit="id", worlds=16)
    for function in REASONS.values():
        with pytest.raises(rpac.Withheld) as caught:
            rpac.privatize(function, source, 0.1, ledger=ledger, method="auto-pac")
        texts.add(str(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        assert ledger.spent == pytest.approx(before + rpac.Withheld.NATS)
        before = ledger.spent
    assert len(texts) == 1
    assert not re.search(r"\d{3}", texts.pop())  # no figure of anybody
    marks = [e["answer"] for e in ledger.entries() if e["kind"] == "spend"]
    assert marks == [{"withheld": True}] * len(REASONS)


def test_the_bisection_of_a_salary_runs_out_of_budget(tmp_path):
    ledger = rpac.Ledger(tmp_path / "l.db", budget=0.05)
    source = rpac.Subsets(staff(60_000.0), unit="id", worlds=16)

    def asked(limit):
        try:
            rpac.privatize(lambda f: 1 / int(f["salary"].max() < limit), source, 1e-6,
                           ledger=ledger, method="auto-pac")  # fmt: skip
        except rpac.RpacError as error:
            return type(error).__name__
        return "answered"

    found = [asked(limit) for limit in np.linspace(1e4, 4e4, 12)]
    assert found == ["Withheld"] * 5 + ["BudgetSpent"] * 7


@pytest.mark.parametrize("verb", ["plan", "release", "audit", "compare"])
def test_every_command_refuses_alike(verb, tmp_path):
    staff(60_000.0).to_csv(tmp_path / "staff.csv", index=False)
    program = "awk -F, 'NR > 1 && $5 > 55000 {x = 1} {n++} END {if (x) exit 3; print n}' {file}"
    other = "awk -F, 'NR > 1 && $5 > 55000 {x = 1} END {print 1; if (x) print 2}' {file}"
    words = (tmp_path / "staff.csv", "--unit", "id", *SAMPLE, "--worlds", "8", "--ledger",
             tmp_path / "l.db")  # fmt: skip
    assert call("ledger", tmp_path / "l.db", "--cap", "1")[0] == 0
    said = {call(verb, *words, "--command", text) for text in (program, other)}
    ((code, out, err),) = said
    assert (code, out) == (1, "")
    assert "its reason is withheld" in err
    booked = rpac.Ledger(tmp_path / "l.db").spent
    assert booked == pytest.approx(2 * rpac.Withheld.NATS)


# --- hashes -------------------------------------------------------------------------------------


def marks(text):
    return set(re.findall(r"\b[0-9a-f]{12,64}\b", text))


def test_no_hash_that_a_reader_can_recompute(tmp_path):
    """The value of the one unknown person was found by trying candidates against SHA-256."""
    frame = staff()
    ledger = rpac.Ledger(tmp_path / "l.db", budget=5.0, dataset="staff")
    source = rpac.Subsets(frame, unit="id", worlds=16)
    statistic = rpac.statistics.mean("salary")
    release = rpac.privatize(statistic, source, 0.1, ledger=ledger, method="auto-pac", key="k")
    outputs, law = release.sealed
    with rpac.Session(source, 0.5, ledger) as session:
        asked = session.ask(statistic, 0.1)
    plain = {outputs.digest, source.version, source.secret, law.digest}
    entries = "\n".join(json.dumps(entry) for entry in ledger.entries())
    alone = rpac.certify(outputs, law)
    leaves = {
        "the certificate": release.certificate.to_json(),
        "a certificate without ledger": alone.to_json(),
        "a session's certificate": asked.certificate.to_json(),
        "the face of outputs": repr(outputs) + outputs._repr_html_(),
        "the receipt": repr(release.receipt) + str(release.receipt),
        "the entries": entries,
        "the face of a ledger": str(ledger) + ledger._repr_html_() + str(ledger.accounts()),
        "the release": str(release) + release._repr_html_(),
    }
    for name, text in leaves.items():
        for mark in marks(text):
            assert not any(known.startswith(mark) for known in plain), name
    other = rpac.Ledger(tmp_path / "other.db", budget=5.0, dataset="staff")
    again = rpac.privatize(statistic, source, 0.1, ledger=other, method="auto-pac")
    for part in ("outputs", "noise"):
        own, their = (getattr(made.certificate, part) for made in (release, again))
        assert own["fingerprint"] != their["fingerprint"]  # another key: nothing to compare
    assert release.receipt.version != again.receipt.version
    with pytest.raises(rpac.InputError) as caught:
        rpac.privatize(statistic, source, 0.2, ledger=ledger, method="auto-pac", key="k")
    assert not marks(str(caught.value))


def test_a_ledgers_key_is_for_its_owner_alone(tmp_path):
    rpac.Ledger(tmp_path / "l.db", budget=1.0).close()
    assert (tmp_path / "l.db").stat().st_mode & 0o077 == 0


# --- facts of the pool --------------------------------------------------------------------------


def interval_attack(record):
    """Read the value of the one person who carries a sum off its two intervals."""
    cell = record["answer"][0]["s"]
    noise, both = ((high - low) / 2 / 1.959964 for low, high in (cell["noise"], cell["sampling"]))
    return np.sqrt(both**2 - noise**2)


POOL_FACTS = {
    "error bars": lambda record: round(interval_attack(record)),
    "level": lambda record: json.loads(record["certificate"])["noise"]["power"],
    "origin": lambda record: record["value"][0]["s"] % 1.0,
}
"""What reads a pool that *sample* declares public; a promise to the person must not allow it."""


@pytest.mark.parametrize("fact", POOL_FACTS)
def test_facts_of_a_public_pool_are_read_and_said_to_be(fact, tmp_path):
    words = BESIDE["plan and error bars"][0]
    read = []
    for name, salary in (("a", 50_000.0), ("b", 60_000.0)):
        published(tmp_path / name, staff(salary), *words)
        record = json.loads((tmp_path / name / "r.json").read_text())
        read.append(POOL_FACTS[fact](record))
        assert "public by declaration" in record["promise"]["pool"]
        code, out, _ = call("audit", tmp_path / name / "r.json")
        assert (code, "fact of the public pool" in out, "DEFECT" in out) == (0, True, False)
    assert read[0] != read[1]
    if fact == "error bars":
        assert read == pytest.approx([50_000, 60_000], rel=0.08)  # samples differ in size


CONSTANT = {
    "alone": ("--unit", "id", "--statistic", "mean(ones)"),
    "in a vector": (*SQL, "SELECT dept, avg(salary) AS s, avg(ones) AS o FROM staff GROUP BY dept"),
    "a ward": (
        *SQL,
        "SELECT dept, avg(CASE WHEN dept = 'lab' THEN 1 ELSE 0 END) AS o FROM staff GROUP BY dept",
    ),
    "a count": (*SQL, "SELECT count(DISTINCT ones) AS o FROM staff"),
}


@pytest.mark.parametrize("how", CONSTANT)
def test_what_all_worlds_agree_on_is_never_called_protected(how, tmp_path):
    """A ward of 25 people who all have a diagnosis came out as 1.000000, called very careful."""
    published(tmp_path, staff().assign(ones=1), *CONSTANT[how], "--budget", "0.01")
    record = json.loads((tmp_path / "r.json").read_text())
    cells = [cell for row in record["answer"] for cell in row.values() if isinstance(cell, dict)]
    facts = [cell for cell in cells if "fact" in cell]
    assert facts
    assert all(cell["fact"] == FACT for cell in facts)
    assert all("noise" not in cell for cell in facts)
    assert json.loads(record["certificate"])["facts"]
    page = (tmp_path / "r.html").read_text()
    assert page.count(FACT) == len(facts)
    assert 'promise "person"' in page.replace("&#34;", '"')


def test_constant_numbers_in_sessions_and_labels():
    source = rpac.Subsets(staff(), unit="id", worlds=16)
    with rpac.Session(source, 0.5) as session:
        assert session.ask(lambda f: 1.0, 0.01).certificate.facts == ("answer",)
    label = rpac.privatize(lambda f: "all sick", source, 0.01)
    assert (label.value, label.certificate.facts) == ("all sick", ("answer",))


def test_noisy_numbers_are_not_called_facts(tmp_path):
    """Rounding error bars outwards made every whole number look like a fact."""
    source = rpac.Subsets(staff(), unit="id", worlds=16)
    release = rpac.privatize(lambda f: np.array([7, int(f["salary"].mean())]), source, 0.1)
    low, high = release.facts
    assert (low[0], high[0]) == (-1, 15)
    assert low[1] == high[1]
    rows = told.answer_rows(release, "n")
    assert ["fact" in row["n"] for row in rows] == [True, False]
    label = rpac.privatize(lambda f: "all sick", source, 0.01)
    assert told.answer_rows(label, "x") == [{"x": {"value": "all sick", "fact": FACT}}]


def test_keys_that_look_alike_keep_their_numbers():
    source = rpac.Subsets(staff(), unit="id", worlds=16)
    made = rpac.privatize(lambda f: {1: 5.0, "1": f["salary"].mean()}, source, 0.1)
    rows = told.answer_rows(made, "n")
    assert [row[""] for row in rows] == ["1", "1"]
    assert ["fact" in row["n"] for row in rows] == [True, False]
    assert told.plain(made.value) == [["1", 5.0], ["'1'", made.value["1"]]]


@dataclasses.dataclass
class Odd:
    """A mechanism whose answers cannot be shown again."""

    def announce(self, source):
        return Form("scalar", (), whole=False, rebuild=lambda v: 1 / 0)

    def __call__(self, frame):
        return frame["salary"].mean()


def test_what_cannot_be_shown_is_refused_before_it_is_charged(tmp_path):
    ledger = rpac.Ledger(tmp_path / "l.db", budget=1.0)
    source = rpac.Subsets(staff(), unit="id", worlds=16)
    with pytest.raises(rpac.Withheld):
        rpac.privatize(Odd(), source, 0.5, ledger=ledger)
    with rpac.Session(source, 0.9, ledger) as session, pytest.raises(rpac.Withheld):
        session.ask(Odd(), 0.5)
    assert ledger.spent == pytest.approx(2 * rpac.Withheld.NATS)


def test_labels_have_a_success_rate_too():
    source = rpac.Subsets(staff(), unit="id", worlds=64)
    release = rpac.privatize(
        lambda f: "rich" if f["salary"].mean() > 40_000 else "poor", source, rpac.SuccessRate(0.55)
    )
    assert 0.54 < release.certificate.worst_unit_success <= 0.55


# --- secret draws -------------------------------------------------------------------------------

LOUD = """
import atexit, logging, os, subprocess, sys, threading, warnings
import numpy as np, rpac
SECRET = 123456.0
def tell(text):
    {how}
def mechanism(x):
    if x == SECRET:
        tell(f"secret {{x}}")
    return x
def release():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-3, 3), draws=400)
    made = rpac.privatize(mechanism, source, 1.0, secret=SECRET, confidence=0.9)
    print("released")
{run}
"""
HOWS = {
    "print": "print(text, flush=True)",
    "descriptor": "os.write(1, text.encode()); os.write(2, text.encode())",
    "thread": "t = threading.Thread(target=print, args=(text,)); t.start(); t.join()",
    "child": "subprocess.run(['echo', text])",
    "logging": "logging.basicConfig(); logging.error(text)",
    "warning": "warnings.warn(text)",
    "exception": "raise ValueError(text)",
    "exit": "print(text, file=sys.__stderr__, flush=True); os._exit(3)",
    "at exit": "atexit.register(print, text)",
}
RUNS = {
    "main": "release()",
    "thread": "t = threading.Thread(target=release); t.start(); t.join()",
    "beside JAX": "import jax; jax.numpy.ones(3).sum().block_until_ready(); release()",
}


@pytest.mark.parametrize(
    ("how", "run"),
    [(how, "main") for how in HOWS] + [("descriptor", "thread"), ("child", "beside JAX")],
)
def test_a_function_on_the_owners_secret_has_nobody_to_tell(how, run, tmp_path):
    if run == "beside JAX":
        pytest.importorskip("jax", reason="JAX not found; install rpac[neural]")
    script = tmp_path / "loud.py"
    script.write_text(LOUD.format(how=HOWS[how], run=RUNS[run]))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "released\n"
    assert "123456" not in done.stderr


# --- books --------------------------------------------------------------------------------------


def session_in(folder, source):
    ledger = rpac.Ledger(folder / "l.db", budget=5.0, dataset="staff")
    return rpac.Session(source, 2.0, ledger, store=folder / "store")


@pytest.mark.parametrize("what", ["folder", "ledger", "store", "anchor"])
def test_a_snapshot_that_was_put_back_is_refused(what, tmp_path, monkeypatch):
    """A restored folder let the same world be asked again and again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    books, saved = tmp_path / "books", tmp_path / "saved"
    books.mkdir()
    source = rpac.Subsets(staff(), unit="id", worlds=16)
    question = rpac.statistics.mean("salary")
    session = session_in(books, source)
    session.ask(question, 0.1)
    session._ledger.close()
    (anchor,) = (tmp_path / "state").rglob("*.head")
    shutil.copytree(books, saved)
    shutil.copy(anchor, tmp_path / "anchor")
    session.ask(question, 0.1)
    session._ledger.close()
    del session
    if what == "folder":
        shutil.rmtree(books)
        shutil.copytree(saved, books)
    elif what == "anchor":
        shutil.copy(tmp_path / "anchor", anchor)
    else:
        for file in saved.glob("l.db*" if what == "ledger" else "store*"):
            shutil.copy(file, books / file.name)
    with pytest.raises(rpac.LedgerError):
        session_in(books, source)


def test_all_files_may_move(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "old").mkdir()
    with rpac.Ledger(tmp_path / "old" / "l.db", budget=1.0) as ledger:
        ledger.spend(0.1)
    shutil.move(tmp_path / "old", tmp_path / "new")
    assert rpac.Ledger(tmp_path / "new" / "l.db").spent == 0.1  # the id decides, not the place
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))  # another machine
    code, _, err = call("ledger", tmp_path / "new" / "l.db")
    assert (code, "anchor" in err) == (1, True)
    assert call("ledger", tmp_path / "new" / "l.db", "--trust-head")[0] == 0
    assert rpac.Ledger(tmp_path / "new" / "l.db").spent == 0.1


def normal(rng):
    return rng.normal()


def other_name(rng):
    return rng.normal()


LISTINGS = {
    "another order": (rpac.Worlds([1.0, 2.0, 3.0]), rpac.Worlds([3.0, 2.0, 1.0])),
    "other weights": (rpac.Worlds([1.0, 2.0]), rpac.Worlds([1.0, 2.0], [0.4, 0.6])),
    "more worlds": (rpac.Worlds([1.0, 2.0]), rpac.Worlds([1.0, 2.0, 9.0])),
    "another clip": (rpac.Draws(normal, (-3, 3), 400), rpac.Draws(normal, (-4, 4), 400)),
    "another name": (rpac.Draws(normal, (-3, 3), 400), rpac.Draws(other_name, (-3, 3), 400)),
}


def identity(x):
    return x


@pytest.mark.parametrize("how", LISTINGS)
def test_a_given_secret_is_booked_once_however_it_is_listed(how, tmp_path):
    ledger = rpac.Ledger(tmp_path / "l.db", budget=5.0, dataset="staff")
    first, second = LISTINGS[how]
    usual = {"ledger": ledger, "secret": 1.0, "confidence": 0.9, "method": "auto-pac"}
    rpac.privatize(identity, first, 0.5, subject="ann", **usual)
    with pytest.raises(rpac.InputError, match="rpac.Session"):
        rpac.privatize(identity, second, 0.5, subject="ann", **usual)
    for same in ("Ann", " ann ", "ＡＮＮ", "ann\u00a0"):
        with pytest.raises(rpac.InputError, match="rpac.Session"):
            rpac.privatize(identity, second, 0.5, subject=same, **usual)
    rpac.privatize(identity, second, 0.5, subject="bob", **usual)


def test_a_key_knows_which_secret_was_given(tmp_path):
    ledger = rpac.Ledger(tmp_path / "l.db", budget=5.0, dataset="staff")
    worlds = rpac.Worlds([1.0, 2.0, 3.0])
    usual = {"ledger": ledger, "key": "k", "method": "auto-pac", "subject": "ann"}
    made = rpac.privatize(identity, worlds, 0.3, secret=1.0, **usual)
    again = rpac.privatize(identity, worlds, 0.3, secret=1.0, **usual)
    assert again.value == made.value
    for other in ({"secret": 2.0}, {"secret": 1.0, "subject": "bob"}):
        with pytest.raises(rpac.InputError, match="the request that key 'k' was first used for"):
            rpac.privatize(identity, worlds, 0.3, **usual | other)


def test_versions_do_not_depend_on_order_or_on_the_hash_seed():
    code = (
        "import rpac; worlds = [{'a': 1, 'b': {2, 'x', (3,)}}, frozenset('xyz'), 2**53 + 1]; "
        "print(rpac.Worlds(worlds).version)"
    )
    found = set()
    for seed in ("0", "1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                              text=True, check=True)  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1
    big = 2**53
    assert rpac.Worlds([big, 1]).version != rpac.Worlds([big + 1, 1]).version
    assert rpac.Worlds([big, 1]).version == rpac.Worlds([1, big]).version
    with pytest.raises(rpac.InputError, match="a secret among the worlds"):
        rpac.privatize(float, rpac.Worlds([1, big]), 0.1, secret=big + 1)


# --- prices -------------------------------------------------------------------------------------

QUESTIONS = {
    "a mean": ("--statistic", "mean(salary)"),
    "a sum": ("--statistic", "sum(salary)"),
    "a count": ("--statistic", "count()"),
    "groups": ("--public", "dept", "--sql", "SELECT dept, avg(salary) AS s FROM staff GROUP BY 1"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_price_of_a_success_rate_is_an_upper_bound(question, tmp_path):
    """0.005 nats were planned, 0.13 to 0.15 charged."""
    staff().to_csv(tmp_path / "staff.csv", index=False)
    words = (tmp_path / "staff.csv", "--unit", "id", *SAMPLE, "--worlds", "64",
             *QUESTIONS[question], "--success", "0.55", "--ledger", tmp_path / "l.db",
             "--cap", "5")  # fmt: skip
    planned = json.loads(call("plan", *words, "--json")[1])
    assert call("release", *words)[0] == 0
    spent = rpac.Ledger(tmp_path / "l.db").spent
    assert spent <= planned["nats"] <= max(1.25 * spent, 1e-6)
    assert 0.5 <= planned["membership"] <= 0.55


def test_the_example_of_the_readme_needs_no_more_than_its_extra():
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
    (extra,) = re.findall(r"^sql = \[(.*)\]$", text, re.M)
    assert {"duckdb", "pandas", "pyarrow", "sqlglot"} <= set(re.findall(r'"([a-z]+)', extra))
