"""Run the mechanism, a black box, once on every world."""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rpac._base.checks import check_callable, count, refuse
from rpac._base.progress import foresee, progress
from rpac._base.types import Floats
from rpac.errors import MechanismError
from rpac.worlds.apart import Apart, Unsendable, packed, packed_function
from rpac.worlds.checkpoint import Checkpoint, content_of, missing
from rpac.worlds.chunks import (
    Job,
    Numbers,
    Outcome,
    Rows,
    answer_rows,
    black_box,
    rows_of,
    takes_rng,
)  # fmt: skip
from rpac.worlds.collect import collected
from rpac.worlds.executor import Executor
from rpac.worlds.flatten import Form, common_form, flatten
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Draws, Source, Subsets
from rpac.worlds.stored import folder
from rpac.worlds.tables import require_columns

F = TypeVar("F", bound=Callable[..., Any])
_AGAIN = 8
"""Worlds on which a mechanism is run twice."""


def vectorized(function: F) -> F:
    """Declare that a mechanism takes a stack of worlds, and returns one answer for each.

    The stack is an array whose first axis runs over worlds of equal shape. On a sampler for
    `Draws` it declares the signature `sampler(rng, n)`.

    >>> @vectorized
    ... def means(stack):
    ...     return stack.mean(axis=1)
    """
    function.takes_stack = True  # type: ignore[attr-defined]
    return function


def simulate(
    source: Source,
    mechanism: Callable[..., Any],
    n_jobs: int = 1,
    seed: int = 0,
    *,
    store: str | Path | None = None,
    executor: Any = None,
    checkpoint: str | Path | None = None,
) -> Outputs:
    """Return the outputs of `mechanism` on every world of `source`.

    Args:
        source: `Worlds`, `Subsets` or `Draws`.
        mechanism: Any callable of one secret. It returns a number, a label (text), an array, a
            dict of numbers or a data frame of numbers, of one shape in all worlds. If it has a
            parameter `rng` it gets a generator of its own for each world: a world is then
            secret and seed together. If it has a method `announce(source)`, that is asked first:
            it refuses a source it cannot read, and returns the `Form` of its answers, or None.
            If it has an attribute `reads`, half-samples of a table hold those columns alone.
        n_jobs: Processes, as joblib counts them.
        seed: Study randomness; equal seeds give equal outputs, whatever `n_jobs` and `executor`.
        store: A folder in which answers of very many numbers are kept rather than in memory, in
            a file without a name, which is gone with the process.
        executor: Where it runs, in place of `n_jobs`: an `Executor`, its name ("dask", "ray"), an
            address ("dask://host:8786") or a Dask client. Queries in SQL run in their own engine.
        checkpoint: Folder for the rows of worlds that are done, so that a run that was cut off
            goes on from there. They are outputs without noise: the folder is its owner's alone,
            and to be deleted afterwards.

    Raises:
        TooLarge: If there is no room for so many answers of so many numbers; see `store`.
        MechanismError: If the mechanism fails, or its answers differ in form. The message names
            the type of the failure, if it is one of Python's own, never a world.
    """
    if not isinstance(source, Source):
        move = "Wrap data in rpac.Subsets(data, unit=...), a list of secrets in rpac.Worlds."
        raise refuse("a Source", type(source).__name__, move)
    check_callable(mechanism)
    worlds = source.worlds(count(seed, "seed", least=0))
    disk = folder(store)
    with _opened(executor, n_jobs) as where:
        found = evaluate(source, mechanism, worlds, seed=seed, executor=where,
                         checkpoint=checkpoint, store=disk, again=_AGAIN)  # fmt: skip
    return found.simulated(source, mechanism)


def _opened(executor: Any, n_jobs: int) -> Any:
    """Return where to run, to be ended after use unless the caller made it."""
    if n_jobs != -1:
        count(n_jobs, "n_jobs", least=1)
    if executor is None:
        return Executor("serial") if n_jobs == 1 else Executor("joblib", n_jobs)
    if n_jobs != 1:
        raise refuse("n_jobs or executor", "both", 'Say rpac.Executor("joblib", workers=2).')
    found = Executor.of(executor)
    return nullcontext(found) if found is executor else found


