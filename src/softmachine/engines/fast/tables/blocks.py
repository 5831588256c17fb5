"""Rows in blocks: each a function of a few numbers that were there before, so that what it makes of them is remembered.

Between the heads of one layer and those of the next there are rows that read one another. Those that are connected in
this way are a block; what it reads are places of other stages. A block that reads nothing but what another one reads is
part of that one, and blocks that read little are one. No block reads another one of its stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from softmachine.engines.fast.tables.program import Program, Row

LITTLE = 8
"""Blocks that read so many numbers together are one: looking an answer up takes as long as computing some."""


@dataclass(frozen=True)
class Block:
    """Rows that are computed together.

    Args:
        stage: After how many layers with heads.
        inputs: The places that they read and do not compute.
        rows: The rows, in their order.
        answers: Whether the logits are among them.
    """

    stage: int
    inputs: tuple[int, ...]
    rows: tuple[Row, ...]
    answers: bool


def blocks_of(program: Program) -> list[Block]:
    """The blocks of a program, by stages."""
    kept = _needed(program)
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


def _needed(program: Program) -> list[Row]:
    """The rows that something depends on, and constant units, which may be asked for all the same."""
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
    """A block that may still become part of another one."""

    stage: int
    inputs: set[int]
    rows: list[Row]
    answers: bool


def _joined(program: Program, parts: Sequence[_Part]) -> list[Block]:
    """Blocks, of which none reads only what another of its stage reads, or little; but for the one with the logits.

    Nor are there two that read one and the same block, or what was looked up together, or the token, or the position:
    taken together, they have no more different inputs than that has values.
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
