"""Blocks of seeds for slow tests of random sources.

A run tries some of the blocks, chosen by the tree of ``src``: a run of the same tree is the same, and the runs of many
trees try all blocks. ``SOFTMACHINE_ALL_SEEDS=1`` tries all of them.
"""

from __future__ import annotations

import os
import random
import subprocess
from functools import cache
from pathlib import Path


@cache
def source_tree() -> str:
    """The tree of ``src`` in the last commit; empty outside of a checkout."""
    command = ["git", "rev-parse", "HEAD:src"]
    return subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    ).stdout.strip()


def choose_blocks(total: int, count: int) -> list[int]:
    """Some of the blocks 0, …, total-1."""
    if os.environ.get("SOFTMACHINE_ALL_SEEDS"):
        return list(range(total))
    return sorted(random.Random(source_tree()).sample(range(total), count))
