"""What fits: sizes are held against what the machine has before anything is allocated."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import MappingProxyType

from rpac._base.checks import refuse
from rpac.errors import TooLarge

VARIABLE = "RPAC_MEMORY"
"""Environment variable that states the memory to stay within, such as "6 GB"."""
_MEMINFO = "/proc/meminfo"
_GROUP = "/sys/fs/cgroup"
_UNITS = MappingProxyType({"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12})


def memory() -> int:
    """Return the bytes that may be allocated: as stated in `RPAC_MEMORY`, or what is available."""
    stated = os.environ.get(VARIABLE, "").strip()
    if stated:
        return _bytes(stated)
    return min(_available(), _left_to_the_group())


def _bytes(text: str) -> int:
    """Return a size such as "512 MB" or "6G" in bytes."""
    number = text.upper().removesuffix("B").rstrip()
    unit = number[-1:] if number[-1:] in _UNITS else ""
    try:
        return int(float(number.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError):
        raise refuse(f"a size in {VARIABLE}", repr(text), 'Such as "6 GB".') from None


def _available() -> int:
    """Return what the system has to give; all of its memory where it does not say."""
    try:
        lines = Path(_MEMINFO).read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _left_to_the_group() -> int:
    """Return what is left to this process's control group, as in a container."""
    try:
        most, used = ((Path(_GROUP) / f"memory.{name}").read_text() for name in ("max", "current"))
        return max(int(most) - int(used), 0)
    except (OSError, ValueError):  # no such group, or no limit
        return 1 << 62


def beyond_memory(numbers: int) -> str:
    """Return what is wrong with so many float64 numbers, in words; nothing if they fit."""
    return _beyond(8 * numbers, memory())


def beyond_disk(numbers: int, folder: str | Path) -> str:
    """Return the same for the disk that a folder is on."""
    return _beyond(8 * numbers, shutil.disk_usage(folder).free)


def _beyond(size: int, room: int) -> str:
    return "" if size <= room else f"{_size(size)}, with room for {_size(room)}"


def hold_in_memory(numbers: int, what: str, move: str) -> None:
    """Refuse more float64 numbers than memory has room for.

    Raises:
        TooLarge: Before anything was allocated. It depends on sizes alone.
    """
    fit(8 * numbers, what, move)


def fit(size: int, what: str, move: str) -> None:
    """Refuse more bytes than memory has room for; as `hold_in_memory`."""
    if got := _beyond(size, memory()):
        raise refuse(what, got, move, TooLarge)


def _size(count: int) -> str:
    """Return bytes in words.

    >>> _size(1_024_000_000)
    '1.02 GB'
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"
