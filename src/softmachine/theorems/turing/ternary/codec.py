"""Codec of the ternary constructions: one action per step, and blocks with the heads' positions in binary.

A run is ``INP`` word ``EINP``, then actions. Every r-th action since the prompt or the last such block is followed by
``POS``, r tokens with one bit of each head's cell each, least significant first, and ``EPOS``. If no rule applies, a
verdict follows, then the first tape from cell 0 to the rightmost written cell, ``LEFT`` and the cells -1, -2, … if the
tape is two-way, and ``END``.

A summarising decoder also writes a summary after an action, as soon as the run is three times as long as the position P
of the prompt's end: ``SUMM``, the state, every cell in use from 0 to the right (all tapes in one token, with the heads
on it), ``LEFT`` and the cells to the left, ``ESUMM``. It is the prompt of the next segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from softmachine.languages.turing import Action, Configuration, Contents, Tape, TuringMachine, Verdict, step
from softmachine.support.errors import ConstructionError
from softmachine.theorems.codec import Prompt, SegmentedCodec, Word
from softmachine.theorems.shared.turing_codec import (
    MOST_TOKENS,
    Given,
    RunCodec,
    TuringOutcome,
    action_tokens,
    column_tokens,
    input_tokens,
    steps_of,
    verdict_tokens,
)

LEAST_BITS = 4
MOST_BITS = 24


class Mark(StrEnum):
    """Marker tokens."""

    INPUT = "INP"
    BEGIN = "EINP"
    POSITION = "POS"
    END_POSITION = "EPOS"
    LEFT = "LEFT"
    END = "END"
    SUMMARY = "SUMM"
    END_SUMMARY = "ESUMM"


@dataclass(frozen=True)
class Bits:
    """One bit of the cell that each head is on."""

    bits: tuple[int, ...]

    @property
    def signs(self) -> tuple[int, ...]:
        """The bits as ±1."""
        return tuple(2 * bit - 1 for bit in self.bits)


@dataclass(frozen=True)
class Output:
    """A cell of the first tape, in the output."""

    symbol: str


@dataclass(frozen=True)
class State:
    """The state, in a summary."""

    state: str


@dataclass(frozen=True)
class Cell:
    """A cell of every tape, in a summary: its symbols, and which heads are on it."""

    symbols: tuple[str, ...]
    heads: tuple[bool, ...]


Meaning = Mark | Given | Action | Bits | Verdict | Output | State | Cell


class Ending(StrEnum):
    """Where the printed output ends."""

    CELLS = "cells"
    """At the last written cell, so that symbols after blanks are included."""
    WORD = "word"
    """At the first blank, as in the paper: for machines with a left end whose output has no blanks."""


@dataclass(frozen=True)
class TernaryCodec(RunCodec[Meaning], SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, in the tokens of the ternary constructions.

    Args:
        source: The machine.
        bits: r; a context has at most 2^r tokens.
        summarises: Whether the decoder writes summaries and resumes from them.
        ending: Where the printed output ends.
    """

    bits: int = LEAST_BITS
    summarises: bool = False
    ending: Ending = Ending.CELLS

    def __post_init__(self) -> None:
        if not LEAST_BITS <= self.bits <= MOST_BITS:
            raise ConstructionError(
                f"contexts of 2^{self.bits} positions are not supported",
                hint=f"choose 2^{LEAST_BITS} to 2^{MOST_BITS} ({2**MOST_BITS:,})",
            )
        if self.ending is Ending.WORD and self.two_way:
            raise ConstructionError("printing up to the first blank requires a tape with a left end")
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MOST_TOKENS:
            raise ConstructionError(f"{machine.name!r} has too many tapes or symbols: each possible column is a token")

    @property
    def two_way(self) -> bool:
        """Whether the tapes extend to the left of cell 0."""
        return self.machine.tape is Tape.TWO_WAY

    @property
    def context(self) -> int:
        """The maximal number of tokens of a context: 2^r."""
        return 1 << self.bits

    def spelled(self) -> Iterator[tuple[str, Meaning]]:
        """Yield markers, verdicts, actions, input symbols, bits of cells, output symbols, and tokens of summaries."""
        machine = self.machine
        marks = [Mark.INPUT, Mark.BEGIN, Mark.POSITION, Mark.END_POSITION, Mark.END]
        marks += [Mark.LEFT] if self.two_way else []
        marks += [Mark.SUMMARY, Mark.END_SUMMARY] if self.summarises else []
        yield from ((str(mark), mark) for mark in marks)
        yield from verdict_tokens(self.verdicts)
        yield from action_tokens(self.actions)
        yield from input_tokens(machine)
        yield from ((f"[{''.join(map(str, bits))}]", Bits(bits)) for bits in product((0, 1), repeat=machine.tapes))
        yield from ((f"={symbol}", Output(symbol)) for symbol in machine.symbols)
        if self.summarises:
            yield from ((f"<{state}>", State(state)) for state in machine.states)
            yield from ((text, Cell(symbols, heads)) for text, symbols, heads in column_tokens(machine, "*"))

    def prompt(self, word: Word) -> Prompt:
        middle = (self.tokens[Given(symbol)] for symbol in self.machine.word(word))
        return Prompt((self.tokens[Mark.INPUT], *middle, self.tokens[Mark.BEGIN]))

    def stops(self, token: str) -> bool:
        return self.meanings[token] is Mark.END

    def token_limit(self, max_steps: int) -> int:
        """Return the maximal number of tokens of ``max_steps`` steps and the blocks between them, without summaries."""
        return max_steps + max(max_steps - 1, 0) // self.bits * (self.bits + 2)

    def segment_ends(self, token: str) -> bool:
        return self.meanings[token] is Mark.END_SUMMARY

    def segment_begins(self, token: str) -> bool:
        return self.meanings[token] is Mark.SUMMARY

    def expected_segments(self, word: Word, max_steps: int) -> Iterator[tuple[Prompt, tuple[str, ...]]]:
        for segment in segments(self, word, max_steps):
            prompt, output = (tuple(self.tokens[item] for item in part) for part in (segment.prompt, segment.said))
            yield Prompt(prompt), output

    def fits(self, word: Word, length: int, max_steps: int) -> bool:
        return super().fits(word, length, max_steps if self.summarises else min(max_steps, length))

    def outcome(self, word: Word, said: Sequence[str]) -> TuringOutcome:
        """Parse the tokens of a run (those after the prompt); the output is the printed one, if complete."""
        ended = len(said) > 0 and self.stops(said[-1])
        return self.after(word, *steps_of(said, self.meanings), self._printed(said) if ended else None)

    def _printed(self, said: Sequence[str]) -> Sequence[str]:
        """Return the printed output, from left to right, without leading and trailing blanks."""
        last = said[-min(len(said), 2 * self.context) :]  # the printed output fits into one context
        meanings = [self.meanings[token] for token in last]
        start = max((k for k, meaning in enumerate(meanings) if isinstance(meaning, Verdict)), default=0)
        end = meanings.index(Mark.LEFT, start) if Mark.LEFT in meanings[start:] else len(meanings)
        right, left = (
            [meaning.symbol for meaning in part if isinstance(meaning, Output)]
            for part in (meanings[start:end], meanings[end:])
        )
        return Contents.of(dict(enumerate([*reversed(left), *right])), self.machine.blank).symbols


