"""Work over many things, done in parts: here, by processes of this machine, or by those of a cluster.

:func:`.in_parts.parts` is the one function over which sweeps run; who works is a :class:`.crew.Crew`, and what was
done is kept in a :class:`.journal.Journal`, if somebody wants to go on with it later. See ``docs/cluster.md``.
"""

from softmachine.support.parallel.executors import Cluster, Crew, Processes, crew_of, hired, hiring
from softmachine.support.parallel.journal import Journal
from softmachine.support.parallel.ordered_map import parts
from softmachine.support.parallel.part import Json, Part, Work

__all__ = ["Cluster", "Crew", "Journal", "Json", "Part", "Processes", "Work", "crew_of", "hired", "hiring", "parts"]
