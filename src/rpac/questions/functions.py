"""Any function under the promise *person*: by blocks of people, or with one left out at a time.

What is declared of a function's answers is their form and a middle, which stands for every failure:
by an example (`Presence(middle=[0.0, 0.0])`), by a sentinel (`rpac.guarded`), or by the mechanism's
own `announce`. Nothing here looks at rows but in the process that asks the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import narwhals as nw
import numpy as np

from rpac._base.checks import check_callable, refuse
from rpac._base.types import Floats
from rpac.errors import MechanismError
from rpac.person import blocks, leave_one_out
from rpac.person.contributions import Linear, Rows, Term
from rpac.person.parts import Ask
from rpac.person.source import ANSWER, Asked, Presence
from rpac.worlds import tables
from rpac.worlds.apart import packed_function
from rpac.worlds.chunks import takes_rng
from rpac.worlds.flatten import Form, common_form, flatten
from rpac.worlds.guard import Guarded
from rpac.worlds.run import announced_form

BLOCKS = 400
"""Number of blocks where none is given."""
FLOOR = 1e-3
"""Resolution of answers where none is declared."""
FEW = 200
"""Below so many blocks caps serve better than a level."""
SECONDS = 600.0
"""What a call may take where `rpac.guarded` says nothing else."""


def by_blocks(mechanism: Callable[..., Any], source: Presence, n_jobs: int = 1) -> Asked:
    """Return a function as a question: the mean of its answers on blocks of people.

    Args:
        mechanism: Any callable of a table of the kind that the source has, or of an array. It is
            asked once a block, in a process of its own; with a parameter `rng` it gets a generator
            seeded by the block's number.
        source: The people. Its `blocks`, `middle`, `caps` and `schema` for "answer" are declared.
        n_jobs: Processes; -1: one a core.
    """
    ask, form = asked(mechanism, source)
    count, answer = source.blocks or BLOCKS, source.declared(ANSWER)
    cap = None
    if answer.low is not None and answer.high is not None:
        cap = float(max((answer.high - ask.middle).max(), (ask.middle - answer.low).max()))
    question = blocks.question(len(ask.middle), count, floor_of(source), cap)
    extensive = bool(getattr(mechanism, "extensive", False))
    times = 1.0 if extensive else 1.0 / count
    return Asked(
        question,
        rows=lambda: blocks.rows(ask, source, count, n_jobs),
        numbers=lambda drawn: (count * ask.middle + drawn.sums[:, 0]) * times,
        form=form,
        way="blocks",
        times=times,
        middle=tuple(ask.middle.tolist()),
        notes=(
            *_notes("sum" if extensive else "mean", count, floor_of(source), cap),
            *getattr(mechanism, "assumed", lambda _: ())(source),
        ),
    )


def _notes(what: str, count: int, floor: float, cap: float | None) -> tuple[str, ...]:
    notes = [f"{what} over {count} blocks of people, not the function of the whole table"]
    notes += ["a block on which it fails counts as the middle: rpac.debug shows whether it fails"]
    if cap is None:
        most = floor * blocks.RATIO**2
        notes += [f"answers further than about {most:g} from the middle are drawn towards it"]
    if cap is None and count < FEW:
        notes += [f'with fewer than {FEW} blocks caps={{"answer": (low, high)}} serve better']
    return tuple(notes)


def leaving_one_out(
    mechanism: Callable[..., Any],
    source: Presence,
    propose: leave_one_out.Propose,
    n_jobs: int = 1,
) -> Asked:
    """Return a function as a question of another grade: noise for what each unit moves it by.

    The promise is *person, given the level*, and is booked on a line of its own. For the other
    arguments see `leave_one_out.released`; `calibrators.worst_unit.propose` proposes.
    """
    ask, form = asked(mechanism, source)
    leave_one_out.alternatives(source)
    names = form.labels or [f"number {i + 1}" for i in range(len(ask.middle))]
    nobody = Rows(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0)))
    return Asked(
        Linear((), tuple(Term(str(name), ()) for name in names)),
        rows=lambda: nobody,
        numbers=lambda drawn: ask.middle + drawn.sums[0],
        form=form,
        way="leave-one-out",
        middle=tuple(ask.middle.tolist()),
        notes=(
            "for people in the data, given the noise's own size, and that it was answered",
            "nothing is proved of what the noise's size tells: for owners who publish, not for "
            "strangers who ask",
        ),
        given=lambda delta: leave_one_out.released(
            ask, source, floor_of(source), delta, propose, n_jobs=n_jobs
        ),
    )


def floor_of(source: Presence) -> float:
    """Return the resolution of a function's answers: declared, or the stated default."""
    return source.declared(ANSWER).floor if ANSWER in source.schema else FLOOR


def asked(mechanism: Callable[..., Any], source: Presence) -> tuple[Ask, Form]:
    """Return a function as it is sent to another process, and the form of its answers."""
    if source.entries is None:
        move = "Pass the table itself: rpac.Presence(frame, unit=...)."
        raise refuse("a table for a function of its rows", "a database", move)
    check_callable(mechanism)
    for column in getattr(mechanism, "reads", ()):
        source.entries.check(column)
    _refuse_held(mechanism, source.entries.data)
    form, middle = declared_form(mechanism, source)
    seconds: float | None = SECONDS
    memory = None
    if isinstance(mechanism, Guarded):
        seconds, memory = mechanism.seconds or SECONDS, mechanism.memory
        mechanism = mechanism.__wrapped__
    name = getattr(mechanism, "__qualname__", type(mechanism).__qualname__)
    plain = None if form.labels else replace(form, rebuild=np.asarray, settle=None)
    call = Call.of(mechanism, source, plain)
    sent = packed_function(call, name)
    return Ask(sent, name, middle, call.library or "", seconds, memory), form