def evaluate(
    source: Source,
    mechanism: Callable[..., Any],
    secrets: Any,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    store: Path | None = None,
    again: int = 0,
) -> Outputs:
    """Return the outputs on these secrets of the source.

    Args:
        source: Where they come from.
        mechanism: See `simulate`.
        secrets: The worlds.
        seed: Study randomness.
        executor: Where to run; this process by default.
        checkpoint: Folder of rows that are done.
        store: Folder for answers of very many numbers.
        again: Worlds to run twice, so that a mechanism that then differs is refused.
    """
    announced = announced_form(mechanism, source)
    _check_columns(mechanism, source)
    where = executor or Executor("serial")
    with black_box():  # what it says of itself, too, is code of the mechanism
        linear = _linear(mechanism, source)
        if linear is not None:
            form, values = rows_of(linear)
            return _collected(form, values, source, announced or form)
        job = Job.of(mechanism, secrets, seed)
    if job.stacks and isinstance(secrets, np.ndarray):
        where = Executor("serial")  # a query, or one call for a stack that is here
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(checkpoint, content_of(source, job), len(secrets))
    warned: set[str] = set()
    form, values = collected(_parts(job, where, kept, warned), len(secrets), store)
    with black_box():  # what it returned may be an object that raises when it is looked at
        outputs = _collected(form, values, source, announced or form)
    if again:
        _check_pure(job, outputs, where, again)
    _tell(warned, mechanism)
    return outputs


def _tell(warned: set[str], mechanism: Callable[..., Any]) -> None:
    """Show each kind of warning of a mechanism once, whatever worlds it was about."""
    name = getattr(mechanism, "__qualname__", type(mechanism).__qualname__)
    text = "on some worlds; shown once, and its text, which may quote data, by rpac.debug alone"
    for kind in sorted(warned):
        category = getattr(builtins, kind, UserWarning)
        warnings.showwarning(text, category, name, 1)


def _check_columns(mechanism: Callable[..., Any], source: Source) -> None:
    """Refuse a mechanism that says it reads a column which is not there, before anything runs."""
    with black_box():
        names = tuple(map(str, getattr(mechanism, "reads", None) or ()))
    if isinstance(source, Subsets) and source.frame is not None:
        require_columns(source.frame, names)


def _linear(mechanism: Callable[..., Any], source: Source) -> Any:
    """Return the (m, d) answers that a mechanism has on all half-samples at once, or None."""
    at_once = getattr(mechanism, "on_half_samples", None)
    return at_once(source) if at_once is not None and isinstance(source, Subsets) else None


def _parts(
    job: Job, where: Executor, store: Checkpoint | None, warned: set[str]
) -> Iterator[tuple[Numbers, Rows]]:
    """Yield the rows of all worlds, in chunks; those that a checkpoint has are not run again."""
    m, size = len(job.secrets), job.block()
    kept = [] if store is None else store.read()
    ahead = 2 if store is None else 1  # what is under way is run again after a crash

    def run(wanted: list[range]) -> Iterator[tuple[Numbers, Rows]]:
        with closing(where.outcomes(job, wanted, size, ahead=ahead)) as outcomes:
            for outcome in _watched(outcomes, sum(map(len, wanted)), where.engine.workers):
                found = answer_rows(outcome)
                warned.update(outcome.warned)
                if store is not None:
                    store.write(outcome.numbers, found)
                yield outcome.numbers, found

    if store is None or not kept:
        yield from run(missing(m, kept))
        return
    form = None
    for part in run(missing(m, kept)):
        form = part[1][0]
        yield part
    form = next(run([range(1)]))[1][0] if form is None else form
    alike = [one for one in kept if one.form == store.mark(form)]
    for one in alike:
        yield one.worlds, (replace(form, whole=one.whole), one.values)
    yield from run([one.worlds for one in kept if one not in alike])


def _watched(outcomes: Iterator[Outcome], worlds: int, workers: int) -> Iterator[Outcome]:
    """Yield the outcomes under a progress bar that counts worlds, after a word on long work."""

    def steps() -> Iterator[Outcome | None]:
        for i, outcome in enumerate(outcomes):
            if i == 0 and outcome.numbers:
                foresee(worlds, outcome.seconds / len(outcome.numbers), workers)
            yield outcome
            yield from (None for _ in outcome.numbers[1:])

    return (found for found in progress(steps(), worlds) if found is not None)


def _check_pure(job: Job, outputs: Outputs, where: Executor, again: int) -> None:
    """Run the mechanism again on some worlds, in another order; refuse one that then differs.

    Raises:
        MechanismError: If it depends on more than its secret: a cache, a clock, a counter, a
            generator of its own, or data that it changes in place.
    """
    m = len(outputs.values)
    picks = np.unique(np.linspace(0, m - 1, 2 if job.stacks else again).astype(int))[::-1].tolist()
    shares = [picks[i :: where.engine.workers] for i in range(where.engine.workers)]
    same = []
    wanted = [share for share in shares if share]
    with closing(where.outcomes(job, wanted, len(picks))) as outcomes:
        for outcome in outcomes:
            _, rows = answer_rows(outcome)
            with black_box():
                same.append(_agree(outputs, outcome.numbers, rows))
    if not all(same):
        raise refuse(
            "a mechanism whose answer depends on its secret alone",
            "other answers on a second run",
            "Drop caches, clocks and counters; take randomness from an `rng` parameter; change no "
            "table in place but a copy of it (rpac.debug names the columns).",
            MechanismError,
        )