@dataclass(frozen=True)
class Segment:
    """One context: the prompt, and the output of the decoder."""

    prompt: tuple[Meaning, ...]
    said: tuple[Meaning, ...]


def segments(codec: TernaryCodec, word: Word, max_steps: int) -> Iterator[Segment]:
    """Yield the contexts of a run, up to a step limit; the last one ends with END if the machine stops before it.

    Uses the reference interpreter, and is written for clarity: it defines the correct output of the decoder.
    """
    machine, symbols = codec.machine, codec.machine.word(word)
    now = Configuration.initial(machine, symbols)
    used = [(0, len(symbols))] + [(0, 0)] * (machine.tapes - 1)  # the interval of used cells of each tape
    prompt: tuple[Meaning, ...] = (Mark.INPUT, *map(Given, symbols), Mark.BEGIN)
    output: list[Meaning] = []
    since = 0  # steps since the prompt or the last block
    while isinstance(action := step(machine, now), Action):
        if since and codec.summarises and len(output) >= 3 * (len(prompt) - 1):
            low = min([low for low, _ in used] + now.heads)
            high = max([high for _, high in used] + [head + 1 for head in now.heads])
            summary = tuple(_summary(codec, now, low, high))
            yield Segment(prompt, (*output, *summary))
            prompt, output, since, used = summary, [], 0, [(low, high)] * machine.tapes
        if since == codec.bits:
            output += _positions(codec, now)
            since = 0
        if now.steps >= max_steps:
            yield Segment(prompt, tuple(output))
            return
        used = [(min(low, head), max(high, head + 1)) for (low, high), head in zip(used, now.heads, strict=True)]
        now.apply(action)
        output.append(action)
        since += 1
    yield Segment(prompt, (*output, machine.verdict(now.state), *_output(codec, now, *used[0]), Mark.END))


def _positions(codec: TernaryCodec, now: Configuration) -> Iterator[Meaning]:
    yield Mark.POSITION
    for bit in range(codec.bits):
        yield Bits(tuple(head >> bit & 1 for head in now.heads))
    yield Mark.END_POSITION


def _output(codec: TernaryCodec, now: Configuration, low: int, high: int) -> Iterator[Meaning]:
    for cell in range(high):
        symbol = now.cells[0].get(cell, now.blank)
        if codec.ending is Ending.WORD and symbol == now.blank:
            break
        yield Output(symbol)
    if codec.two_way:
        yield Mark.LEFT
        yield from (Output(now.cells[0].get(cell, now.blank)) for cell in range(-1, low - 1, -1))


def _summary(codec: TernaryCodec, now: Configuration, low: int, high: int) -> Iterator[Meaning]:
    def column(cell: int) -> Cell:
        return Cell(tuple(cells.get(cell, now.blank) for cells in now.cells), tuple(head == cell for head in now.heads))

    yield Mark.SUMMARY
    yield State(now.state)
    yield from map(column, range(high))
    if codec.two_way:
        yield Mark.LEFT
        yield from map(column, range(-1, low - 1, -1))
    yield Mark.END_SUMMARY
