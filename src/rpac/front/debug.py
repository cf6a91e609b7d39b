"""The verb `debug`: what a function of one's own does, for the owner of the data alone.

It is a verb of its own, and no flag of `privatize`, so that no release hangs on a flag that was
left in: it takes no budget, ledger or file, draws no world, and returns no answer.
"""

from __future__ import annotations

import copy
import subprocess
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from rpac._base.checks import refuse
from rpac._base.hashing import fingerprint
from rpac.errors import RpacError
from rpac.front.trial import Trial
from rpac.person import blocks
from rpac.person.parts import Part, Table
from rpac.person.source import Presence
from rpac.questions.functions import BLOCKS, Call, asked
from rpac.questions.made_up import ROWS, made_up, made_up_columns
from rpac.worlds import tables
from rpac.worlds.apart import Apart, packed
from rpac.worlds.chunks import takes_rng
from rpac.worlds.flatten import Form, common_form, flatten
from rpac.worlds.guard import Guarded
from rpac.worlds.halves import HalfSamples
from rpac.worlds.run import announced_form
from rpac.worlds.source import Draws, Source, Subsets

TRIED = 8
"""Half-samples, blocks or worlds that are tried beside all rows."""
_MADE_UP = (
    ("made-up rows", ROWS, 0),
    ("made-up rows, others", ROWS, 1),
    ("made-up rows, fewer", ROWS // 3, 2),
)
"""What is tried by default, rows and key of each: the form of an answer may depend on neither."""
Known: TypeAlias = tuple[Form, Any]
"""The form of an answer, and its numbers or its label."""
_Where: TypeAlias = tuple[str, Callable[[], Any]]
"""What to try a function on, in words, and what makes it anew for each call."""
_MOVE = "Pass on=..., such as one public secret; or whole=True, on your own screen."
_PATIENCE = 10.0
"""Seconds that the search for columns may take."""


def debug(
    mechanism: Callable[..., Any],
    source: Source,
    *,
    on: Any = None,
    whole: bool = False,
    seed: int = 0,
) -> Trial:
    """Try a function of your own, and show its owner what it does: errors in full, form, time.

    Args:
        mechanism: Any callable, as for `privatize`.
        source: As for `privatize`. By default the function is tried on made-up rows with its
            columns, three times with other values and fewer rows, which must give one form: under
            *person* by declared types, domains and caps alone, otherwise with each column's own
            entries, drawn apart. No row of a private table is looked at.
        on: A public table (array, list, path, or secret) to try it on instead.
        whole: Try it on all of the data, and on some half-samples, blocks or worlds. What it raises
            may quote rows: for the owner's own screen.
        seed: Study randomness.

    Returns:
        A `Trial`, to be printed. It holds no answer, and can be neither pickled nor published.

    Guarantees:
        Nothing is drawn, released, charged or written.

    >>> import numpy, rpac
    >>> found = rpac.debug(lambda x: x.mean(axis=1), rpac.Subsets(numpy.arange(9.0)))
    >>> found.fine, found.traceback.splitlines()[-1][:40]
    (False, 'numpy.exceptions.AxisError: axis 1 is ou')
    """
    if not isinstance(source, Source) or not callable(mechanism):
        kinds = f"{type(mechanism).__name__} and {type(source).__name__}"
        raise refuse("a callable mechanism and a Source", kinds, "rpac.debug(function, source).")
    if on is not None and whole:
        raise refuse("a table to try it on, or whole=True", "both", "Leave one out.")
    inside = mechanism.__wrapped__ if isinstance(mechanism, Guarded) else mechanism
    name = getattr(inside, "__qualname__", type(inside).__qualname__)
    try:
        announced_form(mechanism, source)
    except RpacError as error:  # of a question's own words, by public things
        return Trial(name, "nothing: it is refused beforehand", problems=(str(error),))
    if isinstance(source, Presence) and source.entries is None:
        move = "Questions in SQL are no functions: rpac.plan shows what they cost."
        raise refuse("a table for a function of its rows", "a database", move)
    found = _on_each(inside, name, _tables(inside, source, on, seed, whole=whole), seed)
    found = replace(found, runs=_runs(source))
    if not found.fine or not isinstance(source, Presence):
        return found
    _, columns = next(_of_people(source, on, seed, whole=whole))
    return _apart(mechanism, source, found, columns())


def _on_each(mechanism: Any, name: str, places: Iterable[_Where], seed: int) -> Trial:
    """Return what came of the first table, looked at closely; or of the first that is not fine."""
    found: Trial | None = None
    first: Form | None = None
    for where, make in places:
        tried, form = _tried(mechanism, make, Trial(name, where), seed, first=found is None)
        if not tried.fine:
            return tried
        found, first = found or tried, first or form
        try:
            common_form([one for one in (first, form) if one is not None])
        except RpacError as error:
            return replace(found, on=where, problems=(str(error),))
    assert found is not None
    return found


def _tables(mechanism: Any, source: Source, on: Any, seed: int, *, whole: bool) -> Iterator[_Where]:
    """Yield what to try a function on, in words, and what makes it anew for each call."""
    reads = getattr(mechanism, "reads", None)
    if isinstance(source, Presence):
        call = Call.of(mechanism, source)
        for where, columns in _of_people(source, on, seed, whole=whole):
            yield where, partial(_as_table, call, columns)
    elif on is not None:
        path = isinstance(on, str) and isinstance(source, Subsets) and source.frame is not None
        yield "the table that was passed", lambda: tables.read(on) if path else copy.deepcopy(on)
    elif not whole:
        yield from _of_nobody(source, reads, seed)
    elif isinstance(source, Draws):
        for i in range(TRIED):
            yield f"draw {i + 1} of the sampler", partial(source.draw, seed + i)
    else:
        worlds = source.worlds(seed)
        if isinstance(source, Subsets) and isinstance(worlds, HalfSamples):
            worlds = worlds if reads is None else worlds.reading(reads)
            yield "ALL ROWS OF THE DATA", lambda: copy.deepcopy(worlds.take(_every(source)))
        for i in np.unique(np.linspace(0, len(worlds) - 1, TRIED).astype(int)).tolist():
            yield f"world {i + 1} of {len(worlds)}", partial(_own, worlds, i)


def _as_table(call: Call, columns: Callable[[], dict[str, Any]]) -> Any:
    return call.table(columns())


def _own(worlds: Any, i: int) -> Any:
    return copy.deepcopy(worlds[i])


def _every(source: Subsets) -> Any:
    return np.arange(len(source.take() if source.frame is None else source.frame))


def _of_nobody(source: Source, reads: Any, seed: int) -> Iterator[_Where]:
    """Yield made-up tables, of as many rows where all half-samples have as many."""
    if made_up(source, size=2) is None:
        raise refuse("a table, an array or a list of rows", type(source).__name__, _MOVE)
    for where, fewer, key in _MADE_UP:
        size = ROWS if _even_halves(source) else fewer
        yield where, partial(made_up, source, reads, size=size, seed=seed + key)


def _even_halves(source: Source) -> bool:
    """Tell whether all half-samples have the same number of rows."""
    rows = _every(source).size if isinstance(source, Subsets) else 1
    return bool(isinstance(source, Subsets) and source.units.size == rows and rows % 2 == 0)


def _of_people(
    source: Presence, on: Any, seed: int, *, whole: bool
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield columns as functions by blocks are sent them: all rows of a table, or some blocks."""
    if on is not None:
        public = Table(Presence(on, source.unit, schema=source.schema))
        yield "the table that was passed", lambda: public.part(Part(np.arange(public.size)))
        return
    if not whole:
        for where, size, key in _MADE_UP:
            yield where, partial(made_up_columns, source, size=size, seed=seed + key)
        return
    table, count = Table(source), source.blocks or BLOCKS
    yield "ALL ROWS OF THE DATA", lambda: table.part(Part(np.arange(table.size)))
    found = [rows for rows in blocks.members(table, source, count) if len(rows)]
    for i, rows in enumerate(found[:TRIED]):
        where = f"block {i + 1} of {count}, of {len(rows)} rows"
        yield where, partial(table.part, Part(rows))


def _tried(
    mechanism: Any, make: Callable[[], Any], blank: Trial, seed: int, *, first: bool
) -> tuple[Trial, Form | None]:
    """Return what came of a call; the first is looked at more closely."""
    table = make()
    before = _marks(table) if first else {}
    called = _called(mechanism, table, seed)
    found = replace(
        blank, traceback=called.raised, seconds=called.seconds, warned=called.warned,
        changed=_differing(before, _marks(table)) if first else (),
    )  # fmt: skip
    if called.raised:
        return found, None
    try:
        form, numbers = flatten(called.answer)
    except RpacError as error:
        return replace(found, problems=(str(error),)), None
    found = replace(found, answer=_in_words(form, numbers))
    return (_closer(mechanism, make, found, (form, numbers), seed) if first else found), form


def _closer(
    mechanism: Any, make: Callable[[], Any], found: Trial, known: Known, seed: int
) -> Trial:
    """Return the same with a second call, with what it changed, and the columns it reads."""
    agrees = _same(known, _called(mechanism, make(), seed))
    problems: tuple[RpacError, ...] = ()
    if not agrees:
        move = "Drop caches, clocks and counters; take randomness from an `rng` parameter."
        problems += (refuse("the same answer on a second call", "another", move),)
    if found.changed:
        got = f"changes of {', '.join(found.changed)}"
        move = "Work on a copy, such as table = table.copy()."
        problems += (refuse("a function that leaves its table as it is", got, move),)
    return replace(
        found, agrees=agrees, problems=tuple(map(str, problems)),
        reads=_columns(mechanism, make, known, seed, found.seconds),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Called:
    answer: Any
    seconds: float
    raised: str
    warned: tuple[str, ...]


def _called(mechanism: Any, table: Any, seed: int) -> _Called:
    """Return what came of one call, its error in full."""
    rng = {"rng": np.random.default_rng([seed, 2])} if takes_rng(mechanism) else {}
    answer, raised, start = None, "", time.perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if getattr(mechanism, "takes_stack", False):
                answer = mechanism(np.asarray(table)[None])[0]
            else:
                answer = mechanism(table, **rng)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a black box may raise anything
            raised = _in_full(error)
    seconds = time.perf_counter() - start
    said = dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in heard)
    return _Called(answer, seconds, raised, tuple(said))


def _in_full(error: BaseException) -> str:
    """Return a traceback from the function on, with what a command printed for its errors."""
    step = error.__traceback__
    own = step.tb_next if step is not None else None
    text = "".join(traceback.format_exception(type(error), error, own or step))
    if isinstance(error, subprocess.CalledProcessError | subprocess.TimeoutExpired):
        printed = error.stderr or ""
        plain = printed if isinstance(printed, str) else printed.decode(errors="replace")
        text += f"\nIt printed for its errors:\n{plain}"
    return text


def _same(known: Known, again: _Called) -> bool:
    """Tell whether a call gave the same answer, but for rounding."""
    if again.raised:
        return False
    try:
        form, numbers = flatten(again.answer)
        common_form([known[0], form])
    except RpacError:
        return False
    if form.name == "label":
        return bool(numbers == known[1])
    return bool(np.allclose(numbers, known[1], rtol=1e-9))


def _marks(table: Any) -> dict[str, str]:
    """Return a hash for each column of a table, or of whatever is no table."""
    try:
        if tables.is_table(table):
            frame = tables.table(table)
            return {name: fingerprint(frame[name].to_list()) for name in frame.columns}
        return {f"the {type(table).__name__}": fingerprint(table)}
    except Exception:  # what cannot be hashed is not compared
        return {}


def _differing(before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    names = dict.fromkeys([*before, *after])
    return tuple(name for name in names if before.get(name) != after.get(name))


def _columns(
    mechanism: Any, make: Callable[[], Any], known: Known, seed: int, seconds: float
) -> tuple[str, ...] | None:
    """Return the columns without which the answer is another, or none at all."""
    table = make()
    if not tables.is_table(table):
        return None
    frame, kind = tables.table(table), type(table).__name__
    if len(frame.columns) * seconds > _PATIENCE or len(frame.columns) < 2:
        return None
    fewer = {name: tables.alike(frame.drop(name), kind) for name in frame.columns}
    return tuple(
        name for name, rest in fewer.items() if not _same(known, _called(mechanism, rest, seed))
    )


def _in_words(form: Form, numbers: Any) -> str:
    """Return the form of an answer in words, without a number of it."""
    if form.name == "label":
        return "a label"
    kind = "whole number" if form.whole else "number"
    size = np.size(numbers)
    if form.name == "scalar":
        return f"a {kind}"
    names = {"dict": form.layout, "array": ()}.get(form.name, ())
    beside = f": {', '.join(map(str, names))}" if names else ""
    shape = f" of shape {form.layout}" if form.name == "array" else ""
    return f"{form.name}{shape} with {size} {kind}{'s' if size > 1 else ''}{beside}"


def _runs(source: Source) -> int | None:
    """Return how often a release calls the function."""
    if isinstance(source, Presence):
        return None if source.way == "leave-one-out" else source.blocks or BLOCKS
    return source.draws if isinstance(source, Draws) else len(source.worlds(0))


def _apart(mechanism: Any, source: Presence, found: Trial, columns: dict[str, Any]) -> Trial:
    """Return the same with what only *person* asks: a declared form, a process of its own."""
    try:
        ask, form = asked(mechanism, source)
        row = Apart(ask.sent, ask.name, seconds=ask.seconds, memory=ask.memory).call(
            packed(columns), packed(0), size=len(ask.middle), near=ask.near
        )
    except RpacError as error:
        return replace(found, problems=(*found.problems, str(error)))
    if isinstance(row, np.ndarray):
        return found
    expected = f"an answer of the form of its middle ({form.name}), in a process of its own"
    move = "Declare middle= in its form. There it may write no file, and import installed modules."
    said = str(refuse(expected, f"{found.answer}, which counts as none", move))
    return replace(found, problems=(*found.problems, said))
