"""Who works: processes of this machine, or the workers of a Dask cluster; each is a ``concurrent.futures.Executor``."""

from __future__ import annotations

import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from softmachine.support.errors import UsageError, WorkersError

if TYPE_CHECKING:
    from distributed import Client

ASKED, UNASKED = 0.5, 3.0
"""So many seconds a sweep is worked on here before others are called, if that is asked for, and if it is not."""
CONNECTING = 10
"""So many seconds a scheduler has to answer."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Crew(ABC):
    """Who works, if it is not this process alone.

    Attributes:
        patience: So many seconds of work are done here first: short work needs nobody else.
        asked: Whether somebody asked for them; else they are called only where it is worth it.
    """

    patience: float
    asked: bool

    @property
    @abstractmethod
    def size(self) -> int:
        """How many work at the same time."""

    @abstractmethod
    def open(self) -> Executor:
        """Whom parts are handed to.

        Raises:
            WorkersError: If nobody is there.
        """

    @abstractmethod
    def close(self, executor: Executor) -> None:
        """Send them home, whatever they are doing."""

    @abstractmethod
    def lost(self, error: BaseException) -> bool:
        """Whether an error says that somebody was lost, with the part that he had."""

    def require_present(self) -> None:
        """See that somebody is still there.

        Raises:
            WorkersError: If not.
        """
        return


@dataclass(frozen=True)
class Processes(Crew):
    """Processes of this machine, a part each at a time.

    They are started afresh (spawn), since this one may have threads.

    Args:
        count: How many.
        asked: Whether somebody asked for them.
    """

    count: int
    asked: bool = True

    @property
    def patience(self) -> float:  # type: ignore[override]
        """Processes take about a second to start."""
        return ASKED if self.asked else UNASKED

    @property
    def size(self) -> int:
        """How many there are."""
        return self.count

    def open(self) -> Executor:
        """A pool of them, all started."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"), initializer=_begin)
        try:
            with _undisturbed():
                for _ in range(self.count):  # a pool starts a process for each task that finds none idle
                    pool.submit(_ready)
        except BaseException:  # Ctrl-C that has waited, too
            self.close(pool)
            raise
        return pool

    def close(self, executor: Executor) -> None:
        """End them; Python's own way would wait until each has done its part."""
        workers = dict(vars(executor).get("_processes") or {})  # kill_workers(), from Python 3.14 on
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers.values():
            worker.kill()

    def lost(self, error: BaseException) -> bool:
        """A pool that has lost a process is broken, and all that was handed to it is lost."""
        return isinstance(error, BrokenExecutor)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits, and processes that are started meanwhile never hear of it: not even while they begin.

    Python's own way would lose a process if Ctrl-C came between its start and its entry in the pool, and wait for it
    at the end, for ever. The mask is for the processes, which inherit it; the handler is for this one, where another
    thread may take the signal.
    """
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C is heard by the main thread only
        yield
        return
    heard: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if heard:
        signal.raise_signal(signal.SIGINT)


def _ready() -> None:
    """What a pool is asked for first, so that it starts its processes."""


def _begin() -> None:
    """What a process does first: one thread each, Ctrl-C is for who started it, and without that one it ends."""
    for name in THREADS:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass
class Cluster(Crew):
    """The workers of a Dask cluster.

    Args:
        address: Where its scheduler listens, such as "tcp://10.0.0.1:8786".
    """

    address: str
    patience: float = ASKED
    asked: bool = True
    _client: Client | None = field(default=None, repr=False)

    @property
    def client(self) -> Client:
        """The connection to the scheduler.

        Raises:
            UsageError: If Dask is missing, or this is no address, or nobody listens there.
            WorkersError: If the cluster has no workers.
        """
        if self._client is None:
            try:
                from distributed import Client
                from distributed.comm.addressing import get_address_host_port
            except ImportError:
                raise UsageError("a cluster needs Dask", hint="pip install 'softmachine[cluster]'") from None
            try:
                get_address_host_port(self.address)
            except ValueError:  # a client that could not even begin to connect takes long to end, and complains
                raise UsageError(
                    f"{self.address!r} is not the address of a scheduler",
                    hint="write it as `dask scheduler` prints it, such as tcp://10.0.0.1:8786",
                ) from None
            try:
                client = Client(self.address, timeout=CONNECTING, set_as_default=False)
            except (OSError, ValueError) as error:
                raise UsageError(
                    f"no scheduler answers at {self.address}: {str(error).splitlines()[0]}",
                    hint="start one: `dask scheduler`, and `dask worker ADDRESS` on each machine",
                ) from None
            self._client = client
        return self._client

    @property
    def size(self) -> int:
        """How many parts its workers do at the same time."""
        threads = sum(self.client.nthreads().values())
        if not threads:
            self._leave()
            raise WorkersError(
                f"the cluster at {self.address} has no workers", hint=f"start some: `dask worker {self.address}`"
            )
        return int(threads)

    def open(self) -> Executor:
        """Dask's own executor; each part is done anew, even if an equal one was lost."""
        executor = self.client.get_executor(pure=False)
        assert isinstance(executor, Executor)
        return executor

    def close(self, executor: Executor) -> None:
        """Take back what they have not done, and leave them to others."""
        executor.shutdown(wait=False)
        self._leave()

    def lost(self, error: BaseException) -> bool:
        """Dask does parts of a lost worker again by itself, and gives up on one that several were lost with."""
        from distributed.scheduler import KilledWorker

        return isinstance(error, KilledWorker | CancelledError)

    def require_present(self) -> None:
        """See that the scheduler is still there."""
        if self._client is None or self._client.status not in ("running", "connecting"):
            raise WorkersError(f"the scheduler at {self.address} is gone")

    def _leave(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=CONNECTING)


def crew_of(workers: int | None, cluster: str | None) -> Crew | None:
    """Who works: a cluster, so many processes, or (None) this process alone.

    Args:
        workers: The number of processes; None for as many as there are cores, if the work turns out to be long.
        cluster: The address of a scheduler.

    Raises:
        UsageError: If both are given.
    """
    if cluster is not None:
        if workers is not None:
            raise UsageError("--workers is for this machine, --cluster for others: say one of them")
        return Cluster(cluster)
    count = _cores() if workers is None else workers
    return None if count <= 1 else Processes(count, asked=workers is not None)


def _cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_hired: ContextVar[Crew | None] = ContextVar("hired", default=None)


@contextmanager
def hiring(crew: Crew | None) -> Iterator[None]:
    """Who may be called by what is done inside, where whoever does the work is not asked directly."""
    token = _hired.set(crew)
    try:
        yield
    finally:
        _hired.reset(token)


def hired() -> Crew | None:
    """Who may be called."""
    return _hired.get()
