"""Parallel map over a range, in this process, in processes of this machine, or on a Dask cluster.

:func:`.ordered_map.parts` is the map that all sweeps use; a :class:`.executors.Crew` creates the executor, and a
:class:`.journal.Journal` records finished parts, from which an interrupted sweep resumes. See ``docs/cluster.md``.
"""

from softmachine.support.parallel.executors import Cluster, Crew, Processes, crew_of, hired, hiring
from softmachine.support.parallel.journal import Journal, Json, Part, Work
from softmachine.support.parallel.ordered_map import parts

__all__ = ["Cluster", "Crew", "Journal", "Json", "Part", "Processes", "Work", "crew_of", "hired", "hiring", "parts"]
