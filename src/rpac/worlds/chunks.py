"""A mechanism on some worlds, by their numbers: the same here, in another process, on a cluster.

Nothing but rows of numbers (or labels) and their form comes back from a worker. What a mechanism
raises there is caught there, since engines log what tasks raise, and it may quote the secret.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import pickle
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any, TypeAlias, final

import cloudpickle
import numpy as np

from rpac._base.checks import refuse
from rpac.errors import MechanismError, RpacError, TooLarge
from rpac.worlds.apart import packed_function
from rpac.worlds.flatten import Form, common_form, flatten
from rpac.worlds.halves import HalfSamples

Numbers: TypeAlias = Sequence[int]
"""Worlds, by their numbers: a chunk of them."""
STACK = 1 << 18
"""Numbers in a stack of worlds, about: enough to vectorise, little enough to hold."""
_ALIGNED = 64


@contextlib.contextmanager
def black_box() -> Iterator[None]:
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
        raise failed(error) from None


def _raised_here(error: BaseException) -> bool:
    """Tell whether an error was raised by this room."""
    step = error.__traceback__
    assert step is not None
    while step.tb_next is not None:
        step = step.tb_next
    return str(step.tb_frame.f_globals.get("__name__")).startswith("rpac.worlds.")


def failed(error: BaseException) -> RpacError:
    """Return the one refusal of a mechanism that raised: the type's name, if it is Python's own."""
    return refuse(
        "a mechanism that answers on every world",
        f"{_kind(type(error)) or 'an exception'} on some",
        "Its message is withheld, since it may quote the secret: rpac.debug(mechanism, source) "
        "shows it on made-up data. Or catch the error inside and return a fixed value.",
        MechanismError,
    )


def _kind(kind: type) -> str:
    """Return "a" and the name of a type, if it is Python's own: others are text of its choice."""
    return f"a {kind.__name__}" if getattr(builtins, kind.__name__, None) is kind else ""


