"""Turing machines by addresses in binary: three layers that float32 computes without an error, for stock checkpoints.

Theorem. For every Turing machine M and every N there is a decoder with N positions that, prompted with <bos>, an input
and <run>, emits one token a step of M and then its verdict, as long as positions last.

Layer 1 takes the mean of all moves, h/(i+1). Layer 2 finds position |h| by the scores 2hj/(i+1) - j²/(i+1) and reads
its *bits*. Layer 3 compares addresses bit by bit: a token's key is the address of the cell it wrote, an input symbol at
position j wrote cell j-1, and the score is -2 for each bit that differs, plus j/N, so that the latest write wins. Every
term is exactly 0 where bits agree. A token that writes nothing has score -1: where no write matches, the latest of them
is found, and it says "blank".

Needs: N; position features i, i², 1/(i+1), (i-1)/(i+1), i/N and the bits of i. Gaps: 1/(i+1), then 1/N.
Precision: layer 3 computes with multiples of 1/N up to about 2 log₂ N; layer 2 must tell apart products h² / (i+1) that
differ by 1/(i+1), so that float32 holds for |h| < 1,800 (and so always for N ≤ 1,800), float64 for any h.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Program, Signal, Vocabulary, attend, constant, named, position, stack
from softmachine.ir.gadgets import gate, lookup, mean
from softmachine.ir.kinds import BIT
from softmachine.ir.primitives import Fall
from softmachine.languages.turing import Tape, TuringMachine
from softmachine.theorems.cost import Cost
from softmachine.theorems.shared.stream_signals import differing, next_token, own, state_of, under_head, written
from softmachine.theorems.shared.stream_tokens import POSITIONS, Meaning, Start, StreamCodec
from softmachine.theorems.shared.transition import move_of, on_tape
from softmachine.theorems.shared.turing_tokens import TAPES, Begin, Given, by_tape
from softmachine.theorems.theorem import Needs, Stock, Theorem
from softmachine.transformer.features import INVERSE, Bit, I, Predecessor


def signals(codec: StreamCodec) -> Program:
    """The theorem, for the machine and the number of positions that the codec names."""
    machine, tapes = codec.machine, range(codec.machine.tapes)
    tokens = Vocabulary(codec.meanings)

    # What the token says.
    start = tokens.bit("<bos>", lambda token: isinstance(token, Start))
    given = tokens.bit("is input", lambda token: isinstance(token, Given))
    state = state_of(tokens, machine)
    wrote = [written(tokens, machine, k) for k in tapes]
    move = [move_of(tokens, machine, k) for k in tapes]

    # Step 1. Layer 1: the heads' positions, as shares of i+1; and the cell that this token wrote, one move earlier.
    shares = mean("mean of moves", stack(*(part.value for part in move)))
    input_cell = gate("input cell/(i+1)", position(Predecessor()), off=~given)
    cell_share = [shares[k] - move[k].share + (input_cell if k == 0 else 0) for k in tapes]

    # Step 2. Layer 2: their addresses in bits.
    nonzero = ~start
    head = [_address(codec, "head", k, shares[k], nonzero) for k in tapes]
    cell = [_address(codec, "cell", k, cell_share[k], nonzero) for k in tapes]

    # Step 3. Layer 3: the symbols under the heads: the latest write to the cell, else a blank.
    symbol = []
    for k in tapes:
        silent = _writes_nothing(tokens, machine, k)
        found = attend(
            on_tape(machine, "last write", k),
            query=stack(*differing(head[k].digits), constant(-1), constant(1)),
            key=stack(*own(cell[k].digits, silent), silent, position(I * Fraction(1, 1 << codec.address_bits))),
            value=wrote[k],
            gap=Fraction(1, 1 << codec.address_bits),
            single=True,
            fall=Fall.LINEAR,
        )
        symbol.append(under_head(machine, k, found))

    # Step 4. The transition.
    return tokens.program(machine.name, next_token(codec, state, symbol, [part.at_end for part in head]), Fraction(1))


@dataclass(frozen=True)
class Address:
    """A cell's number in binary.

    Args:
        digits: The bits of its absolute value, and whether it is negative, if it can be.
        at_end: Whether it is 0.
    """

    digits: Signal
    at_end: Signal


def _address(codec: StreamCodec, what: str, tape: int, share: Signal, nonzero: Signal) -> Address:
    """The address h from h/(i+1): what stands at position max(0, h), and for two-way tapes at max(0, -h).

    Of the two at most one is not position 0, all of whose bits are 0: the sum of both is right.
    """
    name, count = on_tape(codec.machine, what, tape), codec.address_bits
    labels = [f"bit {k}" for k in range(count)]
    bits = stack(*(position(Bit(k)) for k in range(count)), nonzero)
    share = named(f"{name}/(i+1)", share)
    right = lookup(f"undo 1/(i+1) of {name}", share, bits, per=INVERSE)
    if codec.machine.tape is not Tape.TWO_WAY:
        digits = named(name, right[:-1].known(BIT).labelled(labels))
        return Address(digits, ~named(f"{name} is not 0", right[-1].known(BIT)))
    left = lookup(f"undo 1/(i+1) of -{name}", -share, bits, per=INVERSE)
    both = stack(right[:-1] + left[:-1], left[-1])
    digits = named(name, both.known(BIT).labelled([*labels, "negative"]))
    return Address(digits, ~named(f"{name} is not 0", (right[-1] + left[-1]).known(BIT)))


def _writes_nothing(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """Whether this token leaves a tape as it is; its head is still on cell 0 then. Nobody looks at verdicts."""
    quiet = (Start, Begin) if tape == 0 else (Start, Begin, Given)
    return tokens.bit(on_tape(machine, "writes nothing", tape), lambda token: isinstance(token, quiet))


THEOREMS = (
    Theorem(
        "address-bits",
        "Addresses in binary: three layers that float32 computes exactly, one token a step",
        "softmachine; Theorem 8.2 of Chiang's lecture notes with addresses in binary",
        Needs(
            "position features i, i², 1/(i+1), (i-1)/(i+1), i/N, bits of i",
            scale="O(N)",
            first="the number of positions N",
        ),
        Cost({}, {"layers": 3, "heads": 1 + by_tape(5 * TAPES, 3 * TAPES)}, also="one token per step, one verdict"),
        TuringMachine,
        ("hard",),
        codec=lambda machine, length: StreamCodec(machine, length=length),
        signals=lambda codec, _: signals(codec),
        steps=(
            "The mean of all moves is head/(i+1).",
            "Position |head| is found, and its bits are read: the address of the cell.",
            "Addresses are compared bit by bit; of the writes to the cell, the latest wins by 1/N.",
            "The transition: one unit a rule, and the action with all of its parts has the largest logit.",
        ),
        length=POSITIONS,
        stock=Stock(("float32", "float64"), positions=True),
        rank=5,
    ),
)
