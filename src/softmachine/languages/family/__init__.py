"""Uniform circuit families: one source that describes a circuit for every number of inputs."""

from softmachine.languages.family.family import Family, Indexed, Range, Rule
from softmachine.languages.family.parser import parse, to_text

__all__ = ["Family", "Indexed", "Range", "Rule", "parse", "to_text"]