@contextlib.contextmanager
def overheard() -> Iterator[set[str]]:
    """Keep warnings of a mechanism from being shown; yield their kinds: texts may quote a world.

    In the main thread alone, since Python shows warnings for the whole process; those of other
    threads are shown as before.
    """
    kinds: set[str] = set()
    own, before = threading.get_ident(), warnings.showwarning
    if threading.main_thread().ident != own:
        yield kinds
        return

    def hear(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if threading.get_ident() == own:
            kinds.add(_kind(category)[2:])
        else:
            before(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.showwarning = hear
        yield kinds


def takes_rng(mechanism: Callable[..., Any]) -> bool:
    """Tell whether a mechanism takes its randomness from a parameter `rng`."""
    try:
        return "rng" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):  # builtins have no signature
        return False


def called(function: Callable[[], Any]) -> Any:
    """Return what code of the mechanism returns; its own words in an error are withheld."""
    try:
        return function()
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # without what it says
    except BaseException as error:  # a black box may raise anything
        raise failed(error) from None


@final
@dataclass(frozen=True, eq=False)
class Job:
    """A mechanism and the worlds it runs on.

    Attributes:
        mechanism: The callable.
        secrets: The worlds; None where every chunk brings its own.
        seed: Study randomness; a world's generator follows from it and the world's number.
        takes_rng: Whether the mechanism takes a generator.
        stacks: Whether it takes a stack of worlds.
    """

    mechanism: Callable[..., Any]
    secrets: Any
    seed: int
    takes_rng: bool
    stacks: bool

    @classmethod
    def of(cls, mechanism: Callable[..., Any], secrets: Any, seed: int) -> Job:
        """Return the job; half-samples of a frame hold only the columns that the mechanism reads.

        Its attribute `reads`, if it has one, names them.
        """
        reads = getattr(mechanism, "reads", None)
        if reads is not None and isinstance(secrets, HalfSamples):
            secrets = secrets.reading(reads)
        stacks = bool(getattr(mechanism, "takes_stack", False))
        return cls(mechanism, secrets, seed, takes_rng(mechanism), stacks)

    def __call__(self, numbers: Numbers, own: Any = None) -> Rows:
        """Return the form of the answers on these worlds and their labels (k,) or numbers (k, d).

        Args:
            numbers: Of the worlds.
            own: The worlds themselves, where the job does not hold them.
        """
        if self.stacks:
            return rows_of(self._stacked(numbers, own))
        return rows_of(self._answers(numbers, self._some(numbers) if own is None else own))

    def loaded(self) -> Job:
        """Return the job itself: it is here."""
        return self

    def block(self) -> int | None:
        """Return the worlds in a stack, the same wherever they run; None for one at a time."""
        if not self.stacks:
            return None
        if isinstance(self.secrets, np.ndarray):
            size = int(np.prod(self.secrets.shape[1:]))
        else:
            size = np.asarray(self.secrets[0]).size
        return max(1, STACK // max(1, size))

    def own(self, numbers: Numbers) -> Any:
        """Return the worlds that a chunk brings with it; None where workers make them."""
        return None if isinstance(self.secrets, HalfSamples) else self._some(numbers)

    def _some(self, numbers: Numbers) -> Any:
        if isinstance(self.secrets, HalfSamples):
            return self.secrets.some(numbers)
        if isinstance(numbers, range):  # a view, where there is one
            return self.secrets[numbers.start : numbers.stop]
        return [self.secrets[i] for i in numbers]

    def _answers(self, numbers: Numbers, worlds: Iterable[Any]) -> list[Any]:
        """Run a mechanism world by world; each is made, and let go, when its turn comes."""
        mechanism = self.mechanism
        if not self.takes_rng:
            return list(called(lambda: [mechanism(world) for world in worlds]))
        seeds = (np.random.SeedSequence([self.seed, 1], spawn_key=(int(i),)) for i in numbers)
        pairs = zip(worlds, seeds, strict=True)
        return list(
            called(lambda: [mechanism(w, rng=np.random.default_rng(seed)) for w, seed in pairs])
        )

    def _stacked(self, numbers: Numbers, own: Any) -> Any:
        """Run a vectorised mechanism on stacks of worlds that share a shape."""
        if isinstance(self.secrets, HalfSamples):
            stack = self.secrets.stacked(numbers)
            if stack is not None:
                return self._on_stack(stack)
        worlds = self._some(numbers) if own is None else own
        if isinstance(worlds, np.ndarray):  # a stack already
            return self._on_stack(worlds)
        answers: list[Any] = [None] * len(numbers)
        alike: dict[tuple[int, ...], list[tuple[int, Any]]] = defaultdict(list)
        for i, world in enumerate(worlds):
            item = np.asarray(world)
            alike[item.shape].append((i, item))
        for group in alike.values():
            results = self._on_stack(np.stack([item for _, item in group]))
            for (i, _), result in zip(group, results, strict=True):
                answers[i] = result
        return answers

    def _on_stack(self, stack: Any) -> Any:
        results = called(lambda: self.mechanism(stack))
        if not hasattr(results, "__len__") or len(results) != len(stack):
            raise refuse(
                "one answer for each world of the stack",
                "another number",
                "Return an array whose first axis is the stack's.",
                MechanismError,
            )
        return results


Rows: TypeAlias = tuple[Form, Any]
"""The one form of some answers, and their labels (k,) or numbers (k, d)."""


def rows_of(answers: Any) -> Rows:
    """Return the one form of all answers, and their labels (k,) or numbers (k, d)."""
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "iuf":
        return flatten(answers[0])[0], flatten(answers)[1].reshape(len(answers), -1)
    found = _at_once(answers)
    if found is not None:
        return found
    pairs = [flatten(answer) for answer in answers]
    form = common_form([form for form, _ in pairs])
    rows = [row for _, row in pairs]
    return form, np.array(rows) if form.name == "label" else np.stack(rows)


def _at_once(answers: Sequence[Any]) -> Rows | None:
    """Return plain answers of one kind, checked all together; None: look at one after the other."""
    kinds = set(map(type, answers))
    kind = kinds.pop()
    if kinds or not (kind in _PLAIN or issubclass(kind, np.ndarray | np.generic)):
        return None
    plain: Any = answers
    if kind is dict:
        names = tuple(answers[0])
        if not all(len(a) == len(names) and all(map(is_, a, names)) for a in answers):
            return None
        plain = [list(a.values()) for a in answers]
    elif kind not in _PLAIN and len({(a.shape, a.dtype) for a in answers}) > 1:
        return None
    form = flatten(answers[0])[0]
    if form.name == "label":
        return (form, np.array(answers)) if kind is str else None
    try:
        table = np.array(plain)
    except (ValueError, OverflowError):  # ragged
        return None
    if table.dtype != np.asarray(plain[0]).dtype or table.dtype.kind not in "iuf":
        return None
    return form, flatten(table)[1].reshape(len(answers), -1)


_PLAIN = frozenset({float, int, str, list, tuple, dict})


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a chunk in a worker.

    Attributes:
        numbers: Its worlds.
        rows: Form and rows; None where there are none.
        refusal: Why, in rpac's own words.
        stopped: Whether it was interrupted.
        unready: Whether the worker could not load what it was sent: the name of what it lacks.
        seconds: How long it took.
        warned: Kinds of warnings: names of Python's own, "" for all others.
    """

    numbers: Numbers
    rows: Rows | None = None
    refusal: str = ""
    stopped: bool = False
    unready: str = ""
    seconds: float = 0.0
    warned: frozenset[str] = frozenset()


@final
@dataclass(frozen=True, eq=False)
class Payload:
    """A job as it travels, once to each worker: a function, and a table that can be mapped.

    Attributes:
        function: Pickled by value, with its seed and how it is called.
        table: Pickled half-samples without their buffers; empty where chunks bring their worlds.
        ends: Where each buffer lies in `body`.
        body: (bytes,) all buffers; on one machine workers share its memory.
    """

    function: bytes
    table: bytes
    ends: tuple[tuple[int, int], ...]
    body: Any

    @classmethod
    def of(cls, job: Job) -> Payload:
        """Return what is sent of a job.

        Raises:
            InputError: If the mechanism holds something that cannot be sent.
        """
        mechanism = job.mechanism
        name = getattr(mechanism, "__qualname__", type(mechanism).__qualname__)
        function, table = packed_function(replace(job, secrets=None), name), b""
        buffers: list[Any] = []
        if isinstance(job.secrets, HalfSamples):
            table = cloudpickle.dumps(
                job.secrets, protocol=5, buffer_callback=lambda b: buffers.append(b.raw())
            )
        ends, size = [], 0
        for buffer in buffers:
            ends.append((size, size + buffer.nbytes))
            size += -(-buffer.nbytes // _ALIGNED) * _ALIGNED
        body = np.zeros(size, np.uint8)
        for (start, end), buffer in zip(ends, buffers, strict=True):
            body[start:end] = np.frombuffer(buffer, np.uint8)
        return cls(function, table, tuple(ends), body)

    @cached_property
    def _worlds(self) -> HalfSamples | None:
        """The table, as long as a worker keeps what it was sent."""
        if not self.table:
            return None
        whole = memoryview(self.body)
        found: HalfSamples = pickle.loads(self.table, buffers=[whole[a:b] for a, b in self.ends])
        return found

    def loaded(self) -> Job:
        """Return the job: its function anew for each chunk, so that none leaves another a state."""
        bare: Job = cloudpickle.loads(self.function)
        return replace(bare, secrets=self._worlds)


def perform(job: Job | Payload, numbers: Numbers, own: bytes | None = None) -> Outcome:
    """Run a chunk. Nothing is raised: engines would write down what it says."""
    started = time.perf_counter()
    try:
        ready = job.loaded()
        worlds = None if own is None else cloudpickle.loads(own)
    except BaseException as error:  # a module that is not there, code of another Python
        return Outcome(numbers, unready=_lacking(error))
    try:
        with overheard() as warned, black_box():
            rows = ready(numbers, worlds)
    except KeyboardInterrupt:
        return Outcome(numbers, stopped=True)
    except MechanismError as error:
        return Outcome(numbers, refusal=str(error))
    seconds = time.perf_counter() - started
    return Outcome(numbers, rows, seconds=seconds, warned=frozenset(warned))


def _lacking(error: BaseException) -> str:
    """Return what a worker lacks: a module by its name, which is of the function's own text."""
    if isinstance(error, ModuleNotFoundError):
        return f"no module {error.name!r} there"
    return f"a {type(error).__name__}"


def answer_rows(outcome: Outcome) -> Rows:
    """Return the rows of an outcome; raise what it holds instead."""
    if outcome.stopped:
        raise KeyboardInterrupt
    if outcome.refusal:
        raise MechanismError(outcome.refusal)
    if outcome.rows is None:
        raise refuse(
            "workers that can load the mechanism",
            outcome.unready,
            "Install the same Python, rpac and packages there as here.",
        )
    return outcome.rows
