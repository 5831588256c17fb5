"""What the theorems about Turing machines with one-hot states and symbols share: moves, and the transition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from softmachine.ir import Signal, Vocabulary, position, stack
from softmachine.ir.gadgets import Row, gate, table
from softmachine.languages.turing import Action, Rule, Tape, TuringMachine, Verdict
from softmachine.theorems.shared.turing_tokens import M
from softmachine.transformer.features import INVERSE


def on_tape(machine: TuringMachine, name: str, tape: int) -> str:
    """The name of something that every tape has one of."""
    return name if machine.tapes == 1 else f"{name} {tape + 1}"


def moved(token: object, tape: int) -> str | None:
    """How a token moves the head of a tape; None if it is not an action."""
    return token.move[tape] if isinstance(token, Action) else None


@dataclass(frozen=True)
class Move:
    """The move of this token.

    Args:
        value: -1, 0 or 1.
        share: move/(i+1), by two gates that add nothing to 1/(i+1) where they let it through, so that no float format
            loses digits.
    """

    value: Signal
    share: Signal


def move_of(
    tokens: Vocabulary[M], machine: TuringMachine, tape: int, moved: Callable[[M, int], str | None] = moved
) -> Move:
    """The move of a token, from two bits: it is not L, it is not R."""

    def differs(letter: str) -> Signal:
        return tokens.bit(on_tape(machine, f"not {letter}", tape), lambda token: moved(token, tape) != letter)

    not_left, not_right = differs("L"), differs("R")
    per_position = position(INVERSE)
    right = gate(on_tape(machine, "right/(i+1)", tape), per_position, off=not_right)
    left = gate(on_tape(machine, "left/(i+1)", tape), per_position, off=not_left)
    return Move(not_left - not_right, right - left)


def action_labels(action: Action) -> tuple[str, ...]:
    """The parts of an action: what is next in the table of the transition."""
    labels = [f"state {action.state}"]
    for k, (symbol, move) in enumerate(zip(action.write, action.move, strict=True), 1):
        labels += [f"write {k} {symbol}", f"move {k} {move}"]
    return tuple(labels)


def rule_rows(
    machine: TuringMachine,
    state: Signal,
    symbol: Sequence[Signal],
    at_end: Sequence[Signal],
    labels: Callable[[Action], tuple[str, ...]] = action_labels,
) -> Iterator[Row]:
    """One row a rule: what is next where it applies; at a left end, several."""
    for rule in machine.rules:
        read = (state[rule.state], *(own[wanted] for own, wanted in zip(symbol, rule.read, strict=True)))
        for conditions, move in _held_back(machine, rule, at_end):
            yield Row(str(rule), (*read, *conditions), labels(Action(rule.next, rule.write, move)))


def _held_back(
    machine: TuringMachine, rule: Rule, at_end: Sequence[Signal]
) -> Iterator[tuple[tuple[Signal, ...], tuple[str, ...]]]:
    """The moves of a rule, and when they are made: at the left end, L is held back, or an error."""
    if machine.tape is Tape.TWO_WAY:
        yield (), rule.move
        return
    lefts = [k for k, move in enumerate(rule.move) if move == "L"]
    for held in product([False, True], repeat=len(lefts)):
        if any(held) and machine.tape is Tape.ERROR:
            continue
        ends = dict(zip(lefts, held, strict=True))
        conditions = tuple(at_end[k] if here else ~at_end[k] for k, here in ends.items())
        yield conditions, tuple("S" if ends.get(k) else move for k, move in enumerate(rule.move))


def next_of(rows: Sequence[Row], *also: str) -> Signal:
    """What is next, one bit a label (those of the rows, and others): one unit a row."""
    return table("next", tuple(dict.fromkeys([*(label for row in rows for label in row.outputs), *also])), rows)


def twice_if_all(parts: Iterable[Signal]) -> Signal:
    """The logit 2 where all of some bits are 1, else at most 0."""
    bits = stack(*parts)
    return 2 * (bits.total - (len(bits) - 1))


def verdict_logit(machine: TuringMachine, state: Signal, verdict: Verdict) -> Signal:
    """The logit 1 in the states of a verdict, so that it wins exactly where no rule applies."""
    return state.among([q for q in machine.states if machine.verdict(q) is verdict])
