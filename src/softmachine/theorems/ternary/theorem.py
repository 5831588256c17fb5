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

Needs: the length; position features ±bit k of i, for k < r. Costs: see :mod:`.ternary_cost`; two tokens a step.

What differs from the paper, for the better: two-way tapes (cells are numbers modulo 2^r, and -1 - x is x with every bit
flipped), outputs with blanks in them, verdicts, runs of no step, machines that stop because no rule applies; 4 layers
fewer, about half the width and two thirds of the units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from softmachine.languages.turing import Action, TuringMachine, Verdict
from softmachine.signals import Program, Signal, constant, named, relu, stack, total
from softmachine.signals.gadgets import (
    broadcast,
    decreased,
    difference,
    fetch,
    is_place_zero,
    kept,
    overwritten,
    place,
    search_step,
    snapped,
    step_of,
)
from softmachine.signals.kinds import BIT, SIGN
from softmachine.theorems.ternary.next import Next, Situation
from softmachine.theorems.ternary.summary import Summary
from softmachine.theorems.ternary.tokens import LEAST_BITS, Mark, TernaryCodec
from softmachine.theorems.ternary.words import Words
from softmachine.theorems.theorem import Theorem
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
    return _Decoder(codec, denoised).program()


@dataclass(frozen=True)
class _Blocks:
    """What the spelled positions are read for.

    Args:
        heads: For each tape the cell that a block spells, at its end; else none.
        state: The state after the last step before a block, at its end; else none.
        due: A bit: whether this is the r-th step since the prompt or the last block.
        complete: A bit: whether this token spells the last bit.
    """

    heads: list[Signal]
    state: Signal
    due: Signal
    complete: Signal


