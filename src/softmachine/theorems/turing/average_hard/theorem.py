"""Turing machines by average-hard attention: Theorem 8.2 of Chiang's notes on transformers and formal languages.

Theorem 8.2. For every Turing machine M there is a decoder that, prompted with w and BOS, emits one token per step of M
and then the verdict of M on w: ACC, REJ or HALT; if M does not halt, neither does the decoder.

Needs: average-hard attention, position features i, i² and 1/(i+1); one set of weights for every length.
Gaps: 1/(i+1) in layer 2, 1/(2(i+1)) in layer 3. Exact in float64 for head positions up to at least 10⁶; a run that
float64 cannot decide stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, Vocabulary, named, relu, stack
from softmachine.ir.gadgets import (
    RecoveredInteger,
    TableRow,
    fetch_latest,
    gate,
    gate_by_zero,
    mean,
    one_hot_with_default,
    recover_integer,
)
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import MOVES, Action, TapeConvention, TuringMachine, Verdict
from softmachine.theorems.cost import Cost, parameter
from softmachine.theorems.shared.turing_codec import (
    STATES,
    TAPES,
    InputSymbol,
    M,
    RunMarker,
    action_labels,
    by_tape_kind,
    conjunction_logit,
    move_on_tape,
    move_signals,
    name_on_tape,
    rule_rows,
    transition_table,
    verdict_logit,
)
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.theorems.turing.average_hard.codec import TuringCodec
from softmachine.transformer.head_view import HeadExplanation, HeadView, format_key, format_number, lower_end, upper_end
from softmachine.transformer.trace_column import TraceColumn

TOUR = (
    TourStep(
        "What does the token contain?",
        "Step 1 of Theorem 8.2 (Chiang). A token is (q, b, m): the state after a step, the written symbol, the move of "
        "the head. The embedding unpacks it, one-hot. Input symbols and BOS contain none of these.",
        ("state", "wrote…", "input", "BOS"),
    ),
    TourStep(
        "Where is the head?",
        "Step 2. The position of the head is the sum of all moves. Uniform attention computes their mean, so that the "
        "stream holds head/(i+1).",
        ("mean of moves", "head…"),
    ),
    TourStep(
        "Recover the position from the mean",
        "No layer can multiply by i+1. But 2 x j - j², times 1/(i+1), is largest at position j = x: attention looks x "
        "up among the positions and retrieves it, with its square (Barceló et al.; (8.8) of Chiang's notes).",
        ("recover head position…", "recover -head position…", "read at head…"),
    ),
    TourStep(
        "Which cell did this token write?",
        "The one that the head was on before it moved. move/(i+1) is subtracted from head/(i+1), since (8.13) of "
        "Chiang's notes would need a product; then the same lookup.",
        ("right/(i+1)…", "left/(i+1)…", "recover cell position…", "recover -cell position…", "cell…"),
    ),
    TourStep(
        "What was last written there?",
        "Step 3. -(cell - head)² is 0 where a token wrote to this cell, and at most -1 elsewhere; j/(2(i+1)) breaks "
        "ties in favour of the latest one. A cell that was never written holds the input, or a blank.",
        ("last write…", "written…", "untouched input", "symbol…"),
    ),
    TourStep(
        "Which token comes next?",
        "Step 4. One unit per rule of the machine. The action whose parts are all set has logit 2, a margin of 1.",
        ("next…",),
    ),
)


def _explain_mean_of_moves(view: HeadView, codec: TuringCodec) -> str | None:
    """The mean of all moves is the position of the head over i+1."""
    machine, seen = codec.machine, view.tokens[: len(view.visible)]
    shares = []
    for tape in range(machine.tapes):
        share = view.added.get(f"{name_on_tape(machine, 'head', tape)}/(i+1)")
        moves = sum(MOVES[move] for token in seen if (move := move_on_tape(codec.meanings[token], tape)))
        if share is None or not lower_end(share) <= Fraction(moves, len(seen)) <= upper_end(share):
            return None
        shares.append(f"{format_number(share)}{_tape_suffix(codec, tape, ' on')}")
    return f"the moves of all {len(seen):,} positions have the mean {' and '.join(shares)}"


def _explain_recovered_cell(view: HeadView, codec: TuringCodec, what: str, tape: int, sign: int) -> str | None:
    """A lookup among the positions recovers h from h/(i+1); for negative h, a lookup of -h does."""
    share = view.read.get(f"{name_on_tape(codec.machine, what, tape)}/(i+1)")
    if share is None or len(view.chosen) != 1:
        return None
    number, right = view.chosen[0], round(sign * upper_end(share) * (view.position + 1))
    if number != max(right, 0):
        return None
    subject = "the head is on" if what == "head" else "this token wrote to"
    if not number:
        return f"{subject} no cell to the {'left' if sign < 0 else 'right'} of cell 0{_tape_suffix(codec, tape)}"
    cell = sign * number
    return f"{format_number(share)} is {cell}/(i+1): {subject} cell {cell}{_tape_suffix(codec, tape)}"


def _explain_last_write(view: HeadView, codec: TuringCodec, tape: int) -> str | None:
    """The latest position that wrote to the cell under the head; others are only nearest to it."""
    read = view.read.get(name_on_tape(codec.machine, "head", tape))
    if read is None or len(view.chosen) != 1:
        return None
    cell, head, writes = round(upper_end(read)), 0, dict[int, tuple[int, int, Action]]()
    step = 1 - codec.has_initial_token
    for position, token in enumerate(view.tokens[: view.position + 1]):
        action = codec.meanings[token]
        if isinstance(action, Action):
            writes[head] = position, step, action
            head, step = head + MOVES[action.move[tape]], step + 1
    if cell not in writes:
        return f"cell {cell}{_tape_suffix(codec, tape)} was never written: chose {format_key(view)}"
    position, step, action = writes[cell]
    if position != view.chosen[0]:
        return None
    where = f"at step {step:,} (position {position:,})"
    return f"cell {cell}{_tape_suffix(codec, tape)} was last written {where}, with {action.write[tape]}"


def _tape_suffix(codec: TuringCodec, tape: int, of: str = " of") -> str:
    return f"{of} tape {tape + 1}" if codec.machine.tapes > 1 else ""


def columns(codec: TuringCodec) -> Iterator[TraceColumn]:
    """The columns of the table in Chiang's notes: state q, written symbol b, move m, head h, symbol a under the head.

    With several tapes, the last four for each.
    """
    machine, actions = codec.machine, codec.actions
    yield TraceColumn("q", "state", tuple(dict.fromkeys(action.state for action in actions)))
    for k in range(machine.tapes):

        def called(name: str, tape: int = k) -> str:
            return name_on_tape(machine, name, tape)

        yield TraceColumn(called("b"), called("wrote"), tuple(dict.fromkeys(action.write[k] for action in actions)))
        yield TraceColumn(called("m"), terms=((1, called("not L")), (-1, called("not R"))))
        yield TraceColumn(called("h"), terms=((1, called("head")),))
        yield TraceColumn(called("a"), called("symbol"), machine.symbols)


EMPTY_SIGNAL = Signal((), (), ())


def signals(codec: TuringCodec) -> Program:
    """Build the decoder of Theorem 8.2, with the corrections listed in ``docs/errata.md``."""
    machine, tapes = codec.machine, range(codec.machine.tapes)
    tokens = Vocabulary(codec.meanings)

    # Step 1. Unpack the token: (q, b, m), or an input symbol, or BOS.
    begins = tokens.bit("BOS", lambda token: isinstance(token, RunMarker))
    state = tokens.one_hot("state", machine.states, lambda token: token.state if isinstance(token, Action) else None)
    given = tokens.one_hot(
        "input", machine.alphabet, lambda token: token.symbol if isinstance(token, InputSymbol) else None
    )
    wrote = [written_symbol_signal(tokens, machine, k) for k in tapes]
    move = [move_signals(tokens, machine, k) for k in tapes]

    # Step 2. The heads' positions over i+1; and the cell that this token wrote, one move earlier.
    shares = mean(
        "mean of moves", stack(*(part.value for part in move)), explains=partial(_explain_mean_of_moves, codec=codec)
    )

    def recover(what: str, tape: int, share: Signal, read: Signal = EMPTY_SIGNAL) -> RecoveredInteger:
        clause = partial(_explain_recovered_cell, codec=codec, what=what, tape=tape)
        return recover_cell(machine, what, tape, share, read, lambda sign: partial(clause, sign=sign))

    head = [recover("head", k, shares[k], given if k == 0 else EMPTY_SIGNAL) for k in tapes]
    cell = [recover("cell", k, shares[k] - move[k].share) for k in tapes]

    # Step 3. The symbols under the heads: the latest write to the cell, or the input, or a blank.
    symbol = []
    for k in tapes:
        last = fetch_latest(
            name_on_tape(machine, "last write", k),
            stack(cell[k].integer.value, wrote[k]),
            matches=(cell[k].integer, head[k].integer),
            explains=partial(_explain_last_write, codec=codec, tape=k),
        )
        missed = last[0] - head[k].integer.value
        bits = last[1:].with_range(BIT).with_labels(machine.symbols, exclusive=True)
        written = gate_by_zero(name_on_tape(machine, "written", k), bits, missed)
        choices = [written]
        if k == 0 and machine.alphabet:
            choices.append(gate("untouched input", head[0].read, blockers=stack(written.total, head[0].is_negative)))
        symbol.append(
            one_hot_with_default(
                name_on_tape(machine, "symbol", k), *choices, labels=machine.symbols, default=machine.blank
            )
        )

    # Step 4. The transition.
    at_end = [relu(name_on_tape(machine, "at left end", k), 1 - head[k].integer.value).with_range(BIT) for k in tapes]
    rows = [*_start_rows(codec, begins, symbol[0])]
    rows += rule_rows(machine, state, symbol, at_end, lambda action: _action_labels(codec, action))
    return tokens.program(machine.name, _logits(codec, transition_table(rows), state, given), margin=Fraction(1))


def written_symbol_signal(tokens: Vocabulary[M], machine: TuringMachine, tape: int) -> Signal:
    """The symbol that this token wrote; zero if the token is not an action."""

    def wrote(token: M) -> str | None:
        return token.write[tape] if isinstance(token, Action) else None

    return tokens.one_hot(name_on_tape(machine, "wrote", tape), machine.symbols, wrote)


def recover_cell(
    machine: TuringMachine,
    what: str,
    tape: int,
    share: Signal,
    read: Signal = EMPTY_SIGNAL,
    explains: Callable[[int], HeadExplanation] = lambda _: "the position looked up",
) -> RecoveredInteger:
    """Recover the number h of a cell from h/(i+1); (8.13) of the notes needs a product, which no layer computes."""
    name, quantity = name_on_tape(machine, what, tape), name_on_tape(machine, f"{what} position", tape)
    negative = machine.tape is TapeConvention.TWO_WAY
    share = named(f"{name}/(i+1)", share)
    return recover_integer(name, share, read, negative=negative, quantity=quantity, explains=explains)


def _start_rows(codec: TuringCodec, begins: Signal, symbol: Signal) -> Iterator[TableRow]:
    """Yield the rows of the token after BOS: the start state, with the symbol under the head."""
    for first in (*codec.machine.alphabet, codec.machine.blank):
        action = codec.first_action(first)
        text = f"start: (BOS, {first}) → ({action.state}, {' '.join(action.write)}, {' '.join(action.move)})"
        yield TableRow(f"begin, {first}", (begins, symbol[first]), _action_labels(codec, action), text)


def _action_labels(codec: TuringCodec, action: Action) -> tuple[str, ...]:
    """Return the labels of an action in the transition table: its parts, or the verdict that replaces it."""
    if not codec.keeps_last_action and action.state in codec.machine.halting_states:
        return (f"verdict {codec.machine.verdict(action.state)}",)
    return action_labels(action)


def _logits(codec: TuringCodec, following: Signal, state: Signal, given: Signal) -> dict[str, Signal]:
    """The logits; the largest exceeds the others by at least 1. At input symbols the output is ignored."""
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        match meaning:
            case Action():
                logits[token] = conjunction_logit(following[label] for label in _action_labels(codec, meaning))
            case Verdict():
                logits[token] = verdict_logit(codec.machine, state, meaning)
                if f"verdict {meaning}" in (following.labels or ()):
                    logits[token] = logits[token] + 2 * following[f"verdict {meaning}"]
            case InputSymbol():
                logits[token] = 2 * given[meaning.symbol]
    return logits


_SYMBOLS = parameter("|Γ|", "tape symbols", lambda codec: len(codec.machine.symbols))
_LETTERS = parameter("|Σ|", "input symbols", lambda codec: len(codec.machine.alphabet))

THEOREMS = (
    Theorem(
        "turing-average-hard",
        "Theorem 8.2 (Chiang): Turing machines by average-hard attention, one token per step",
        "Chiang, lecture notes on transformers and formal languages, Theorem 8.2 (after Pérez et al.)",
        Requirements("position features i, i², 1/(i+1)", remark="independent of the input length"),
        Cost(
            {},
            {
                "layers": 5,
                "heads": 1 + by_tape_kind(5 * TAPES, 3 * TAPES),
                "width": 2 * STATES
                + (4 * TAPES + 1) * _SYMBOLS
                + 2 * _LETTERS
                + by_tape_kind(10 * TAPES + 7, 11 * TAPES + 6),
            },
            remark="one token per step, one to begin, one verdict",
        ),
        TuringMachine,
        ("hard",),
        codec=lambda machine, _: TuringCodec(machine),
        signals=lambda codec, _: signals(codec),
        steps=(
            "Unpack the token: state, written symbols and moves; or an input symbol.",
            "The mean of all moves is head/(i+1); a lookup among the positions recovers the head position.",
            "The symbol under a head is the latest one written to its cell, or the input, or a blank.",
            "The transition: one unit per rule; the action whose parts are all set has the largest logit.",
        ),
        tour=TOUR,
        columns=columns,
        rank=1,
    ),
)
