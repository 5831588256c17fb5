"""Settings of hypothesis, and the tiers of tests: quick (less than a minute), the fast suite, and slow."""

from __future__ import annotations

import os
from collections import Counter
from fnmatch import fnmatch
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
"""What is quick as a whole: values, parsers, plug-ins."""
EVERY = {"command_output/test_commands.py": 5, "digests/test_digests.py": 5}
"""Of these, every so many-th test."""
KEPT = 4
"""Of a long sweep every so many-th case is in the fast suite."""
LEVELS = ("test_interpreter", "test_signals", "test_weights_in_float64", "test_saved_and_loaded")
HEAVY = (
    "turing-configuration-graph",
    "turing-",
    "turing-ternary",
    "circuit-evaluator",
    "uniform-",
    "circuit-evaluator-threshold",
    "odd-walks",
    "nl-configuration-graph",
)
"""Of the table of cases: these levels, without these theorems."""


def _mark_slow(items: list[pytest.Item]) -> None:
    """Leave most cases of long sweeps to the slow tests."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in items:
        file = item.path.relative_to(Path(__file__).parent).as_posix()
        name, _, case = item.name.partition("[")
        counts[file, name] += 1
        swept = name in long.SWEEPS.get(file, ()) and counts[file, name] % KEPT != 1
        heavy = file == "test_levels.py" and name in long.LEVELS and case.startswith(long.HEAVY)
        if swept or heavy or name in long.LONG.get(file, ()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and the quick tier; nothing that is slow is in it."""
    _mark_slow(items)
    counts = dict.fromkeys(EVERY, 0)
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        file = item.path.relative_to(Path(__file__).parent).as_posix()
        if file in EVERY:
            counts[file] += 1
        if (
            any(fnmatch(file, pattern) for pattern in QUICK)
            or (file in EVERY and counts[file] % EVERY[file] == 1)
            or (file == "test_levels.py" and _is_quick_level(item.name))
        ):
            item.add_marker(pytest.mark.quick)


def _is_quick_level(name: str) -> bool:
    level, _, case = name.partition("[")
    return level in LEVELS and not case.startswith(HEAVY)
