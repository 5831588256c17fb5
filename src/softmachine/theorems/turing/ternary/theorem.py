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

Cost of the ternary constructions, without and with summaries; docs/low-precision.md lists the paper's costs.

Logits of the next token (step 5): the agreement of each token's code with the code to emit. Margin: 1.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, constant, named, relu, stack, total, weighted
from softmachine.ir.gadgets import all_of, is_place_zero, kept, matches
from softmachine.ir.ranges import BIT, SIGN
from softmachine.languages.turing import Action, Tape, TuringMachine, Verdict
from softmachine.theorems.cost import Cost, apply, largest, let, parameter
from softmachine.theorems.shared.turing_codec import STATES, TAPES
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.theorems.turing.ternary import summary
from softmachine.theorems.turing.ternary.blocks import Block, bits_to_spell, read_block
from softmachine.theorems.turing.ternary.cells import (
    Read,
    beginnings,
    count_cells,
    follow_moves,
    last_writes,
    read_symbols,
)
from softmachine.theorems.turing.ternary.codec import LEAST_BITS, Bits, Ending, Mark, Meaning, Output, TernaryCodec
from softmachine.theorems.turing.ternary.embedding import Positions, Words, agreement
from softmachine.theorems.turing.ternary.explanations import GUIDE, SUMMARY, tell
from softmachine.theorems.turing.ternary.summary import Phase
from softmachine.transformer.features import ceil_log2

_BITS = parameter("r", "bits of a position", lambda codec: codec.bits)
_HALF = apply("⌈{}/2⌉", lambda bits: (bits + 1) // 2, _BITS)
_STATE = parameter("d_Q", "bits of a state", lambda codec: len(Words(codec).start))
_SYMBOL = parameter("d_Γ", "bits of a symbol", lambda codec: len(Words(codec).blank))
_RULES = parameter("D", "rules", lambda codec: len(codec.machine.rules))
_TWO_WAY = parameter("t", "1 for two-way tapes and 0 for tapes with a left end", lambda codec: int(codec.two_way))
_EMITTED = let("w", _STATE + TAPES * _SYMBOL + 2 * TAPES)
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
    also="about two tokens per step",
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
    also="about two tokens per step, plus summaries",
)


def transition(words: Words, state: Signal, read: list[Read], at_end: list[Signal]) -> tuple[Signal, Signal]:
    """A bit, whether a rule applies, and the code of its action, else empty: one unit per rule."""
    machine = words.machine
    situation = stack(state, *(item.symbol for item in read))
    width = len(words.action_code(words.codec.actions[0])) if machine.rules else 1
    units: list[Signal] = []
    action: list[list[tuple[int, Signal]]] = [[] for _ in range(width)]
    for rule in machine.rules:
        symbols = (sign for symbol in rule.read for sign in words.symbol_code[symbol])
        lefts = [at_end[k] for k in words.tapes if rule.move[k] == "L" and machine.tape is Tape.ERROR]
        off = stack(*lefts) if lefts else None
        unit = matches(str(rule), situation, (*words.state_code[rule.state], *symbols), off=off)
        units.append(unit)
        signs = words.action_code(Action(rule.next, rule.write, rule.move))
        for part, sign in zip(action, signs, strict=True):
            part.append((sign, unit))
    fires = named("a rule applies", weighted([(1, unit) for unit in units], 0, BIT))
    return fires, named("action", stack(*(weighted(parts, 0, SIGN) for parts in action)))


def action_logits(words: Words, action: Signal, at_end: list[Signal], goes_on: Signal) -> dict[Meaning, Signal]:
    """The logits of actions, where the run continues; at a left end, L = (-1, -1) becomes S = (1, -1)."""
    whole = kept("next", action, goes_on)
    parts = [whole[k] for k in range(len(whole))]
    if words.machine.tape is Tape.STAY and words.machine.rules:
        first = len(action) - 2 * len(words.tapes)
        for k, sign in enumerate(range(first, len(action), 2)):
            held = relu(words.name("held back", k), at_end[k] - action[sign] + goes_on - 2)
            parts[sign] = parts[sign] + 2 * held
    emitted = named("next action", stack(*parts).known(SIGN))
    return {item: agreement(emitted, words.action_code(item)) for item in words.codec.actions}


