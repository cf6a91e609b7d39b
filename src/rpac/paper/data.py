"""The data of the paper's experiments, read from a folder.

A dataset lies there in the form of its publisher (as `rpac.paper.download` fetches it), or in a
compact lossless form: `iris.csv`, `rice.csv`, `mnist.npz`, `cifar10_train.npz` and so on. The
publisher's form is taken where both are present, since compact training sets may be parts.
"""

from __future__ import annotations

import csv
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.types import Ints
from rpac.errors import RpacError
from rpac.paper.download import SOURCES, Remote, fetch, words_after

_SIDE = 32
_MOSAIC = (25, _SIDE, 40, _SIDE, 3)
"""A compact CIFAR file is a row of pictures, each of 25 x 40 images."""
_EXTRA = "Run: pip install 'rpac[paper]'"
_TOPICS = ("World", "Sports", "Business", "Sci/Tech")


@final
@dataclass(frozen=True)
class Dataset:
    """Records with labels, in a part to train on and a part to test on.

    Attributes:
        name: One of `NAMES`.
        train_x: Features (n, d) in float64, images (n, h, w) or (n, h, w, 3) in uint8, or texts.
        train_y: (n,) numbers of classes.
        test_x: As `train_x`; empty for tables, which come in one part.
        test_y: As `train_y`.
        classes: Names of the classes, by number.
    """

    name: str
    train_x: Any
    train_y: Ints
    test_x: Any
    test_y: Ints
    classes: tuple[str, ...]

    def first(self, train: int, test: int) -> Dataset:
        """Return the first records of either part.

        >>> data = Dataset("iris", np.eye(3), np.arange(3), np.eye(2), np.arange(2), ("a", "b"))
        >>> data.first(2, 1).train_y, data.first(2, 1).test_y
        (array([0, 1]), array([0]))
        """
        n, m = count(train, "train", least=1), count(test, "test", least=0)
        return replace(
            self,
            train_x=self.train_x[:n],
            train_y=self.train_y[:n],
            test_x=self.test_x[:m],
            test_y=self.test_y[:m],
        )


def load(
    name: str,
    folder: str | Path,
    *,
    download: bool = False,
    sources: Mapping[str, Sequence[Remote]] = SOURCES,
) -> Dataset:
    """Return a dataset from a folder.

    Args:
        name: One of `NAMES`.
        folder: Where its files lie, or are written to.
        download: Fetch what is missing of the publisher's files.
        sources: Files of each dataset as its publisher has them.

    Raises:
        InputError: If a file is missing, damaged or not what its publisher has.
    """
    if name not in NAMES:
        raise refuse(f"a dataset among {NAMES}", repr(name), "Choose one of them.")
    where, (files, read_compact, read_published) = Path(folder), _FORMS[name]
    published = [where / remote.name for remote in sources[name]]
    compact = [where / file for file in files]
    if download:
        for remote in sources[name]:
            fetch(remote, where)
    if all(path.is_file() for path in published):
        return _read(read_published, name, published)
    missing = [path.name for path in compact if not path.is_file()]
    if missing:
        raise refuse(
            f"{' and '.join(path.name for path in compact)} in {where}",
            f"no {' and no '.join(missing)}",
            "Name the folder that holds it with --data DIR, or fetch it with --download.",
        )
    return _read(read_compact, name, compact)


def _read(reader: Callable[..., Dataset], name: str, paths: Sequence[Path]) -> Dataset:
    """Return what the reader makes of the files, with whatever it stumbles over as a refusal."""
    try:
        return reader(name, *paths)
    except RpacError:
        raise
    except (ValueError, KeyError, IndexError, OSError, EOFError, zipfile.BadZipFile,
            tarfile.TarError) as fault:  # fmt: skip
        raise refuse(
            f"{name} in {', '.join(path.name for path in paths)}",
            f"a file that cannot be read ({type(fault).__name__}: {fault})",
            "Delete it and put a sound copy there, or fetch it with --download.",
        ) from None


def _table(name: str, rows: Sequence[Sequence[str]], classes: Sequence[str]) -> Dataset:
    """Return a dataset in one part: the last column is the class."""
    if not rows:
        raise ValueError("no rows")
    x = np.array([row[:-1] for row in rows], dtype=np.float64)
    y = np.array([classes.index(row[-1]) for row in rows])
    return Dataset(name, x, y, x[:0], y[:0], tuple(classes))


def _csv_table(name: str, path: Path) -> Dataset:
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return _table(name, rows, sorted({row[-1] for row in rows}))


def _uci_iris(name: str, path: Path) -> Dataset:
    rows = list(csv.reader(path.read_text().split()))
    named = [[*row[:-1], row[-1].removeprefix("Iris-")] for row in rows]
    return _table(name, named, sorted({row[-1] for row in named}))


def _uci_rice(name: str, path: Path) -> Dataset:
    """Return the rows after the @DATA line of an ARFF file."""
    rows = list(csv.reader(words_after("@DATA", path.read_text())))
    return _table(name, rows, sorted({row[-1] for row in rows}))


