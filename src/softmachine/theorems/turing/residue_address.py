"""Turing machines in low precision, for third-party checkpoints: tokens contain the cell that they wrote, modulo M.

Theorem. For every Turing machine and every N there is a decoder with N positions whose run is correct in any arithmetic
that represents integers up to 256 and distinguishes x from x ± x/2 for sums of N numbers: bfloat16, float16, float32.

A head on cell h = Mw + r is determined by r, which tokens contain, and w, the number of wraps. Layer 1 computes the
mean of all wraps, s = w/(i+1), and u = 1/(i+1), the weight of the start token; its units compare s with c·u for each c:
ReLU(s - (c + 1/2) u) + ReLU((c - 1/2) u - s) is *exactly* 0 for c = w however s and u are rounded, and at least u/2 for
any other c. Layer 2 converts these penalties to bits: ReLU(1 - 4N·penalty) is 1 or 0. All later values are bits and
small integers. An input symbol at position j wrote cell j-1, which is a position feature.

The latest write is found in two stages, so that no score needs more than 8 bits: layer 3 finds the last block of R
positions in which the cell was written, layer 4 the last write in that block. Scores compare addresses digit by digit,
with every term exactly 0 where digits agree. The start token represents cells that were never written.

Without positions (for architectures that have none) recency is -u, 1/(j+1), in one stage, which needs float32; and the
cell of an input symbol is determined from u as w is from s, for inputs up to :data:`MAX_INPUT_LENGTH` symbols.

Needs: N; with positions the bits of i and of i-1. Gaps: 1 with positions, 1/(N(N+1)) without.
The vocabulary is M^K times that of :mod:`.binary_address`. A run in which a head gets further than 32·M cells from the
start ends with the token <limit>.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, Vocabulary, attend, constant, named, position, relu, stack
from softmachine.ir.gadgets import mean
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import MOVES, TuringMachine
from softmachine.support.errors import ConstructionError
from softmachine.theorems.cost import Cost, Expression, Term, conditional
from softmachine.theorems.shared.checkpoints import (
    LENGTH_MEANING,
    LIMIT_TOKEN,
    AddressedAction,
    CheckpointCodec,
    LimitMarker,
    Meaning,
    StartMarker,
    address_key,
    mismatch_query,
    name_symbol_under_head,
    next_token_logits,
    state_of,
    written_symbol,
)
from softmachine.theorems.shared.turing_codec import TAPES, InputSymbol, RunMarker, name_on_tape
from softmachine.theorems.theorem import CheckpointSupport, Requirements, Theorem
from softmachine.transformer.features import Bit

MAX_WRAPS = 32
"""Maximal number of wraps: bfloat16 has 8 significant bits, two of which are needed for the comparison."""
MAX_MODULUS = 128
MAX_VOCABULARY = 1 << 16
"""Maximal size of the vocabulary."""
MAX_INPUT_LENGTH = 128
"""Maximal length of inputs without positions."""
POSITION_COUNT_NOTE = "the number of positions N"
MAX_ONE_STAGE_POSITIONS = 128
"""Maximal number of positions for which the latest write is found in one stage."""


def choose_modulus(machine: TuringMachine, length: int) -> int:
    """Return M: about √N for one tape; for K tapes the minimum that wraps allow, since the vocabulary grows like M^K.

    Raises:
        ConstructionError: If the vocabulary would be too large.
    """
    bits = (length - 1).bit_length()
    modulus = 1 << max(1, bits - 5 if machine.tapes > 1 else (bits + 1) // 2)
    modulus = min(modulus, MAX_MODULUS)
    factor = modulus**machine.tapes
    actions = len(CheckpointCodec(machine, length=length).actions)
    if actions * factor > MAX_VOCABULARY:
        raise ConstructionError(
            f"{machine.name!r} would have {actions * factor:,} tokens: {actions} actions, each at every combination of "
            f"{modulus} residues on {machine.tapes} tapes, a factor of {factor:,}",
            hint=f"at most {MAX_VOCABULARY:,} are allowed; choose a smaller context, or turing-binary-address in "
            f"float32",
        )
    return modulus


def signals(codec: CheckpointCodec, *, positions: bool) -> Program:
    """Build the decoder for the machine, the number of positions and the modulus of the codec."""
    machine, tapes = codec.machine, range(codec.machine.tapes)
    tokens: Vocabulary[Meaning] = Vocabulary(codec.meanings)
    state = state_of(tokens, machine)
    start = tokens.bit("<bos>", lambda token: isinstance(token, StartMarker))

    # Step 1. Layer 1: the number of wraps of the heads, and the weight of one position; penalties of w ≠ c.
    shares = mean("mean of wraps", stack(*(_wrap_sign(codec, tokens, k) for k in tapes), start))
    weight = named("1/(i+1)", shares[-1])
    given = _input_digits(codec, tokens, weight, positions) if machine.alphabet else None
    symbol, at_end, inside = [], [], []
    for k in tapes:
        share = named(name_on_tape(machine, "wraps/(i+1)", k), shares[k])
        apart = {c: _inequality_penalty(machine, k, share, weight, c) for c in range(-codec.wraps - 1, codec.wraps + 2)}

        # Step 2. Layer 2: addresses in binary, of the head, and of the cell that this token wrote.
        head = _head_address(codec, tokens, k, apart)
        cell = _written_address(codec, tokens, k, apart, given if k == 0 else None)

        # Step 3. Layers 3 and 4: the symbol under the head: the latest write to its cell, or the start token's blank.
        found = _latest_symbol(codec, tokens, k, head.digits, cell, start, None if positions else weight)
        symbol.append(name_symbol_under_head(machine, k, found))
        inside.append(head.is_inside)
        at_end.append(head.is_at_zero)

    # Step 4. The transition.
    logits = next_token_logits(codec, state, symbol, at_end, [_onehot_residue(codec, tokens, k) for k in tapes])
    if LimitMarker() in codec.tokens:
        logits[LIMIT_TOKEN] = 4 * (len(tapes) - stack(*inside).total)
    return tokens.program(machine.name, logits, margin=Fraction(1))


def _wrap_sign(codec: CheckpointCodec, tokens: Vocabulary[Meaning], tape: int) -> Signal:
    """+1 or -1 where this token moves the head to the next or the previous interval of M cells."""
    up, down = (~_is_not_wrap(codec, tokens, tape, by) for by in (1, -1))
    return up - down


def _is_not_wrap(codec: CheckpointCodec, tokens: Vocabulary[Meaning], tape: int, by: int) -> Signal:
    """Whether this token is not a step that wraps by ``by``."""
    names = {1: "not wrapped up", 0: "not an action that stays", -1: "not wrapped down"}

    def otherwise(token: Meaning) -> bool:
        return (
            not isinstance(token, AddressedAction)
            or (token.cells[tape] + MOVES[token.move[tape]]) // codec.modulus != by
        )

    return tokens.bit(name_on_tape(codec.machine, names[by], tape), otherwise)


def _inequality_penalty(machine: TuringMachine, tape: int, share: Signal, weight: Signal, count: int) -> Signal:
    """A penalty: exactly 0 if the share is ``count`` times the weight of a position, else at least half that weight."""
    name = name_on_tape(machine, f"wraps are not {count}", tape)
    above = relu(f"{name}: above", share - (count + Fraction(1, 2)) * weight)
    below = relu(f"{name}: below", (count - Fraction(1, 2)) * weight - share)
    return named(name, above + below)


def _is_zero(codec: CheckpointCodec, name: str, apart: Signal, off: Signal | None = None) -> Signal:
    """A bit: whether a penalty is 0 (it is never between 0 and 1/2N), and no bit of ``off`` is set."""
    inner = 1 - 4 * codec.length * apart
    return relu(name, inner if off is None else inner - off).with_range(BIT)


@dataclass(frozen=True)
class _HeadAddress:
    """The position of a head.

    Args:
        digits: Its address in binary.
        is_inside: Whether it is in the range of addresses.
        is_at_zero: Whether it is on cell 0.
    """

    digits: Signal
    is_inside: Signal
    is_at_zero: Signal


def _head_address(
    codec: CheckpointCodec, tokens: Vocabulary[Meaning], tape: int, apart: dict[int, Signal]
) -> _HeadAddress:
    """The address of the head after this token."""
    machine, name = codec.machine, name_on_tape(codec.machine, "head", tape)
    counts = range(-codec.wraps, codec.wraps + 1)
    is_count = {c: _is_zero(codec, name_on_tape(machine, f"head wrapped {c}", tape), apart[c]) for c in counts}
    low = _residue_bits(codec, tokens, tape, after=True)
    inside = named(f"{name} is in reach", stack(*is_count.values()).total.with_range(BIT))
    elsewhere = tokens.bit(f"{name} residue is not 0", lambda token: _residue(codec, token, tape, after=True) != 0)
    at_zero = _is_zero(codec, f"{name} is 0", apart[0], elsewhere)
    return _HeadAddress(named(name, _label_digits(codec, low + _wrap_bits(codec, is_count))), inside, at_zero)


def _written_address(
    codec: CheckpointCodec, tokens: Vocabulary[Meaning], tape: int, apart: dict[int, Signal], given: list[Signal] | None
) -> Signal:
    """The digits of the address that this token wrote, one move before the head's; all 0 if it wrote nothing."""
    name = name_on_tape(codec.machine, "cell", tape)
    is_count = {}
    for c in range(-codec.wraps, codec.wraps + 1):
        cases = [
            _is_zero(codec, f"{name} wrapped {c}, now {c + by}", apart[c + by], _is_not_wrap(codec, tokens, tape, by))
            for by in (-1, 0, 1)
        ]
        is_count[c] = stack(*cases).total
    digits = _residue_bits(codec, tokens, tape, after=False) + _wrap_bits(codec, is_count)
    if given:
        digits = [own + digit for own, digit in zip(digits, given, strict=True)]
    return named(name, _label_digits(codec, digits))


