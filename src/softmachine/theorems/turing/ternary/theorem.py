"""Turing machines by a decoder whose residual stream only contains -1, 0 and 1.

Theorem (Brösamle and Eckstein, "The Expressive Power of Low Precision Softmax Transformers with (Summarized)
Chain-of-Thought", 2026). For every Turing machine with K tapes and every r there is a decoder with O(r) layers of width
O(K r) that emits the run of the machine as long as it fits into 2^r tokens. All numbers between its sublayers are -1, 0
or 1, and the best score of a head exceeds the next by at least 1, at every length. So softmax at the scale ln(8 · 2^r)
and a feed-forward layer that rounds after every head give the same run, in bfloat16 as well as in real numbers.

Numbers (positions, cells) are registers of r bits, ±1 each. A head's cell is not an affine function of the tokens:
every layer adds the move of one more token to it. To make r + 1 layers suffice, the decoder writes the cells in binary
after every r steps. The latest token that wrote to a cell is found by binary search, one bit of its position per layer.

Needs: the length; position features ±bit k of i, for k < r.

Improvements over the paper: two-way tapes (cells are numbers modulo 2^r, and -1 - x is x with every bit flipped),
outputs that contain blanks, verdicts, runs without steps, machines that stop because no rule applies; 4 layers fewer,
about half the width and two thirds of the units.

docs/low-precision.md compares the costs with the paper's.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, constant, named, relu, stack, sum_signals, weighted_sum
from softmachine.ir.gadgets import all_of, is_register_zero, keep_where, register_equals
from softmachine.ir.ranges import BIT, SIGN
from softmachine.languages.turing import Action, TapeConvention, TuringMachine, Verdict
from softmachine.theorems.cost import Cost, apply_template, define, largest, parameter
from softmachine.theorems.shared.turing_codec import STATES, TAPES, describe_rule
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.theorems.turing.ternary import summary
from softmachine.theorems.turing.ternary.cells import (
    PositionBlock,
    ReadSymbols,
    count_cells,
    counting_starts,
    head_cells,
    last_writes,
    next_block_bits,
    read_block,
    read_symbols,
)
from softmachine.theorems.turing.ternary.codec import (
    MIN_BITS,
    BlockBits,
    Marker,
    Meaning,
    OutputEnding,
    OutputSymbol,
    TernaryCodec,
)
from softmachine.theorems.turing.ternary.embedding import PositionRegisters, TokenRegisters, agreement_logit
from softmachine.theorems.turing.ternary.summary import PhaseFlags
from softmachine.transformer.features import ceil_log2

TOUR = (
    TourStep(
        "Which cell comes next?",
        "Step 1. Input, output and summaries list cells in order. The number of tokens since the first one is a "
        "difference of two positions, in registers of r bits, ±1 each.",
        ("counted from", "counted…"),
    ),
    TourStep(
        "Which cells does the last block encode?",
        "Step 2. After every r steps the decoder writes the cells of its heads in binary. At the end of such a block, "
        "one head for each distance d fetches a bit from position i - d, an address matched bit by bit.",
        ("1 back", "2 back", "3 back", "spelled head…", "state before"),
    ),
    TourStep(
        "Where are the heads now?",
        "Step 3. In every layer a token adds its move to the cell of its predecessor, so that after r + 1 layers all "
        "tokens since the block have the correct cells.",
        ("head before…", "head…", "cell…"),
    ),
    TourStep(
        "Which token wrote there last?",
        "Step 4. Binary search: is there a token that wrote to this cell, whose position begins with the bits found so "
        "far and then a 1? One bit of the position per layer; the best score exceeds the next by 1 at every length.",
        ("last write, bit …", "read"),
    ),
    TourStep(
        "Which token comes next?",
        "Step 5. One unit per rule gives the code of the action, in signs; the token whose code agrees in all of them "
        "has the largest logit, by 1. Otherwise a block, a verdict or the output comes next.",
        ("next…", "bit 1 to spell"),
    ),
)
SUMMARY_STEP = TourStep(
    "Is a summary due?",
    "Step 6. When the run is three times as long as its prompt, the decoder writes the configuration, and resumes from "
    "it alone: the context grows with the space, not with the time.",
    ("full", "own cell", "head in the summary", "state in the summary", "last head"),
)


_BITS = parameter("r", "bits of a position", lambda codec: codec.bits)
_HALF = apply_template("⌈{}/2⌉", lambda bits: (bits + 1) // 2, _BITS)
_STATE = parameter("d_Q", "bits of a state", lambda codec: len(TokenRegisters(codec).start))
_SYMBOL = parameter("d_Γ", "bits of a symbol", lambda codec: len(TokenRegisters(codec).blank))
_RULES = parameter("D", "rules", lambda codec: len(codec.machine.rules))
_TWO_WAY = parameter("t", "1 for two-way tapes and 0 for tapes with a left end", lambda codec: int(codec.two_way))
_EMITTED = define("w", _STATE + TAPES * _SYMBOL + 2 * TAPES)
_RULE_UNITS = _RULES + STATES + 2 * _EMITTED + 4
_DENOISED_UNITS = largest(14 * TAPES * _BITS + 2 * _BITS + 20, _RULES + STATES + 6 * _EMITTED + 4)
_HEADS = {
    "key width": 4 * _BITS - 1,
    "value width": largest(_BITS + _TWO_WAY, _STATE, _SYMBOL + 1, TAPES + 1),
}

PLAIN_COST = Cost(
    {"layers": _HALF + 2 * _BITS + 4, "layers with softmax": _HALF + 3 * _BITS + 7},
    {
        "heads per layer": TAPES + 1,
        "width": largest(TAPES + 7, 3 * TAPES + 2) * _BITS + _STATE + TAPES * _SYMBOL + 4 * TAPES + 12,
        **_HEADS,
        "units per layer": largest(10 * TAPES * _BITS + 4 * TAPES + 4, _RULE_UNITS),
        "units per layer with softmax": _DENOISED_UNITS,
    },
    remark="about two tokens per step",
)
SUMMARY_COST = Cost(
    {
        "layers": largest(_HALF + 1, 6) + 2 * _BITS + 3,
        "layers with softmax": largest(_HALF + 2, 9) + 3 * _BITS + 5,
    },
    {
        "heads per layer": largest(2 * TAPES + 1, 5),
        "width": largest(TAPES + 11, 4 * TAPES + 2) * _BITS + 4 * _STATE + 2 * TAPES * _SYMBOL + 5 * TAPES + 14,
        **_HEADS,
        "units per layer": _DENOISED_UNITS,
    },
    remark="about two tokens per step, plus summaries",
)


def transition(
    words: TokenRegisters, state: Signal, read: list[ReadSymbols], at_end: list[Signal]
) -> tuple[Signal, Signal]:
    """A bit, whether a rule applies, and the code of its action, else empty: one unit per rule."""
    machine = words.machine
    situation = stack(state, *(item.symbol for item in read))
    width = len(words.action_code(words.codec.actions[0])) if machine.rules else 1
    units: list[Signal] = []
    action: list[list[tuple[int, Signal]]] = [[] for _ in range(width)]
    for number, rule in enumerate(machine.rules, 1):
        symbols = (sign for symbol in rule.read for sign in words.symbol_code[symbol])
        lefts = [at_end[k] for k in words.tapes if rule.move[k] == "L" and machine.tape is TapeConvention.ERROR]
        off = stack(*lefts) if lefts else None
        code, text = (*words.state_code[rule.state], *symbols), describe_rule(number, rule)
        unit = register_equals(str(rule), situation, code, blockers=off, rule=text)
        units.append(unit)
        signs = words.action_code(Action(rule.next, rule.write, rule.move))
        for part, sign in zip(action, signs, strict=True):
            part.append((sign, unit))
    fires = named("a rule applies", weighted_sum([(1, unit) for unit in units], 0, BIT))
    return fires, named("action", stack(*(weighted_sum(parts, 0, SIGN) for parts in action)))


def action_logits(
    words: TokenRegisters, action: Signal, at_end: list[Signal], continues: Signal
) -> dict[Meaning, Signal]:
    """The logits of actions, where the run continues; at a left end, L = (-1, -1) becomes S = (1, -1)."""
    whole = keep_where("next", action, continues)
    parts = [whole[k] for k in range(len(whole))]
    if words.machine.tape is TapeConvention.STAY and words.machine.rules:
        first = len(action) - 2 * len(words.tapes)
        for k, sign in enumerate(range(first, len(action), 2)):
            held = relu(words.tape_name("held back", k), at_end[k] - action[sign] + continues - 2)
            parts[sign] = parts[sign] + 2 * held
    emitted = named("next action", stack(*parts).with_range(SIGN))
    return {item: agreement_logit(emitted, words.action_code(item)) for item in words.codec.actions}


def verdict_logits(words: TokenRegisters, state: Signal, rule_applies: Signal) -> dict[Meaning, Signal]:
    """The logits of verdicts: whether the machine has stopped in one of their states."""
    machine = words.machine
    active = words.flag("decides", Action, Marker.BEGIN, Marker.END_POSITION, Marker.END_SUMMARY)
    stopped = named("no rule applies", (active - rule_applies).with_range(BIT))
    first, *others = words.codec.verdicts
    logits: dict[Meaning, Signal] = {}
    rest = stopped
    for verdict in others:
        states = [q for q in machine.states if machine.verdict(q) is verdict]
        inside = stack(*(register_equals(f"in {q}", state, words.state_code[q]) for q in states)).total
        logits[verdict] = all_of(f"{verdict}", stopped, named(f"{verdict} state", inside.with_range(BIT)))
        rest = rest - logits[verdict]
    return {first: rest, **logits}


def block_logits(
    words: TokenRegisters, block: PositionBlock, block_bits: Signal, rule_applies: Signal
) -> dict[Meaning, Signal]:
    """The logits of blocks: POS after the r-th step, if another one follows; the bits of the heads' cells; EPOS."""
    bits = (meaning for meaning in words.codec.meanings.values() if isinstance(meaning, BlockBits))
    return {
        Marker.POSITION: all_of("block begins", block.is_due, rule_applies),
        Marker.END_POSITION: block.is_complete,
        **{meaning: agreement_logit(block_bits, meaning.signs) for meaning in bits},
    }


