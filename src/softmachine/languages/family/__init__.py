"""Uniform circuit families: one source that describes a circuit for every number of inputs."""

from softmachine.languages.family.family import CircuitFamily, IndexedWire, IndexRange, Rule
from softmachine.languages.family.parser import parse, to_text

__all__ = ["CircuitFamily", "IndexedWire", "IndexRange", "Rule", "parse", "to_text"]
