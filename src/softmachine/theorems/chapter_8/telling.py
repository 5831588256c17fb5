"""Explanations of the heads of Theorem 8.2 of Chiang's lecture notes: moves, cells, and their latest writes."""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.languages.turing import Action
from softmachine.theorems.chapter_8.tokens import TuringCodec
from softmachine.theorems.shared.transition import on_tape
from softmachine.theorems.shared.turing_tokens import Begin
from softmachine.theorems.theorem import Guide
from softmachine.transformer.column import Column
from softmachine.transformer.sight import Sight, told

GUIDE = (
    Guide(
        "What does the token contain?",
        "Step 1 of Theorem 8.2 (Chiang). A token is (q, b, m): the state after a step, the written symbol, the move of "
        "the head. The embedding unpacks it, one-hot. Input symbols and BOS contain none of these.",
        ("state", "wrote…", "input", "BOS"),
    ),
    Guide(
        "Where is the head?",
        "Step 2. The position of the head is the sum of all moves. Uniform attention computes their mean, so that the "
        "stream holds head/(i+1).",
        ("mean of moves", "head…"),
    ),
    Guide(
        "Recover the position from the mean",
        "No layer can multiply by i+1. But 2 x j - j², times 1/(i+1), is largest at position j = x: attention looks x "
        "up among the positions and retrieves it, with its square (Barceló et al.; (8.8) of Chiang's notes).",
        ("recover head position…", "recover -head position…", "read at head…"),
    ),
    Guide(
        "Which cell did this token write?",
        "The one that the head was on before it moved. move/(i+1) is subtracted from head/(i+1), since (8.13) of "
        "Chiang's notes would need a product; then the same lookup.",
        ("right/(i+1)…", "left/(i+1)…", "recover cell position…", "recover -cell position…", "cell…"),
    ),
    Guide(
        "What was last written there?",
        "Step 3. -(cell - head)² is 0 where a token wrote to this cell, and at most -1 elsewhere; j/(2(i+1)) breaks "
        "ties in favour of the latest one. A cell that was never written holds the input, or a blank.",
        ("last write…", "written…", "untouched input", "symbol…"),
    ),
    Guide(
        "Which token comes next?",
        "Step 4. One unit per rule of the machine. The action whose parts are all set has logit 2, a margin of 1.",
        ("next…",),
    ),
)


def tell(codec: TuringCodec, sight: Sight) -> str | None:
    """Explain an observation of a head of Theorem 8.2; None for other heads."""
    machine = codec.machine
    if sight.name == "mean of moves":
        return _moves(codec, sight)
    for tape in range(machine.tapes):
        if sight.name == on_tape(machine, "last write", tape):
            return _last_write(codec, sight, tape)
        for what in ("head", "cell"):
            name = on_tape(machine, f"{what} position", tape)
            if sight.name in (f"recover {name}", f"recover -{name}"):
                return _recovered(codec, sight, what, tape)
    return None


def _moves(codec: TuringCodec, sight: Sight) -> str:
    """The mean of all moves is the position of the head over i+1."""
    shares = []
    for tape in range(codec.machine.tapes):
        share = sight.added.get(f"{on_tape(codec.machine, 'head', tape)}/(i+1)")
        shares += [] if share is None else [f"{told(share)}{_of_tape(codec, tape, ' on')}"]
    return f"the moves of all {len(sight.visible):,} positions have the mean {' and '.join(shares)}"


def _recovered(codec: TuringCodec, sight: Sight, what: str, tape: int) -> str:
    """A lookup among the positions recovers h from h/(i+1); for negative h, a lookup of -h does."""
    name = on_tape(codec.machine, what, tape)
    share, number = sight.read.get(f"{name}/(i+1)"), sight.chosen[0]
    subject = "the head is on" if what == "head" else "this token wrote to"
    below = sight.name == f"recover -{on_tape(codec.machine, f'{what} position', tape)}"
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


def columns(codec: TuringCodec) -> Iterator[Column]:
    """The columns of the table in Chiang's notes: state q, written symbol b, move m, head h, symbol a under the head.

    With several tapes, the last four for each.
    """
    machine, actions = codec.machine, codec.actions
    yield Column("q", "state", tuple(dict.fromkeys(action.state for action in actions)))
    for k in range(machine.tapes):

        def called(name: str, tape: int = k) -> str:
            return on_tape(machine, name, tape)

        yield Column(called("b"), called("wrote"), tuple(dict.fromkeys(action.write[k] for action in actions)))
        yield Column(called("m"), terms=((1, called("not L")), (-1, called("not R"))))
        yield Column(called("h"), terms=((1, called("head")),))
        yield Column(called("a"), called("symbol"), machine.symbols)