def _wrap_bits(codec: CheckpointCodec, is_count: dict[int, Signal]) -> list[Signal]:
    """The number of wraps plus W (so that it is nonnegative) in binary, from one bit per possible number."""
    return _one_hot_to_binary({c + codec.wraps: bit for c, bit in is_count.items()}, codec.wrap_bits)


def _one_hot_to_binary(is_number: dict[int, Signal], bits: int) -> list[Signal]:
    """A number in binary, from one bit per possible number."""
    return [
        stack(constant(0), *(bit for number, bit in is_number.items() if number >> k & 1)).total for k in range(bits)
    ]


def _label_digits(codec: CheckpointCodec, digits: list[Signal]) -> Signal:
    labels = [f"bit {k} of residue" for k in range(codec.residue_bits)]
    labels += [f"bit {k} of wraps" for k in range(codec.wrap_bits)]
    return stack(*digits).with_range(BIT).with_labels(labels)


def _residue(codec: CheckpointCodec, token: Meaning, tape: int, *, after: bool) -> int:
    """Return the residue of the head after this token, or of the cell that it wrote; 0 for tokens without cells."""
    if not isinstance(token, AddressedAction):
        return 0
    return (token.cells[tape] + (MOVES[token.move[tape]] if after else 0)) % codec.modulus