def _refuse_held(mechanism: Any, data: Any) -> None:
    """Refuse a function that names the table itself: it must look at the rows it is given."""
    plain = getattr(mechanism, "__wrapped__", mechanism)
    plain = getattr(plain, "__func__", plain)
    code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None) or ()
    known = getattr(plain, "__globals__", {})
    held = [*(known.get(name) for name in code.co_names)] if code else []
    held += [cell.cell_contents for cell in cells] + [*(getattr(plain, "__defaults__", None) or ())]
    if any(part is data for part in held):
        move = "Use its argument, such as `lambda rows: rows[...]`."
        raise refuse("a function of the rows it is given", "one that names the whole table", move)


@final
@dataclass(frozen=True, eq=False)
class Call:
    """One call of a function, in another process.

    Attributes:
        mechanism: The function.
        form: Of its answers; None where the mechanism announces how they are shown.
        library: Of the table it is given; None: an array.
        kind: Type of the caller's own data.
        shape: Of a row of an array; None for a list, whose rows are as long as the longest.
    """

    mechanism: Callable[..., Any]
    form: Form | None
    library: str | None
    kind: str
    shape: tuple[int, ...] | None

    @classmethod
    def of(cls, mechanism: Callable[..., Any], source: Presence, form: Form | None = None) -> Call:
        """Return the call of a function on tables of the kind that a source has."""
        assert source.entries is not None
        data, library = source.entries.data, source.entries.library
        shape = np.shape(data)[1:] if isinstance(data, np.ndarray) else None
        return cls(mechanism, form, library, type(data).__name__, shape)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load what tables need once, where the function is loaded, not once a call."""
        self.__dict__.update(state)
        if self.library:
            self.frame({"number": np.zeros(0), "text": []})

    def __call__(self, columns: dict[str, Any], seed: int) -> Floats:
        """Return the (d,) numbers of the answer; what is raised is nobody's to see."""
        rows = self.table(columns)
        rng = {"rng": np.random.default_rng([seed, 2])} if takes_rng(self.mechanism) else {}
        if getattr(self.mechanism, "takes_stack", False):
            answer = self.mechanism(rows[None])[0]
        else:
            answer = self.mechanism(rows, **rng)
        form, numbers = flatten(answer)
        if self.form is not None and (self.form.name, form.name) != ("array", "series"):
            common_form([self.form, form])
        return np.asarray(numbers, np.float64)

    def table(self, columns: dict[str, Any]) -> Any:
        """Return columns as the caller's data are: an array, or a table of that library."""
        if self.library is None:
            numeric = all(isinstance(column, np.ndarray) for column in columns.values())
            kind = np.float64 if numeric else object
            rows = np.stack([np.array(c, kind) for c in columns.values()], axis=1)
            shape = self.shape
            if shape is None:
                shape = () if rows.shape[1] == 1 else rows.shape[1:]
            return rows.reshape(len(rows), *shape)
        return tables.alike(self.frame(columns), self.kind)

    def frame(self, columns: dict[str, Any]) -> nw.DataFrame[Any]:
        """Return columns as a table of the library."""
        types = {
            name: nw.Float64() if isinstance(column, np.ndarray) else nw.String()
            for name, column in columns.items()
        }
        return nw.from_dict(columns, types, backend=self.library)  # type: ignore[arg-type]


def declared_form(mechanism: Callable[..., Any], source: Presence) -> tuple[Form, Floats]:
    """Return the form of a function's answers and their (d,) middle, from declarations alone."""
    announced, example = announced_form(mechanism, source), source.example
    if example is None and isinstance(mechanism, Guarded):
        example = mechanism.declared
    if example is None and announced is not None:
        example = _halfway(source)
    if example is None:
        move = "Declare one: rpac.Presence(..., middle=0.0), or a list or array of its shape."
        raise refuse("an answer such as the function's own, as its middle", "none", move)
    try:
        form, middle = flatten(_real(example))
        if announced is not None:
            form, middle = announced, np.broadcast_to(middle, (len(announced.labels),))
    except (MechanismError, TypeError, ValueError):
        form = Form("label", (), whole=False, rebuild=np.asarray)
    if form.name == "label":
        move = "Such as 0.0, or a list or array of the answer's shape."
        raise refuse("numbers of the answer's shape as its middle", type(example).__name__, move)
    return form, np.array(middle, np.float64)


def _halfway(source: Presence) -> float:
    """Return the middle that is declared for answers, or between their caps, or 0."""
    answer = source.declared(ANSWER)
    if answer.middle is not None or answer.low is None or answer.high is None:
        return answer.middle or 0.0
    return (answer.low + answer.high) / 2


def _real(example: Any) -> Any:
    """Return an example with real numbers in place of integers: means of answers are real."""
    if hasattr(example, "astype"):
        return example.astype(np.float64)
    if hasattr(example, "items"):
        return {key: float(value) for key, value in example.items()}
    plain = isinstance(example, int | float | list | tuple) and not isinstance(example, bool)
    return np.asarray(example, np.float64)[()] if plain else example