class _Decoder:
    def __init__(self, codec: TernaryCodec, denoised: bool) -> None:
        self.codec, self.denoised = codec, denoised
        self.words = Words(codec)
        self.machine, self.tapes, self.bits = codec.machine, self.words.tapes, codec.bits
        self.place = place(codec.bits)
        self.sink = named("position 0", is_place_zero("position 0", self.place))
        self.previous = decreased("i - 1", self.place)
        self.runs = self.words.flag("step", Action)
        self.summary = Summary(self.words, self.heads, self.sink) if codec.summarises else None

    def heads(self, found: Signal, name: str) -> Signal:
        """What a head has retrieved: as it is, or rounded."""
        return snapped(name, found) if self.denoised else found

    def fetched(self, name: str, address: Signal, read: Signal) -> Signal:
        """What ``read`` is at the position that a register names."""
        return self.heads(fetch(name, address, self.place, read), name)

    def program(self) -> Program:
        """The proof."""
        words, tapes = self.words, self.tapes

        # Step 1. Where input, output and summaries are: the cell that comes next, counted from where they begin.
        counted, left = self.counted()
        heads = [words.start_cell(self.bits)] * len(tapes)
        heads = [total(own, counted, kind=SIGN) if k == 0 or self.summary else own for k, own in enumerate(heads)]

        # Step 2. What the latest block spells: the cells of all heads, two bits a layer.
        blocks = self.blocks()
        heads = [total(own, block, kind=SIGN) for own, block in zip(heads, blocks.heads, strict=True)]
        state = words.state + blocks.state
        if self.summary:
            self.summary.read_prompt(self.previous, counted, self.fetched)
            heads = [total(own, told, kind=SIGN) for own, told in zip(heads, self.summary.heads, strict=True)]
            state = state + self.summary.state
        state = named("state", state.known(SIGN))

        # Step 3. The cells of the heads after every token, and the cell that it wrote: its predecessor's head.
        head, cell = self.propagated([named(words.name("head", k), own.known(SIGN)) for k, own in enumerate(heads)])

        # Step 4. The symbols under the heads: the latest token that wrote to the cell, bit by bit; and next to it, the
        # bits of the heads' cells to be spelled.
        latest, spelled = self.searched(head, cell)
        read, found = [], []
        for k in tapes:
            symbol = self.fetched(words.name("read", k), latest[k], stack(words.symbol(k), 1 - self.sink))
            read.append(symbol[:-1])
            found.append(symbol[-1])
        if self.summary:
            self.summary.find_last(state, head, self.previous, self.fetched)

        # Step 5. The transition, and what else may come next.
        situation = Situation(state, head, read, found, blocks.due, blocks.complete, spelled, left)
        logits = Next(words, self.summary, situation).logits(self.runs)
        program = words.vocabulary.program(self.machine.name, logits, margin=Fraction(1), narrow=True)
        return replace(program, spare=SPARE)

    def counted(self) -> tuple[Signal, Signal]:
        """The number of tokens since the counting began, or the complement of that to the left of cell 0."""
        words = self.words
        ends = words.flag("verdict", Verdict)
        goes_left = words.flag("LEFT", Mark.LEFT)
        ranked = [words.flag("INP", Mark.INPUT), ends, goes_left]
        if self.summary:
            ranked = self.summary.beginnings(self.sink, ends, goes_left)
        elif not self.codec.two_way:
            ranked = ranked[:2]
        if not self.codec.two_way:
            origin = self.heads(broadcast("counted from", ranked, self.place), "counted from")
            return difference("counted", self.place, origin, words.counts), constant(0)
        found = self.heads(broadcast("counted from", ranked, stack(self.place, goes_left)), "counted from")
        left = named("to the left", found[-1])
        return difference("counted", self.place, found[:-1], words.counts, left), left

    def blocks(self) -> _Blocks:
        """Two pointers walk back through a block: the last token but d has bit r - d of every head."""
        words, bits = self.words, self.bits
        ends = words.flag("EPOS", Mark.END_POSITION)
        opens = words.flag("POS", Mark.POSITION)
        pointers = [self.previous, decreased("i - 2", self.place, 1)]
        spelled: list[list[Signal]] = [[constant(0)] * bits for _ in self.tapes]
        last_run = complete = constant(0)
        for back in range(1, bits + 3):
            pointer = pointers[(back - 1) % 2]
            if back > 2 and back != bits + 1:
                pointer = pointers[(back - 1) % 2] = decreased(f"i - {back}", pointer, 1)
            if back <= bits:
                asked = [words.spelled] + [self.runs] * (back == bits - 1) + [opens] * (back == bits)
                found = self.fetched(f"{back} back", pointer, stack(*asked))
                for k in self.tapes:
                    spelled[k][bits - back] = kept(words.name("spelled head", k), found[k], ends)
                if back == bits - 1:
                    last_run = found[-1]
                if back == bits:
                    complete = found[-1]
        # The last step before a block stands r + 2 tokens before its end.
        state = kept("state before", self.fetched("state before", pointers[(bits + 1) % 2], words.state), ends)
        capped = self.summary.capped(self.place) if self.summary else constant(0)
        due = relu("block is due", self.runs + last_run - 1 - capped).known(BIT)
        return _Blocks([stack(*parts) for parts in spelled], state, due, named("block is complete", complete))

    def propagated(self, head: list[Signal]) -> tuple[list[Signal], list[Signal]]:
        """The head's cells after every token, and the cells that the tokens wrote to.

        After t rounds the t-th token after the prompt or a block has its head. At most r steps and one POS follow.
        """
        words = self.words
        moving = words.flag("moves", Action, Mark.POSITION)
        right, left = ([words.move(k, letter) for k in self.tapes] for letter in "RL")
        wraps = self.codec.two_way
        before: list[Signal] = []
        for _ in range(self.bits + 1):
            before = [self.fetched(words.name("head before", k), self.previous, head[k]) for k in self.tapes]
            for k in self.tapes:
                name = words.name("head", k)
                stepped = step_of(name, before[k], right[k], left[k], wraps=wraps)
                moved = total(kept(name, before[k], moving), stepped, kind=SIGN)
                head[k] = overwritten(name, head[k], moving, moved, after=before[k])
        cells = [
            named(words.name("cell", k), kept(words.name("cell", k), before[k], words.writes(k))) for k in self.tapes
        ]
        return head, cells

    def searched(self, head: list[Signal], cell: list[Signal]) -> tuple[list[Signal], Signal]:
        """The position of the latest token that wrote to each head's cell, 0 if none did; the bits to be spelled."""
        words, bits = self.words, self.bits
        opens = words.flag("POS", Mark.POSITION)
        theirs = [self.place[bit] + self.sink for bit in range(bits)]  # none at position 0
        latest: list[list[Signal]] = [[] for _ in self.tapes]
        spelled = [kept(words.name("bit", k), head[k][0], opens) for k in self.tapes]
        pointer = self.previous
        for bit in reversed(range(bits)):
            back = bits - bit
            if 1 < back < bits:
                pointer = decreased(f"i - {back} again", pointer, after=latest[0][0])
            for k in self.tapes:
                name = words.name(f"last write, bit {bit}", k)
                prefix, keys = [constant(1), *latest[k]], theirs[bit:]
                higher = search_step(name, head[k], cell[k], prefix, keys, self.sink)
                latest[k].insert(0, 2 * self.heads(higher, name) - 1)
            if back < bits:
                asked = stack(*(head[k][back] for k in self.tapes), opens)
                found = self.fetched(f"bit {back} to spell", pointer, asked)
                for k in self.tapes:
                    spelled[k] = spelled[k] + kept(words.name("bit", k), found[k], found[-1])
        return [stack(*parts) for parts in latest], named("bits to spell", stack(*spelled).known(SIGN))


_theorem = partial(
    Theorem,
    reference="Brösamle and Eckstein, The Expressive Power of Low Precision Softmax Transformers with (Summarized) "
    "Chain-of-Thought",
    needs="position features ±bit k of i, for k < ⌈log₂ length⌉; scale O(log length)",
    source=TuringMachine,
    attentions=("hard", "soft"),
    signals=lambda codec, attention: signals(codec, denoised=attention != "hard"),
    certified="denoised",
)

THEOREMS = (
    _theorem(
        "ternary",
        "Brösamle and Eckstein: average-hard or soft attention, activations -1, 0 and 1, about two tokens a step",
        cost="⌈r/2⌉ + 2r + 4 layers (⌈r/2⌉ + 3r + 7 with softmax) for r = ⌈log₂ length⌉, K + 1 heads, width O(K r)",
        codec=lambda machine, length: TernaryCodec(machine, bits_for(length)),
        length="the number of tokens of prompt and run together",
        steps=STEPS,
        rank=3,
    ),
    _theorem(
        "ternary-summary",
        "the same with summaries: the run goes on from the configuration, and only the space counts",
        cost="max(⌈r/2⌉ + 1, 6) + 2r + 3 layers (max(⌈r/2⌉ + 2, 9) + 3r + 5 with softmax), max(2K + 1, 5) heads",
        codec=lambda machine, length: TernaryCodec(machine, bits_for(length), summarises=True),
        length="the number of tokens of one segment: five times the cells in use, and some",
        steps=(*STEPS, "When the run is three times as long as its prompt, a summary is written: the next prompt."),
        rank=4,
    ),
)