def verdict_logits(words: Words, state: Signal, fires: Signal) -> dict[Meaning, Signal]:
    """The logits of verdicts: whether the machine has stopped in one of their states."""
    machine = words.machine
    active = words.flag("decides", Action, Mark.BEGIN, Mark.END_POSITION, Mark.END_SUMMARY)
    stopped = named("no rule applies", (active - fires).known(BIT))
    first, *others = words.codec.verdicts
    logits: dict[Meaning, Signal] = {}
    rest = stopped
    for verdict in others:
        states = [q for q in machine.states if machine.verdict(q) is verdict]
        inside = stack(*(matches(f"in {q}", state, words.state_code[q]) for q in states)).total
        logits[verdict] = all_of(f"{verdict}", stopped, named(f"{verdict} state", inside.known(BIT)))
        rest = rest - logits[verdict]
    return {first: rest, **logits}


def block_logits(words: Words, block: Block, spelled: Signal, fires: Signal) -> dict[Meaning, Signal]:
    """The logits of blocks: POS after the r-th step, if another one follows; the bits of the heads' cells; EPOS."""
    bits = (meaning for meaning in words.codec.meanings.values() if isinstance(meaning, Bits))
    return {
        Mark.POSITION: all_of("block begins", block.due, fires),
        Mark.END_POSITION: block.complete,
        **{meaning: agreement(spelled, meaning.signs) for meaning in bits},
    }


def output_logits(words: Words, phase: Phase | None, read: Read, left: Signal) -> dict[Meaning, Signal]:
    """The logits after the verdict: the symbols of the first tape, LEFT after the last one to the right, and END."""
    printing = words.flag("prints", Verdict, Output, *([] if phase else [Mark.LEFT]))
    if phase and words.codec.two_way:
        turned = all_of("left of the output", words.flag("LEFT", Mark.LEFT), phase.ended)
        printing = (printing + turned).known(BIT)
    if words.codec.ending is Ending.WORD:
        missing = matches("no more output", read.symbol, words.blank, off=1 - printing)
    else:
        missing = relu("no more output", printing - read.found).known(BIT)
    output = named("output", kept("output", read.symbol, (printing - missing).known(BIT)))
    logits: dict[Meaning, Signal] = {Mark.END: missing}
    if words.codec.two_way:
        logits[Mark.END] = all_of("output ends", missing, left)
        logits[Mark.LEFT] = relu("output goes left", missing - left).known(BIT)
    return logits | {Output(symbol): agreement(output, code) for symbol, code in words.symbol_code.items()}


SPARE = Fraction(3, 16)
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


def bits_for(length: int) -> int:
    """Return r, the number of bits of a position, for contexts of a length."""
    return max(ceil_log2(length), LEAST_BITS)


