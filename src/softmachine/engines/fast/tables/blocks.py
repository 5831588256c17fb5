"""Partition of rows into blocks: each a function of a few earlier numbers, so that its results can be memoised.

Between the heads of one layer and those of the next, rows read one another. Rows connected in this way form a block,
whose inputs are registers of other stages. A block whose inputs are a subset of another block's is merged into that
one, and blocks with few inputs are merged. No block reads another one of its stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.engines.fast.tables.program import Program, Row

LITTLE = 8
"""Blocks with at most this many inputs together are merged: a memo lookup costs about as much as computing them."""


@dataclass(frozen=True)
class Block:
    """Rows that are computed and memoised together.

    Args:
        stage: The number of layers with heads before them.
        inputs: The registers that they read and do not compute.
        rows: The rows, in order of evaluation.
        answers: Whether the logits are among them.
    """

    stage: int
    inputs: tuple[int, ...]
    rows: tuple[Row, ...]
    answers: bool


def blocks_of(program: Program) -> list[Block]:
    """The blocks of a program, stage by stage."""
    kept = _needed_rows(program)
    maker = {row.to: row for row in kept}
    part = {row.to: row.to for row in kept}

    def root(place: int) -> int:
        while part[place] != place:
            part[place] = part[part[place]]
            place = part[place]
        return place

    for row in kept:
        for place in row.sum.terms:
            if place in maker and maker[place].stage == row.stage:
                part[root(row.to)] = root(place)
    for logit in program.logits:
        part[root(logit)] = root(program.logits[0])
    connected: dict[int, list[Row]] = {}
    for row in kept:
        connected.setdefault(root(row.to), []).append(row)
    answers = root(program.logits[0]) if program.logits else -1
    parts = [_Part(rows[0].stage, set(_inputs(rows)), rows, at == answers) for at, rows in connected.items()]
    return _joined(program, parts)


def _needed_rows(program: Program) -> list[Row]:
    """The rows that the output depends on, and constant units, whose values may be requested too."""
    needed = {*program.logits, *(row.to for row in program.rows if not row.sum.terms)}
    for lookup in program.lookups:
        needed |= {*lookup.values, *program.indexes[lookup.index].places}
        needed |= {place for item in program.questions[lookup.question].sums for place in item.terms}
    kept = []
    for row in reversed(program.rows):
        if row.to in needed:
            needed |= set(row.sum.terms)
            kept.append(row)
    return kept[::-1]


def _inputs(rows: Sequence[Row]) -> set[int]:
    made = {row.to for row in rows}
    return {place for row in rows for place in row.sum.terms if place not in made}


@dataclass
class _Part:
    """A block that may still be merged into another one."""

    stage: int
    inputs: set[int]
    rows: list[Row]
    answers: bool


def _joined(program: Program, parts: Sequence[_Part]) -> list[Block]:
    """Merge blocks of a stage whose inputs are few, or a subset of another's; the block with the logits stays separate.

    Blocks whose inputs all have the same source (one block, one lookup, the token, or the position) are merged too:
    together they have no more different inputs than the source has values.
    """
    order = {row.to: k for k, row in enumerate(program.rows)}
    source: dict[int, object] = dict.fromkeys(program.embedding[0] if program.embedding else (), "token")
    source |= {place: "position" for *_, place in program.features}
    source |= {place: lookup for lookup in program.lookups for place in lookup.found}
    found: list[_Part] = []
    for stage in range(max((part.stage for part in parts), default=0) + 1):
        here: list[_Part] = []
        now = [part for part in parts if part.stage == stage]
        for part in sorted(now, key=lambda part: (part.answers, -len(part.inputs), order[part.rows[0].to])):
            sources = {source[place] for place in part.inputs}
            for other in () if part.answers else here:
                same = sources == {source[place] for place in other.inputs}
                if same or part.inputs <= other.inputs or len(part.inputs | other.inputs) <= LITTLE:
                    other.rows += part.rows
                    other.inputs |= part.inputs
                    break
            else:
                here.append(part)
        here.sort(key=lambda part: (part.answers, min(order[row.to] for row in part.rows)))
        source |= {row.to: len(found) + k for k, part in enumerate(here) for row in part.rows}
        found += here
    return [
        Block(
            part.stage,
            tuple(sorted(part.inputs)),
            tuple(sorted(part.rows, key=lambda row: order[row.to])),
            part.answers,
        )
        for part in found
    ]
