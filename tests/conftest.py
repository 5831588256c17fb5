"""Settings of hypothesis, and the quick tier: a fixed part of the tests that answers in less than a minute."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import settings

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
EVERY = {"net/test_commands.py": 10, "digests/test_digests.py": 5}
"""Of these, every so many-th test."""
LEVELS = ("test_interpreter", "test_signals", "test_weights_in_float64", "test_saved_and_loaded")
HEAVY = ("configuration-graph", "turing-", "ternary", "circuit-evaluator")
"""Of the table of cases: these levels, without these theorems."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the quick tier; nothing that is slow is in it."""
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
