"""Executor factories for tests, and picklable work for processes."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softmachine.support.errors import WorkerMismatchError
from softmachine.support.parallel import ExecutorFactory, Json, ProcessPoolFactory


class Lossy(ThreadPoolExecutor):
    """Threads that finish in any order, and lose some parts."""

    def __init__(self, size: int, seed: int, losing: float) -> None:
        super().__init__(size)
        self.chooser, self.losing = random.Random(seed), losing

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        pause, lost = self.chooser.random() / 1000, self.chooser.random() < self.losing
        return super().submit(_late, pause, lost, call, *arguments, **more)


def _late(pause: float, lost: bool, call: Callable[..., Any], *arguments: Any) -> Any:
    time.sleep(pause)
    if lost:
        raise BrokenExecutor("lost")
    return call(*arguments)


@dataclass
class Threads(ExecutorFactory):
    """A factory of executors in this process."""

    count: int
    losing: float = 0.0
    seed: int = 0
    patience: float = 0.0
    requested: bool = True
    opened: list[Executor] = field(default_factory=list)
    closed: int = 0

    @property
    def worker_count(self) -> int:
        return self.count

    def open(self) -> Executor:
        self.opened.append(Lossy(self.count, self.seed, self.losing))
        return self.opened[-1]

    def close(self, executor: Executor) -> None:
        self.closed += 1
        executor.shutdown(cancel_futures=True)

    def is_lost_worker(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)


def squares(start: int, stop: int) -> Json:
    return {"squares": [k * k for k in range(start, stop)]}


@dataclass(frozen=True)
class Killed:
    """Squares; the first worker that reaches a given number is killed."""

    scratch: Path
    parent: int
    at: int

    def __call__(self, start: int, stop: int) -> Json:
        mark = self.scratch / "killed"
        if start <= self.at < stop and os.getpid() != self.parent and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return squares(start, stop)


def dies(start: int, stop: int) -> Json:
    os._exit(1)


def differs(start: int, stop: int) -> Json:
    raise WorkerMismatchError("a worker has other weights")


class Eager(ProcessPoolFactory):
    """Processes that are started after the first part."""

    patience = 0.0