def _agree(outputs: Outputs, numbers: Numbers, rows: Any) -> bool:
    """Tell whether the rows of some worlds are those of the outputs, but for rounding."""
    if outputs.kind == "label":
        return [outputs.labels[int(outputs.values[i, 0])] for i in numbers] == list(rows)
    clip, near = outputs.clip or (-np.inf, np.inf), 1e-12 * outputs.reach
    pairs = zip(numbers, rows, strict=True)  # row by row: they may be very long
    return all(
        np.allclose(outputs.values[i], np.clip(row, *clip), rtol=1e-9, atol=near)
        for i, row in pairs
    )


def announced_form(mechanism: Callable[..., Any], source: Source) -> Form | None:
    """Return the form that a mechanism announces; the words of a refusal must be rpac's own."""
    kind = type(mechanism)
    home = sys.modules.get(kind.__module__) if kind.__module__.startswith("rpac.") else None
    if getattr(home, kind.__name__, None) is kind:
        return mechanism.announce(source) if hasattr(mechanism, "announce") else None
    with black_box():
        return mechanism.announce(source) if hasattr(mechanism, "announce") else None


def answer_on_fresh_draw(
    source: Draws, mechanism: Callable[..., Any], outputs: Outputs, secret: Any = None
) -> Floats:
    """Return the clipped (d,) answer on a fresh secret, or a given one; nothing seeded.

    Sampler and mechanism run in a process of their own, which says nothing but numbers. Whatever
    goes wrong there becomes a fixed public answer, the middle of the box: no error, shape or type
    depends on the secret. A certificate covers it, because no simulated draw failed.

    Raises:
        InputError: If sampler or mechanism cannot be sent to another process, or a given secret
            is of a type that cannot.
        MechanismError: If they fail there on a seeded draw, which is no secret: they need a file
            to write, or what only this process has.
    """
    assert outputs.form is not None
    assert outputs.clip is not None
    name = getattr(mechanism, "__qualname__", type(mechanism).__qualname__)
    once = _Once(
        source,
        mechanism,
        replace(outputs.form, rebuild=np.asarray, settle=None),
        stacks=getattr(mechanism, "takes_stack", False),
        takes_rng=takes_rng(mechanism),
    )
    apart, size = Apart(packed_function(once, name), name), outputs.dim
    if not isinstance(apart.call(packed(0), size=size), np.ndarray):
        raise refuse(
            "a mechanism that answers in a process of its own",
            f"none from {name} on a seeded draw",
            "It may write no file there, and finds only modules that can be imported.",
            MechanismError,
        )
    try:
        row = apart.call(packed(None), *([] if secret is None else [packed(secret)]), size=size)
    except Unsendable:
        row = None
    row = row if isinstance(row, np.ndarray) else outputs.center
    return np.asarray(np.clip(row, *outputs.clip))


@dataclass(frozen=True)
class _Once:
    """One draw of a source, or a given secret, and the numbers of the mechanism's answer to it."""

    source: Draws
    mechanism: Callable[..., Any]
    form: Form
    stacks: bool
    takes_rng: bool

    def __call__(self, seed: int | None, *given: Any) -> Any:  # pragma: no cover  (child process)
        """Return the numbers; whatever is raised becomes nothing."""
        secret = given[0] if given else self.source.draw(seed)
        if self.stacks:
            answer = self.mechanism(np.asarray(secret)[None])[0]
        else:
            rng = {"rng": np.random.default_rng(seed)} if self.takes_rng else {}
            answer = self.mechanism(secret, **rng)
        form, row = flatten(answer)
        common_form([self.form, form])
        return row


def _collected(form: Form, values: Any, source: Source, shown: Form) -> Outputs:
    """Return the outputs of a source, labels (m,) or numbers (m, d), and how they are shown."""
    if isinstance(source, Draws):
        if form.name == "label":
            move = "List the possible secrets in rpac.Worlds."
            raise refuse("numbers from an open distribution", "labels", move, MechanismError)
        low, high = (np.broadcast_to(side, (values.shape[1],)) for side in source.clip)
        return Outputs(
            values, kind="real", statement=source.statement, clip=(low, high), form=shown
        )
    kind = "category" if form.name == "label" else "count" if form.whole else "real"
    halves = isinstance(source, Subsets)
    masks = source.members if isinstance(source, Subsets) and source.members.at_hand else None
    return Outputs(
        values, source.weights, kind, statement=source.statement, masks=masks, halves=halves,
        form=shown,
    )  # fmt: skip
