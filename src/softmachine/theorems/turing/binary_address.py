"""Turing machines by binary addresses: three layers that float32 computes exactly, for third-party checkpoints.

Theorem. For every Turing machine M and every N there is a decoder with N positions that, prompted with <bos>, an input
and <run>, emits one token per step of M and then its verdict, up to N positions.

Layer 1 computes the mean of all moves, h/(i+1). Layer 2 attends to position |h| by the scores 2hj/(i+1) - j²/(i+1) and
reads its *bits*. Layer 3 compares addresses bit by bit: a token's key is the address of the cell it wrote, an input
symbol at position j wrote cell j-1, and the score is -2 for each bit that differs, plus j/N, so that the latest write
has the highest score. Every term is exactly 0 where bits agree. A token that writes nothing has score -1: if no write
matches, the head attends to the latest such token, whose value is the blank.

Needs: N; position features i, i², 1/(i+1), (i-1)/(i+1), i/N and the bits of i. Gaps: 1/(i+1), then 1/N. Precision:
layer 3 computes with multiples of 1/N up to about 2 log₂ N; layer 2 must distinguish products h² / (i+1) that differ by
1/(i+1), so float32 suffices for |h| < 1,800 (and so always for N ≤ 1,800), float64 for any h.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Program, Signal, Vocabulary, attend, constant, named, position, stack
from softmachine.ir.gadgets import gate, lookup, mean
from softmachine.ir.primitives import ScoreDecay
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.theorems.cost import Cost
from softmachine.theorems.shared.checkpoints import (
    LENGTH_MEANING,
    CheckpointCodec,
    Meaning,
    StartMarker,
    address_key,
    mismatch_query,
    name_symbol_under_head,
    next_token_logits,
    state_of,
    written_symbol,
)
from softmachine.theorems.shared.turing_codec import (
    TAPES,
    InputSymbol,
    RunMarker,
    by_tape_kind,
    move_signals,
    name_on_tape,
)
from softmachine.theorems.theorem import CheckpointSupport, Requirements, Theorem
from softmachine.transformer.features import RECIPROCAL, Bit, I, PredecessorShare


def signals(codec: CheckpointCodec) -> Program:
    """Build the decoder for the machine and the number of positions of the codec."""
    machine, tapes = codec.machine, range(codec.machine.tapes)
    tokens = Vocabulary(codec.meanings)

    # The contents of the token.
    start = tokens.bit("<bos>", lambda token: isinstance(token, StartMarker))
    given = tokens.bit("is input", lambda token: isinstance(token, InputSymbol))
    state = state_of(tokens, machine)
    wrote = [written_symbol(tokens, machine, k) for k in tapes]
    move = [move_signals(tokens, machine, k) for k in tapes]

    # Step 1. Layer 1: the heads' positions over i+1; and the cell that this token wrote, one move earlier.
    shares = mean("mean of moves", stack(*(part.value for part in move)))
    input_cell = gate("input cell/(i+1)", position(PredecessorShare()), blockers=~given)
    cell_share = [shares[k] - move[k].share + (input_cell if k == 0 else 0) for k in tapes]

    # Step 2. Layer 2: their addresses in bits.
    nonzero = ~start
    head = [_decode_address(codec, "head", k, shares[k], nonzero) for k in tapes]
    cell = [_decode_address(codec, "cell", k, cell_share[k], nonzero) for k in tapes]

    # Step 3. Layer 3: the symbols under the heads: the latest write to the cell, or a blank.
    symbol = []
    for k in tapes:
        silent = _is_not_write(tokens, machine, k)
        found = attend(
            name_on_tape(machine, "last write", k),
            query=stack(*mismatch_query(head[k].digits), constant(-1), constant(1)),
            key=stack(*address_key(cell[k].digits, silent), silent, position(I * Fraction(1, 1 << codec.address_bits))),
            value=wrote[k],
            gap=Fraction(1, 1 << codec.address_bits),
            single_key=True,
            decay=ScoreDecay.LINEAR,
            explains="the latest that wrote to this cell",
        )
        symbol.append(name_symbol_under_head(machine, k, found))

    # Step 4. The transition.
    return tokens.program(
        machine.name, next_token_logits(codec, state, symbol, [part.at_end for part in head]), Fraction(1)
    )


@dataclass(frozen=True)
class BinaryAddress:
    """The address of a cell in binary.

    Args:
        digits: The bits of its absolute value, and whether it is negative, if it can be.
        at_end: Whether it is 0.
    """

    digits: Signal
    at_end: Signal


def _decode_address(codec: CheckpointCodec, what: str, tape: int, share: Signal, nonzero: Signal) -> BinaryAddress:
    """Recover the address h from h/(i+1): the bits of position max(0, h), and for two-way tapes of max(0, -h).

    At most one of the two differs from position 0, all of whose bits are 0, so their sum is correct.
    """
    name, count = name_on_tape(codec.machine, what, tape), codec.address_bits
    quantity = name_on_tape(codec.machine, f"{what} position", tape)
    labels = [f"bit {k}" for k in range(count)]
    bits = stack(*(position(Bit(k)) for k in range(count)), nonzero)
    share = named(f"{name}/(i+1)", share)
    right = lookup(f"recover {quantity}", share, bits, index_scale=RECIPROCAL)
    if codec.machine.tape is not TapeConvention.TWO_WAY:
        digits = named(name, right[:-1].with_range(BIT).with_labels(labels))
        return BinaryAddress(digits, ~named(f"{name} is not 0", right[-1].with_range(BIT)))
    left = lookup(f"recover -{quantity}", -share, bits, index_scale=RECIPROCAL)
    both = stack(right[:-1] + left[:-1], left[-1])
    digits = named(name, both.with_range(BIT).with_labels([*labels, "negative"]))
    return BinaryAddress(digits, ~named(f"{name} is not 0", (right[-1] + left[-1]).with_range(BIT)))


def _is_not_write(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """Whether this token leaves a tape unchanged; its head is still on cell 0 then. Verdicts are never attended to."""
    quiet = (StartMarker, RunMarker) if tape == 0 else (StartMarker, RunMarker, InputSymbol)
    return tokens.bit(name_on_tape(machine, "writes nothing", tape), lambda token: isinstance(token, quiet))


THEOREMS = (
    Theorem(
        "turing-binary-address",
        "Turing machines by binary addresses: three layers, exact in float32, one token per step",
        "softmachine; Theorem 8.2 of Chiang's lecture notes with binary addresses",
        Requirements(
            "position features i, i², 1/(i+1), (i-1)/(i+1), i/N, bits of i",
            scale="O(N)",
            length_note="the number of positions N",
        ),
        Cost(
            {}, {"layers": 3, "heads": 1 + by_tape_kind(5 * TAPES, 3 * TAPES)}, remark="one token per step, one verdict"
        ),
        TuringMachine,
        ("hard",),
        codec=lambda machine, length: CheckpointCodec(machine, length=length),
        signals=lambda codec, _: signals(codec),
        steps=(
            "The mean of all moves is head/(i+1).",
            "A head attends to position |head| and reads its bits: the address of the cell.",
            "Addresses are compared bit by bit; the latest write to the cell has the highest score, by 1/N.",
            "The transition: one unit per rule; the action whose parts are all set has the largest logit.",
        ),
        length=LENGTH_MEANING,
        checkpoints=CheckpointSupport(("float32", "float64"), has_position_embeddings=True),
        rank=5,
    ),
)
