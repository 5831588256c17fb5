"""What the heads of chapter 8 saw, in the words of its proof: moves, cells, and who wrote them last."""

from __future__ import annotations

from softmachine.languages.turing import Action
from softmachine.theorems.chapter_8.tokens import TuringCodec
from softmachine.theorems.shared.transition import on_tape
from softmachine.theorems.shared.turing_tokens import Begin
from softmachine.transformer.sight import Sight, told


def tell(codec: TuringCodec, sight: Sight) -> str | None:
    """What a head of Theorem 8.2 found out; None of one that is not its own."""
    machine = codec.machine
    if sight.name == "mean of moves":
        return _moves(codec, sight)
    for tape in range(machine.tapes):
        if sight.name == on_tape(machine, "last write", tape):
            return _last_write(codec, sight, tape)
        for what in ("head", "cell"):
            name = on_tape(machine, what, tape)
            if sight.name in (f"undo 1/(i+1) of {name}", f"undo 1/(i+1) of -{name}"):
                return _undone(codec, sight, what, tape)
    return None


def _moves(codec: TuringCodec, sight: Sight) -> str:
    """The mean of all moves is where the head is, as a share of i+1."""
    shares = []
    for tape in range(codec.machine.tapes):
        share = sight.added.get(f"{on_tape(codec.machine, 'head', tape)}/(i+1)")
        shares += [] if share is None else [f"{told(share)}{_of_tape(codec, tape, ' on')}"]
    return f"the moves of all {len(sight.visible):,} positions have the mean {' and '.join(shares)}"


def _undone(codec: TuringCodec, sight: Sight, what: str, tape: int) -> str:
    """A lookup among the positions undoes the division by i+1; of a number below 0, the one of its opposite does."""
    name = on_tape(codec.machine, what, tape)
    share, number = sight.read.get(f"{name}/(i+1)"), sight.chosen[0]
    subject = "the head is on" if what == "head" else "this token wrote to"
    below = sight.name == f"undo 1/(i+1) of -{name}"
    if not number or share is None:
        return f"{subject} no cell to the {'left' if below else 'right'} of cell 0{_of_tape(codec, tape)}"
    signed = f"{'-' * below}{number}"
    return f"{told(share)} is {signed}/(i+1): {subject} cell {signed}{_of_tape(codec, tape)}"


def _last_write(codec: TuringCodec, sight: Sight, tape: int) -> str | None:
    """The latest position that wrote to the cell under the head; others are only nearest to it."""
    cell, found = sight.read.get(on_tape(codec.machine, "head", tape)), sight.added.get(f"{sight.name}[0]")
    if cell is None or found is None:
        return None
    action = codec.meanings.get(sight.tokens[sight.chosen[0]])
    if found != cell or not isinstance(action, Action):
        return f"cell {told(cell)}{_of_tape(codec, tape)} was never written"
    begin = next(k for k, token in enumerate(sight.tokens) if isinstance(codec.meanings[token], Begin))
    step = sight.chosen[0] - begin - codec.announces
    return f"cell {told(cell)}{_of_tape(codec, tape)} was last written at step {step:,}, with {action.write[tape]}"


def _of_tape(codec: TuringCodec, tape: int, of: str = " of") -> str:
    return f"{of} tape {tape + 1}" if codec.machine.tapes > 1 else ""
