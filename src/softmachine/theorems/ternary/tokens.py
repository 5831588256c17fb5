"""The tokens of the ternary constructions: a step is an action, and now and then the heads' positions are spelled.

A run is ``INP`` word ``EINP``, then actions. After every r-th action since the prompt or the last such block comes
``POS``, r tokens that give a bit of each head's cell, the least significant first, and ``EPOS``. Where no rule applies,
a verdict follows, then the first tape from cell 0 to the right as far as anything was written, ``LEFT`` and the cells
-1, -2, … if the tape goes on there, and ``END``.

A summarising decoder also writes, after an action, as soon as the run is three times as long as the position P of the
prompt's end: ``SUMM``, the state, every cell in use from 0 to the right (all tapes in one token, and which heads are
there), ``LEFT`` and the cells to the left, ``ESUMM``. That is the prompt of the next segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import ClassVar

from softmachine.codec import Prompt, SegmentedCodec, Word
from softmachine.errors import ConstructionError
from softmachine.languages.turing import Action, Tape, TuringMachine, Verdict
from softmachine.theorems.shared.turing_tokens import (
    MOST_TOKENS,
    VERDICTS,
    Given,
    OfMachine,
    TuringOutcome,
    action_text,
    fresh,
    outcome_of,
)

LEAST_BITS = 4
MOST_BITS = 24


class Mark(StrEnum):
    """Tokens that say what comes next."""

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
    """A cell of the first tape, at the end."""

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
    """Up to where the output is printed."""

    CELLS = "cells"
    """As far as anything was written: nothing is lost if blanks are in between."""
    WORD = "word"
    """Up to the first blank, as in the paper: for machines with a left end that leave a word without blanks."""


@dataclass(frozen=True)
class TernaryCodec(OfMachine, SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, in the tokens of the ternary constructions.

    Args:
        source: The machine.
        bits: r; a context has at most 2^r tokens.
        summarises: Whether the decoder writes summaries and goes on from them.
        ending: Up to where the output is printed.
    """

    bits: int = LEAST_BITS
    summarises: bool = False
    ending: Ending = Ending.CELLS

    view: ClassVar[str] = "tape"
    announces: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not LEAST_BITS <= self.bits <= MOST_BITS:
            raise ConstructionError(
                f"positions of {self.bits} bits are not possible", hint=f"between {LEAST_BITS} and {MOST_BITS} are"
            )
        if self.ending is Ending.WORD and self.two_way:
            raise ConstructionError("a tape without a left end has no first cell to print up to the first blank")
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MOST_TOKENS:
            raise ConstructionError(
                f"{machine.name!r} has too many tapes or symbols: a token for every column is needed"
            )

    @property
    def two_way(self) -> bool:
        """Whether the tapes go on to the left of cell 0."""
        return self.machine.tape is Tape.TWO_WAY

    @property
    def context(self) -> int:
        """The most tokens of a context: positions have r bits."""
        return 1 << self.bits

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """All tokens, and what they mean. Only actions that some rule takes are tokens."""
        machine = self.machine
        marks = [Mark.INPUT, Mark.BEGIN, Mark.POSITION, Mark.END_POSITION, Mark.END]
        marks += [Mark.LEFT] if self.two_way else []
        marks += [Mark.SUMMARY, Mark.END_SUMMARY] if self.summarises else []
        tokens: dict[str, Meaning] = {str(mark): mark for mark in marks}
        tokens |= {VERDICTS[verdict]: verdict for verdict in self.verdicts}
        for action in self.actions:
            tokens[fresh(action_text(action), tokens)] = action
        for symbol in machine.alphabet:
            tokens[fresh(symbol, tokens)] = Given(symbol)
        for bits in product((0, 1), repeat=machine.tapes):
            tokens[fresh(f"[{''.join(map(str, bits))}]", tokens)] = Bits(bits)
        for symbol in machine.symbols:
            tokens[fresh(f"={symbol}", tokens)] = Output(symbol)
        if self.summarises:
            for state in machine.states:
                tokens[fresh(f"<{state}>", tokens)] = State(state)
            for symbols in product(machine.symbols, repeat=machine.tapes):
                for heads in product((False, True), repeat=machine.tapes):
                    shown = " ".join(f"{s}{'*' * here}" for s, here in zip(symbols, heads, strict=True))
                    tokens[fresh(f"|{shown}|", tokens)] = Cell(symbols, heads)
        return tokens

    @cached_property
    def tokens(self) -> dict[Meaning, str]:
        """The token of each meaning."""
        return {meaning: token for token, meaning in self.meanings.items()}

    def prompt(self, word: Word) -> Prompt:
        """INP, the input's symbols, EINP."""
        symbols = self.machine.word(word)
        middle = (self.tokens[Given(symbol)] for symbol in symbols)
        return Prompt((self.tokens[Mark.INPUT], *middle, self.tokens[Mark.BEGIN]))

    def stops(self, token: str) -> bool:
        """Whether the token ends the run."""
        return self.meanings[token] is Mark.END

    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the machine."""
        return isinstance(self.meanings[token], Action)

    def token_limit(self, max_steps: int) -> int:
        """So many tokens have so many steps at most, with the positions between them; summaries not counted."""
        return max_steps + max(max_steps - 1, 0) // self.bits * (self.bits + 2)

    def segment_ends(self, token: str) -> bool:
        """Whether the run goes on from a summary that ends with this token."""
        return self.meanings[token] is Mark.END_SUMMARY

    def segment_begins(self, token: str) -> bool:
        """Whether a summary begins with this token."""
        return self.meanings[token] is Mark.SUMMARY

    def expected_segments(self, word: Word, max_steps: int) -> Iterator[tuple[Prompt, tuple[str, ...]]]:
        """The same, segment by segment."""
        from softmachine.theorems.ternary.trace import segments

        for segment in segments(self, word, max_steps):
            prompt, said = (tuple(self.tokens[item] for item in part) for part in (segment.prompt, segment.said))
            yield Prompt(prompt), said

    def longest(self, word: Word, max_steps: int, *, to_the_end: bool) -> int | None:
        """The length for which so many steps fit; None if the run must end by then and does not.

        With more bits, positions are spelled less often but take longer, so that every number of bits has to be tried.
        """
        for bits in range(self.bits, MOST_BITS + 1):
            longest, last = 0, ""
            for prompt, said in replace(self, bits=bits).expected_segments(word, max_steps):
                longest, last = max(longest, len(prompt.tokens) + len(said)), said[-1] if said else ""
            if to_the_end and last != str(Mark.END):
                return None
            if longest <= 1 << bits:
                return max(longest, (1 << bits - 1) + 1 if bits > LEAST_BITS else 0)
        return None

    def read(self, word: Word, said: Sequence[str]) -> TuringOutcome:
        """What a run's tokens (those after the prompt) say; the output is what was printed, if it was."""
        ended = len(said) > 0 and self.stops(said[-1])
        return outcome_of(self.machine, word, said, self.meanings, self._printed(said) if ended else None)

    def _printed(self, said: Sequence[str]) -> tuple[str, ...]:
        """The output as it was printed, from left to right, without the blanks at its ends."""
        last = said[-min(len(said), 2 * self.context) :]  # what is printed fits into a context
        meanings = [self.meanings[token] for token in last]
        start = max((k for k, meaning in enumerate(meanings) if isinstance(meaning, Verdict)), default=0)
        end = meanings.index(Mark.LEFT, start) if Mark.LEFT in meanings[start:] else len(meanings)
        right, left = (
            [meaning.symbol for meaning in part if isinstance(meaning, Output)]
            for part in (meanings[start:end], meanings[end:])
        )
        return _stripped([*reversed(left), *right], self.machine.blank)


def _stripped(symbols: list[str], blank: str) -> tuple[str, ...]:
    """Symbols without the blanks at both ends."""
    written = [k for k, symbol in enumerate(symbols) if symbol != blank]
    return tuple(symbols[written[0] : written[-1] + 1]) if written else ()
