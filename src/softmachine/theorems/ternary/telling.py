"""A walk through one token of the ternary constructions, and what their heads saw: tokens back, and who wrote last."""

from __future__ import annotations

import re

from softmachine.theorems.ternary.tokens import TernaryCodec
from softmachine.theorems.theorem import Guide
from softmachine.transformer.sight import Sight

_BACK = re.compile(r"(\d+) back")
_BIT = re.compile(r"last write, bit (\d+)( \d+)?")

GUIDE = (
    Guide(
        "Which cell comes next?",
        "Step 1. Input, output and summaries tell cells one after the other. How many tokens have gone by since they "
        "began is a difference of two positions, in registers of r bits, ±1 each.",
        ("counted from", "counted…"),
    ),
    Guide(
        "What did the last block spell?",
        "Step 2. After every r steps the decoder spells the cells of its heads in binary. At the end of such a block, "
        "one head for each token back fetches its bit: the address i - d, matched bit by bit.",
        ("1 back", "2 back", "3 back", "spelled head…", "state before"),
    ),
    Guide(
        "Where are the heads now?",
        "Step 3. Every layer adds the move of one more token to the cell that its predecessor knows, so that after "
        "r + 1 layers all tokens since the block know theirs.",
        ("head before…", "head…", "cell…"),
    ),
    Guide(
        "Who wrote there last?",
        "Step 4. Binary search: is there a token that wrote to this cell, whose position begins with the bits found so "
        "far and then a 1? One bit of its position a layer; the best score exceeds the next by 1 at every length.",
        ("last write, bit …", "read"),
    ),
    Guide(
        "What now?",
        "Step 5. One unit a rule gives the code of the action, in signs, and the token that agrees with it in all of "
        "them wins by 1; or a block, a verdict, the output comes next.",
        ("next…", "bit 1 to spell"),
    ),
)
SUMMARY = Guide(
    "Is it time for a summary?",
    "Step 6. When the run is three times as long as its prompt, the decoder writes the configuration, and goes on from "
    "that alone: the context grows with the space, not with the time.",
    ("full", "own cell", "head told", "state told", "last head"),
)


def tell(codec: TernaryCodec, sight: Sight) -> str | None:
    """What a head of the construction found out; None of one that it has no words for."""
    if len(sight.chosen) != 1:
        return None
    position = sight.chosen[0]
    there = f"position {position:,} ({sight.tokens[position]})"
    if found := _BACK.fullmatch(sight.name):
        return f"{found[1]} back is {there}"
    if sight.name.startswith("head before"):
        return f"the token before is {there}"
    if found := _BIT.fullmatch(sight.name):
        (value,) = sight.added.values() if len(sight.added) == 1 else (None,)
        if value is None:
            return None
        tape = f" of tape{found[2]}" if found[2] else ""
        some = "some token that wrote" if float(value) > 0.5 else "no token that wrote"
        return f"{some} to this cell{tape} has the bits found so far and then bit {found[1]} = 1"
    if sight.name == "read" and codec.machine.tapes == 1:
        return f"the latest that wrote to this cell is {there}" if position else "nobody wrote to this cell"
    return f"cells are counted from {there}" if sight.name == "counted from" else None
