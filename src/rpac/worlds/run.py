"""Run the mechanism, a black box, once on every world."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.progress import progress
from rpac._base.types import Floats
from rpac.errors import MechanismError, RpacError, TooLarge
from rpac.worlds.apart import Apart, Unsendable, packed, packed_function
from rpac.worlds.collect import collected
from rpac.worlds.flatten import Form, common_form, flatten
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Draws, HalfSamples, Source, Subsets
from rpac.worlds.stored import folder

F = TypeVar("F", bound=Callable[..., Any])
_STACK = 1 << 20
"""Numbers in a stack of worlds, about: enough to vectorise, little enough to hold."""


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
) -> Outputs:
    """Return the outputs of `mechanism` on every world of `source`.

    Args:
        source: `Worlds`, `Subsets` or `Draws`.
        mechanism: Any callable of one secret. It returns a number, a label (text), an array, a
            dict of numbers or a data frame of numbers, of one shape in all worlds. If it has a
            parameter `rng` it gets a generator of its own for each world: a world is then
            secret and seed together. If it has a method `announce(source)`, that is asked first:
            it refuses a source it cannot read, and returns the `Form` of its answers, or None.
        n_jobs: Processes, as joblib counts them.
        seed: Study randomness; equal seeds give equal outputs, whatever `n_jobs`.
        store: A folder in which answers of very many numbers are kept rather than in memory, in
            a file without a name, which is gone with the process.

    Raises:
        TooLarge: If there is no room for so many answers of so many numbers; see `store`.
        MechanismError: If the mechanism fails, or its answers differ in form. The message names
            the type of the failure, if it is one of Python's own, never a world.
    """
    if not isinstance(source, Source):
        move = "Wrap data in rpac.Subsets(data, unit=...), a list of secrets in rpac.Worlds."
        raise refuse("a Source", type(source).__name__, move)
    if not callable(mechanism):
        move = "Pass a function."
        if hasattr(mechanism, "fit"):
            move = 'Say what is fitted to what: rpac.programs.Fitted(estimator, ["x"], "y").'
        raise refuse("a callable mechanism", type(mechanism).__name__, move)
    worlds = _worlds(source, mechanism, count(seed, "seed", least=0))
    outputs = evaluate(source, mechanism, worlds, n_jobs=n_jobs, seed=seed, store=folder(store))
    with _black_box():
        check_pure(mechanism, worlds, outputs, seed)
    return outputs


def _worlds(source: Source, mechanism: Callable[..., Any], seed: int) -> Any:
    """Return the secrets; half-samples of only those columns that one of rpac's own will read."""
    if isinstance(source, Subsets) and source.frame is not None and _own(mechanism):
        narrow = getattr(mechanism, "narrowed", None)
        if narrow is not None:
            announced_form(mechanism, source)  # refuses a column that is not there
            return HalfSamples(source, narrow(source.frame))
    return source.worlds(seed)


def check_pure(
    mechanism: Callable[..., Any], secrets: Any, outputs: Outputs, seed: int, again: int = 8
) -> None:
    """Run the mechanism again on some worlds, in another order; refuse one that then differs.

    Raises:
        MechanismError: If it depends on more than its secret: a cache, a clock, a counter, a
            generator of its own, or data that it changes in place.
    """
    m = len(outputs.values)
    stacks = getattr(mechanism, "takes_stack", False)
    picks = np.unique(np.linspace(0, m - 1, 2 if stacks else again).astype(int))[::-1]
    if stacks:
        answers = list(_run_stacks(mechanism, [secrets[i] for i in picks]))
    else:
        seeds: list[Any] = [None] * m
        if takes_rng(mechanism):
            seeds = list(np.random.SeedSequence([seed, 1]).spawn(m))
        answers = [_run(mechanism, secrets[i], seeds[i]) for i in picks]
    rows = [flatten(answer)[1] for answer in answers]
    near = 1e-12 * outputs.reach
    if outputs.kind == "label":
        same = [
            outputs.labels[int(outputs.values[i, 0])] == r for i, r in zip(picks, rows, strict=True)
        ]
    else:
        clip = outputs.clip or (-np.inf, np.inf)
        same = [
            np.allclose(outputs.values[i], np.clip(row, *clip), rtol=1e-9, atol=near)
            for i, row in zip(picks, rows, strict=True)
        ]
    if not all(same):
        raise refuse(
            "a mechanism whose answer depends on its secret alone",
            "other answers on a second run",
            "Drop caches, clocks and counters; take randomness from an `rng` parameter.",
            MechanismError,
        )


def evaluate(
    source: Source,
    mechanism: Callable[..., Any],
    secrets: Any,
    *,
    n_jobs: int,
    seed: int,
    store: Path | None = None,
) -> Outputs:
    """Return the outputs on these secrets of the source."""
    if n_jobs != -1:
        count(n_jobs, "n_jobs", least=1)
    count(seed, "seed", least=0)
    announced = announced_form(mechanism, source)
    with _black_box():  # what it returns may be an object that raises when it is looked at
        if getattr(mechanism, "takes_stack", False):
            answers = _run_stacks(mechanism, secrets)
        else:
            answers = _run_each(mechanism, secrets, n_jobs, seed)
        form, values = collected(answers, len(secrets), store)
        return _collected(form, values, source, announced or form)