def output_logits(
    words: TokenRegisters, phase: PhaseFlags | None, read: ReadSymbols, left: Signal
) -> dict[Meaning, Signal]:
    """The logits after the verdict: the symbols of the first tape, LEFT after the last one to the right, and END."""
    printing = words.flag("prints", Verdict, OutputSymbol, *([] if phase else [Marker.LEFT]))
    if phase and words.codec.two_way:
        turned = all_of("left of the output", words.flag("LEFT", Marker.LEFT), phase.has_ended)
        printing = (printing + turned).with_range(BIT)
    if words.codec.ending is OutputEnding.WORD:
        missing = register_equals("no more output", read.symbol, words.blank, blockers=1 - printing)
    else:
        missing = relu("no more output", printing - read.was_written).with_range(BIT)
    output = named("output", keep_where("output", read.symbol, (printing - missing).with_range(BIT)))
    logits: dict[Meaning, Signal] = {Marker.END: missing}
    if words.codec.two_way:
        logits[Marker.END] = all_of("output ends", missing, left)
        logits[Marker.LEFT] = relu("output goes left", missing - left).with_range(BIT)
    return logits | {OutputSymbol(symbol): agreement_logit(output, code) for symbol, code in words.symbol_code.items()}


SPARE_TOLERANCE = Fraction(3, 16)
"""Part of the tolerance of 1/4 that is reserved for rounding: enough for attention weights with four significant bits.

So the scale is ln(32 · 2^r), whereas ln(8 · 2^r) suffices over the reals.
"""


