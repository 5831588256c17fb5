"""Embedding signals: the contents of the token and the position, as bits and registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.ir import Signal, Vocabulary, named, token, weighted_sum
from softmachine.ir.gadgets import (
    encode_register,
    fetch,
    is_register_zero,
    position_register,
    round_to_trit,
    subtract_power,
)
from softmachine.ir.ranges import integer
from softmachine.languages.turing import Action, Verdict
from softmachine.theorems.shared.turing_codec import InputSymbol, name_on_tape
from softmachine.theorems.turing.ternary.codec import (
    BlockBits,
    Marker,
    Meaning,
    OutputSymbol,
    SummaryCell,
    SummaryState,
    TernaryCodec,
)
from softmachine.transformer.head_view import HeadExplanation

MOVE_CODES = {"L": (-1, -1), "S": (1, -1), "R": (1, 1)}
"""The codes of moves in an emitted action."""


@dataclass(frozen=True)
class PositionRegisters:
    """Positions as registers, and attention by position.

    Args:
        here: i.
        previous: i - 1.
        sink: A bit: whether this is position 0, the attention sink of heads without a match.
        denoised: Whether the outputs of heads are rounded.
    """

    here: Signal
    previous: Signal
    sink: Signal
    denoised: bool

    @staticmethod
    def of_bits(bits: int, *, denoised: bool) -> PositionRegisters:
        """Create position registers of ``bits`` bits."""
        here = position_register(bits)
        sink = named("position 0", is_register_zero("position 0", here))
        return PositionRegisters(here, subtract_power("i - 1", here), sink, denoised)

    def round_output(self, name: str, found: Signal) -> Signal:
        """The output of a head: unchanged, or rounded."""
        return round_to_trit(name, found) if self.denoised else found

    def fetch(self, name: str, address: Signal, read: Signal, explains: HeadExplanation) -> Signal:
        """The value of ``read`` at the position in a register."""
        return self.round_output(name, fetch(name, address, self.here, read, explains=explains))

    def fetch_previous(self, name: str, read: Signal) -> Signal:
        """The value of ``read`` at the previous position."""
        return self.fetch(name, self.previous, read, "the token before")


class TokenRegisters:
    """Bits and registers looked up from the token.

    Args:
        codec: The codec, which defines the tokens.
    """

    def __init__(self, codec: TernaryCodec) -> None:
        self.codec = codec
        self.machine = codec.machine
        self.tapes = range(codec.machine.tapes)
        self.vocabulary: Vocabulary[Meaning] = Vocabulary(codec.meanings)
        states, symbols = codec.machine.states, codec.machine.symbols
        state_bits, symbol_bits = (max(len(names) - 1, 1).bit_length() for names in (states, symbols))
        self.state_code = {state: encode_register(number, state_bits) for number, state in enumerate(states)}
        self.symbol_code = {symbol: encode_register(number, symbol_bits) for number, symbol in enumerate(symbols)}
        self.start, self.blank = self.state_code[codec.machine.start], self.symbol_code[codec.machine.blank]

    def tape_name(self, what: str, tape: int) -> str:
        """A name with the number of the tape, if there is more than one."""
        return name_on_tape(self.machine, what, tape)

    def flag(self, name: str, *which: type | Marker) -> Signal:
        """A bit: whether the token is one of these, or of one of these types."""
        marks = [item for item in which if isinstance(item, Marker)]
        types = tuple(item for item in which if not isinstance(item, Marker))
        return self.vocabulary.bit(name, lambda meaning: meaning in marks or isinstance(meaning, types))

    def register(self, name: str, width: int, of: Callable[[Meaning], Sequence[int] | None]) -> Signal:
        """A vector of ±1 looked up from the token; zeros where ``of`` gives None."""
        none = (0,) * width
        return token(name, {key: tuple(of(meaning) or none) for key, meaning in self.codec.meanings.items()})

    @cached_property
    def is_step(self) -> Signal:
        """A bit: whether the token is a step."""
        return self.flag("step", Action)

    @cached_property
    def state(self) -> Signal:
        """The state after a step, and the start state at the beginning of the run."""

        def of(meaning: Meaning) -> Sequence[int] | None:
            if isinstance(meaning, Action):
                return self.state_code[meaning.state]
            return self.start if meaning is Marker.BEGIN else None

        return self.register("state after the step", len(self.start), of)

    @cached_property
    def summarised_state(self) -> Signal:
        """The state in a summary."""

        def of(meaning: Meaning) -> Sequence[int] | None:
            return self.state_code[meaning.state] if isinstance(meaning, SummaryState) else None

        return self.register("summary state", len(self.start), of)

    def symbol(self, tape: int) -> Signal:
        """The symbol in the cell after this token; at position 0 the blank, for cells never written."""

        def of(meaning: Meaning) -> Sequence[int] | None:
            match meaning:
                case Action():
                    return self.symbol_code[meaning.write[tape]]
                case SummaryCell():
                    return self.symbol_code[meaning.symbols[tape]]
                case InputSymbol() if tape == 0:
                    return self.symbol_code[meaning.symbol]
                case Marker.INPUT | Marker.SUMMARY:
                    return self.blank
            return None

        return self.register(self.tape_name("symbol", tape), len(self.blank), of)

    def moves(self, tape: int, direction: str) -> Signal:
        """A bit: whether the head moves this way."""
        name = self.tape_name(f"move {direction}", tape)
        return self.vocabulary.bit(name, lambda m: isinstance(m, Action) and m.move[tape] == direction)

    def head_here(self, tape: int) -> Signal:
        """A bit: whether, in a summary, the head is on this cell."""
        return self.vocabulary.bit(
            self.tape_name("head on", tape), lambda m: isinstance(m, SummaryCell) and m.heads[tape]
        )

    @cached_property
    def block_bits(self) -> Signal:
        """One bit of each head's cell, as ±1, at the tokens of a position block."""
        return self.register("spelled", len(self.tapes), lambda m: m.signs if isinstance(m, BlockBits) else None)

    @cached_property
    def start_cell(self) -> Signal:
        """The register 0 at the token that begins the run: every head's cell."""
        bits = self.codec.bits
        return self.register("start cell", bits, lambda m: encode_register(0, bits) if m is Marker.BEGIN else None)

    def determines_cell(self, tape: int) -> Signal:
        """A bit: whether the token determines the content of a cell of the tape."""
        return self.flag(self.tape_name("writes", tape), Action, SummaryCell, *([InputSymbol] if tape == 0 else []))

    @cached_property
    def lists_cells(self) -> Signal:
        """A bit: whether the token is followed by consecutive cells: in the input, the output, and summaries."""
        return self.flag(
            "counts", Marker.INPUT, InputSymbol, Verdict, OutputSymbol, Marker.LEFT, SummaryState, SummaryCell
        )

    def action_code(self, action: Action) -> tuple[int, ...]:
        """Return the code of an action."""
        writes = (sign for symbol in action.write for sign in self.symbol_code[symbol])
        moves = (sign for move in action.move for sign in MOVE_CODES[move])
        return (*self.state_code[action.state], *writes, *moves)

    def cell_code(self, cell: SummaryCell) -> tuple[int, ...]:
        """Return the code of a column of a summary."""
        columns = zip(cell.symbols, cell.heads, strict=True)
        return tuple(sign for symbol, here in columns for sign in (*self.symbol_code[symbol], 2 * here - 1))


def agreement_logit(signal: Signal, signs: Sequence[int]) -> Signal:
    """The dot product with a vector of ±1: the logit of a token with this code."""
    return weighted_sum([(sign, signal[k]) for k, sign in enumerate(signs)], 0, integer(-len(signs), len(signs)))
