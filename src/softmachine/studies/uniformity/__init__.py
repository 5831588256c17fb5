"""Uniform families: logarithmic-space machines that print the weights and position features of every member."""

from softmachine.studies.uniformity.families import FAMILIES, UniformFamily, WrittenFamily, family_named
from softmachine.studies.uniformity.work_space import Measured, measured, per_doubling

__all__ = ["FAMILIES", "Measured", "UniformFamily", "WrittenFamily", "family_named", "measured", "per_doubling"]
