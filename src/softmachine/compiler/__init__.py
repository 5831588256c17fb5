"""Compiler from signals to weights: merge, schedule, allocate, emit. Deterministic."""

from __future__ import annotations

from softmachine.compiler.allocation import schedule_to_allocation
from softmachine.compiler.emission import CompiledProgram, allocation_to_transformer
from softmachine.compiler.graph import program_to_graph
from softmachine.compiler.schedule import graph_to_schedule
from softmachine.ir.program import Program
from softmachine.transformer.weights import Transformer

__all__ = ["CompiledProgram", "compile_program", "compile_with_nodes"]


def compile_program(program: Program) -> Transformer:
    """Compile a program to a transformer that computes its logits at every position."""
    return compile_with_nodes(program).weights


def compile_with_nodes(program: Program) -> CompiledProgram:
    """Compile a program; also return the nodes of the heads and the rules of the hidden units, by name."""
    graph = program_to_graph(program)
    schedule = graph_to_schedule(graph)
    allocation = schedule_to_allocation(graph, schedule, narrow=program.reuse_coordinates)
    if program.reuse_coordinates:
        from softmachine.compiler.coordinate_reuse import reuse_coordinates

        allocation = reuse_coordinates(graph, schedule, allocation)
    return allocation_to_transformer(program, graph, schedule, allocation)
