"""Free memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from softmachine.support import resources
from softmachine.support.resources import free_memory


def test_some_memory_is_free_and_not_more_than_the_machine_has() -> None:
    import os

    found = free_memory()
    assert found is not None
    assert 0 < found <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("membership", "files"),
    [
        (
            "0::/work/job",
            {"work/memory.max": "max", "work/job/memory.max": "5000000", "work/job/memory.current": "2000000"},
        ),
        (
            "0::/work/job",
            {"work/memory.max": "5000000", "work/memory.current": "2000000", "work/job/memory.max": "max"},
        ),
        (
            "4:memory:/job",
            {"memory/job/memory.limit_in_bytes": "5000000", "memory/job/memory.usage_in_bytes": "2000000"},
        ),
    ],
    ids=["its own group", "the group above", "version 1"],
)
def test_a_container_leaves_what_its_limit_leaves(
    membership: str, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    place = next(file for file in tmp_path.rglob("memory.*") if file.read_text() == "5000000\n").parent
    (place / "memory.stat").write_text("anon 7\ninactive_file 300\ntotal_inactive_file 300\n")
    lines = resources._lines
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path)
    monkeypatch.setattr(
        resources, "_lines", lambda file: [membership] if file == Path("/proc/self/cgroup") else lines(file)
    )
    assert free_memory() == 3_000_300


def test_where_the_system_says_little_what_it_says_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_lines", lambda _: [])
    found = free_memory()
    assert found is not None
    assert found > 0


def test_a_limit_on_addresses_counts() -> None:
    pytest.importorskip("resource")
    code = (
        "import resource; from softmachine.support.resources import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); print(free_memory())"
    )
    found = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0 < found < 1 << 30