def _residue_bits(codec: CheckpointCodec, tokens: Vocabulary[Meaning], tape: int, *, after: bool) -> list[Signal]:
    what = "head" if after else "cell"

    def bit(k: int) -> Signal:
        name = name_on_tape(codec.machine, f"bit {k} of {what} residue", tape)
        return tokens.bit(name, lambda token: bool(_residue(codec, token, tape, after=after) >> k & 1))

    return [bit(k) for k in range(codec.residue_bits)]


def _onehot_residue(codec: CheckpointCodec, tokens: Vocabulary[Meaning], tape: int) -> Signal:
    def residue(token: Meaning) -> str | None:
        return str(_residue(codec, token, tape, after=True)) if isinstance(token, AddressedAction | RunMarker) else None

    return tokens.one_hot(
        name_on_tape(codec.machine, "head residue", tape), list(map(str, range(codec.modulus))), residue
    )


def _input_digits(codec: CheckpointCodec, tokens: Vocabulary[Meaning], weight: Signal, positions: bool) -> list[Signal]:
    """The digits of the cell of an input symbol; else 0."""
    given = tokens.bit("is input", lambda token: isinstance(token, InputSymbol))
    if positions:
        features = [Bit(k, cells=1) for k in range(codec.residue_bits)]
        features += [Bit(k, cells=codec.modulus, offset=codec.wraps) for k in range(codec.wrap_bits)]
        return [relu(f"input {feature.name}", position(feature) - ~given).with_range(BIT) for feature in features]
    is_cell = {}
    for c in range(min(codec.max_input_length, codec.length)):  # the symbol is at position c+1, where (c+2)·u is 1
        above = relu(f"input cell is not {c}: above", 1 - (c + Fraction(5, 2)) * weight)
        below = relu(f"input cell is not {c}: below", (c + Fraction(3, 2)) * weight - 1)
        is_cell[c] = _is_zero(codec, f"input cell is {c}", named(f"input cell is not {c}", above + below), ~given)
    low, size = codec.residue_bits, codec.modulus
    addresses = {(c // size + codec.wraps) << low | c % size: bit for c, bit in is_cell.items()}
    return _one_hot_to_binary(addresses, low + codec.wrap_bits)


def _latest_symbol(
    codec: CheckpointCodec,
    tokens: Vocabulary[Meaning],
    tape: int,
    head: Signal,
    cell: Signal,
    start: Signal,
    weight: Signal | None,
) -> Signal:
    """The latest symbol written to the head's cell; recency is the position, or the weight of one position."""
    machine, bits = codec.machine, codec.address_bits
    name, wrote = name_on_tape(machine, "last write", tape), written_symbol(tokens, machine, tape)
    mutes = (
        (RunMarker,) if tape == 0 else (RunMarker, InputSymbol)
    )  # they write nothing, and do not represent blank cells
    quiet = tokens.bit(name_on_tape(machine, "mute", tape), lambda token: isinstance(token, mutes))
    cells = list(address_key(cell, named(name_on_tape(machine, "wrote no cell", tape), start + quiet)))
    if weight is not None:
        return attend(
            name,
            query=stack(*mismatch_query(head), constant(-2), constant(-1)),
            key=stack(*cells, quiet, weight),
            value=wrote,
            gap=Fraction(1, codec.length * (codec.length + 1)),
            single_key=True,
            explains="the latest that wrote to this cell",
        )
    place = [position(Bit(k)) for k in range(bits)]
    if codec.length <= MAX_ONE_STAGE_POSITIONS:
        return _latest_in_stage(name, list(mismatch_query(head)), cells, start, quiet, place, wrote)
    inner = (bits + 1) // 2
    name_of_block = name_on_tape(machine, "last block", tape)
    found = _latest_in_stage(
        name_of_block, list(mismatch_query(head)), cells, start, quiet, place[inner:], stack(*place[inner:])
    )
    # The mean of equal bits may have been rounded: 1 - ReLU(1 - 2x) is 1 for every x ≥ 1/2.
    rounded = 1 - relu(f"{name_of_block}: is 0", 1 - 2 * found)
    block = named(name_of_block, rounded.with_range(BIT).with_labels([f"bit {k}" for k in range(bits - inner)]))
    in_block = [stack(bit, ~bit - start) for bit in place[inner:]]
    query = [*mismatch_query(head), *mismatch_query(block)]
    return _latest_in_stage(name, query, [*cells, *in_block], start, quiet, place[:inner], wrote)


def _latest_in_stage(
    name: str,
    query: list[Signal],
    key: list[Signal],
    start: Signal,
    quiet: Signal,
    position_bits: list[Signal],
    read: Signal,
) -> Signal:
    """The value of ``read`` at the latest match of the digits, by these position bits; else at the start token."""
    size = 1 << len(position_bits)
    number = constant(0)
    for k, bit in enumerate(position_bits):
        number = number + (1 << k) * bit
    return attend(
        name,
        query=stack(*(size * part for part in query), constant(-size), constant(-4 * size), constant(1)),
        key=stack(*key, start, quiet, number),
        value=read,
        gap=1,
        single_key=True,
        explains="the latest that wrote to this cell",
    )


def _build_codec(machine: TuringMachine, length: int, *, longest_input: int = 0) -> CheckpointCodec:
    """Build the codec for a number of positions."""
    return CheckpointCodec(
        machine,
        length=length,
        modulus=choose_modulus(machine, length or 1),
        max_wraps=MAX_WRAPS,
        max_input_length=longest_input,
    )


_STEPS = (
    "The mean of all wraps is w/(i+1); units compare it with c/(i+1) for each c, exactly.",
    "Penalties are converted to bits; all later values are bits and small integers.",
    "Attention finds the latest write to the cell, in two stages where one would need more than 8 bits.",
    "The transition: one unit per rule; the action whose parts are all set has the largest logit.",
)


def _by_stages(one: Term, two: Term) -> Expression:
    """A cost term that depends on whether the latest write is found in one stage or two."""
    return conditional(
        f"up to {MAX_ONE_STAGE_POSITIONS} positions", lambda codec: codec.length <= MAX_ONE_STAGE_POSITIONS, one, two
    )


_theorem = partial(
    Theorem,
    reference="softmachine; designed for the low precision of third-party checkpoints",
    source=TuringMachine,
    attentions=("hard",),
    steps=_STEPS,
    length=LENGTH_MEANING,
)

THEOREMS = (
    _theorem(
        "turing-residue-address",
        "Turing machines by tokens with their cell modulo M; bfloat16 and float16, one token per step",
        requirements=Requirements(
            "bits of i and of i-1 as position features", scale="O(1)", length_note=POSITION_COUNT_NOTE
        ),
        cost=Cost(
            {}, {"layers": _by_stages(3, 4), "heads": 1 + _by_stages(TAPES, 2 * TAPES)}, remark="one token per step"
        ),
        codec=_build_codec,
        signals=lambda codec, _: signals(codec, positions=True),
        checkpoints=CheckpointSupport(has_position_embeddings=True),
        rank=6,
    ),
    _theorem(
        "turing-residue-address-no-positions",
        "Turing machines by tokens with their cell modulo M, no position features; float32, one token per step",
        requirements=Requirements("no position features", scale="O(N²)", length_note=POSITION_COUNT_NOTE),
        cost=Cost({}, {"layers": 3, "heads": 1 + TAPES}, remark="one token per step"),
        codec=lambda machine, length: _build_codec(machine, length, longest_input=MAX_INPUT_LENGTH),
        signals=lambda codec, _: signals(codec, positions=False),
        checkpoints=CheckpointSupport(has_position_embeddings=False),
        rank=7,
    ),
)
