"""The shards of the slow tests: every test belongs to one, and every record names a shard and a source tree."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from tests import long

HERE = Path(__file__).parent
RECORDED = {"date": str, "commit": str, "src": str, "shard": str, "green": bool, "passed": int, "failed": int}


@pytest.fixture(scope="module")
def slow() -> ModuleType:
    path = HERE.parent / ".ci" / "slow"
    loader = importlib.machinery.SourceFileLoader("slow_shards", str(path))
    spec = importlib.util.spec_from_loader("slow_shards", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_every_path_of_a_shard_exists(slow: ModuleType) -> None:
    missing = [path for _, paths in slow.SHARDS.values() for path in paths if not (HERE / path).exists()]
    assert not missing


def test_every_test_file_belongs_to_one_shard_and_every_shard_has_one(slow: ModuleType) -> None:
    files = [path.relative_to(HERE).as_posix() for path in HERE.rglob("test_*.py")]
    assert {slow.shard_of(file) for file in files} == set(slow.SHARDS)
    assert slow.shard_of("theorems/test_circuit.py") == "circuit"
    assert slow.shard_of("theorems/test_circuit_evaluator.py") == "theorems"
    assert slow.shard_of("test_levels.py") == "rest"


def test_the_parts_of_a_shard_are_its_tests(slow: ModuleType) -> None:
    whole = list(range(10))
    for shard, (parts, _) in slow.SHARDS.items():
        names = [name for name in slow.NAMES if slow.Selection(name).shard == shard]
        assert len(names) == parts
        selected = [slow.Selection(name) for name in names]
        assert sorted(item for one in selected for item in whole[one.part :: one.parts]) == whole


def test_every_test_that_is_left_to_the_slow_tier_exists() -> None:
    names = [(file, name) for table in (long.SWEEPS, long.LONG) for file in table for name in table[file]]
    assert not [pair for pair in names if f"def {pair[1]}(" not in (HERE / pair[0]).read_text(encoding="utf-8")]


def test_records_are_complete(slow: ModuleType) -> None:
    if not slow.RECORDS.exists():
        pytest.skip("no shard was recorded")
    for line in slow.RECORDS.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert {name: type(record[name]) for name in RECORDED} == RECORDED
        assert not (record["green"] and record["failed"])
