"""Fetch the data of the paper's experiments from their publishers, and check what came."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from rpac._base.checks import refuse
from rpac._base.progress import progress

_CHUNK = 1 << 18
_PATIENCE = 60.0
"""Seconds without a byte until a server is given up."""


@final
@dataclass(frozen=True)
class Remote:
    """A file to fetch.

    Attributes:
        name: Of the file in the folder.
        url: Where its publisher has it.
        md5: Of the file as it is kept, in hex.
        packing: What the url holds: the file itself ("none"), the file under "gzip", or a "zip"
            with it inside.
        start: If given, the md5 is of the words after this one: of a table without its header.
    """

    name: str
    url: str
    md5: str
    packing: str = "none"
    start: str = ""

    def sum(self, raw: bytes) -> str:
        """Return the md5 that is compared with the published one."""
        if self.start:
            raw = "\n".join(words_after(self.start, raw.decode(errors="replace"))).encode()
        return hashlib.md5(raw, usedforsecurity=False).hexdigest()


def words_after(start: str, text: str) -> list[str]:
    """Return the words of a text after the first that is `start`, in any case; none without it.

    >>> words_after("@DATA", "@relation rice @data 1,2 3,4")
    ['1,2', '3,4']
    """
    words = text.split()
    found = [i for i, word in enumerate(words) if word.upper() == start.upper()]
    return words[found[0] + 1 :] if found else []


_UCI = "https://archive.ics.uci.edu/static/public/"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"
_NEWS = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/"


def _mnist(name: str, md5: str) -> Remote:
    return Remote(name, f"{_MNIST}{name}.gz", md5, "gzip")


def _cifar(name: str, md5: str) -> Remote:
    return Remote(name, f"{_CIFAR}{name}", md5)


def _news(part: str, md5: str) -> Remote:
    return Remote(f"ag_news_{part}", f"{_NEWS}{part}", md5)


SOURCES: Mapping[str, Sequence[Remote]] = {
    "iris": (Remote("iris.data", f"{_UCI}53/iris.zip", "42615765a885ddf54427f12c34a0a070", "zip"),),
    "rice": (
        Remote(
            "Rice_Cammeo_Osmancik.arff",
            f"{_UCI}545/rice+cammeo+and+osmancik.zip",
            "26d8c27ab5a4f718b2d7fa0d09f1835f",
            "zip",
            "@DATA",
        ),
    ),
    "mnist": (
        _mnist("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"),
        _mnist("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"),
        _mnist("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"),
        _mnist("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"),
    ),
    "cifar10": (_cifar("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),),
    "cifar100": (_cifar("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),),
    "ag_news": (
        _news("train.csv", "b1a00f826fdfbd249f79597b59e1dc12"),
        _news("test.csv", "d52ea96a97a2d943681189a97654912d"),
    ),
}
"""The files of each dataset, in the order in which their reader takes them."""


def fetch(remote: Remote, folder: Path) -> Path:
    """Return the file in the folder; bring it there unless it is there and sound.

    It is checked before it gets its name, so a file of that name is whole.

    Raises:
        InputError: If the server cannot be reached, or sends something else.
    """
    path = folder / remote.name
    if path.is_file() and remote.sum(path.read_bytes()) == remote.md5:
        return path
    try:
        raw = _unpacked(remote, _receive(remote.url, remote.name))
    except (urllib.error.URLError, OSError, http.client.HTTPException) as fault:
        raise refuse(
            f"{remote.name} from {remote.url}", fault,
            f"Try again, or put the file into {folder} by hand.",
        ) from None  # fmt: skip
    came = remote.sum(raw)
    if came != remote.md5:
        raise refuse(
            f"{remote.name} with md5 {remote.md5} from {remote.url}", f"md5 {came}",
            "Nothing was kept. Try again, or put the published file there by hand.",
        )  # fmt: skip
    keep(raw, path)
    return path


def keep(raw: bytes, path: Path) -> None:
    """Write a file under another name first, so that half of it is never read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(raw)
    os.replace(part, path)


def _receive(url: str, name: str) -> bytes:
    """Return what the server sends, under a progress bar where somebody looks."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
            size = int(answer.headers.get("Content-Length") or 0)
            chunks = iter(lambda: answer.read(_CHUNK), b"")
            return b"".join(progress(chunks, -(-size // _CHUNK), f"fetching {name}"))
    except urllib.error.HTTPError as fault:
        fault.close()  # it holds the connection
        raise


def _unpacked(remote: Remote, raw: bytes) -> bytes:
    """Return the file itself; what cannot be unpacked is returned as it came, for its md5."""
    try:
        if remote.packing == "gzip":
            return gzip.decompress(raw)
        if remote.packing == "zip":
            with zipfile.ZipFile(io.BytesIO(raw)) as held:
                inside = [m for m in held.namelist() if Path(m).name == remote.name]
                return held.read(inside[0])
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, IndexError):
        pass
    return raw
