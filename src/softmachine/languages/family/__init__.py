"""Uniform circuit families: one source that describes a circuit for every number of inputs."""

from softmachine.languages.family.family import Family, Indexed, Range, Rule
from softmachine.languages.family.syntax import looks_like, parse, to_text

__all__ = ["Family", "Indexed", "Range", "Rule", "looks_like", "parse", "to_text"]
