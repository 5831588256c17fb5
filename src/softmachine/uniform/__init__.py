"""Uniform families: machines in logarithmic space that print the weights and position features of every member."""

from softmachine.uniform.families import FAMILIES, UniformFamily, WrittenFamily, family_named
from softmachine.uniform.measuring import Measured, measured, per_doubling

__all__ = ["FAMILIES", "Measured", "UniformFamily", "WrittenFamily", "family_named", "measured", "per_doubling"]
