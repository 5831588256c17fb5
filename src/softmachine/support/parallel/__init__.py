"""Parallel map over a range, in this process, in processes of this machine, or on a Dask cluster.

:func:`.ordered_map.map_range` is the map that all sweeps use; an :class:`.executors.ExecutorFactory` creates the
executor, and a :class:`.journal.Journal` records finished parts, from which an interrupted sweep resumes. See
``docs/cluster.md``.
"""

from softmachine.support.parallel.executors import (
    DaskFactory,
    ExecutorFactory,
    ProcessPoolFactory,
    current_executor,
    select_executor,
    use_executor,
)
from softmachine.support.parallel.journal import Journal, Json, PartResult, RangeFunction
from softmachine.support.parallel.ordered_map import map_range

__all__ = [
    "DaskFactory",
    "ExecutorFactory",
    "Journal",
    "Json",
    "PartResult",
    "ProcessPoolFactory",
    "RangeFunction",
    "select_executor",
    "current_executor",
    "use_executor",
    "map_range",
]
