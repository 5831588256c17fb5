"""Data sets: words of a source, each with its trace, output, verdict and split; computed without weights."""

from softmachine.engines.inputs.constraints import Wishes
from softmachine.engines.inputs.row import Row
from softmachine.studies.datasets.dataset import Dataset, bins_of
from softmachine.studies.datasets.split import Split
from softmachine.studies.datasets.writers import Written

__all__ = ["Dataset", "Row", "Split", "Wishes", "Written", "bins_of"]