def signals(codec: TernaryCodec, *, denoised: bool = False) -> Program:
    """Build the decoder of a machine; ``denoised`` rounds the outputs of heads, for softmax and low precision."""
    words, positions = Words(codec), Positions.of(codec.bits, denoised=denoised)
    phase = summary.phase_of(words, positions) if codec.summarises else None

    # Step 1. In input, output and summaries: the next cell, counted from their first token.
    origins = summary.beginnings(words, positions, phase) if phase else beginnings(words)
    counted, left = count_cells(words, positions, origins)

    # Step 2. The latest block: the cells of all heads, two bits per layer.
    full = summary.is_full(positions, phase) if phase else constant(0)
    block = read_block(words, positions, full)
    known, state = _begun(words, positions, phase, counted, block)

    # Step 3. The cells of the heads after every token, and the cell that it wrote: one more move per layer.
    head, cell = follow_moves(words, positions, known)

    # Step 4. The symbols under the heads: the latest token that wrote to the cell, by binary search for its position.
    latest = last_writes(words, positions, head, cell)
    read = read_symbols(words, positions, latest)

    # Step 5. The transition, and the logits of all other tokens.
    names = [words.name("at cell 0", k) for k in words.tapes]
    at_end = [named(name, is_place_zero(name, own)) for name, own in zip(names, head, strict=True)]
    fires, action = transition(words, state, read, at_end)
    is_due = all_of("summary is due", words.runs, full) if phase else constant(0)
    spelled = bits_to_spell(words, positions, head, pace=latest[0])
    logits = {
        **action_logits(words, action, at_end, (1 - block.due - is_due).known(BIT)),
        **verdict_logits(words, state, fires),
        **block_logits(words, block, spelled, fires),
        **output_logits(words, phase, read[0], left),
    }
    if phase:
        # Step 6. When the run is three times as long as its prompt, a summary is written: the next prompt.
        on_next, last_state = summary.last_step(words, positions, state, head)
        written = summary.summary_logits(words, phase, read, on_next, last_state, left)
        if codec.two_way:
            written[Mark.LEFT] = logits[Mark.LEFT] + written[Mark.LEFT]
        logits |= {**written, Mark.SUMMARY: all_of("summary is next", is_due, fires)}
    of_tokens = {codec.tokens[meaning]: logit for meaning, logit in logits.items()}
    program = words.vocabulary.program(codec.machine.name, of_tokens, margin=Fraction(1), narrow=True)
    return replace(program, spare=SPARE)


def _begun(
    words: Words, positions: Positions, phase: summary.Phase | None, counted: Signal, block: Block
) -> tuple[list[Signal], Signal]:
    """The heads' cells (or the counted cell) and the state, at tokens that contain them explicitly."""
    state = words.state + block.state
    if phase:
        summarised, last_state = summary.told_at_the_end(words, positions, phase, counted)
        state = state + last_state
        heads = [[counted, block.heads[k], summarised[k]] for k in words.tapes]
    else:
        heads = [[counted, block.heads[0]], *([own] for own in block.heads[1:])]  # the input is on the first tape
    known = [named(words.name("head", k), total(words.start_cell, *own, kind=SIGN)) for k, own in enumerate(heads)]
    return known, named("state", state.known(SIGN))


_theorem = partial(
    Theorem,
    reference="Brösamle and Eckstein, The Expressive Power of Low Precision Softmax Transformers with (Summarized) "
    "Chain-of-Thought",
    needs=Needs("position features ±bit k of i, for k < ⌈log₂ length⌉", scale="O(log length)"),
    source=TuringMachine,
    attentions=("hard",),  # softmax requires a certificate, which determines the scale
    signals=lambda codec, attention: signals(codec, denoised=attention != "hard"),
    certified="denoised",
    tells=tell,
)

THEOREMS = (
    _theorem(
        "turing-ternary",
        "Turing machines in low precision (Brösamle and Eckstein): activations -1, 0 and 1, about two tokens per step",
        cost=PLAIN_COST,
        codec=lambda machine, length: TernaryCodec(machine, bits_for(length)),
        length="the number of tokens of prompt and run together",
        steps=STEPS,
        guide=GUIDE,
        rank=3,
    ),
    _theorem(
        "turing-ternary-summary",
        "the same with summaries: runs resume from a configuration; the context grows with the space only",
        cost=SUMMARY_COST,
        codec=lambda machine, length: TernaryCodec(machine, bits_for(length), summarises=True),
        length="the number of tokens of one segment: a little more than five times the cells in use",
        steps=(*STEPS, "When the run is three times as long as its prompt, a summary is written: the next prompt."),
        guide=(*GUIDE, SUMMARY),
        rank=4,
    ),
)
