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
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, constant, named, total
from softmachine.ir.gadgets import all_of, is_place_zero
from softmachine.ir.kinds import BIT, SIGN
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.ternary import summary
from softmachine.theorems.ternary.blocks import Block, bits_to_spell, read_block
from softmachine.theorems.ternary.cells import beginnings, count_cells, follow_moves, last_writes, read_symbols
from softmachine.theorems.ternary.cost import PLAIN_COST, SUMMARY_COST
from softmachine.theorems.ternary.embedding import Positions, Words
from softmachine.theorems.ternary.following import (
    action_logits,
    block_logits,
    output_logits,
    transition,
    verdict_logits,
)
from softmachine.theorems.ternary.telling import GUIDE, SUMMARY, tell
from softmachine.theorems.ternary.tokens import LEAST_BITS, Mark, TernaryCodec
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.features import ceil_log2

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
