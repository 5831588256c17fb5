"""Data sets: words of a source, each with its trace, output, verdict and split. No weights are needed for that."""

from softmachine.datasets.dataset import Dataset, bins_of
from softmachine.datasets.row import Row
from softmachine.datasets.split import Split
from softmachine.datasets.wishes import Wishes
from softmachine.datasets.writing import Written

__all__ = ["Dataset", "Row", "Split", "Wishes", "Written", "bins_of"]
