"""A Dask cluster: the same report, also when a worker is killed, and clear messages if there is no cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from softmachine.support.errors import UsageError
from softmachine.support.parallel.executors import DaskFactory
from tests.cli.conftest import Cli, cli  # noqa: F401 - a fixture
from tests.optional import require

require("distributed")


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a scheduler without workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    process = _started("distributed.cli.dask_scheduler", "--host", address, "--no-dashboard")
    _require_answer(address)
    yield address
    _ended(process)


def _started(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _require_answer(address: str) -> None:
    host, port = address.removeprefix("tcp://").split(":")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("the scheduler does not start")


def _worker(address: str) -> subprocess.Popen[bytes]:
    """A worker in its own process, without a nanny that would restart it."""
    return _started("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")


def _without_times(text: str) -> str:
    return re.sub(r'"seconds": [\d.e+-]+', '"seconds": 0', text)


def test_a_scheduler_that_is_not_there_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr("softmachine.support.parallel.executors.CONNECTION_TIMEOUT", 0.5)
    called = cli("check", "parity", "--up-to", "3", "--cluster", "tcp://127.0.0.1:9")
    assert called.status == 2
    assert "no scheduler answers at tcp://127.0.0.1:9" in called.err
    assert "dask scheduler" in called.err


@pytest.mark.parametrize("address", ["", "nowhere", "http://127.0.0.1:9", "tcp://127.0.0.1:port"])
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    """A Dask client reports this after 20 seconds, with a traceback."""
    with pytest.raises(UsageError, match="is not the address of a scheduler"):
        _ = DaskFactory(address).client


@pytest.mark.slow
def test_a_cluster_without_workers_is_named(cli: Cli, scheduler: str) -> None:  # noqa: F811
    called = cli("check", "parity", "--up-to", "3", "--cluster", scheduler)
    assert called.status == 2
    assert f"the cluster at {scheduler} has no workers" in called.err


@pytest.mark.slow
def test_a_million_words_on_two_workers_of_which_one_is_killed_half_way(scheduler: str, tmp_path: Path) -> None:
    """2^20 - 1 words on a cluster, one worker of two killed half-way, against one process: the same bytes."""
    line = [sys.executable, "-m", "softmachine", "check", "Q_a since Q_b", "--up-to", "19", "--yes", "--json"]
    journal = tmp_path / "journal"
    workers = [_worker(scheduler) for _ in range(2)]
    try:
        _require_workers(scheduler, 2)
        command = [*line, "--cluster", scheduler, "--journal", str(journal)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and _done(journal) < 2**19:
            time.sleep(1)
        assert process.poll() is None
        os.kill(workers[0].pid, signal.SIGKILL)
        before = _done(journal)
        out, err = process.communicate()
    finally:
        for worker in workers:
            _ended(worker)
    assert (process.returncode, "error" in err) == (0, False)
    assert before < 2**20 - 1
    alone = subprocess.run([*line, "--workers", "1"], capture_output=True, text=True, check=True)
    assert json.loads(out)["inputs"] == 2**20 - 1
    assert _without_times(out) == _without_times(alone.stdout)


def _require_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=120)


def _done(journal: Path) -> int:
    """The number of words in the journal."""
    if not journal.exists():
        return 0
    lines = journal.read_text().splitlines(keepends=True)[1:]
    whole = [json.loads(line) for line in lines if line.endswith("\n")]
    return sum(line["stop"] - line["start"] for line in whole)
