"""Any function by blocks: the clipped mean of its answers on blocks of people.

A unit's block is a keyed hash of its id, so that who else is there cannot move it. Its leaving,
joining or changing replaces the answer of one block: the level moves by at most B, as if one unit's
entries were replaced, and the sum by at most twice the clip (`moves` = 2: a clip at c / 2).

Where every row is a person there is no id, and row numbers would shift when somebody leaves. The
key is then the row's own content and its number among rows of equal content, and a block is read in
the order of its keys: rows of equal content are interchangeable, so that of a table without one of
them all keys are the same but the last of that content. Where the secret is an entry (`instead`),
its column is not part of the content, and the order of the table, which nobody's entry changes,
numbers those that are alike.
"""

from __future__ import annotations

import hmac
import math

import numpy as np

from rpac._base.types import Ints
from rpac.person.contributions import Column, Linear, Rows, Term
from rpac.person.parts import Ask, Part, Table
from rpac.person.source import ANSWER, ROWS, Presence

RATIO = 1e3
"""How far above the floor the largest answers are for which a level is meant, as a factor."""
_KEY = b"rpac: blocks of people"


def question(size: int, blocks: int, floor: float, cap: float | None) -> Linear:
    """Return the public question whose sums are those of (size,) answers over blocks."""
    column = Column(ANSWER, floor if cap is None else min(floor, cap), 0.0, cap)
    return Linear(
        (column,),
        (Term(ANSWER, (1,)),),
        groups=size,
        touches=1 if cap is None else size,
        moves=2,
        beta=2 * math.log(RATIO) / blocks,
        joint=cap is None,
    )


def rows(ask: Ask, source: Presence, blocks: int, n_jobs: int) -> Rows:
    """Return answers around the middle as rows of blocks: one a number. Sealed."""
    table = Table(source)
    found = members(table, source, blocks)
    values = ask.answers(table, lambda b: Part(found[b], b), blocks, n_jobs)
    units, groups = np.indices(values.shape).reshape(2, -1)
    return Rows(units, groups, values.reshape(-1, 1))


def members(table: Table, source: Presence, blocks: int) -> list[Ints]:
    """Return the rows of every block, by number. Sealed.

    Guarantees:
        All rows of a unit are in one block, whoever else is there.
    """
    digests = [_digest(key) for key in _keys(table, source)]
    block = np.array([int.from_bytes(d[:8], "big") % blocks if d else -1 for d in digests])
    order = np.arange(len(digests))
    if source.unit == ROWS:
        order = np.array(sorted(order, key=digests.__getitem__), np.int64)
    return [order[block[order] == b] for b in range(blocks)]


def _digest(key: str | None) -> bytes:
    return b"" if key is None else hmac.digest(_KEY, key.encode("utf-8", "surrogatepass"), "sha256")


def _keys(table: Table, source: Presence) -> list[str | None]:
    """Return what decides each row's block: its owner, or its content and number among equals."""
    if source.unit != ROWS:
        return table.texts(source.unit)
    assert source.entries is not None
    names = [name for name in source.entries.columns if name not in source.instead]
    texts = [table.texts(name) for name in names]
    seen: dict[tuple[str, ...], int] = {}
    keys: list[str | None] = []
    for i in range(source.entries.size):  # a row's own: which columns there are, others decide
        content = tuple(
            f"{n}={t[i]}" for n, t in zip(names, texts, strict=True) if t[i] is not None
        )
        seen[content] = seen.get(content, 0) + 1
        keys.append(repr((seen[content], *content)))
    return keys
