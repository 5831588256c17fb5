"""Data sets: words of a source, each with its trace, output, verdict and split; computed without weights."""

from softmachine.engines.inputs.constraints import Constraints
from softmachine.engines.inputs.row import DatasetRow
from softmachine.studies.datasets.dataset import Dataset, parse_bins
from softmachine.studies.datasets.split import Split
from softmachine.studies.datasets.writers import DatasetSummary

__all__ = ["Dataset", "DatasetRow", "Split", "Constraints", "DatasetSummary", "parse_bins"]
