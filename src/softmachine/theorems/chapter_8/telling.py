"""A walk through one token of chapter 8, and what its heads saw: moves, cells, and who wrote them last."""

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
        "What does the token say?",
        "Step 1 of Theorem 8.2. A token is (q, b, m): the state after a step, what it wrote, how the head moved. "
        "The embedding unpacks it, one-hot. Input symbols and BOS say nothing of these.",
        ("state", "wrote…", "input", "BOS"),
    ),
    Guide(
        "Where is the head?",
        "Step 2. The head is where all moves have added up to. A head that attends to all positions alike takes "
        "their mean, so that the stream holds head/(i+1).",
        ("mean of moves", "head…"),
    ),
    Guide(
        "Undo the mean",
        "No layer can multiply by i+1. But 2 x j - j², times 1/(i+1), is largest at position j = x: attention looks x "
        "up among the positions and retrieves it, with its square (Barceló et al.; (8.8) of the notes).",
        ("undo 1/(i+1) of head…", "undo 1/(i+1) of -head…", "read at head…"),
    ),
    Guide(
        "Which cell did this token write?",
        "The one that the head was on before it moved. The move is taken back as a share of i+1, since (8.13) would "
        "need a product; then the same lookup.",
        ("right/(i+1)…", "left/(i+1)…", "undo 1/(i+1) of cell…", "undo 1/(i+1) of -cell…", "cell…"),
    ),
    Guide(
        "What was last written there?",
        "Step 3. -(cell - head)² is 0 where a token wrote to this cell, and at most -1 elsewhere; j/(2(i+1)) breaks "
        "ties, so that the latest wins. If nobody wrote to it, the cell holds the input, or a blank.",
        ("last write…", "written…", "untouched input", "symbol…"),
    ),
    Guide(
        "What now?",
        "Step 4. One unit a rule of the machine. The action whose parts are all there has logit 2, by a margin of 1.",
        ("next…",),
    ),
)


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


def columns(codec: TuringCodec) -> Iterator[Column]:
    """The columns of the notes' table: the state q, what was written b, the move m, the head h, the symbol a under it.

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
