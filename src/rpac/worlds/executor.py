"""The class `Executor`: where a simulation's worlds run, and in which chunks.

What comes out does not depend on it, to the last bit: a world is made from its number, and so is
its generator. A chunk whose worker was lost is run again; nothing else is.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, Literal, TypeAlias, final

import cloudpickle

from rpac._base.checks import count, refuse
from rpac.errors import MechanismError
from rpac.worlds.chunks import Job, Numbers, Outcome
from rpac.worlds.engines import Dask, Engine, Joblib, Lost, Ray, Serial

Kind: TypeAlias = Literal["serial", "joblib", "dask", "ray"]
KINDS = ("serial", "joblib", "dask", "ray")
_SECONDS = 0.25
"""What a chunk should take: much more than sending it, little enough to lose."""
_LEAST = 0.02
"""What it should take at least, near the end, where chunks get smaller."""
_TRIES = 3
"""Times that workers may be lost in a row before anything more is done."""


@final
class Executor:
    """Where the worlds of a simulation run: this process, joblib, a Dask or a Ray cluster.

    Outputs are the same whatever it is. The table is sent once to each worker (on one machine
    joblib and Ray share its memory), with only the columns that the mechanism says it reads, and
    workers make their half-samples themselves. A lost worker costs the chunks it had.

    Args:
        kind: "serial", "joblib", "dask" or "ray".
        workers: Processes to start, -1 or None: one a core. Of a cluster that runs: leave it out.
        address: Of a cluster that runs: "tcp://scheduler:8786" for Dask, "auto" or
            "ray://head:10001" for Ray (which needs none where `ray.init` was called).
        client: A `distributed.Client` that is connected.
        chunk: Worlds in a chunk; by default as many as take a quarter of a second.

    Where a cluster runs, its workers see the data and all outputs: they belong to whoever owns
    those. What a mechanism prints there is in that cluster's logs.

    >>> import rpac
    >>> with rpac.Executor("joblib", workers=2) as executor:
    ...     outputs = rpac.simulate(rpac.Worlds([1.0, 2.0]), float, executor=executor)
    """

    def __init__(
        self,
        kind: Kind = "joblib",
        workers: int | None = None,
        *,
        address: str | None = None,
        client: Any = None,
        chunk: int | None = None,
    ) -> None:
        if kind not in KINDS:
            raise refuse(f"an executor among {', '.join(KINDS)}", repr(kind), "Name one of them.")
        if workers is not None and workers != -1:
            count(workers, "workers", least=1)
        far = (address is not None) > (kind in {"dask", "ray"})
        if far or (client is not None) > (kind == "dask"):
            got = f"a client or address for {kind!r}"
            raise refuse("an address for dask or ray, a client for dask", got, "Leave it out.")
        self.kind, self.workers = kind, None if workers == -1 else workers
        self.chunk = None if chunk is None else count(chunk, "chunk", least=1)
        self._address, self._client = address, client
        self._engine: Engine | None = None

    @classmethod
    def of(cls, given: Any) -> Executor:
        """Return an executor as it is, or of a name, an address or a Dask client.

        >>> Executor.of("dask://10.0.0.5:8786")
        Executor('dask', address='tcp://10.0.0.5:8786')
        """
        if isinstance(given, Executor):
            return given
        if isinstance(given, str):
            scheme, mark, rest = given.partition("://")
            if not mark:
                return cls(given)  # type: ignore[arg-type]
            if scheme in {"dask", "tcp", "tls"}:
                return cls("dask", address=f"{'tcp' if scheme == 'dask' else scheme}://{rest}")
            if scheme == "ray":
                return cls("ray", address=given)
        elif hasattr(given, "scatter") and hasattr(given, "submit"):
            return cls("dask", client=given)
        got = repr(given) if isinstance(given, str) else type(given).__name__
        move = 'Such as rpac.Executor("joblib", workers=2), "dask://host:8786", "ray".'
        raise refuse("an executor, its name or its address", got, move)

    @property
    def engine(self) -> Engine:
        """What runs the chunks; started when it is first asked for."""
        if self._engine is None:
            self._engine = self._started()
        return self._engine

    def _started(self) -> Engine:
        if self.kind == "dask":
            return Dask(self._client, self._address, self.workers)
        if self.kind == "ray":
            return Ray(self._address, self.workers)
        return Serial() if self.kind == "serial" else Joblib(self.workers or -1)

    def close(self) -> None:
        """End the processes that it started; a cluster that ran before runs on."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        said = {"workers": self.workers, "address": self._address, "chunk": self.chunk}
        shown = "".join(f", {k}={v!r}" for k, v in said.items() if v is not None)
        return f"Executor({self.kind!r}{shown})"

    def outcomes(
        self, job: Job, wanted: Sequence[Numbers], size: int | None = None, *, ahead: int = 1
    ) -> Generator[Outcome]:
        """Yield what came of chunks that cover these worlds, in whatever order.

        Args:
            job: The mechanism and its worlds.
            wanted: Worlds, by their numbers; each is cut into chunks of its own.
            size: Worlds in a chunk; by default what `chunk` says.
            ahead: Chunks that each worker has at a time.

        Raises:
            InputError: If the mechanism, or a world, cannot be sent.
            MechanismError: If workers end again and again.
        """
        engine = self.engine
        sent, tries = engine.ship(job), 0
        while wanted:
            chunks = Chunks(wanted, engine.workers, size or self.chunk)
            tasks = ((numbers, _packed(engine, job, numbers)) for numbers in chunks)
            try:
                with closing(engine.outcomes(sent, tasks, ahead)) as found:
                    for outcome in found:
                        chunks.finished(outcome)
                        tries = 0
                        yield outcome
            except Lost:
                tries += 1
                if tries == _TRIES:
                    raise refuse(
                        "a mechanism that lets its process live",
                        f"workers that ended {tries} times in a row",
                        "It may take too much memory, or end the process: rpac.guarded "
                        "with limits answers for it.",
                        MechanismError,
                    ) from None
            wanted = chunks.left()


