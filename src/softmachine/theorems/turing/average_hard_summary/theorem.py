"""Turing machines by average-hard attention with summaries: unbounded runs in a context that grows with the space only.

Theorem 8.2 of Chiang's lecture notes as in :mod:`softmachine.theorems.turing.average_hard`, with configurations as prompts: the
content of a cell is read from the prompt, unless a later token wrote to it, and the initial position of a head is the
number of columns before it. Cell c of the prompt is at position c + 1; that number is its place. When the run is three
times as long as its prompt, the decoder writes the next prompt: the columns from the leftmost to the rightmost place in
use.

Needs: average-hard attention, position features i, i² and 1/(i+1); one set of weights for every length and every space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Program, Signal, Vocabulary, attend, constant, named, position, relu, stack
from softmachine.ir.gadgets import (
    Squared,
    all_of,
    at_least,
    broadcast,
    exists,
    first_of,
    first_position,
    gate,
    here,
    latest,
    lookup,
    mean,
    previous,
    where_zero,
)
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import Action, Tape, TuringMachine, Verdict
from softmachine.theorems.cost import Cost
from softmachine.theorems.shared.turing_codec import (
    TAPES,
    Given,
    action_labels,
    move_of,
    moved,
    next_of,
    on_tape,
    rule_rows,
    twice_if_all,
    verdict_logit,
)
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.theorems.turing.average_hard.theorem import located, written_symbol
from softmachine.theorems.turing.average_hard_summary.codec import Begin, Column, Meaning, Start, SummaryCodec
from softmachine.transformer.features import INVERSE, I


@dataclass(frozen=True)
class _Tape:
    """The signals of a tape.

    Args:
        told: The symbol in a token of the prompt.
        wrote: The symbol that a step wrote.
        head: The place of the head after this token.
        cell: The place that a step wrote to.
        under: The symbol under the head, according to the prompt.
    """

    told: Signal
    wrote: Signal
    head: Squared
    cell: Squared
    under: Signal


@dataclass(frozen=True)
class _Next:
    """The next token while a summary is written.

    Args:
        going_on: A bit: whether the next token is a column.
        ending: A bit: whether the summary ends with the next token.
        symbol: For each tape, the symbol of that column.
        before: For each tape, whether the head is further to the right.
        state: The state to resume in.
    """

    going_on: Signal
    ending: Signal
    symbol: list[Signal]
    before: list[Signal]
    state: Signal


def signals(codec: SummaryCodec) -> Program:
    """Build the decoder of a machine."""
    machine = codec.machine
    tokens: Vocabulary[Meaning] = Vocabulary(codec.meanings)

    # Step 1. The places of the heads, and of the cells that tokens wrote to, as in Theorem 8.2.
    state = tokens.onehot("state", machine.states, lambda m: m.state if isinstance(m, Action | Begin) else None)
    tapes = _tapes(tokens, machine)
    heads = [tape.head for tape in tapes]

    # Step 2. The symbols under the heads: the latest write, or the symbol in the prompt, or a blank. The transition.
    runs = tokens.bit("step", lambda token: isinstance(token, Action))
    symbol = [_symbol(machine, k, "symbol", tape, tape.head, tape.under, runs) for k, tape in enumerate(tapes)]
    at_end = [relu(on_tape(machine, "at left end", k), 2 - head.value).known(BIT) for k, head in enumerate(heads)]
    rows = list(rule_rows(machine, state, symbol, at_end, lambda action: ("rule", *action_labels(action))))
    following = next_of(rows, "rule")

    # Step 3. When the run is three times as long as its prompt, the next prompt, column by column.
    first = first_position("position 0")
    begins = tokens.bit("prompt ends", lambda token: isinstance(token, Begin))
    end = broadcast("prompt's end", [first, begins], position(I))
    due = at_least("three times the prompt", position(I) - 4 * end, 0)
    comes = all_of("summary is next", runs, due, following["rule"])
    late = exists("in the run", begins)
    summary = _summary(tokens, machine, tapes, state, runs, late, first, end)
    return tokens.program(machine.name, _logits(codec, following, state, comes, summary), margin=Fraction(1))


def _tapes(tokens: Vocabulary[Meaning], machine: TuringMachine) -> list[_Tape]:
    """The places of the heads: place 1, that of cell 0, plus the columns before the head, plus the moves."""
    count = range(machine.tapes)
    given = [tokens.onehot(on_tape(machine, "prompt symbol", k), machine.symbols, _told(k)) for k in count]
    wrote = [written_symbol(tokens, machine, k) for k in count]
    move = [move_of(tokens, machine, k, _moved) for k in count]
    shares = mean("mean of moves", stack(*(part.value for part in move)))
    tapes = []
    for k in count:
        share = shares[k] + position(INVERSE)
        head = located(machine, "head", k, share, given[k])
        cell = located(machine, "cell", k, share - move[k].share)
        tapes.append(_Tape(given[k], wrote[k], head.number, cell.number, head.read))
    return tapes


def _moved(token: Meaning, tape: int) -> str | None:
    """Return the move of a token; a column before the head counts as a move to the right."""
    if isinstance(token, Column):
        return "R" if token.before[tape] else None
    return moved(token, tape)


def _told(tape: int) -> Callable[[Meaning], str | None]:
    def symbol(token: Meaning) -> str | None:
        if isinstance(token, Column):
            return token.symbols[tape]
        return token.symbol if isinstance(token, Given) and tape == 0 else None

    return symbol


def _symbol(machine: TuringMachine, k: int, what: str, tape: _Tape, at: Squared, given: Signal, runs: Signal) -> Signal:
    """The symbol at a place: the latest one written there, or the one in the prompt, or a blank."""
    name = on_tape(machine, what, k)
    last = latest(f"last write for {name}", stack(tape.cell.value, tape.wrote), where=runs, equal=(tape.cell, at))
    bits = last[1:].known(BIT).labelled(machine.symbols, exclusive=True)
    found = where_zero(f"written {name}", bits, last[0] - at.value)
    untouched = gate(f"untouched {name}", given, off=found.total)
    return first_of(name, found, untouched, labels=machine.symbols, default=machine.blank)


def _summary(
    tokens: Vocabulary[Meaning],
    machine: TuringMachine,
    tapes: list[_Tape],
    state: Signal,
    runs: Signal,
    late: Signal,
    first: Signal,
    end: Signal,
) -> _Next:
    """The next column: SUMM computes the extent of the cells in use, and every column counts from its left end."""
    begins = tokens.bit("SUMM", lambda token: token == Start(summary=True))
    closing = relu("summary begins", begins - first).known(BIT)
    column = all_of("column in the run", tokens.bit("column", lambda token: isinstance(token, Column)), late)
    low, high = _reached(machine, tapes, first, end)
    heads = [tape.head.value for tape in tapes]
    kept = stack(position(I), low, high, *heads, previous("last state", state))
    seen = broadcast("summary's beginning", [first, closing], kept)
    since, low, high, heads_then, last_state = (
        seen[0],
        seen[1],
        seen[2],
        seen[3 : 3 + len(tapes)],
        seen[3 + len(tapes) :],
    )
    place = named("next place", low + position(I) - since)
    writing = (closing + column).known(BIT)
    more = at_least("a column is left", high - place, 0)
    at, given = _squared(machine, place, tapes)
    further = [on_tape(machine, "head further right", k) for k in range(machine.tapes)]
    return _Next(
        going_on=all_of("column is next", writing, more),
        ending=relu("summary ends", writing - more).known(BIT),
        symbol=[_symbol(machine, k, "column symbol", tape, at, given[k], runs) for k, tape in enumerate(tapes)],
        before=[at_least(name, heads_then[k] - place, 1) for k, name in enumerate(further)],
        state=last_state.known(BIT).labelled(machine.states, exclusive=True),
    )


def _reached(machine: TuringMachine, tapes: list[_Tape], first: Signal, end: Signal) -> tuple[Signal, Signal]:
    """The leftmost and rightmost place in use: those of cell 0, the end of the prompt, and all head positions."""
    reached = [named(on_tape(machine, "reached", k), tape.head.value + first) for k, tape in enumerate(tapes)]

    def extreme(what: str, k: int, sign: int) -> Signal:
        name, place = on_tape(machine, what, k), reached[k]
        return attend(name, query=constant(1), key=sign * place, value=place, gap=1, single=True)

    low = constant(1)
    if machine.tape is Tape.TWO_WAY:
        low = _least("lowest", [low, *(extreme("lowest", k, -1) for k in range(machine.tapes))])
    return low, -_least("highest", [1 - end, *(-extreme("highest", k, 1) for k in range(machine.tapes))])


def _least(name: str, numbers: list[Signal]) -> Signal:
    """The minimum of integers: a - ReLU(a - b), repeatedly."""
    least = numbers[0]
    for index, number in enumerate(numbers[1:], 1):
        least = named(f"{name} of {index + 1}", least - relu(f"{name}: more than {index}", least - number))
    return least


def _squared(machine: TuringMachine, place: Signal, tapes: list[_Tape]) -> tuple[Squared, list[Signal]]:
    """A place with its square, and its symbols in the prompt, tape by tape."""
    own = here()
    found = lookup("next place", place, stack(own.value, own.square, *(tape.told for tape in tapes)))
    value, square, read = found[0], found[1], found[2:]
    if machine.tape is Tape.TWO_WAY:
        mirrored = lookup("-next place", -place, stack(own.value, own.square))
        value, square = value - mirrored[0], square + mirrored[1]
    size, given = len(machine.symbols), []
    for k in range(machine.tapes):
        part = read[k * size : (k + 1) * size].known(BIT).labelled(machine.symbols, exclusive=True)
        given.append(named(on_tape(machine, "prompt symbol at the next place", k), part))
    return Squared(named("place", value), named("place²", square)), given


def _logits(codec: SummaryCodec, following: Signal, state: Signal, comes: Signal, summary: _Next) -> dict[str, Signal]:
    """The logits: a summary has 4, an action 2, a verdict 1, a column 2, the end of a summary 3."""
    machine, shut = codec.machine, 1 - summary.going_on
    symbol, before, not_before = [], [], []
    for k in range(machine.tapes):
        symbol.append(gate(on_tape(machine, "column", k), summary.symbol[k], off=shut))
        before.append(gate(on_tape(machine, "column before", k), summary.before[k], off=shut))
        not_before.append(gate(on_tape(machine, "column not before", k), 1 - summary.before[k], off=shut))
    resumed = gate("state to resume in", summary.state, off=1 - summary.ending)
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        match meaning:
            case Action():
                logits[token] = twice_if_all(following[label] for label in action_labels(meaning))
            case Verdict():
                logits[token] = verdict_logit(machine, state, meaning)
            case Start(summary=True):
                logits[token] = 4 * comes
            case Begin():
                logits[token] = 3 * resumed[meaning.state]
            case Column():
                parts = [symbol[k][name] for k, name in enumerate(meaning.symbols)]
                parts += [(before if is_before else not_before)[k] for k, is_before in enumerate(meaning.before)]
                logits[token] = twice_if_all(parts)
    return logits


THEOREMS = (
    Theorem(
        "turing-average-hard-summary",
        "Theorem 8.2 (Chiang) with summaries: runs resume from a configuration; the context is linear in the space",
        "Chiang, lecture notes on transformers and formal languages, Theorem 8.2; summaries of Brösamle and Eckstein",
        Needs("position features i, i², 1/(i+1)", also="independent of the input length"),
        Cost({}, {"layers": 7 + TAPES}, also="one token per step, and one column per cell in use in every segment"),
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
