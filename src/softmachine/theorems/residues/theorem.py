"""Turing machines in low precision: tokens that say which cell they wrote, modulo M; for stock checkpoints.

Theorem. For every Turing machine and every N there is a decoder with N positions whose run is right in any arithmetic
that knows integers up to 256 and can tell apart x and x ± x/2 for sums of N numbers: bfloat16, float16, float32.

A head on cell h = Mw + r is known by r, which tokens carry, and w, how often it wrapped around. Layer 1 takes the mean
of all wraps, s = w/(i+1), together with u = 1/(i+1), the weight of the start token; its units compare s with c·u for
each c: ReLU(s - (c + 1/2) u) + ReLU((c - 1/2) u - s) is *exactly* 0 for c = w however s and u are rounded, and at least
u/2 for any other c. Layer 2 turns these penalties into bits: ReLU(1 - 4N·penalty) is 1 or 0. From then on everything is
bits and small integers. An input symbol at position j wrote cell j-1, which position features know.

The latest write is found in two stages, so that no score needs more than 8 bits: layer 3 finds the last block of R
positions in which the cell was written, layer 4 the last write in that block. Scores compare addresses digit by digit,
with every term exactly 0 where digits agree. The start token answers for cells that nobody has written.

Without positions (for architectures that have none) recency is -u, 1/(j+1), in one stage, which needs float32; and the
cell of an input symbol is found from u as w is from s, for inputs up to :data:`MOST_INPUT` symbols.

Needs: N; with positions the bits of i and of i-1. Gaps: 1 with positions, 1/(N(N+1)) without.
Costs: 4 layers (3 up to 128 positions, or without positions); 1 + 2K heads; M^K times as many tokens as
:mod:`.address_bits` needs. Where heads can get further than 32·M cells from the start, a run that does ends with the
token <limit>.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from softmachine.errors import ConstructionError
from softmachine.languages.turing import MOVES, TuringMachine
from softmachine.signals import Program, Signal, Vocabulary, attend, constant, named, position, relu, stack
from softmachine.signals.gadgets import mean
from softmachine.signals.kinds import BIT
from softmachine.theorems.address_bits.theorem import differing, next_token, own, state_of, under_head, written
from softmachine.theorems.shared.stream_tokens import POSITIONS, Limit, Placed, Start, StreamCodec
from softmachine.theorems.shared.transition import on_tape
from softmachine.theorems.shared.turing_tokens import Begin, Given
from softmachine.theorems.theorem import Stock, Theorem
from softmachine.transformer.features import Bit

MOST_WRAPS = 32
"""More wraps are not counted: bfloat16 has 8 bits, and two of them are for the comparison."""
LARGEST_MODULUS = 128
MOST_TOKENS = 1 << 16
"""Larger vocabularies are refused."""
MOST_INPUT = 128
"""Without positions, inputs have at most so many symbols."""
ONE_STAGE = 128
"""Up to so many positions, the latest write is found at once."""


def modulus_for(machine: TuringMachine, length: int) -> int:
    """M: about √N for one tape, as small as wraps allow for more, since the vocabulary grows like M^K.

    Raises:
        ConstructionError: If the vocabulary would be too large.
    """
    bits = (length - 1).bit_length()
    modulus = 1 << max(1, bits - 5 if machine.tapes > 1 else (bits + 1) // 2)
    modulus = min(modulus, LARGEST_MODULUS)
    factor = modulus**machine.tapes
    actions = len(StreamCodec(machine, length=length).actions)
    if actions * factor > MOST_TOKENS:
        raise ConstructionError(
            f"{machine.name!r} would have {actions * factor:,} tokens: {actions} actions, each at every combination of "
            f"{modulus} residues on {machine.tapes} tapes, a factor of {factor:,}",
            hint=f"at most {MOST_TOKENS:,} are written; choose a smaller --length, or address-bits in float32",
        )
    return modulus


def signals(codec: StreamCodec, *, positions: bool) -> Program:
    """The theorem, for the machine, the number of positions and the modulus that the codec names."""
    return _Decoder(codec, positions=positions).program()


class _Decoder:
    def __init__(self, codec: StreamCodec, *, positions: bool) -> None:
        self.codec, self.machine, self.positions = codec, codec.machine, positions
        self.tokens = Vocabulary(codec.meanings)
        self.tapes = range(codec.machine.tapes)
        self.residue_bits = (codec.modulus - 1).bit_length()
        self.wraps = codec.wraps
        self.wrap_bits = (2 * self.wraps).bit_length()
        self.start = self.tokens.bit("<bos>", lambda token: isinstance(token, Start))
        self.given = self.tokens.bit("is input", lambda token: isinstance(token, Given))

    def program(self) -> Program:
        """The signals."""
        state = state_of(self.tokens, self.machine)

        # Layer 1. How often the heads have wrapped around, and the weight of one position; what w is not.
        shares = mean("mean of wraps", stack(*(self.wrapped(k) for k in self.tapes), self.start))
        self.weight = named("1/(i+1)", shares[-1])
        symbol, at_end, inside = [], [], []
        for k in self.tapes:
            share = named(on_tape(self.machine, "wraps/(i+1)", k), shares[k])
            apart = {c: self.apart(k, share, c) for c in range(-self.wraps - 1, self.wraps + 2)}

            # Layer 2. Addresses in binary: of the head, and of the cell that this token wrote.
            head, inside_k, zero = self.head(k, apart)
            cell = self.cell(k, apart)

            # Layers 3 and 4. The symbol under the head: the latest write to its cell, or the start token's blank.
            found = self.latest(k, head, cell, written(self.tokens, self.machine, k))
            symbol.append(under_head(self.machine, k, found))
            inside.append(inside_k)
            at_end.append(zero)

        # The transition.
        residues = [self.onehot_residue(k) for k in self.tapes]
        logits = next_token(self.codec, state, symbol, at_end, residues)
        for token, meaning in self.codec.meanings.items():
            if isinstance(meaning, Limit):
                logits[token] = 4 * (len(self.tapes) - stack(*inside).total)
        return self.tokens.program(self.machine.name, logits, margin=Fraction(1))

    def wrapped(self, tape: int) -> Signal:
        """+1 or -1 where this token's move takes the head to the next or the previous stretch of M cells."""
        up, down = ~self.not_wrapped(tape, 1), ~self.not_wrapped(tape, -1)
        return up - down

    def not_wrapped(self, tape: int, by: int) -> Signal:
        """Whether this token is anything but a step that wraps by so much."""
        names = {1: "not wrapped up", 0: "not an action that stays", -1: "not wrapped down"}
        return self.tokens.bit(
            on_tape(self.machine, names[by], tape),
            lambda token: not (isinstance(token, Placed) and self.wrap_of(token, tape) == by),
        )

    def wrap_of(self, token: Placed, tape: int) -> int:
        return (token.cells[tape] + MOVES[token.move[tape]]) // self.codec.modulus

    def apart(self, tape: int, share: Signal, count: int) -> Signal:
        """0 exactly if the share is ``count`` times the weight of a position, else at least half of that weight."""
        name = on_tape(self.machine, f"wraps are not {count}", tape)
        above = relu(f"{name}: above", share - (count + Fraction(1, 2)) * self.weight)
        below = relu(f"{name}: below", (count - Fraction(1, 2)) * self.weight - share)
        return named(name, above + below)

    def is_zero(self, name: str, apart: Signal, off: Signal | None = None) -> Signal:
        """A bit: whether a penalty is 0 (it is never between 0 and 1/2N), and no bit of ``off`` is set."""
        inner = 1 - 4 * self.codec.length * apart
        return relu(name, inner if off is None else inner - off).known(BIT)

    def head(self, tape: int, apart: dict[int, Signal]) -> tuple[Signal, Signal, Signal]:
        """The digits of the head's address, whether it has any, and whether it is 0."""
        counts = range(-self.wraps, self.wraps + 1)
        is_count = {c: self.is_zero(on_tape(self.machine, f"head wrapped {c}", tape), apart[c]) for c in counts}
        high = self.digits(is_count)
        name = on_tape(self.machine, "head", tape)
        low = [self.residue_bit(tape, k, after=True) for k in range(self.residue_bits)]
        inside = named(f"{name} is in reach", stack(*is_count.values()).total.known(BIT))
        elsewhere = self.tokens.bit(
            f"{name} residue is not 0", lambda token: self.residue(token, tape, after=True) != 0
        )
        at_zero = self.is_zero(f"{name} is 0", apart[0], elsewhere)
        return named(name, self.labelled([*low, *high])), inside, at_zero

    def cell(self, tape: int, apart: dict[int, Signal]) -> Signal:
        """The digits of the address that this token wrote, all 0 if it wrote nothing: one move before the head's."""
        name = on_tape(self.machine, "cell", tape)
        is_count = {
            c: stack(
                *(
                    self.is_zero(f"{name} wrapped {c}, now {c + by}", apart[c + by], self.not_wrapped(tape, by))
                    for by in (-1, 0, 1)
                )
            ).total
            for c in range(-self.wraps, self.wraps + 1)
        }
        high = self.digits(is_count)
        low = [self.residue_bit(tape, k, after=False) for k in range(self.residue_bits)]
        if tape == 0 and self.machine.alphabet:
            given = self.input_digits()
            low = [a + b for a, b in zip(low, given, strict=False)]
            high = [a + b for a, b in zip(high, given[self.residue_bits :], strict=True)]
        return named(name, self.labelled([*low, *high]))

    def digits(self, is_count: dict[int, Signal]) -> list[Signal]:
        """A number of wraps in binary, plus W so that it is not negative, from one bit for each possible number."""
        return [
            stack(constant(0), *(bit for c, bit in is_count.items() if (c + self.wraps) >> k & 1)).total
            for k in range(self.wrap_bits)
        ]

    def labelled(self, digits: list[Signal]) -> Signal:
        residues = [f"bit {k} of residue" for k in range(self.residue_bits)]
        labels = [*residues, *(f"bit {k} of wraps" for k in range(self.wrap_bits))]
        return stack(*digits).known(BIT).labelled(labels)

    def residue(self, token: object, tape: int, *, after: bool) -> int:
        """The residue of the head after this token, or of the cell that it wrote; 0 of tokens that do not say it."""
        if not isinstance(token, Placed):
            return 0
        return (token.cells[tape] + (MOVES[token.move[tape]] if after else 0)) % self.codec.modulus

    def residue_bit(self, tape: int, k: int, *, after: bool) -> Signal:
        name = on_tape(self.machine, f"bit {k} of {'head' if after else 'cell'} residue", tape)
        return self.tokens.bit(name, lambda token: bool(self.residue(token, tape, after=after) >> k & 1))

    def onehot_residue(self, tape: int) -> Signal:
        labels = [str(r) for r in range(self.codec.modulus)]
        return self.tokens.onehot(
            on_tape(self.machine, "head residue", tape),
            labels,
            lambda token: str(self.residue(token, tape, after=True)) if isinstance(token, Placed | Begin) else None,
        )

    def input_digits(self) -> list[Signal]:
        """Of an input symbol, the digits of its cell; else 0."""
        residues, wraps = range(self.residue_bits), range(self.wrap_bits)
        if self.positions:
            features = [Bit(k, cells=1) for k in residues]
            features += [Bit(k, cells=self.codec.modulus, offset=self.wraps) for k in wraps]
            return [relu(f"input {feature.name}", position(feature) - ~self.given).known(BIT) for feature in features]
        cells = range(min(self.codec.longest_input, self.codec.length))
        is_cell = {}
        for c in cells:  # the symbol stands at position c+1, where (c+2)·u is 1
            above = relu(f"input cell is not {c}: above", 1 - (c + Fraction(5, 2)) * self.weight)
            below = relu(f"input cell is not {c}: below", (c + Fraction(3, 2)) * self.weight - 1)
            is_cell[c] = self.is_zero(f"input cell is {c}", named(f"input cell is not {c}", above + below), ~self.given)
        size = self.codec.modulus
        low = [stack(constant(0), *(bit for c, bit in is_cell.items() if c % size >> k & 1)).total for k in residues]
        high = [
            stack(constant(0), *(bit for c, bit in is_cell.items() if (c // size + self.wraps) >> k & 1)).total
            for k in wraps
        ]
        return low + high

    def latest(self, tape: int, head: Signal, cell: Signal, wrote: Signal) -> Signal:
        """What was last written where the head is."""
        name = on_tape(self.machine, "last write", tape)
        quiet = self.mute(tape)
        silent = named(on_tape(self.machine, "wrote no cell", tape), self.start + quiet)
        cells = list(own(cell, silent))
        if not self.positions:
            return attend(
                name,
                query=stack(*differing(head), constant(-2), constant(-1)),
                key=stack(*cells, quiet, self.weight),
                value=wrote,
                gap=Fraction(1, self.codec.length * (self.codec.length + 1)),
                single=True,
            )
        bits = self.codec.address_bits
        inner = bits if self.codec.length <= ONE_STAGE else (bits + 1) // 2
        place = [position(Bit(k)) for k in range(bits)]
        size = 1 << inner
        query, key = [size * part for part in differing(head)], cells
        if inner < bits:
            block = self.last_block(tape, head, cells, quiet, place[inner:])
            query += [size * part for part in differing(block)]
            key = [*cells, *(stack(bit, ~bit - self.start) for bit in place[inner:])]
        return attend(
            name,
            query=stack(*query, constant(-size), constant(-4 * size), constant(1)),
            key=stack(*key, self.start, quiet, _number(place[:inner])),
            value=wrote,
            gap=1,
            single=True,
        )

    def last_block(self, tape: int, head: Signal, cells: list[Signal], quiet: Signal, place: list[Signal]) -> Signal:
        """The number of the last block of positions in which the head's cell was written, in bits."""
        name, size = on_tape(self.machine, "last block", tape), 1 << len(place)
        found = attend(
            name,
            query=stack(*(size * part for part in differing(head)), constant(-size), constant(-4 * size), constant(1)),
            key=stack(*cells, self.start, quiet, _number(place)),
            value=stack(*place),
            gap=1,
            single=True,
        )
        # The mean of equal bits may have been rounded: 1 - ReLU(1 - 2x) is 1 for every x ≥ 1/2.
        bits = 1 - relu(f"{name}: is 0", 1 - 2 * found)
        return named(name, bits.known(BIT).labelled([f"bit {k}" for k in range(len(place))]))

    def mute(self, tape: int) -> Signal:
        """Whether this token writes nothing to a tape, and answers for nothing."""
        quiet = (Begin,) if tape == 0 else (Begin, Given)
        return self.tokens.bit(on_tape(self.machine, "mute", tape), lambda token: isinstance(token, quiet))


def _number(bits: list[Signal]) -> Signal:
    total = constant(0)
    for k, bit in enumerate(bits):
        total = total + (1 << k) * bit
    return total


def _codec(machine: TuringMachine, length: int, *, longest_input: int = 0) -> StreamCodec:
    """The tokens for so many positions."""
    return StreamCodec(
        machine,
        length=length,
        modulus=modulus_for(machine, length or 1),
        most_wraps=MOST_WRAPS,
        longest_input=longest_input,
    )


_STEPS = (
    "The mean of all wraps is w/(i+1); units compare it with c/(i+1) for each c, exactly.",
    "Penalties become bits, and from then on everything is bits and small integers.",
    "The latest write to the cell is found, in two stages where one would need more than 8 bits.",
)
_theorem = partial(
    Theorem,
    reference="softmachine; made for the low precision of stock checkpoints",
    cost="4 layers (3 up to 128 positions, or without positions), 1 + 2K heads; one token a step",
    source=TuringMachine,
    attentions=("hard",),
    steps=_STEPS,
    length=POSITIONS,
)

THEOREMS = (
    _theorem(
        "residues",
        "Tokens that say their cell modulo M: exact in bfloat16 and float16 too, one token a step",
        needs="the number of positions N; bits of i and of i-1 as position features; scale O(1)",
        codec=_codec,
        signals=lambda codec, _: signals(codec, positions=True),
        stock=Stock(positions=True),
        rank=6,
    ),
    _theorem(
        "residues-without-positions",
        "Tokens that say their cell modulo M, without position features: exact in float32, one token a step",
        needs="the number of positions N; no position features; scale O(N²)",
        codec=lambda machine, length: _codec(machine, length, longest_input=MOST_INPUT),
        signals=lambda codec, _: signals(codec, positions=False),
        stock=Stock(positions=False),
        rank=7,
    ),
)
