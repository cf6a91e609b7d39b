"""Outputs on the disk: where they do not fit into memory, or should not be held in it.

The file has no name: it is mode 0600, is removed from its folder when it is made, and is gone with
the process. Nothing of the outputs stays behind, whatever happens.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.limits import beyond_disk, beyond_memory
from rpac._base.types import Floats
from rpac.errors import TooLarge

_BLOCK = 1 << 22
"""Numbers that are copied together."""


def room_for(rows: int, columns: int, store: str | Path | None = None) -> Floats:
    """Return an empty (rows, columns) array: in memory, or in a file of a folder.

    Raises:
        TooLarge: If there is no room for it. Nothing was allocated, and it depends on sizes alone.
    """
    whole = f"{rows} answers of {columns} numbers"
    if store is None:
        if got := beyond_memory(rows * columns):
            move = "Keep them on the disk, with store=FOLDER; or take fewer worlds."
            raise refuse(f"{whole} that fit into memory", got, move, TooLarge)
        return np.empty((rows, columns))
    if got := beyond_disk(rows * columns, store):
        raise refuse(f"{whole} that fit on the disk", got, "Take another folder.", TooLarge)
    with tempfile.TemporaryFile(dir=store) as file:
        return np.memmap(file, np.float64, "w+", shape=(rows, columns))


def folder(store: str | Path | None) -> Path | None:
    """Return the folder for outputs on the disk, which must exist."""
    if store is not None and not Path(store).is_dir():
        raise refuse("a folder in `store`", repr(str(store)), "Make it first.")
    return None if store is None else Path(store)


def kept(values: Any) -> Any:
    """Return outputs as an array: one on the disk stays there, chunks are read block by block.

    NumPy's memory maps of float64 are used where they lie. What has a shape and can be cut but is
    no array (Zarr, HDF5), and maps of another type, are copied to a file of their own as float64. A
    folder of Parquet files, or one file, has a column for each world and a row for each number.
    """
    if isinstance(values, Path):
        return _parquet(Path(values))
    mapped = isinstance(values, np.memmap)
    if mapped and values.dtype == np.float64 and values.ndim == 2:
        return values
    if (mapped and values.dtype.kind == "f") or _chunked(values):
        m, d = values.shape
        whole, size = room_for(m, d, tempfile.gettempdir()), max(1, _BLOCK // m)
        for a in range(0, d, size):
            whole[:, a : a + size] = values[:, a : a + size]
        return _closed(whole)
    return values


def _chunked(values: Any) -> bool:
    """Whether an object is a table of numbers that is read by slices, and no array."""
    if isinstance(values, np.ndarray | np.generic | list | tuple) or not hasattr(values, "chunks"):
        return False
    return len(values.shape) == 2 and np.dtype(values.dtype).kind == "f"


def _parquet(path: Path) -> Floats:
    """Return the outputs in Parquet files, whose rows go on in the order of their names."""
    import pyarrow.parquet as pq

    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path] * path.is_file()
    if not files:
        raise refuse("a Parquet file, or a folder of them", repr(path.name), "Check the path.")
    heads = [pq.ParquetFile(file) for file in files]
    names = heads[0].schema_arrow.names
    if any(head.schema_arrow.names != names for head in heads):
        raise refuse("Parquet files with the same columns", "others", "One column a world.")
    d, at = sum(head.metadata.num_rows for head in heads), 0
    whole = room_for(len(names), d, tempfile.gettempdir())
    for rows in _batches(heads, max(1, _BLOCK // len(names))):
        whole[:, at : at + rows.shape[1]] = rows
        at += rows.shape[1]
    return _closed(whole)


def _batches(heads: list[Any], size: int) -> Iterator[Floats]:
    """Yield some numbers at a time of all worlds, (m, k)."""
    for head in heads:
        for batch in head.iter_batches(batch_size=size):
            yield np.stack([column.to_numpy(zero_copy_only=False) for column in batch])


def _closed(whole: Floats) -> Floats:
    """Return an array that nobody can write to."""
    whole.setflags(write=False)
    return whole
