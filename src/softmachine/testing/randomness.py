"""The random generator that draws sources: a seed gives the same source every time."""

from __future__ import annotations

from random import Random
from typing import TypeAlias

Seed: TypeAlias = Random | int
"""A random generator, which is advanced, or the seed of a new one."""


def generator(seed: Seed) -> Random:
    """Return the generator itself, or a new one with this seed."""
    return Random(seed) if isinstance(seed, int) else seed
