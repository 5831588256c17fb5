"""Every Turing machine by a decoder whose residual stream holds nothing but -1, 0 and 1.

Theorem (Brösamle and Eckstein, "The Expressive Power of Low Precision Softmax Transformers with (Summarized)
Chain-of-Thought", 2026). For every Turing machine with K tapes and every r there is a decoder with O(r) layers of width
O(K r) that emits the run of the machine as long as it fits into 2^r tokens. All numbers between its sublayers are -1, 0
or 1, and the best score of a head exceeds the next by at least 1, at every length. So softmax at the scale ln(8 · 2^r)
and a feed-forward layer that rounds after every head give the same run, in bfloat16 as well as in real numbers.

Numbers (positions, cells) are registers of r bits, ±1 each. A head's cell is no affine function of anything that was
written: every layer adds the move of one more token to it. So that r + 1 layers suffice, the decoder spells the cells
in binary after every r steps. The latest token that wrote to a cell is found by binary search, one bit of its position
a layer.

Needs: the length; position features ±bit k of i, for k < r.

What differs from the paper, for the better: two-way tapes (cells are numbers modulo 2^r, and -1 - x is x with every bit
flipped), outputs with blanks in them, verdicts, runs of no step, machines that stop because no rule applies; 4 layers
fewer, about half the width and two thirds of the units.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, constant, named, total
from softmachine.ir.gadgets import all_of, is_place_zero
from softmachine.ir.kinds import BIT, SIGN
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.ternary import cost, summary
from softmachine.theorems.ternary.blocks import Block, bits_to_spell, read_block
from softmachine.theorems.ternary.cells import beginnings, count_cells, follow_moves, last_writes, read_symbols
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
"""Of the 1/4 that rounding takes away; enough for attention weights with four significant bits.

So the scale is ln(32 · 2^r) where real numbers would do with ln(8 · 2^r).
"""


STEPS = (
    "Where input, output and summaries are: the cell that comes next, counted from where they begin.",
    "What the latest block spells: the cells of all heads, two bits a layer.",
    "The cells of the heads after every token, and the cell that it wrote: one move more a layer.",
    "The symbols under the heads: the latest token that wrote to the cell, found bit by bit of its position.",
    "The transition, and what else may come next.",
)


def bits_for(length: int) -> int:
    """r, the bits of a position, for so many tokens."""
    return max(ceil_log2(length), LEAST_BITS)


def signals(codec: TernaryCodec, *, denoised: bool = False) -> Program:
    """The decoder of a machine; ``denoised`` if what heads retrieve is rounded, as softmax and low precision need."""
    words, positions = Words(codec), Positions.of(codec.bits, denoised=denoised)
    phase = summary.phase_of(words, positions) if codec.summarises else None

    # Step 1. Where input, output and summaries are: the cell that comes next, counted from where they begin.
    origins = summary.beginnings(words, positions, phase) if phase else beginnings(words)
    counted, left = count_cells(words, positions, origins)

    # Step 2. What the latest block spells: the cells of all heads, two bits a layer.
    full = summary.is_full(positions, phase) if phase else constant(0)
    block = read_block(words, positions, full)
    known, state = _begun(words, positions, phase, counted, block)

    # Step 3. The cells of the heads after every token, and the cell that it wrote: one move more a layer.
    head, cell = follow_moves(words, positions, known)

    # Step 4. The symbols under the heads: the latest token that wrote to the cell, found bit by bit of its position.
    latest = last_writes(words, positions, head, cell)
    read = read_symbols(words, positions, latest)

    # Step 5. The transition, and what else may come next.
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
        logits |= {**written, Mark.SUMMARY: all_of("summary comes", is_due, fires)}
    of_tokens = {codec.tokens[meaning]: logit for meaning, logit in logits.items()}
    program = words.vocabulary.program(codec.machine.name, of_tokens, margin=Fraction(1), narrow=True)
    return replace(program, spare=SPARE)


def _begun(
    words: Words, positions: Positions, phase: summary.Phase | None, counted: Signal, block: Block
) -> tuple[list[Signal], Signal]:
    """Where cells and states are said and not deduced: the heads' cells, or the cell that is told, and the state."""
    state = words.state + block.state
    if phase:
        told, told_state = summary.told_at_the_end(words, positions, phase, counted)
        state = state + told_state
        heads = [[counted, block.heads[k], told[k]] for k in words.tapes]
    else:
        heads = [[counted, block.heads[0]], *([own] for own in block.heads[1:])]  # the input is on the first tape
    together = [named(words.name("head", k), total(words.start_cell, *said, kind=SIGN)) for k, said in enumerate(heads)]
    return together, named("state", state.known(SIGN))


_theorem = partial(
    Theorem,
    reference="Brösamle and Eckstein, The Expressive Power of Low Precision Softmax Transformers with (Summarized) "
    "Chain-of-Thought",
    needs=Needs("position features ±bit k of i, for k < ⌈log₂ length⌉", scale="O(log length)"),
    source=TuringMachine,
    attentions=("hard",),  # softmax comes with a certificate, at the scale that it says
    signals=lambda codec, attention: signals(codec, denoised=attention != "hard"),
    certified="denoised",
    tells=tell,
)

THEOREMS = (
    _theorem(
        "ternary",
        "Brösamle and Eckstein: average-hard or soft attention, activations -1, 0 and 1, about two tokens a step",
        cost=cost.PLAIN,
        codec=lambda machine, length: TernaryCodec(machine, bits_for(length)),
        length="the number of tokens of prompt and run together",
        steps=STEPS,
        guide=GUIDE,
        rank=3,
    ),
    _theorem(
        "ternary-summary",
        "the same with summaries: the run goes on from the configuration, and only the space counts",
        cost=cost.SUMMARY,
        codec=lambda machine, length: TernaryCodec(machine, bits_for(length), summarises=True),
        length="the number of tokens of one segment: five times the cells in use, and some",
        steps=(*STEPS, "When the run is three times as long as its prompt, a summary is written: the next prompt."),
        guide=(*GUIDE, SUMMARY),
        rank=4,
    ),
)
