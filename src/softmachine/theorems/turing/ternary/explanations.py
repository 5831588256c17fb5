"""Explanations of the heads of the ternary constructions: preceding tokens, and the latest writes."""

from __future__ import annotations

import re

from softmachine.theorems.theorem import TourStep
from softmachine.theorems.turing.ternary.codec import TernaryCodec
from softmachine.transformer.head_view import HeadView

_BACK_NAME = re.compile(r"(\d+) back")
_BIT_NAME = re.compile(r"last write, bit (\d+)( \d+)?")

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


def explain_head(codec: TernaryCodec, view: HeadView) -> str | None:
    """Explain an observation of a head; None if there is no explanation."""
    if len(view.chosen) != 1:
        return None
    position = view.chosen[0]
    there = f"position {position:,} ({view.tokens[position]})"
    if found := _BACK_NAME.fullmatch(view.name):
        return f"{found[1]} back is {there}"
    if view.name.startswith("head before"):
        return f"the token before is {there}"
    if found := _BIT_NAME.fullmatch(view.name):
        (value,) = view.added.values() if len(view.added) == 1 else (None,)
        if value is None:
            return None
        tape = f" of tape{found[2]}" if found[2] else ""
        some = "some token that wrote" if float(value) > 0.5 else "no token that wrote"
        return f"{some} to this cell{tape} has the bits found so far and then bit {found[1]} = 1"
    if view.name == "read" and codec.machine.tapes == 1:
        return f"the latest that wrote to this cell is {there}" if position else "no token wrote to this cell"
    return f"cells are counted from {there}" if view.name == "counted from" else None
