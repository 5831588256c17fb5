"""Uniform families: logarithmic-space machines that print the weights and position features of every member."""

from softmachine.studies.uniformity.families import FAMILIES, RuleFamily, UniformFamily, find_family
from softmachine.studies.uniformity.work_space import SpaceMeasurement, growth_per_doubling, measure_space

__all__ = [
    "FAMILIES",
    "SpaceMeasurement",
    "UniformFamily",
    "RuleFamily",
    "find_family",
    "measure_space",
    "growth_per_doubling",
]
