"""A progress bar where somebody looks."""

from rpac._base.progress import progress


def test_progress_is_silent_off_a_terminal_and_drawn_on_one(capfd, monkeypatch):
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert [*progress([1, 2, 3], 3, "counting")] == [1, 2, 3]
    out, err = capfd.readouterr()
    assert out == ""
    assert "counting" in err
