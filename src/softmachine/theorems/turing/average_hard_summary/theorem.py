"""Turing machines by average-hard attention with summaries: unbounded runs in a context that grows with the space only.

Theorem 8.2 of Chiang's lecture notes as in :mod:`softmachine.theorems.turing.average_hard`, with configurations as
prompts: the content of a cell is read from the prompt, unless a later token wrote to it, and the initial position of a
head is the number of columns before it. Cell c of the prompt is at position c + 1; that number is its place. When the
run is three times as long as its prompt, the decoder writes the next prompt: the columns from the leftmost to the
rightmost place in use.

Needs: average-hard attention, position features i, i² and 1/(i+1); one set of weights for every length and every space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Program, Signal, Vocabulary, attend, constant, named, position, relu, stack
from softmachine.ir.gadgets import (
    WithSquare,
    all_of,
    at_least,
    exists,
    fetch_highest_ranked,
    fetch_latest,
    fetch_previous,
    first_position,
    gate,
    gate_by_zero,
    lookup,
    mean,
    one_hot_with_default,
    position_with_square,
)
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import Action, TapeConvention, TuringMachine, Verdict
from softmachine.theorems.cost import Cost
from softmachine.theorems.shared.turing_codec import (
    TAPES,
    InputSymbol,
    action_labels,
    conjunction_logit,
    move_on_tape,
    move_signals,
    name_on_tape,
    rule_rows,
    transition_table,
    verdict_logit,
)
from softmachine.theorems.theorem import Requirements, Theorem
from softmachine.theorems.turing.average_hard.theorem import recover_cell, written_symbol_signal
from softmachine.theorems.turing.average_hard_summary.codec import (
    Meaning,
    ResumeMarker,
    SegmentStart,
    SummaryCodec,
    SummaryColumn,
)
from softmachine.transformer.features import RECIPROCAL, I


@dataclass(frozen=True)
class _TapeSignals:
    """The signals of a tape.

    Args:
        in_prompt: The symbol in a token of the prompt.
        written: The symbol that a step wrote.
        head: The place of the head after this token.
        cell: The place that a step wrote to.
        under_head: The symbol under the head, according to the prompt.
    """

    in_prompt: Signal
    written: Signal
    head: WithSquare
    cell: WithSquare
    under_head: Signal


@dataclass(frozen=True)
class _NextSummaryToken:
    """The next token while a summary is written.

    Args:
        continues: A bit: whether the next token is a column.
        ends: A bit: whether the summary ends with the next token.
        symbol: For each tape, the symbol of that column.
        head_is_right: For each tape, whether the head is further to the right.
        state: The state to resume in.
    """

    continues: Signal
    ends: Signal
    symbol: list[Signal]
    head_is_right: list[Signal]
    state: Signal


def signals(codec: SummaryCodec) -> Program:
    """Build the decoder of a machine."""
    machine = codec.machine
    tokens: Vocabulary[Meaning] = Vocabulary(codec.meanings)

    # Step 1. The places of the heads, and of the cells that tokens wrote to, as in Theorem 8.2.
    state = tokens.one_hot("state", machine.states, lambda m: m.state if isinstance(m, Action | ResumeMarker) else None)
    tapes = _head_positions(tokens, machine)
    heads = [tape.head for tape in tapes]

    # Step 2. The symbols under the heads: the latest write, or the symbol in the prompt, or a blank. The transition.
    runs = tokens.bit("step", lambda token: isinstance(token, Action))
    symbol = [_symbol_at(machine, k, "symbol", tape, tape.head, tape.under_head, runs) for k, tape in enumerate(tapes)]
    at_end = [
        relu(name_on_tape(machine, "at left end", k), 2 - head.value).with_range(BIT) for k, head in enumerate(heads)
    ]
    rows = list(rule_rows(machine, state, symbol, at_end, lambda action: ("rule", *action_labels(action))))
    following = transition_table(rows, "rule")

    # Step 3. When the run is three times as long as its prompt, the next prompt, column by column.
    first = first_position("position 0")
    begins = tokens.bit("prompt ends", lambda token: isinstance(token, ResumeMarker))
    end = fetch_highest_ranked("prompt's end", [first, begins], position(I))
    due = at_least("three times the prompt", position(I) - 4 * end, 0)
    comes = all_of("summary is next", runs, due, following["rule"])
    late = exists("in the run", begins)
    summary = _next_column(tokens, machine, tapes, state, runs, late, first, end)
    return tokens.program(machine.name, _logits(codec, following, state, comes, summary), margin=Fraction(1))


def _head_positions(tokens: Vocabulary[Meaning], machine: TuringMachine) -> list[_TapeSignals]:
    """The places of the heads: place 1, that of cell 0, plus the columns before the head, plus the moves."""
    count = range(machine.tapes)
    given = [
        tokens.one_hot(name_on_tape(machine, "prompt symbol", k), machine.symbols, _prompt_symbol(k)) for k in count
    ]
    wrote = [written_symbol_signal(tokens, machine, k) for k in count]
    move = [move_signals(tokens, machine, k, _move_or_column) for k in count]
    shares = mean("mean of moves", stack(*(part.value for part in move)))
    tapes = []
    for k in count:
        share = shares[k] + position(RECIPROCAL)
        head = recover_cell(machine, "head", k, share, given[k])
        cell = recover_cell(machine, "cell", k, share - move[k].share)
        tapes.append(_TapeSignals(given[k], wrote[k], head.integer, cell.integer, head.read))
    return tapes


def _move_or_column(token: Meaning, tape: int) -> str | None:
    """Return the move of a token; a column before the head counts as a move to the right."""
    if isinstance(token, SummaryColumn):
        return "R" if token.head_is_right[tape] else None
    return move_on_tape(token, tape)


def _prompt_symbol(tape: int) -> Callable[[Meaning], str | None]:
    def symbol(token: Meaning) -> str | None:
        if isinstance(token, SummaryColumn):
            return token.symbols[tape]
        return token.symbol if isinstance(token, InputSymbol) and tape == 0 else None

    return symbol


def _symbol_at(
    machine: TuringMachine, k: int, what: str, tape: _TapeSignals, at: WithSquare, given: Signal, runs: Signal
) -> Signal:
    """The symbol at a place: the latest one written there, or the one in the prompt, or a blank."""
    name = name_on_tape(machine, what, k)
    last = fetch_latest(
        f"last write for {name}", stack(tape.cell.value, tape.written), where=runs, matches=(tape.cell, at)
    )
    bits = last[1:].with_range(BIT).with_labels(machine.symbols, exclusive=True)
    found = gate_by_zero(f"written {name}", bits, last[0] - at.value)
    untouched = gate(f"untouched {name}", given, blockers=found.total)
    return one_hot_with_default(name, found, untouched, labels=machine.symbols, default=machine.blank)


def _next_column(
    tokens: Vocabulary[Meaning],
    machine: TuringMachine,
    tapes: list[_TapeSignals],
    state: Signal,
    runs: Signal,
    late: Signal,
    first: Signal,
    end: Signal,
) -> _NextSummaryToken:
    """The next column: SUMM computes the extent of the cells in use, and every column counts from its left end."""
    begins = tokens.bit("SUMM", lambda token: token == SegmentStart(begins_summary=True))
    closing = relu("summary begins", begins - first).with_range(BIT)
    column = all_of("column in the run", tokens.bit("column", lambda token: isinstance(token, SummaryColumn)), late)
    low, high = _extent(machine, tapes, first, end)
    heads = [tape.head.value for tape in tapes]
    kept = stack(position(I), low, high, *heads, fetch_previous("last state", state))
    seen = fetch_highest_ranked("summary's beginning", [first, closing], kept)
    since, low, high, heads_then, last_state = (
        seen[0],
        seen[1],
        seen[2],
        seen[3 : 3 + len(tapes)],
        seen[3 + len(tapes) :],
    )
    place = named("next place", low + position(I) - since)
    writing = (closing + column).with_range(BIT)
    more = at_least("a column is left", high - place, 0)
    at, given = _square_with_symbols(machine, place, tapes)
    further = [name_on_tape(machine, "head further right", k) for k in range(machine.tapes)]
    return _NextSummaryToken(
        continues=all_of("column is next", writing, more),
        ends=relu("summary ends", writing - more).with_range(BIT),
        symbol=[_symbol_at(machine, k, "column symbol", tape, at, given[k], runs) for k, tape in enumerate(tapes)],
        head_is_right=[at_least(name, heads_then[k] - place, 1) for k, name in enumerate(further)],
        state=last_state.with_range(BIT).with_labels(machine.states, exclusive=True),
    )


def _extent(machine: TuringMachine, tapes: list[_TapeSignals], first: Signal, end: Signal) -> tuple[Signal, Signal]:
    """The leftmost and rightmost place in use: those of cell 0, the end of the prompt, and all head positions."""
    reached = [named(name_on_tape(machine, "reached", k), tape.head.value + first) for k, tape in enumerate(tapes)]

    def extreme(what: str, k: int, sign: int) -> Signal:
        name, place = name_on_tape(machine, what, k), reached[k]
        key, role = sign * place, f"the {what} place"
        return attend(name, query=constant(1), key=key, value=place, gap=1, single_key=True, explains=role)

    low = constant(1)
    if machine.tape is TapeConvention.TWO_WAY:
        low = _minimum("lowest", [low, *(extreme("lowest", k, -1) for k in range(machine.tapes))])
    return low, -_minimum("highest", [1 - end, *(-extreme("highest", k, 1) for k in range(machine.tapes))])


def _minimum(name: str, numbers: list[Signal]) -> Signal:
    """The minimum of integers: a - ReLU(a - b), repeatedly."""
    least = numbers[0]
    for index, number in enumerate(numbers[1:], 1):
        least = named(f"{name} of {index + 1}", least - relu(f"{name}: more than {index}", least - number))
    return least


def _square_with_symbols(
    machine: TuringMachine, place: Signal, tapes: list[_TapeSignals]
) -> tuple[WithSquare, list[Signal]]:
    """A place with its square, and its symbols in the prompt, tape by tape."""
    own = position_with_square()
    found = lookup("next place", place, stack(own.value, own.square, *(tape.in_prompt for tape in tapes)))
    value, square, read = found[0], found[1], found[2:]
    if machine.tape is TapeConvention.TWO_WAY:
        mirrored = lookup("-next place", -place, stack(own.value, own.square))
        value, square = value - mirrored[0], square + mirrored[1]
    size, given = len(machine.symbols), []
    for k in range(machine.tapes):
        part = read[k * size : (k + 1) * size].with_range(BIT).with_labels(machine.symbols, exclusive=True)
        given.append(named(name_on_tape(machine, "prompt symbol at the next place", k), part))
    return WithSquare(named("place", value), named("place²", square)), given


def _logits(
    codec: SummaryCodec, following: Signal, state: Signal, summary_is_due: Signal, summary: _NextSummaryToken
) -> dict[str, Signal]:
    """The logits: a summary has 4, an action 2, a verdict 1, a column 2, the end of a summary 3."""
    machine, shut = codec.machine, 1 - summary.continues
    symbol, before, not_before = [], [], []
    for k in range(machine.tapes):
        symbol.append(gate(name_on_tape(machine, "column", k), summary.symbol[k], blockers=shut))
        before.append(gate(name_on_tape(machine, "column before", k), summary.head_is_right[k], blockers=shut))
        not_before.append(
            gate(name_on_tape(machine, "column not before", k), 1 - summary.head_is_right[k], blockers=shut)
        )
    resumed = gate("state to resume in", summary.state, blockers=1 - summary.ends)
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        match meaning:
            case Action():
                logits[token] = conjunction_logit(following[label] for label in action_labels(meaning))
            case Verdict():
                logits[token] = verdict_logit(machine, state, meaning)
            case SegmentStart(begins_summary=True):
                logits[token] = 4 * summary_is_due
            case ResumeMarker():
                logits[token] = 3 * resumed[meaning.state]
            case SummaryColumn():
                parts = [symbol[k][name] for k, name in enumerate(meaning.symbols)]
                parts += [(before if is_before else not_before)[k] for k, is_before in enumerate(meaning.head_is_right)]
                logits[token] = conjunction_logit(parts)
    return logits


THEOREMS = (
    Theorem(
        "turing-average-hard-summary",
        "Theorem 8.2 (Chiang) with summaries: runs resume from a configuration; the context is linear in the space",
        "Chiang, lecture notes on transformers and formal languages, Theorem 8.2; summaries of Brösamle and Eckstein",
        Requirements("position features i, i², 1/(i+1)", remark="independent of the input length"),
        Cost({}, {"layers": 7 + TAPES}, remark="one token per step, and one column per cell in use in every segment"),
        TuringMachine,
        ("hard",),
        codec=lambda machine, _: SummaryCodec(machine),
        signals=lambda codec, _: signals(codec),
        steps=(
            "A prompt is a configuration: the position of a head is the number of columns before it.",
            "Inside a segment the run is that of Theorem 8.2; cells not yet written are read from the prompt.",
            "When the run is three times as long as its prompt, the next prompt is written, column by column.",
        ),
        rank=2,
    ),
)
