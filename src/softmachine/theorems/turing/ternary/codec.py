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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from softmachine.ir.domain import Domain
from softmachine.languages.turing import (
    Action,
    Configuration,
    TapeContents,
    TapeConvention,
    TuringMachine,
    Verdict,
    next_action,
)
from softmachine.support.errors import ConstructionError
from softmachine.theorems.codec import Prompt, SegmentedCodec, Word
from softmachine.theorems.shared.turing_codec import (
    MAX_VOCABULARY,
    InputSymbol,
    TuringOutcome,
    TuringRunCodec,
    action_tokens,
    column_tokens,
    input_tokens,
    parse_steps,
    verdict_tokens,
)

MIN_BITS = 4
MAX_BITS = 24


class Marker(StrEnum):
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
class BlockBits:
    """One bit of the cell that each head is on."""

    bits: tuple[int, ...]

    @property
    def signs(self) -> tuple[int, ...]:
        """The bits as ±1."""
        return tuple(2 * bit - 1 for bit in self.bits)


@dataclass(frozen=True)
class OutputSymbol:
    """A cell of the first tape, in the output."""

    symbol: str


@dataclass(frozen=True)
class SummaryState:
    """The state, in a summary."""

    state: str


@dataclass(frozen=True)
class SummaryCell:
    """A cell of every tape, in a summary: its symbols, and which heads are on it."""

    symbols: tuple[str, ...]
    heads: tuple[bool, ...]


Meaning = Marker | InputSymbol | Action | BlockBits | Verdict | OutputSymbol | SummaryState | SummaryCell


class OutputEnding(StrEnum):
    """Where the printed output ends."""

    CELLS = "cells"
    """At the last written cell, so that symbols after blanks are included."""
    WORD = "word"
    """At the first blank, as in the paper: for machines with a left end whose output has no blanks."""


