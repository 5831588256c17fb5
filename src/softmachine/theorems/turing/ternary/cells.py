"""Signals of cells: counted cells (step 1), cells of the heads (step 3), and contents of cells (step 4)."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, constant, named, stack, total
from softmachine.ir.gadgets import broadcast, difference, kept, overwritten, search_step, step_of
from softmachine.ir.ranges import SIGN
from softmachine.languages.turing import Action, Verdict
from softmachine.theorems.turing.ternary.codec import Mark
from softmachine.theorems.turing.ternary.embedding import Positions, Words


def beginnings(words: Words) -> list[Signal]:
    """Flags of the tokens where counting of cells starts, in increasing priority: input, output, cells left of 0."""
    ranked = [words.flag("INP", Mark.INPUT), words.flag("verdict", Verdict)]
    return [*ranked, words.flag("LEFT", Mark.LEFT)] if words.codec.two_way else ranked


def count_cells(words: Words, positions: Positions, beginnings: list[Signal]) -> tuple[Signal, Signal]:
    """The next cell where tokens list cells in order, else empty; and whether it is to the left of cell 0.

    It is the number x of tokens since the counting started; to the left of cell 0, the cell -1 - x.
    """
    name, here = "counted from", positions.here
    read = stack(here, words.flag("LEFT", Mark.LEFT)) if words.codec.two_way else here
    found = positions.retrieved(name, broadcast(name, beginnings, read))
    if not words.codec.two_way:
        return difference("counted", here, found, words.counts), constant(0)
    left = named("to the left", found[-1])
    return difference("counted", here, found[:-1], words.counts, left), left


def follow_moves(words: Words, positions: Positions, known: list[Signal]) -> tuple[list[Signal], list[Signal]]:
    """The heads' cells after every token, and the cells that tokens wrote to: the head's cell after the previous token.

    After t rounds, the t-th token after the prompt or a block has its head's cell. At most r steps and one POS follow.
    """
    moving = words.flag("moves", Action, Mark.POSITION)
    right, left = ([words.move(k, letter) for k in words.tapes] for letter in "RL")
    head = before = known
    for _ in range(words.codec.bits + 1):
        before = [positions.fetched(words.name("head before", k), positions.previous, head[k]) for k in words.tapes]
        after = []
        for k in words.tapes:
            name = words.name("head", k)
            stepped = step_of(name, before[k], right[k], left[k], wraps=words.codec.two_way)
            moved = total(kept(name, before[k], moving), stepped, kind=SIGN)
            after.append(overwritten(name, head[k], moving, moved, after=before[k]))
        head = after
    names = [words.name("cell", k) for k in words.tapes]
    return head, [named(name, kept(name, before[k], words.writes(k))) for k, name in enumerate(names)]


def last_writes(words: Words, positions: Positions, head: list[Signal], cell: list[Signal]) -> list[Signal]:
    """For each tape the position of the latest token that wrote to the head's cell, 0 if there is none.

    Binary search: whether there is one whose position begins with the bits found so far and then a 1.
    """
    sink = positions.sink
    theirs = [positions.here[bit] + sink for bit in range(words.codec.bits)]  # empty at position 0
    latest: list[list[Signal]] = [[] for _ in words.tapes]
    for bit in reversed(range(words.codec.bits)):
        for k in words.tapes:
            name = words.name(f"last write, bit {bit}", k)
            higher = search_step(name, head[k], cell[k], [constant(1), *latest[k]], theirs[bit:], sink)
            latest[k].insert(0, 2 * positions.retrieved(name, higher) - 1)
    return [stack(*parts) for parts in latest]


@dataclass(frozen=True)
class Read:
    """The content of a head's cell, or of the next cell to be listed.

    Args:
        symbol: The symbol.
        found: A bit: whether the cell was ever written.
    """

    symbol: Signal
    found: Signal


def read_symbols(words: Words, positions: Positions, latest: list[Signal]) -> list[Read]:
    """The symbols that the latest tokens wrote; if there is none, the blank of position 0."""
    values = [stack(words.symbol(k), 1 - positions.sink) for k in words.tapes]
    found = [positions.fetched(words.name("read", k), latest[k], values[k]) for k in words.tapes]
    return [Read(item[:-1], item[-1]) for item in found]
