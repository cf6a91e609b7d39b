"""After a kill at any point, one command gives back record and receipt; nothing is drawn again."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.recovery import AFTER, BEFORE, FAILS, QUESTIONS, out_of, words

import rpac
from rpac.answers import told
from rpac.cli import program
from rpac.cli.program import main
from rpac.report import record as records
from rpac.report.recovery import record_of, recover
from tests.conftest import ROOT

NUMBER = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
def books(request, folder):
    if request.param == "sqlite":
        return f"{folder}/books.db"
    return request.getfixturevalue("database")(f"recovery{next(NUMBER)}")


@pytest.fixture
def staff(tmp_path):
    rows = {"id": range(40), "dept": list("aabb" * 10), "pay": np.arange(40.0)}
    pd.DataFrame(rows).to_csv(tmp_path / "staff.csv", index=False)
    return str(tmp_path)


def kill(books, staff, *points):
    """Kill releases at some points; in a process that forks, since this one has threads."""
    program = [sys.executable, "-m", "benchmarks.recovery", books, staff, *points]
    subprocess.run(program, check=True, timeout=120, cwd=ROOT)


def test_kill_9_at_every_named_point(staff, books):
    """Whatever was charged has its record back, byte for byte, and nothing is drawn for it."""
    with rpac.Ledger(books, budget=5.0) as ledger:
        points = [*FAILS] if "://" not in books else ["before the commit", "after the commit"]
        kill(books, staff, *points)
        spent, back = ledger.spent, f"{staff}/back"
        found = rpac.recover(ledger, back)
        marks = [body["receipt"]["hash"] for body in found.records]
        files = dict(zip(marks, found.files, strict=True))
        assert len(files) == len([p for p in points if p in AFTER]) * len(QUESTIONS)
        assert ledger.spent == spent
        assert (found.withheld, found.bare, found.lost) == (0, 0, ())
        assert rpac.recover(ledger, back).records == ()
        for promise, point in itertools.product(QUESTIONS, points):
            key, out = f"{promise} {point}", out_of(staff, promise, point)
            charged, before = ledger.find(key), ledger.spent
            assert (charged is None) == (point in BEFORE)
            written = Path(out).read_bytes() if point == "before the answer" else None
            again = words(staff, books, promise, "--key", key, "--out", out)
            assert main(again) == 0
            assert (ledger.spent == before) == (charged is not None)
            if charged is not None:
                kept = files[charged.hash].read_bytes() if point in AFTER else written
                assert kept == Path(out).read_bytes()
        for file in files.values():
            assert main(["verify", str(file), "--ledger", books]) == 0
        ledger.verify()


def test_without_a_file_the_record_is_missing_until_it_is_printed(
    staff, folder, capsys, monkeypatch
):
    books = f"{folder}/books.db"
    rpac.Ledger(books, budget=5.0).close()
    monkeypatch.setattr(program, "_show", lambda result, as_json: 0)  # as if it had died there
    assert main(words(staff, books, "person")) == 0
    monkeypatch.undo()
    with rpac.Ledger(books) as ledger:
        assert len(recover(ledger).records) == 1
        assert main(words(staff, books, "sample", "--json")) == 0
        printed = capsys.readouterr().out
        assert len(recover(ledger).records) == 1
    Path(staff, "printed.json").write_text(printed)
    assert main(["verify", f"{staff}/printed.json", "--ledger", books]) == 0


def test_one_command_writes_them(staff, folder, capsys):
    books = f"{folder}/books.db"
    rpac.Ledger(books, budget=5.0).close()
    kill(books, staff, "before the record")
    with rpac.Ledger(books) as ledger:
        ledger.spend(0.1)
        ledger.spend(0.01, draw=lambda: ({"withheld": True}, b""))
        ledger.spend(0.01, draw=lambda: ([1.0], b""))
    assert main(["recover", books, "--out", f"{folder}/back"]) == 0
    said = capsys.readouterr().out
    assert said.count(": wrote ") == 2
    assert "1 refusals: charged, nothing was revealed" in said
    assert "1 bare charges: charged, nothing was revealed" in said
    assert "an older version kept no record" in said
    assert sorted(os.listdir(f"{folder}/back")) == ["entry-1.json", "entry-2.json"]
    assert main(["recover", books, "--out", f"{folder}/back", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == []


def test_what_there_is_nothing_to_recover_from(folder, capsys):
    assert main(["recover", f"{folder}/none.db"]) == 1
    assert "Expected a ledger that exists; got 'none.db'" in capsys.readouterr().err
    with rpac.Ledger(f"{folder}/books.db", budget=1.0) as ledger:
        with pytest.raises(rpac.InputError, match="Expected a folder for records; got 'books.db'"):
            recover(ledger, f"{folder}/books.db")
        assert recover(ledger, f"{folder}/back").records == ()
    assert main(["recover", f"{folder}/books.db", "--out", f"{folder}/back"]) == 0
    assert capsys.readouterr().out == "Every charge with an answer has its record.\n"


def test_releases_of_python_and_of_sessions_can_be_had_back(folder):
    """They are known by the function's name, or by what the caller says of the question."""
    people = rpac.Subsets(np.arange(30.0), worlds=8)
    with rpac.Ledger(f"{folder}/books.db", budget=5.0) as ledger:
        first = rpac.privatize(np.mean, people, 0.1, ledger=ledger)
        asked = {"question": "how much?", "about": {"unit": "rows"}}
        second = rpac.privatize(np.std, people, 0.1, ledger=ledger, asked=asked)
        with rpac.Session(people, 0.5, ledger) as session:
            third = session.ask([np.mean, np.std], 0.1)
        found = rpac.recover(ledger).records
        assert [body["question"] for body in found] == ["mean", "how much?", "mean, std"]
        assert [body["about"] for body in found] == [{}, {"unit": "rows"}, {}]
        values = [first.value, second.value, third.value]
        assert [body["value"] for body in found] == values
        assert [body["receipt"]["hash"] for body in found] == [
            made.receipt.hash for made in (first, second, third)
        ]
        body = records.record(records.said(first), "mean", about={})
        assert body == found[0]


def test_a_long_answer_comes_back_as_its_numbers(folder, monkeypatch):
    monkeypatch.setattr(told, "MOST", 2)
    people = rpac.Subsets(np.random.default_rng(0).normal(size=(30, 3)), worlds=8)
    with rpac.Ledger(f"{folder}/books.db", budget=5.0) as ledger:
        made = rpac.privatize(lambda x: x.mean(axis=0), people, 0.1, ledger=ledger)
        (body,) = recover(ledger).records
        assert body["value"] == made.value.tolist()
        assert [row["answer"] for row in body["answer"]] == made.value.tolist()
        assert made.receipt.answer["told"].keys() == {"question", "about"}
    presence = rpac.Presence(pd.DataFrame({"id": [1, 2], "x": [1.0, 2.0]}), unit="id")
    monkeypatch.setattr(told, "MOST", 0)
    with rpac.Ledger(f"{folder}/more.db", budget=5.0) as ledger:
        rpac.privatize(rpac.statistics.mean("x"), presence, 0.1, ledger=ledger)
        assert recover(ledger).lost == (1,)


def test_an_entry_without_a_certificate_has_no_record(folder):
    with rpac.Ledger(f"{folder}/books.db", budget=5.0) as ledger:
        assert record_of(ledger.spend(0.1, draw=lambda: ({"x": 1}, b""))) is None