@dataclass(frozen=True)
class TernaryCodec(TuringRunCodec[Meaning], SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, in the tokens of the ternary constructions.

    Args:
        source: The machine.
        bits: r; a context has at most 2^r tokens.
        writes_summaries: Whether the decoder writes summaries and resumes from them.
        ending: Where the printed output ends.
    """

    bits: int = MIN_BITS
    writes_summaries: bool = False
    ending: OutputEnding = OutputEnding.CELLS

    def __post_init__(self) -> None:
        if not MIN_BITS <= self.bits <= MAX_BITS:
            raise ConstructionError(
                f"contexts of 2^{self.bits} positions are not supported",
                hint=f"choose 2^{MIN_BITS} to 2^{MAX_BITS} ({2**MAX_BITS:,})",
            )
        if self.ending is OutputEnding.WORD and self.two_way:
            raise ConstructionError("printing up to the first blank requires a tape with a left end")
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MAX_VOCABULARY:
            raise ConstructionError(f"{machine.name!r} has too many tapes or symbols: each possible column is a token")

    @property
    def two_way(self) -> bool:
        """Whether the tapes extend to the left of cell 0."""
        return self.machine.tape is TapeConvention.TWO_WAY

    @property
    def context(self) -> int:
        """The maximal number of tokens of a context: 2^r."""
        return 1 << self.bits

    def token_meanings(self) -> Iterator[tuple[str, Meaning]]:
        """Yield markers, verdicts, actions, input symbols, bits of cells, output symbols, and tokens of summaries."""
        machine = self.machine
        marks = [Marker.INPUT, Marker.BEGIN, Marker.POSITION, Marker.END_POSITION, Marker.END]
        marks += [Marker.LEFT] if self.two_way else []
        marks += [Marker.SUMMARY, Marker.END_SUMMARY] if self.writes_summaries else []
        yield from ((str(mark), mark) for mark in marks)
        yield from verdict_tokens(self.verdicts)
        yield from action_tokens(self.actions)
        yield from input_tokens(machine)
        yield from ((f"[{''.join(map(str, bits))}]", BlockBits(bits)) for bits in product((0, 1), repeat=machine.tapes))
        yield from ((f"={symbol}", OutputSymbol(symbol)) for symbol in machine.symbols)
        if self.writes_summaries:
            yield from ((f"<{state}>", SummaryState(state)) for state in machine.states)
            yield from ((text, SummaryCell(symbols, heads)) for text, symbols, heads in column_tokens(machine, "*"))

    def prompt(self, word: Word) -> Prompt:
        middle = (self.tokens[InputSymbol(symbol)] for symbol in self.machine.word(word))
        return Prompt((self.tokens[Marker.INPUT], *middle, self.tokens[Marker.BEGIN]))

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences with at most one end of the prompt, and at most one verdict.

        With summaries, at most one verdict or SUMM after position 0; without, at most one LEFT.
        """
        left = (self.tokens_of(Marker.LEFT),) if self.two_way and not self.writes_summaries else ()
        return Domain(
            self.tokens_of(Marker.INPUT, Marker.SUMMARY),
            frozenset(self.meanings) - self.tokens_of(Marker.INPUT, Marker.END),
            unique=(self.tokens_of(Marker.BEGIN, Marker.END_SUMMARY), *left),
            unique_later=(self.tokens_of(Verdict, Marker.SUMMARY),),
        )

    def is_stop_token(self, token: str) -> bool:
        return self.meanings[token] is Marker.END

    def max_tokens(self, max_steps: int) -> int:
        """Return the maximal number of tokens of ``max_steps`` steps and the blocks between them, without summaries."""
        return max_steps + max(max_steps - 1, 0) // self.bits * (self.bits + 2)

    def ends_segment(self, token: str) -> bool:
        return self.meanings[token] is Marker.END_SUMMARY

    def begins_segment(self, token: str) -> bool:
        return self.meanings[token] is Marker.SUMMARY

    def expected_segments(self, word: Word, max_steps: int) -> Iterator[tuple[Prompt, tuple[str, ...]]]:
        for segment in iterate_segments(self, word, max_steps):
            prompt, output = (tuple(self.tokens[item] for item in part) for part in (segment.prompt, segment.output))
            yield Prompt(prompt), output

    def fits_in(self, word: Word, length: int, max_steps: int) -> bool:
        return super().fits_in(word, length, max_steps if self.writes_summaries else min(max_steps, length))

    def parse_output(self, word: Word, emitted: Sequence[str]) -> TuringOutcome:
        """Parse the tokens of a run (those after the prompt); the output is the printed one, if complete."""
        ended = len(emitted) > 0 and self.is_stop_token(emitted[-1])
        return self.build_outcome(
            word, *parse_steps(emitted, self.meanings), self._parse_printed(emitted) if ended else None
        )

    def _parse_printed(self, emitted: Sequence[str]) -> Sequence[str]:
        """Return the printed output, from left to right, without leading and trailing blanks."""
        last = emitted[-min(len(emitted), 2 * self.context) :]  # the printed output fits into one context
        meanings = [self.meanings[token] for token in last]
        start = max((k for k, meaning in enumerate(meanings) if isinstance(meaning, Verdict)), default=0)
        end = meanings.index(Marker.LEFT, start) if Marker.LEFT in meanings[start:] else len(meanings)
        right, left = (
            [meaning.symbol for meaning in part if isinstance(meaning, OutputSymbol)]
            for part in (meanings[start:end], meanings[end:])
        )
        return TapeContents.from_cells(dict(enumerate([*reversed(left), *right])), self.machine.blank).symbols


@dataclass(frozen=True)
class TernarySegment:
    """One context: the prompt, and the output of the decoder."""

    prompt: tuple[Meaning, ...]
    output: tuple[Meaning, ...]


def iterate_segments(codec: TernaryCodec, word: Word, max_steps: int) -> Iterator[TernarySegment]:
    """Yield the contexts of a run, up to a step limit; the last one ends with END if the machine stops before it.

    Uses the reference interpreter, and is written for clarity: it defines the correct output of the decoder.
    """
    machine, symbols = codec.machine, codec.machine.word(word)
    now = Configuration.initial(machine, symbols)
    used = [(0, len(symbols))] + [(0, 0)] * (machine.tapes - 1)  # the interval of used cells of each tape
    prompt: tuple[Meaning, ...] = (Marker.INPUT, *map(InputSymbol, symbols), Marker.BEGIN)
    output: list[Meaning] = []
    since = 0  # steps since the prompt or the last block
    while isinstance(action := next_action(machine, now), Action):
        if since and codec.writes_summaries and len(output) >= 3 * (len(prompt) - 1):
            low = min([low for low, _ in used] + now.heads)
            high = max([high for _, high in used] + [head + 1 for head in now.heads])
            summary = tuple(_summary_tokens(codec, now, low, high))
            yield TernarySegment(prompt, (*output, *summary))
            prompt, output, since, used = summary, [], 0, [(low, high)] * machine.tapes
        if since == codec.bits:
            output += _block_tokens(codec, now)
            since = 0
        if now.steps >= max_steps:
            yield TernarySegment(prompt, tuple(output))
            return
        used = [(min(low, head), max(high, head + 1)) for (low, high), head in zip(used, now.heads, strict=True)]
        now.apply(action)
        output.append(action)
        since += 1
    yield TernarySegment(
        prompt, (*output, machine.verdict(now.state), *_output_tokens(codec, now, *used[0]), Marker.END)
    )


def _block_tokens(codec: TernaryCodec, now: Configuration) -> Iterator[Meaning]:
    yield Marker.POSITION
    for bit in range(codec.bits):
        yield BlockBits(tuple(head >> bit & 1 for head in now.heads))
    yield Marker.END_POSITION


def _output_tokens(codec: TernaryCodec, now: Configuration, low: int, high: int) -> Iterator[Meaning]:
    for cell in range(high):
        symbol = now.cells[0].get(cell, now.blank)
        if codec.ending is OutputEnding.WORD and symbol == now.blank:
            break
        yield OutputSymbol(symbol)
    if codec.two_way:
        yield Marker.LEFT
        yield from (OutputSymbol(now.cells[0].get(cell, now.blank)) for cell in range(-1, low - 1, -1))


def _summary_tokens(codec: TernaryCodec, now: Configuration, low: int, high: int) -> Iterator[Meaning]:
    def column(cell: int) -> SummaryCell:
        return SummaryCell(
            tuple(cells.get(cell, now.blank) for cells in now.cells), tuple(head == cell for head in now.heads)
        )

    yield Marker.SUMMARY
    yield SummaryState(now.state)
    yield from map(column, range(high))
    if codec.two_way:
        yield Marker.LEFT
        yield from map(column, range(-1, low - 1, -1))
    yield Marker.END_SUMMARY