STEPS = (
    "In input, output and summaries: the next cell, counted from their first token.",
    "The latest block: the cells of all heads, two bits per layer.",
    "The cells of the heads after every token, and the cell that it wrote: one more move per layer.",
    "The symbols under the heads: the latest token that wrote to the cell, by binary search for its position.",
    "The transition, and the logits of all other tokens.",
)


def position_bits(length: int) -> int:
    """Return r, the number of bits of a position, for contexts of a length."""
    return max(ceil_log2(length), MIN_BITS)


def signals(codec: TernaryCodec, *, denoised: bool = False) -> Program:
    """Build the decoder of a machine; ``denoised`` rounds the outputs of heads, for softmax and low precision."""
    words, positions = TokenRegisters(codec), PositionRegisters.of_bits(codec.bits, denoised=denoised)
    phase = summary.phase_flags(words, positions) if codec.writes_summaries else None

    # Step 1. In input, output and summaries: the next cell, counted from their first token.
    origins = summary.counting_starts(words, positions, phase) if phase else counting_starts(words)
    counted, left = count_cells(words, positions, origins)

    # Step 2. The latest block: the cells of all heads, two bits per layer.
    full = summary.summary_is_due(positions, phase) if phase else constant(0)
    block = read_block(words, positions, full)
    known, state = _explicit_state(words, positions, phase, counted, block)

    # Step 3. The cells of the heads after every token, and the cell that it wrote: one more move per layer.
    head, cell = head_cells(words, positions, known)

    # Step 4. The symbols under the heads: the latest token that wrote to the cell, by binary search for its position.
    latest = last_writes(words, positions, head, cell)
    read = read_symbols(words, positions, latest)

    # Step 5. The transition, and the logits of all other tokens.
    names = [words.tape_name("at cell 0", k) for k in words.tapes]
    at_end = [named(name, is_register_zero(name, own)) for name, own in zip(names, head, strict=True)]
    fires, action = transition(words, state, read, at_end)
    is_due = all_of("summary is due", words.is_step, full) if phase else constant(0)
    spelled = next_block_bits(words, positions, head, due=latest[0])
    logits = {
        **action_logits(words, action, at_end, (1 - block.is_due - is_due).with_range(BIT)),
        **verdict_logits(words, state, fires),
        **block_logits(words, block, spelled, fires),
        **output_logits(words, phase, read[0], left),
    }
    if phase:
        # Step 6. When the run is three times as long as its prompt, a summary is written: the next prompt.
        on_next, last_state = summary.cells_at_heads(words, positions, state, head)
        written = summary.summary_logits(words, phase, read, on_next, last_state, left)
        if codec.two_way:
            written[Marker.LEFT] = logits[Marker.LEFT] + written[Marker.LEFT]
        logits |= {**written, Marker.SUMMARY: all_of("summary is next", is_due, fires)}
    of_tokens = {codec.tokens[meaning]: logit for meaning, logit in logits.items()}
    program = words.vocabulary.program(codec.machine.name, of_tokens, margin=Fraction(1), reuse_coordinates=True)
    return replace(program, spare_tolerance=SPARE_TOLERANCE)


