"""Where chunks of worlds run: this process, joblib's processes, a Dask or a Ray cluster.

Each engine takes chunks from an iterator, one or two for each worker at a time, and yields what
came of them in whatever order. What it was sent is shared by the workers of a machine (joblib maps
a file, Ray has an object store) or lies once in each (Dask).
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias, final

from rpac._base.checks import refuse
from rpac.worlds.chunks import Job, Numbers, Outcome, Payload, perform

Task: TypeAlias = tuple[Numbers, bytes | None]
"""Worlds by their numbers, and the packed worlds where workers do not make them."""
_MAPPED = 1 << 16
"""Bytes above which joblib maps a table into its processes."""


class Lost(Exception):
    """Workers ended amid their chunks."""


class Engine(ABC):
    """Runs chunks somewhere.

    Attributes:
        workers: How many run at a time.
    """

    workers: int = 1

    def ship(self, job: Job) -> Any:
        """Return what workers are sent of a job."""
        return Payload.of(job)

    @abstractmethod
    def outcomes(self, sent: Any, tasks: Iterator[Task], ahead: int = 1) -> Generator[Outcome]:
        """Yield what came of each task, in whatever order.

        Args:
            sent: What `ship` returned.
            tasks: The chunks; they are asked for as workers take them.
            ahead: How many each worker has at a time: with two none waits for the next.

        Raises:
            Lost: If workers ended. What was not yielded is to be run again.
        """

    def close(self) -> None:  # noqa: B027  (most have nothing to end)
        """End what was started here."""


@final
class Serial(Engine):
    """This process."""

    def ship(self, job: Job) -> Job:
        """Return the job as it is."""
        return job

    def outcomes(self, sent: Job, tasks: Iterator[Task], ahead: int = 1) -> Generator[Outcome]:
        """Yield what came of each task."""
        for numbers, _ in tasks:
            yield perform(sent, numbers)


@final
class Joblib(Engine):
    """Processes of this machine, as joblib keeps them: warm from one call to the next."""

    def __init__(self, workers: int) -> None:
        from joblib import effective_n_jobs

        self.workers = effective_n_jobs(workers)

    def outcomes(self, sent: Payload, tasks: Iterator[Task], ahead: int = 1) -> Generator[Outcome]:
        """Yield what came of each task."""
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        run = Parallel(
            self.workers,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=ahead * self.workers,
            max_nbytes=_MAPPED,
        )
        found = run(delayed(_in_child)(os.getpid(), sent, *task) for task in tasks)
        try:
            for outcome in found:  # noqa: UP028  (an early end is made below, in silence)
                yield outcome
        except BrokenProcessPool:
            raise Lost from None
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that tasks were cut off
                found.close()


def _in_child(
    parent: int, sent: Payload, numbers: Numbers, own: bytes | None
) -> Outcome:  # pragma: no cover  (child process)
    """Run a chunk in one of joblib's processes, which ends soon after the one it works for."""
    if multiprocessing.current_process().name.startswith("Loky"):
        _watch(parent)
    return perform(sent, numbers, own)


@cache
def _watch(parent: int) -> None:  # pragma: no cover  (child process)
    """Have this process end when its parent has: joblib's would wait for minutes."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


@final
class Dask(Engine):
    """A Dask cluster: one that runs, by its client or address, or processes of this machine."""

    def __init__(self, client: Any = None, address: str | None = None, workers: int | None = None):
        distributed = _imported("distributed", "dask")
        self._cluster: Any = None
        self._own = client is None
        if client is None and address is None:
            self._cluster = address = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
            )
        with _reached(address):
            self._client = distributed.Client(address) if client is None else client
        if self._own:
            self._client.wait_for_workers(1 if workers is None else workers)
        self.workers = max(1, sum(self._client.nthreads().values()))
        self._as_completed = distributed.as_completed
        self._lost = (
            distributed.scheduler.KilledWorker,
            distributed.client.FutureCancelledError,
            distributed.CancelledError,
        )

    def outcomes(self, sent: Payload, tasks: Iterator[Task], ahead: int = 1) -> Generator[Outcome]:
        """Yield what came of each task."""
        held = self._client.scatter(sent, broadcast=True, hash=False)
        waiting = self._as_completed()

        def more() -> None:
            for numbers, own in tasks:
                waiting.add(self._client.submit(perform, held, numbers, own, pure=False))
                if waiting.count() >= ahead * self.workers:
                    return

        try:
            more()
            for future in waiting:
                yield _result(future.result, self._lost)
                more()  # once what came is kept
        finally:
            self._client.cancel(list(waiting.futures), force=True)

    def close(self) -> None:
        """End the client and the processes that were started here."""
        if self._own:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()


@final
class Ray(Engine):
    """A Ray cluster: the one that this process knows, one by its address, or processes here."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = ray = _imported("ray", "ray")
        self._own = not ray.is_initialized()
        if self._own and address is None:
            ray.init(
                num_cpus=workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="error",
                _node_ip_address="127.0.0.1",
            )
        elif self._own:
            with _reached(address):
                ray.init(address=address, log_to_driver=False)
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._lost = (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.OutOfMemoryError,
        )
        self._perform = ray.remote(perform).options(num_cpus=1, max_retries=3)

    def outcomes(self, sent: Payload, tasks: Iterator[Task], ahead: int = 1) -> Generator[Outcome]:
        """Yield what came of each task."""
        held = self._ray.put(sent)
        waiting: list[Any] = []

        def more() -> None:
            while len(waiting) < ahead * self.workers:
                task = next(tasks, None)
                if task is None:
                    return
                waiting.append(self._perform.remote(held, *task))

        try:
            more()
            while waiting:
                (ready,), waiting[:] = self._ray.wait(waiting, num_returns=1)
                yield _result(lambda one=ready: self._ray.get(one), self._lost)
                more()  # once what came is kept
        finally:
            for one in waiting:
                self._ray.cancel(one, force=True)

    def close(self) -> None:
        """End the processes that were started here."""
        if self._own:
            self._ray.shutdown()


def _result(of: Any, lost: Any) -> Outcome:
    """Return what came of a task, or what kept a worker from running it at all."""
    try:
        found: Outcome = of()
    except lost:
        raise Lost from None
    except Exception as error:  # the task itself raises nothing: it was never begun
        return Outcome((), unready=f"a {type(error).__name__} before it was run")
    return found


@contextmanager
def _reached(address: Any) -> Iterator[None]:
    """Say in rpac's own words that a cluster does not answer; no world has been looked at yet."""
    try:
        yield
    except Exception as error:  # each engine has errors of its own
        got = f"a {type(error).__name__} at {address!r}" if isinstance(address, str) else "none"
        move = "Check the address, and that rpac[cluster] is installed there and here."
        raise refuse("a cluster that answers", got, move) from None


def _imported(module: str, name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        move = "pip install 'rpac[cluster]', or executor=\"joblib\"."
        raise refuse(f"{name} for this executor", "none installed", move) from None
