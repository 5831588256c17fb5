"""Factories of ``concurrent.futures`` executors: processes of this machine, or the workers of a Dask cluster."""

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

REQUESTED_PATIENCE, DEFAULT_PATIENCE = 0.5, 3.0
"""Seconds of work in this process before an executor is started: if workers were requested, and if not."""
CONNECTION_TIMEOUT = 10
"""Timeout, in seconds, of the connection to a scheduler."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class ExecutorFactory(ABC):
    """Factory of the executor of a sweep.

    Attributes:
        patience: Seconds of work in this process before the executor is started, so that short work needs none.
        asked: Whether workers were requested explicitly; else they are started only if it pays off.
    """

    patience: float
    requested: bool

    @property
    @abstractmethod
    def worker_count(self) -> int:
        """The number of parallel workers."""

    @abstractmethod
    def open(self) -> Executor:
        """Start the executor.

        Raises:
            WorkersError: If there are no workers.
        """

    @abstractmethod
    def close(self, executor: Executor) -> None:
        """Shut the executor down without waiting."""

    @abstractmethod
    def is_lost_worker(self, error: BaseException) -> bool:
        """Whether an error means that a worker was lost, together with its part."""

    def require_reachable(self) -> None:
        """Check that the workers are still reachable.

        Raises:
            WorkersError: If they are not.
        """
        return


@dataclass(frozen=True)
class ProcessPoolFactory(ExecutorFactory):
    """Processes of this machine; each does one part at a time.

    They are spawned, not forked, since this process may have threads.

    Args:
        count: Their number.
        requested: Whether they were requested explicitly.
    """

    count: int
    requested: bool = True

    @property
    def patience(self) -> float:  # type: ignore[override]
        """Seconds of work in this process first, since starting processes takes about a second."""
        return REQUESTED_PATIENCE if self.requested else DEFAULT_PATIENCE

    @property
    def worker_count(self) -> int:
        """The number of processes."""
        return self.count

    def open(self) -> Executor:
        """Start a pool with all its processes."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"), initializer=_initialise_worker)
        try:
            with _interrupts_deferred():
                for _ in range(self.count):  # a pool starts a process for each task that finds none idle
                    pool.submit(_do_nothing)
        except BaseException:  # a deferred Ctrl-C, too
            self.close(pool)
            raise
        return pool

    def close(self, executor: Executor) -> None:
        """Kill the processes; a plain shutdown would wait for their current parts."""
        workers = dict(vars(executor).get("_processes") or {})  # kill_workers() in Python 3.14
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers.values():
            worker.kill()

    def is_lost_worker(self, error: BaseException) -> bool:
        """Whether the pool is broken: it has lost a process, and with it all submitted parts."""
        return isinstance(error, BrokenExecutor)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C, and block it in processes that are started in the block, even during their start-up.

    Otherwise a Ctrl-C between the start of a process and its registration in the pool would lose the process, and the
    pool would wait for it forever. The mask is for the processes, which inherit it; the handler is for this process,
    where another thread may receive the signal.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives Ctrl-C
        yield
        return
    deferred: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: deferred.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if deferred:
        signal.raise_signal(signal.SIGINT)


def _do_nothing() -> None:
    """First task of a pool, which makes it start its processes."""


def _initialise_worker() -> None:
    """Initialise a worker process: one thread, Ctrl-C ignored, and exit when the parent ends."""
    for name in THREAD_VARIABLES:
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
class DaskFactory(ExecutorFactory):
    """The workers of a Dask cluster.

    Args:
        address: The address of its scheduler, such as "tcp://10.0.0.1:8786".
    """

    address: str
    patience: float = REQUESTED_PATIENCE
    requested: bool = True
    _client: Client | None = field(default=None, repr=False)

    @property
    def client(self) -> Client:
        """The connection to the scheduler.

        Raises:
            UsageError: If Dask is missing, the address is malformed, or no scheduler answers.
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
            except ValueError:  # a client with a malformed address is slow to close and logs errors
                raise UsageError(
                    f"{self.address!r} is not the address of a scheduler",
                    hint="write it as `dask scheduler` prints it, such as tcp://10.0.0.1:8786",
                ) from None
            try:
                client = Client(self.address, timeout=CONNECTION_TIMEOUT, set_as_default=False)
            except (OSError, ValueError) as error:
                raise UsageError(
                    f"no scheduler answers at {self.address}: {str(error).splitlines()[0]}",
                    hint="start one: `dask scheduler`, and `dask worker ADDRESS` on each machine",
                ) from None
            self._client = client
        return self._client

    @property
    def worker_count(self) -> int:
        """The number of parts that its workers do in parallel."""
        threads = sum(self.client.nthreads().values())
        if not threads:
            self._disconnect()
            raise WorkersError(
                f"the cluster at {self.address} has no workers", hint=f"start some: `dask worker {self.address}`"
            )
        return int(threads)

    def open(self) -> Executor:
        """Dask's executor; parts are impure, so that a part that is submitted again is computed again."""
        executor = self.client.get_executor(pure=False)
        assert isinstance(executor, Executor)
        return executor

    def close(self, executor: Executor) -> None:
        """Cancel pending parts and disconnect."""
        executor.shutdown(wait=False)
        self._disconnect()

    def is_lost_worker(self, error: BaseException) -> bool:
        """Whether Dask gave up on a part; it retries the parts of a lost worker until several workers are lost."""
        from distributed.scheduler import KilledWorker

        return isinstance(error, KilledWorker | CancelledError)

    def require_reachable(self) -> None:
        """Check the connection to the scheduler."""
        if self._client is None or self._client.status not in ("running", "connecting"):
            raise WorkersError(f"the connection to the scheduler at {self.address} is lost")

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=CONNECTION_TIMEOUT)


def select_executor(workers: int | None, cluster: str | None) -> ExecutorFactory | None:
    """Select the executor: a cluster, a number of processes, or None for this process only.

    Args:
        workers: The number of processes; None for one per core, if the work turns out to be long.
        cluster: The address of a scheduler.

    Raises:
        UsageError: If both are given.
    """
    if cluster is not None:
        if workers is not None:
            raise UsageError("--workers is for this machine, --cluster for others: use only one of them")
        return DaskFactory(cluster)
    count = _count_cores() if workers is None else workers
    return None if count <= 1 else ProcessPoolFactory(count, requested=workers is not None)


def _count_cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_current_factory: ContextVar[ExecutorFactory | None] = ContextVar("hired", default=None)


@contextmanager
def use_executor(factory: ExecutorFactory | None) -> Iterator[None]:
    """Set the executor factory that sweeps inside the block use."""
    token = _current_factory.set(factory)
    try:
        yield
    finally:
        _current_factory.reset(token)


def current_executor() -> ExecutorFactory | None:
    """The executor factory set by :func:`use_executor`, if any."""
    return _current_factory.get()
