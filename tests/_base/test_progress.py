"""A progress bar where somebody looks, once they have waited."""

import sys

from rpac._base import progress as module
from rpac._base.progress import foresee, in_words, progress


def test_progress_is_silent_off_a_terminal_and_drawn_on_one(capfd, monkeypatch):
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    assert "counting" not in capfd.readouterr().err  # it took no time
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    out, err = capfd.readouterr()
    assert out == ""
    assert "counting" in err
    assert "0:00" in err  # what is left


def test_a_notebook_is_looked_at(monkeypatch):
    """What rich draws there is its own; that it is asked to is ours."""
    from rich.progress import Progress

    started = []
    monkeypatch.setattr(Progress, "start", lambda self: started.append(self))
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert [*progress(iter("ab"), 2, "asking")] == ["a", "b"]
    assert len(started) == 1


def test_what_stops_early_leaves_no_bar(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    items = progress(range(9), 9)
    assert next(items) == 0
    items.close()


def test_work_inside_of_other_work_has_no_bar_of_its_own(monkeypatch):
    from rich.errors import LiveError
    from rich.progress import Progress

    def taken(self):
        raise LiveError("Only one live display may be active at once")

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(Progress, "start", taken)
    assert [*progress([1, 2], 2)] == [1, 2]


def test_long_work_is_announced_where_somebody_looks(capfd, monkeypatch):
    foresee(512, 0.8)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    foresee(512, 0.001)
    assert capfd.readouterr() == ("", "")
    foresee(512, 0.8)
    foresee(20_000, 4.0, workers=2)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "512 worlds x 0.8 s = about 7 minutes"
    assert lines[1] == "20000 worlds x 4 s / 2 processes = about 11 hours"


def test_times_in_words():
    assert [*map(in_words, (0.0123, 0.8, 90, 410))] == ["12 ms", "0.8 s", "90 s", "7 minutes"]
