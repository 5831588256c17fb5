"""Turing machines by addresses in binary: three layers that float32 computes without an error, for stock checkpoints.

Theorem. For every Turing machine M and every N there is a decoder with N positions that, prompted with <bos>, an input
and <run>, emits one token a step of M and then its verdict, as long as positions last.

Layer 1 takes the mean of all moves, h/(i+1). Layer 2 finds position |h| by the scores 2hj/(i+1) - j²/(i+1) and reads
its *bits*. Layer 3 compares addresses bit by bit: a token's key is the address of the cell it wrote, an input symbol at
position j wrote cell j-1, and the score is -2 for each bit that differs, plus j/N, so that the latest write wins. Every
term is exactly 0 where bits agree. A token that writes nothing has score -1: where no write matches, the latest of them
is found, and it says "blank".

Needs: N; position features i, i², 1/(i+1), (i-1)/(i+1), i/N and the bits of i. Gaps: 1/(i+1), then 1/N.
Costs: 3 layers; 1 + 5K heads for K two-way tapes, 1 + 3K for tapes with a left end; one token a step, one verdict.
Precision: layer 3 computes with multiples of 1/N up to about 2 log₂ N; layer 2 must tell apart products h² / (i+1) that
differ by 1/(i+1), so that float32 holds for |h| < 1,800 (and so always for N ≤ 1,800), float64 for any h.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from softmachine.languages.turing import Action, Tape, TuringMachine, Verdict
from softmachine.signals import Program, Signal, Vocabulary, attend, constant, named, position, stack
from softmachine.signals.gadgets import gate, lookup, mean
from softmachine.signals.kinds import BIT
from softmachine.signals.primitives import Fall
from softmachine.theorems.shared.stream_tokens import POSITIONS, Meaning, Placed, Start, StreamCodec
from softmachine.theorems.shared.transition import (
    action_labels,
    move_of,
    next_of,
    on_tape,
    rule_rows,
    twice_if_all,
    verdict_logit,
)
from softmachine.theorems.shared.turing_tokens import Begin, Given
from softmachine.theorems.theorem import Stock, Theorem
from softmachine.transformer.features import INVERSE, Bit, I, Predecessor


def signals(codec: StreamCodec) -> Program:
    """The theorem, for the machine and the number of positions that the codec names."""
    machine, tapes = codec.machine, range(codec.machine.tapes)
    tokens = Vocabulary(codec.meanings)

    # Unpack the token.
    start = tokens.bit("<bos>", lambda token: isinstance(token, Start))
    given = tokens.bit("is input", lambda token: isinstance(token, Given))
    state = state_of(tokens, machine)
    wrote = [written(tokens, machine, k) for k in tapes]
    move = [move_of(tokens, machine, k) for k in tapes]

    # Layer 1. The heads' positions, as shares of i+1; and the cell that this token wrote, one move earlier.
    shares = mean("mean of moves", stack(*(part.value for part in move)))
    input_cell = gate("input cell/(i+1)", position(Predecessor()), off=~given)
    cell_share = [shares[k] - move[k].share + (input_cell if k == 0 else 0) for k in tapes]

    # Layer 2. Their addresses in bits.
    nonzero = ~start
    head = [_address(codec, "head", k, shares[k], nonzero) for k in tapes]
    cell = [_address(codec, "cell", k, cell_share[k], nonzero) for k in tapes]

    # Layer 3. The symbols under the heads: the latest write to the cell, else a blank.
    symbol = []
    for k in tapes:
        silent = writes_nothing(tokens, machine, k)
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

    # The transition.
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


def differing(digits: Signal) -> Iterator[Signal]:
    """A query that costs 2 for each digit in which an address (see :func:`own`) differs: every term of a match is 0."""
    for k in range(len(digits)):
        yield stack(-2 * ~digits[k], -2 * digits[k])


def own(digits: Signal, silent: Signal) -> Iterator[Signal]:
    """An address as a key: each bit and its complement; of silent tokens, which stand at address 0, all are 0."""
    for k in range(len(digits)):
        yield stack(digits[k], ~digits[k] - silent)


def state_of(tokens: Vocabulary[Meaning], machine: TuringMachine) -> Signal:
    """The state after this token; <run> is where the machine starts."""

    def state(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.state
        return machine.start if isinstance(token, Begin) else None

    return tokens.onehot("state", machine.states, state)


def written(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """The symbol that this token wrote; tokens that write nothing answer for cells that nobody has written: blank."""

    def symbol(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.write[tape]
        if isinstance(token, Given) and tape == 0:
            return token.symbol
        return None if isinstance(token, Verdict) else machine.blank

    return tokens.onehot(on_tape(machine, "wrote", tape), machine.symbols, symbol)


def writes_nothing(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """Whether this token leaves a tape as it is; its head is still on cell 0 then. Nobody looks at verdicts."""
    quiet = (Start, Begin) if tape == 0 else (Start, Begin, Given)
    return tokens.bit(on_tape(machine, "writes nothing", tape), lambda token: isinstance(token, quiet))


def under_head(machine: TuringMachine, tape: int, found: Signal) -> Signal:
    """What a head reads, under its name."""
    bits = found.known(BIT).labelled(machine.symbols, exclusive=True)
    return named(on_tape(machine, "symbol", tape), bits)


def next_token(
    codec: StreamCodec, state: Signal, symbol: list[Signal], at_end: list[Signal], cells: list[Signal] | None = None
) -> dict[str, Signal]:
    """The logits: the largest decides, by a margin of at least 1.

    An action counts 2 if all of its parts are next (and, if tokens say so, the heads are on its cells modulo M), else
    at most 0. A verdict counts 1 in its states, so that it wins exactly where no rule applies.
    """
    following = next_of(list(rule_rows(codec.machine, state, symbol, at_end)))
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        if isinstance(meaning, Action):
            parts = [following[label] for label in action_labels(meaning)]
            if cells and isinstance(meaning, Placed):
                parts += [own[str(cell)] for own, cell in zip(cells, meaning.cells, strict=True)]
            logits[token] = twice_if_all(parts)
        elif isinstance(meaning, Verdict):
            logits[token] = verdict_logit(codec.machine, state, meaning)
    return logits


THEOREMS = (
    Theorem(
        "address-bits",
        "Addresses in binary: three layers that float32 computes exactly, one token a step",
        "softmachine; Theorem 8.2 of Chiang's lecture notes with addresses in binary",
        "the number of positions N; position features i, i², 1/(i+1), (i-1)/(i+1), i/N, bits of i; scale O(N)",
        "3 layers; 1 + 5K heads for K two-way tapes, 1 + 3K for tapes with a left end; one token a step",
        TuringMachine,
        ("hard",),
        codec=lambda machine, length: StreamCodec(machine, length=length),
        signals=lambda codec, _: signals(codec),
        steps=(
            "The mean of all moves is head/(i+1).",
            "Position |head| is found, and its bits are read: the address of the cell.",
            "Addresses are compared bit by bit; of the writes to the cell, the latest wins by 1/N.",
        ),
        length=POSITIONS,
        stock=Stock(("float32", "float64"), positions=True),
        rank=5,
    ),
)
