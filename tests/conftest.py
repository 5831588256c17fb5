"""Settings of hypothesis, and the tiers of tests: quick (less than a minute), the fast suite, and slow."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests import long

settings.register_profile("here", deadline=None)  # machines are noisy
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

QUICK = (
    "test_model.py",
    "test_packed.py",
    "test_plugins.py",
    "test_architecture.py",
    "transformer/test_features.py",
    "theorems/test_others.py",
    "measure/test_slice*.py",
    "languages/test_bbchallenge.py",
    "languages/test_jflap.py",
    "languages/test_turingmachine_io.py",
    "languages/graph/*.py",
    "languages/*/test_syntax.py",
    "languages/*/test_mistakes.py",
)
"""Files of which every test is quick: values, parsers, plug-ins."""
EVERY = {"command_output/test_commands.py": 5, "digests/test_digests.py": 5}
"""Of these files every n-th test is in the quick tier."""
KEPT = 4
"""Every n-th case of a long sweep is in the fast suite."""
LEVELS = ("test_interpreter", "test_signals", "test_weights_in_float64", "test_saved_and_loaded")
HEAVY = (
    "turing-configuration-graph",
    "turing-counter",
    "turing-ternary",
    "circuit-evaluator",
    "uniform-",
    "circuit-evaluator-threshold",
    "odd-walks",
    "nl-configuration-graph",
)
"""Of the table of cases, the levels above are quick, except for these theorems."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage, which takes a third of the time; modules and tests stay anyway."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def _relative(path: Path) -> str:
    return path.relative_to(Path(__file__).parent).as_posix()


@cache
def _is_quick_file(file: str) -> bool:
    return any(fnmatch(file, pattern) for pattern in QUICK)


def _is_slow(file: str, name: str, case: str, count: int) -> bool:
    """Whether a case is left to the slow tests, as most cases of long sweeps are.

    Args:
        file: The test file.
        name: The test function.
        case: The identifier of the case, if the test has parameters.
        count: The number of this case among those of the test function, from 1.
    """
    if name in long.SWEEPS.get(file, ()) and count % KEPT != 1:
        return True
    heavy = file == "test_levels.py" and name in long.LEVELS and case.startswith(long.HEAVY)
    return heavy or name in long.LONG.get(file, ())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests and the quick tier, which has no slow test."""
    counts: Counter[tuple[str, str]] = Counter()
    every = dict.fromkeys(EVERY, 0)
    for item in items:
        file = _relative(item.path)
        name, _, case = item.name.partition("[")
        counts[file, name] += 1
        if _is_slow(file, name, case, counts[file, name]):
            item.add_marker(pytest.mark.slow)
            continue
        if item.get_closest_marker("slow"):
            continue
        if file in EVERY:
            every[file] += 1
        if (
            _is_quick_file(file)
            or (file in EVERY and every[file] % EVERY[file] == 1)
            or (file == "test_levels.py" and name in LEVELS and not case.startswith(HEAVY))
        ):
            item.add_marker(pytest.mark.quick)
