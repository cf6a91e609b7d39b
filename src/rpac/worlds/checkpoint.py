"""Checkpoints of a simulation: rows of worlds on the disk, sealed, for a run that was cut off.

Rows are outputs without noise. Whoever reads the folder reads them, so it is its owner's alone
(mode 0700, files 0600), to be deleted when the release is made. Names of files tell nothing of the
content: they are under a key that lies in the folder. Nothing that is read is unpickled.
"""

from __future__ import annotations

import contextlib
import hmac
import io
import json
import os
import pickletools
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, final

import cloudpickle
import numpy as np

from rpac._base.checks import refuse
from rpac._base.hashing import digest, fingerprint, keyed
from rpac.worlds.apart import packed_function
from rpac.worlds.chunks import Job, Numbers, Rows
from rpac.worlds.flatten import Form
from rpac.worlds.source import Source, Subsets

_KEY = "key"
_TAG = 32
_INSTALLED = frozenset({"site-packages", "dist-packages", Path(os.__file__).parent.name})
"""Folders of modules that count by their version: packages, and Python's own."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Kept:
    """Rows of a chunk that were on the disk: their worlds, form by its marks, and values."""

    worlds: range
    form: str
    whole: bool
    values: Any


@final
class Checkpoint:
    """The rows of one simulation, kept in a folder as its chunks are done.

    Args:
        folder: Made, for its owner alone, if it is not there. Several simulations may share it.
        content: Hash of all that the rows follow from: see `content_of`.
        worlds: Number of worlds.

    Guarantees:
        A chunk is on the disk, whole, or not there; rows of other content, and rows that were
        damaged, are not used.
    """

    def __init__(self, folder: str | Path, content: str, worlds: int) -> None:
        self._folder, self._worlds = Path(folder), worlds
        with _on_disk():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self._folder.stat().st_mode & 0o777
        if mode & 0o077:
            move = "It holds outputs without noise: chmod 700, or name a new folder."
            raise refuse("a checkpoint folder for its owner alone", f"mode {mode:o}", move)
        self._secret = self._key()
        self._name = keyed(self._secret, digest(content, str(worlds)))[:32]

    def _key(self) -> bytes:
        path = self._folder / _KEY
        with _on_disk():
            if not path.exists():
                _written(path, secrets.token_bytes(_TAG))
            return path.read_bytes()

    def mark(self, form: Form) -> str:
        """Return what is kept of a form: its kind and layout, under the key."""
        return keyed(self._secret, f"{form.name} {form.layout!r}")

    def write(self, numbers: Numbers, rows: Rows) -> None:
        """Keep the rows of a chunk, on the disk when this returns."""
        form, values = rows
        start, stop = int(numbers[0]), int(numbers[-1]) + 1
        head = {"form": self.mark(form), "stop": stop, "whole": form.whole}
        body = io.BytesIO()
        body.write(json.dumps(head).encode() + b"\n")
        np.lib.format.write_array(body, np.asarray(values), allow_pickle=False)
        path = self._folder / f"{self._name}-{start}"
        with _on_disk():
            _written(path, self._tag(start, body.getvalue()) + body.getvalue())

    def _tag(self, start: int, body: bytes) -> bytes:
        return hmac.new(self._secret, f"{self._name} {start} ".encode() + body, sha256).digest()

    def read(self) -> list[Kept]:
        """Return the chunks that are there and whole, none over another."""
        found: list[Kept] = []
        starts = (path.name.rpartition("-")[2] for path in self._folder.glob(f"{self._name}-*"))
        for start in sorted(int(text) for text in starts if text.isdecimal()):
            kept = self._read(start)
            if kept is not None and (not found or found[-1].worlds.stop <= start):
                found.append(kept)
        return found

    def _read(self, start: int) -> Kept | None:
        raw = (self._folder / f"{self._name}-{start}").read_bytes()
        tag, body = raw[:_TAG], raw[_TAG:]
        if not hmac.compare_digest(tag, self._tag(start, body)):
            return None
        line, _, rows = body.partition(b"\n")
        head = json.loads(line)
        values = np.lib.format.read_array(io.BytesIO(rows), allow_pickle=False)
        return Kept(range(start, head["stop"]), head["form"], head["whole"], values)


@contextlib.contextmanager
def _on_disk() -> Iterator[None]:
    """Look at the disk: what it refuses follows from the folder, not from data."""
    try:
        yield
    except OSError as error:
        move = "Look at the disk, or name another folder."
        raise refuse("a checkpoint folder that can be written", error.strerror, move) from None


def _written(path: Path, content: bytes) -> None:
    """Write a file for its owner's eyes: there whole, and on the disk, or not there."""
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        file = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(half, path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    entry = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)


def content_of(source: Source, job: Job) -> str:
    """Return a hash of all that rows follow from: worlds, function, its code, seed, versions.

    The code is that of the modules it names, of those that they name, and so on; installed
    packages count by their version. Files that the function reads are not in it.
    """
    worlds = source.version if isinstance(source, Subsets) else fingerprint(list(job.secrets))
    function = packed_function(job.mechanism, type(job.mechanism).__qualname__)
    for name in getattr(cloudpickle.cloudpickle, "_DYNAMIC_CLASS_TRACKER_BY_ID", ()):
        function = function.replace(name.encode(), bytes(len(name)))  # of this process alone
    named = {text for _, text, _ in pickletools.genops(function) if isinstance(text, str)}
    code = _code({name for name in named if name in sys.modules})
    own = sha256(function).hexdigest()
    return digest(worlds, source.secret, own, str(job.seed), sys.version, *code)


def _code(names: set[str]) -> list[str]:
    """Return hashes of modules and of what they name, and versions of the installed ones."""
    found: dict[str, str] = {}
    open_ = sorted(names)
    while open_:
        name = open_.pop()
        module = sys.modules.get(name)
        if name in found or module is None:
            continue
        file = getattr(module, "__file__", None)
        if file is None or _INSTALLED.intersection(Path(file).parts) or name.startswith("rpac"):
            top = sys.modules.get(name.partition(".")[0])
            found[name] = str(getattr(top, "__version__", ""))
            continue
        found[name] = sha256(Path(file).read_bytes()).hexdigest()
        inside = [*vars(module).values()]
        open_ += [one.__name__ for one in inside if isinstance(one, ModuleType)]
        open_ += [str(getattr(one, "__module__", "")) for one in inside if callable(one)]
    return [f"{name} {mark}" for name, mark in sorted(found.items())]


def missing(worlds: int, kept: Sequence[Kept]) -> list[range]:
    """Return the worlds that no chunk holds."""
    edges = [0, *(edge for one in kept for edge in (one.worlds.start, one.worlds.stop)), worlds]
    gaps = (range(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))
    return [gap for gap in gaps if len(gap)]