def _compact_mnist(name: str, path: Path) -> Dataset:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as z:
        parts = (z["x_train"], z["y_train"].astype(int), z["x_test"], z["y_test"].astype(int))
    return Dataset(name, *parts, tuple("0123456789"))


def _idx_mnist(name: str, *paths: Path) -> Dataset:
    train_x, train_y, test_x, test_y = (_idx(path.read_bytes()) for path in paths)
    return Dataset(
        name, train_x, train_y.astype(int), test_x, test_y.astype(int), tuple("0123456789")
    )


def _idx(raw: bytes) -> Any:
    """Return the bytes of an IDX file: 0, 0, 8 for bytes, axes, and big-endian sizes before."""
    axes = raw[3]
    shape = np.frombuffer(raw, ">u4", axes, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _compact_cifar(name: str, *paths: Path) -> Dataset:
    (train_x, train_y, classes), (test_x, test_y, _) = (_mosaics(path) for path in paths)
    return Dataset(name, train_x, train_y, test_x, test_y, classes)


def _mosaics(path: Path) -> tuple[Any, Ints, tuple[str, ...]]:
    try:
        from PIL import Image
    except ImportError as fault:
        raise refuse("Pillow", f"no module {fault.name!r}", _EXTRA) from None
    with path.open("rb") as file, np.load(file, allow_pickle=False) as z:
        blob, ends, labels, names = z["webp"], z["offsets"], z["labels"], z["label_names"]
    parts = []
    for start, end in zip(ends[:-1], ends[1:], strict=True):
        picture = np.asarray(Image.open(io.BytesIO(blob[start:end].tobytes())).convert("RGB"))
        parts.append(picture.reshape(_MOSAIC).transpose(0, 2, 1, 3, 4).reshape(-1, _SIDE, _SIDE, 3))
    return np.concatenate(parts), labels.astype(int), tuple(names.tolist())


def _binary_cifar(name: str, path: Path) -> Dataset:
    """Return the images of a binary tarball: the label's bytes, then red, green and blue planes."""
    with tarfile.open(path) as tar:
        held = {Path(member.name).name: member for member in tar.getmembers() if member.isfile()}
        train, test, names = _TARBALLS[name]
        raw = {file: _member(tar, held[file]) for file in (*train, test, names)}
    classes = tuple(raw[names].decode().split())
    before = 1 if name == "cifar10" else 2  # the coarse label comes before the fine one
    x, y = _planes(b"".join(raw[file] for file in train), before)
    return Dataset(name, x, y, *_planes(raw[test], before), classes)


_TARBALLS = {
    "cifar10": (
        tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", "batches.meta.txt",
    ),
    "cifar100": (("train.bin",), "test.bin", "fine_label_names.txt"),
}  # fmt: skip
"""Training files, test file and names of the classes."""


def _member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _planes(raw: bytes, before: int) -> tuple[Any, Ints]:
    rows = np.frombuffer(raw, np.uint8).reshape(-1, before + 3 * _SIDE * _SIDE)
    images = rows[:, before:].reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), rows[:, before - 1].astype(int)


def _compact_news(name: str, *paths: Path) -> Dataset:
    try:
        from pyarrow import parquet
    except ImportError as fault:
        raise refuse("pyarrow", f"no module {fault.name!r}", _EXTRA) from None
    (x, y), (test_x, test_y) = (_articles(**parquet.read_table(p).to_pydict()) for p in paths)
    return Dataset(name, x, y, test_x, test_y, _TOPICS)


def _csv_news(name: str, *paths: Path) -> Dataset:
    (x, y), (test_x, test_y) = (_quoted(path) for path in paths)
    return Dataset(name, x, y, test_x, test_y, _TOPICS)


def _quoted(path: Path) -> tuple[list[str], Ints]:
    """Return the articles of a published file, which numbers the classes from 1."""
    with path.open(newline="", encoding="utf-8") as file:
        labels, titles, descriptions = zip(*csv.reader(file), strict=True)
    return _articles([int(label) - 1 for label in labels], titles, descriptions)


def _articles(
    label: Sequence[int], title: Sequence[str], description: Sequence[str]
) -> tuple[list[str], Ints]:
    texts = [f"{head} {body}" for head, body in zip(title, description, strict=True)]
    return texts, np.array(label, dtype=int)


_FORMS: dict[str, tuple[tuple[str, ...], Callable[..., Dataset], Callable[..., Dataset]]] = {
    "iris": (("iris.csv",), _csv_table, _uci_iris),
    "rice": (("rice.csv",), _csv_table, _uci_rice),
    "mnist": (("mnist.npz",), _compact_mnist, _idx_mnist),
    "cifar10": (("cifar10_train.npz", "cifar10_test.npz"), _compact_cifar, _binary_cifar),
    "cifar100": (("cifar100_train.npz", "cifar100_test.npz"), _compact_cifar, _binary_cifar),
    "ag_news": (
        ("ag_news_train_subset.parquet", "ag_news_test.parquet"), _compact_news, _csv_news,
    ),
}  # fmt: skip
"""Compact files, their reader, and the reader of the publisher's files."""
NAMES = tuple(_FORMS)