def announced_form(mechanism: Callable[..., Any], source: Source) -> Form | None:
    """Return the form that a mechanism announces; the words of a refusal must be rpac's own."""
    if _own(mechanism):
        return mechanism.announce(source) if hasattr(mechanism, "announce") else None
    with _black_box():
        return mechanism.announce(source) if hasattr(mechanism, "announce") else None


def _own(mechanism: Callable[..., Any]) -> bool:
    """Whether a mechanism is of one of rpac's own kinds."""
    kind = type(mechanism)
    home = sys.modules.get(kind.__module__) if kind.__module__.startswith("rpac.") else None
    return getattr(home, kind.__name__, None) is kind


@contextlib.contextmanager
def _black_box() -> Iterator[None]:
    """Run what may be code of the mechanism: whatever it raises becomes one refusal.

    Refusals of its answers, by this room, pass in their own words.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # without what it says
    except BaseException as error:
        if type(error) in (MechanismError, TooLarge) and _raised_here(error):
            raise
        raise _failed(error) from None


def _raised_here(error: BaseException) -> bool:
    """Tell whether an error was raised by this room, or came back from another process."""
    step = error.__traceback__
    assert step is not None
    while step.tb_next is not None:
        step = step.tb_next
    name = str(step.tb_frame.f_globals.get("__name__"))
    return name.startswith(("rpac.worlds.", "joblib."))


def _run_each(
    mechanism: Callable[..., Any], secrets: Sequence[Any], n_jobs: int, seed: int
) -> Iterator[Any]:
    """Run a mechanism world by world; each is made, and let go, when its turn comes."""
    from joblib import Parallel, delayed

    seeds: list[Any] = [None] * len(secrets)
    if takes_rng(mechanism):
        seeds = list(np.random.SeedSequence([seed, 1]).spawn(len(secrets)))
    calls = zip(secrets, seeds, strict=True)
    if n_jobs == 1:
        return (_run(mechanism, *call) for call in progress(calls, len(seeds)))
    jobs = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run)(mechanism, *call) for call in calls
    )
    return progress(jobs, len(seeds))


def takes_rng(mechanism: Callable[..., Any]) -> bool:
    """Tell whether a mechanism takes its randomness from a parameter `rng`."""
    try:
        return "rng" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):  # builtins have no signature
        return False


def _run(mechanism: Callable[..., Any], secret: Any, seed: Any = None) -> Any:
    try:
        if seed is None:
            return mechanism(secret)
        return mechanism(secret, rng=np.random.default_rng(seed))
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # without what it says
    except BaseException as error:  # a black box may raise anything
        raise _failed(error) from None


def _failed(error: BaseException) -> RpacError:
    name = type(error).__name__
    known = getattr(builtins, name, None) is type(error)  # other names are text of its choice
    return refuse(
        "a mechanism that answers on every world",
        f"{f'a {name}' if known else 'an exception'} on some",
        "Its message is withheld, since it may quote the secret: try the mechanism on made-up "
        "data, or catch the error inside and return a fixed value.",
        MechanismError,
    )


def _run_stacks(mechanism: Callable[..., Any], secrets: Any) -> Any:
    """Run a vectorised mechanism on blocks of worlds that share a shape."""
    if isinstance(secrets, np.ndarray):  # a stack already: nothing to sort
        size = max(1, _STACK // max(1, math.prod(secrets.shape[1:])))
        pieces = [secrets[a : a + size] for a in range(0, len(secrets), size)]
        return np.concatenate(
            [_answers(mechanism, block) for block in progress(pieces, len(pieces))]
        )
    answers: list[Any] = [None] * len(secrets)
    waiting: dict[tuple[int, ...], list[tuple[int, Any]]] = defaultdict(list)
    for i, secret in enumerate(progress(secrets, len(secrets))):
        item = np.asarray(secret)
        group = waiting[item.shape]
        group.append((i, item))
        if len(group) * max(1, item.size) >= _STACK:  # full: nothing more of it is held
            _run_group(mechanism, waiting.pop(item.shape), answers)
    for group in waiting.values():
        _run_group(mechanism, group, answers)
    return answers


def _run_group(
    mechanism: Callable[..., Any], group: list[tuple[int, Any]], answers: list[Any]
) -> None:
    """Run a vectorised mechanism on worlds of one shape, and put its answers in their places."""
    results = _answers(mechanism, np.stack([item for _, item in group]))
    for (i, _), result in zip(group, results, strict=True):
        answers[i] = result


def _answers(mechanism: Callable[..., Any], stack: Any) -> Any:
    results = _run(mechanism, stack)
    if not hasattr(results, "__len__") or len(results) != len(stack):
        raise refuse(
            "one answer for each world of the stack",
            "another number",
            "Return an array whose first axis is the stack's.",
            MechanismError,
        )
    return results


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
    masks = source.members if isinstance(source, Subsets) and source.members.at_hand else None
    return Outputs(
        values, source.weights, kind, statement=source.statement, masks=masks, form=shown
    )