def _packed(engine: Engine, job: Job, numbers: Numbers) -> bytes | None:
    """Return the worlds of a chunk as bytes, where workers cannot make them."""
    own = None if isinstance(engine, Serial) else job.own(numbers)
    if own is None:
        return None
    try:
        return bytes(cloudpickle.dumps(own))
    except Exception:
        raise refuse(
            "worlds that can be sent to another process",
            type(own[0]).__name__,
            "Pass plain data (arrays, tables, numbers, text), or run it here: n_jobs=1.",
        ) from None


@final
class Chunks(Iterator[Numbers]):
    """Worlds in chunks that are cut when they are asked for, by what a world takes.

    Args:
        wanted: Worlds, by their numbers.
        workers: How many chunks run at a time.
        size: Worlds in a chunk; None: as many as take a quarter of a second, and at first one.
    """

    def __init__(self, wanted: Sequence[Numbers], workers: int, size: int | None) -> None:
        self._rest, self._workers, self._size = [*wanted][::-1], workers, size
        self._under_way: dict[int, Numbers] = {}
        self._fastest: float | None = None
        self._lock = threading.Lock()

    def __next__(self) -> Numbers:
        with self._lock:  # joblib asks from threads of its own
            if not self._rest:
                raise StopIteration
            rest = self._rest.pop()
            size = self._size or self._fitting(len(rest))
            if len(rest) > size:
                self._rest.append(rest[size:])
            cut = rest[:size]
            self._under_way[cut[0]] = cut
            return cut

    def _fitting(self, rest: int) -> int:
        if self._fastest is None:
            return 1
        most = rest // (2 * self._workers)
        least, usual = (int(seconds / self._fastest) for seconds in (_LEAST, _SECONDS))
        return max(1, min(usual, max(least, most)))

    def finished(self, outcome: Outcome) -> None:
        """Take note of a chunk that came back, and of how long it took."""
        with self._lock:
            self._under_way.pop(outcome.numbers[0], None) if outcome.numbers else None
            if outcome.rows is not None:
                each = max(outcome.seconds / len(outcome.numbers), 1e-7)
                self._fastest = min(each, self._fastest or each)

    def left(self) -> list[Numbers]:
        """Return what did not come back."""
        with self._lock:
            return [*self._under_way.values(), *self._rest[::-1]]
