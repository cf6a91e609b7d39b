"""A progress bar where somebody looks."""

from rpac._base.progress import foresee, in_words, progress


def test_progress_is_silent_off_a_terminal_and_drawn_on_one(capfd, monkeypatch):
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    out, err = capfd.readouterr()
    assert out == ""
    assert "counting" in err


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
