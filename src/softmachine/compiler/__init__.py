"""Signals → weights: merge, schedule, allocate, emit. The same program always gives the same weights."""

from __future__ import annotations

from softmachine.compiler.allocate import schedule_to_allocation
from softmachine.compiler.emit import allocation_to_transformer
from softmachine.compiler.graph import program_to_graph
from softmachine.compiler.schedule import graph_to_schedule
from softmachine.compiler.share import shared
from softmachine.ir.program import Program
from softmachine.transformer.weights import Transformer

__all__ = ["compile_program"]


def compile_program(program: Program) -> Transformer:
    """The transformer that computes a program's logits at every position."""
    graph = program_to_graph(program)
    schedule = graph_to_schedule(graph)
    allocation = schedule_to_allocation(graph, schedule, narrow=program.narrow)
    if program.narrow:
        allocation = shared(graph, schedule, allocation)
    return allocation_to_transformer(program, graph, schedule, allocation)
