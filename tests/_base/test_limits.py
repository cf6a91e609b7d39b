"""Sizes are held against what there is, and nothing is allocated before."""

import time

import pytest

from rpac._base import limits
from rpac._base.limits import beyond_disk, beyond_memory, hold_in_memory, memory
from rpac.errors import InputError, TooLarge


@pytest.mark.parametrize(
    ("text", "size"),
    [("6 GB", 6e9), ("512MB", 512e6), ("1.5g", 1.5e9), ("2T", 2e12), ("100", 100), ("3 kB", 3e3)],
)
def test_memory_may_be_stated(monkeypatch, text, size):
    monkeypatch.setenv("RPAC_MEMORY", text)
    assert memory() == size


@pytest.mark.parametrize("text", ["much", "B", "infGB", "1 XB"])
def test_what_is_stated_must_be_a_size(monkeypatch, text):
    monkeypatch.setenv("RPAC_MEMORY", text)
    with pytest.raises(InputError, match="Expected a size in RPAC_MEMORY; got .*6 GB"):
        memory()


def test_otherwise_it_is_what_the_machine_has_to_give(monkeypatch, tmp_path):
    monkeypatch.delenv("RPAC_MEMORY", raising=False)
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 99 kB\nMemAvailable:   12 kB\n")
    monkeypatch.setattr(limits, "_MEMINFO", str(meminfo))
    monkeypatch.setattr(limits, "_GROUP", str(tmp_path))
    assert memory() == 12 * 1024
    (tmp_path / "memory.max").write_text("9000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    assert memory() == 7000  # a container has less
    (tmp_path / "memory.max").write_text("max\n")
    assert memory() == 12 * 1024
    meminfo.unlink()
    assert memory() > 1e6  # a system that does not say has all of it


def test_too_much_is_refused_before_it_is_allocated(monkeypatch, tmp_path):
    monkeypatch.setenv("RPAC_MEMORY", "8 GB")
    started = time.perf_counter()
    hold_in_memory(10**9, "numbers that fit", "Take fewer.")
    with pytest.raises(TooLarge, match="Expected numbers that fit; got 8e.12 TB, with room for 8 "):
        hold_in_memory(10**24, "numbers that fit", "Take fewer.")
    assert beyond_memory(10**9) == beyond_disk(1, tmp_path) == ""
    assert "TB, with room for" in beyond_disk(10**24, tmp_path)
    assert time.perf_counter() - started < 1
    monkeypatch.setenv("RPAC_MEMORY", "1 kB")
    with pytest.raises(TooLarge, match="got 8 MB, with room for 1 kB"):
        hold_in_memory(10**6, "numbers that fit", "Take fewer.")
