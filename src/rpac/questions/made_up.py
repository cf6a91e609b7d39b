"""Made-up tables: the columns of a source, and entries of nobody, to try a function on.

Under *person* they follow from names and declarations alone (types, domains, caps), so that they
are public, and so is whatever is found by trying. Under *sample* the pool is public by declaration:
each column's entries are drawn from its own, apart from all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from rpac._base.types import Ints
from rpac.person.source import ANSWER, Presence
from rpac.person.source import ROWS as EACH
from rpac.questions.functions import Call
from rpac.schema import Declared
from rpac.worlds import tables
from rpac.worlds.halves import HalfSamples
from rpac.worlds.source import Source, Subsets

ROWS = 200
"""Rows of a made-up table."""
WORDS = ("a", "b", "c", "d")
"""Entries of a column of text whose domain nobody declared."""


def made_up(
    source: Source, names: Sequence[str] | None = None, *, size: int = ROWS, seed: int = 0
) -> Any:
    """Return a made-up table, array or list of the kind that a source has.

    Args:
        source: Whose columns it has.
        names: Which of them; all by default.
        size: Number of rows.
        seed: Study randomness.

    Returns:
        None where there is nothing to make one from: lists of worlds, samplers, databases.
    """
    if isinstance(source, Presence) and source.entries is not None:
        return Call.of(len, source).table(made_up_columns(source, names, size=size, seed=seed))
    rng = np.random.default_rng(seed)
    if isinstance(source, Subsets) and isinstance(source.worlds(0), HalfSamples):  # no bare ids
        count = len(source.take() if source.frame is None else source.frame)
        return _shuffled(source, names, rng.integers(count, size=size), rng)
    return None


def made_up_columns(
    source: Presence, names: Sequence[str] | None = None, *, size: int = ROWS, seed: int = 0
) -> dict[str, Any]:
    """Return made-up columns, (size,) numbers or a list of texts each, from declarations alone."""
    assert source.entries is not None
    rng = np.random.default_rng(seed)
    known = source.entries.columns
    if source.entries.ragged:  # each person brings their own columns: those that are declared
        declared = dict.fromkeys([source.unit, *source.schema])
        known = [name for name in declared if name not in (ANSWER, EACH)] or ["0"]
    wanted = map(str, known if names is None else names)
    return {name: _declared(source, name, size, rng) for name in wanted}


def _declared(source: Presence, name: str, size: int, rng: np.random.Generator) -> Any:
    """Return (size,) numbers or a list of texts, as a column is declared: numbers by default."""
    said = source.declared(name)
    if name == source.unit:
        owners = np.arange(size) // (1 if source.rows_cap == 1 else 2)
        return [f"p{i}" for i in owners] if said.type == "text" else owners.astype(np.float64)
    entries = said.domain or _entries(said)
    if entries:
        found = [entries[i] for i in rng.integers(len(entries), size=size)]
        plain = said.type in (None, "number")
        numeric = plain and all(isinstance(entry, int | float) for entry in entries)
        return np.array(found, np.float64) if numeric else [str(entry) for entry in found]
    if said.low is not None and said.high is not None:
        return rng.uniform(said.low, said.high, size)
    return np.rint(rng.normal(said.middle or 0.0, 10 * said.floor, size) / said.floor) * said.floor


def _entries(said: Declared) -> tuple[str, ...]:
    days = tuple(f"2020-01-{day:02d}" for day in range(1, 29))
    return {"date": days, "text": WORDS}.get(said.type or "", ())


def _shuffled(
    source: Subsets, names: Sequence[str] | None, rows: Ints, rng: np.random.Generator
) -> Any:
    """Return rows whose entries are drawn column by column; of a list, its own elements."""
    if source.frame is not None:
        kind, frame = type(source.take(rows[:1])).__name__, source.frame
        drawn = {
            name: frame[name][rng.integers(len(frame), size=len(rows)).tolist()]
            for name in frame.columns
            if names is None or name in names
        }
        native = nw.from_dict(drawn).to_native()
        plain = native.reset_index(drop=True) if hasattr(native, "reset_index") else native
        return tables.alike(nw.from_native(plain), kind)
    found = source.take(rows)
    if isinstance(found, np.ndarray) and found.ndim > 1:
        flat = found.reshape(len(found), -1)
        found = np.stack([rng.permutation(column) for column in flat.T], axis=1)
        return found.reshape(len(found), *np.shape(source.take(rows[:1]))[1:])
    return found