def _explicit_state(
    words: TokenRegisters,
    positions: PositionRegisters,
    phase: summary.PhaseFlags | None,
    counted: Signal,
    block: PositionBlock,
) -> tuple[list[Signal], Signal]:
    """The heads' cells (or the counted cell) and the state, at tokens that contain them explicitly."""
    state = words.state + block.state
    if phase:
        summarised, last_state = summary.summarised_prompt(words, positions, phase, counted)
        state = state + last_state
        heads = [[counted, block.heads[k], summarised[k]] for k in words.tapes]
    else:
        heads = [[counted, block.heads[0]], *([own] for own in block.heads[1:])]  # the input is on the first tape
    known = [
        named(words.tape_name("head", k), sum_signals(words.start_cell, *own, value_range=SIGN))
        for k, own in enumerate(heads)
    ]
    return known, named("state", state.with_range(SIGN))


_theorem = partial(
    Theorem,
    reference="Brösamle and Eckstein, The Expressive Power of Low Precision Softmax Transformers with (Summarized) "
    "Chain-of-Thought",
    requirements=Requirements("position features ±bit k of i, for k < ⌈log₂ length⌉", scale="O(log length)"),
    source=TuringMachine,
    attentions=("hard",),  # softmax requires a certificate, which determines the scale
    signals=lambda codec, attention: signals(codec, denoised=attention != "hard"),
    certified_variant="denoised",
)

THEOREMS = (
    _theorem(
        "turing-ternary",
        "Turing machines in low precision (Brösamle and Eckstein): activations -1, 0 and 1, about two tokens per step",
        cost=PLAIN_COST,
        codec=lambda machine, length: TernaryCodec(machine, position_bits(length)),
        length="the number of tokens of prompt and run together",
        steps=STEPS,
        tour=TOUR,
        rank=3,
    ),
    _theorem(
        "turing-ternary-summary",
        "the same with summaries: runs resume from a configuration; the context grows with the space only",
        cost=SUMMARY_COST,
        codec=lambda machine, length: TernaryCodec(machine, position_bits(length), writes_summaries=True),
        length="the number of tokens of one segment: a little more than five times the cells in use",
        steps=(*STEPS, "When the run is three times as long as its prompt, a summary is written: the next prompt."),
        tour=(*TOUR, SUMMARY_STEP),
        rank=4,
    ),
)
