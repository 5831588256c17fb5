"""Schedule: the operations of a position, in order: blocks, key insertion, queries, value insertion, retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.blocks import Block
from softmachine.engines.fast.tables.program import Program

Op = tuple[int, int]
"""An operation, and the number of its block, index, query or lookup."""


@dataclass(frozen=True)
class Order:
    """The operations of a position.

    Args:
        answered: If its output is needed.
        unanswered: Otherwise: keys and values that later positions need, and everything these depend on.
        past: For the previous position, with the numbers computed there: insertions of heads with a strict mask.
    """

    answered: list[Op]
    unanswered: list[Op]
    past: list[Op]


def order_of(program: Program, blocks: Sequence[Block]) -> Order:
    """The schedule of a program, stage by stage."""
    needed = _registers_needed_later(program, blocks)
    blocks_needed = [not needed.isdisjoint(row.to for row in block.rows) for block in blocks]
    finds_needed = [not needed.isdisjoint(lookup.found) for lookup in program.lookups]
    past: dict[Op, None] = {}  # an ordered set
    for number, lookup in enumerate(program.lookups):
        if not program.indexes[lookup.index].causal:
            past |= {(of.KEEP_KEY, lookup.index): None, (of.KEEP_VALUE, number): None}
    answered = _list_operations(program, blocks, [True] * len(blocks), [True] * len(program.lookups))
    return Order(answered, _list_operations(program, blocks, blocks_needed, finds_needed), list(past))


def _list_operations(
    program: Program, blocks: Sequence[Block], recalls: Sequence[bool], finds: Sequence[bool]
) -> list[Op]:
    """The operations that evaluate the selected blocks and lookups."""
    ops: dict[Op, None] = {}  # an ordered set
    for stage in range(1 + max(block.stage for block in blocks)):
        ops |= {(of.BLOCK, k): None for k, block in enumerate(blocks) if block.stage == stage and recalls[k]}
        now = [(k, lookup) for k, lookup in enumerate(program.lookups) if lookup.stage == stage]
        keeps = {k: program.indexes[lookup.index].causal for k, lookup in now}
        ops |= {(of.KEEP_KEY, lookup.index): None for k, lookup in now if keeps[k]}
        ops |= {(of.ASK, lookup.question): None for k, lookup in now if finds[k]}
        for k, _ in now:
            if keeps[k] or finds[k]:
                ops[of.KEEP_VALUE if not finds[k] else of.KEEP_AND_FIND if keeps[k] else of.FIND, k] = None
    return list(ops)


def _registers_needed_later(program: Program, blocks: Sequence[Block]) -> set[int]:
    """The registers that keys and values depend on."""
    needed = {place for lookup in program.lookups for place in lookup.values}
    needed |= {place for index in program.indexes for place in index.places}
    for stage in reversed(range(1 + max(block.stage for block in blocks))):
        for lookup in program.lookups:
            if lookup.stage == stage and not needed.isdisjoint(lookup.found):
                needed |= {place for item in program.questions[lookup.question].sums for place in item.terms}
        for block in blocks:
            if block.stage == stage and not needed.isdisjoint(row.to for row in block.rows):
                needed |= set(block.inputs)
    return needed
