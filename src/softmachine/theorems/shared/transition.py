"""Signals of a Turing machine's transition, with one-hot states and symbols: moves, rules and logits."""

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
    """Return a name with the number of the tape, if there are several tapes."""
    return name if machine.tapes == 1 else f"{name} {tape + 1}"


def moved(token: object, tape: int) -> str | None:
    """Return the move of a token on a tape; None if it is not an action."""
    return token.move[tape] if isinstance(token, Action) else None


@dataclass(frozen=True)
class Move:
    """The move of this token.

    Args:
        value: -1, 0 or 1.
        share: move/(i+1), by two gates that pass 1/(i+1) unchanged, so that no float format loses digits.
    """

    value: Signal
    share: Signal


def move_of(
    tokens: Vocabulary[M], machine: TuringMachine, tape: int, moved: Callable[[M, int], str | None] = moved
) -> Move:
    """The move of a token, from two bits: not L, and not R."""

    def differs(letter: str) -> Signal:
        return tokens.bit(on_tape(machine, f"not {letter}", tape), lambda token: moved(token, tape) != letter)

    not_left, not_right = differs("L"), differs("R")
    per_position = position(INVERSE)
    right = gate(on_tape(machine, "right/(i+1)", tape), per_position, off=not_right)
    left = gate(on_tape(machine, "left/(i+1)", tape), per_position, off=not_left)
    return Move(not_left - not_right, right - left)


def action_labels(action: Action) -> tuple[str, ...]:
    """Return the parts of an action: its labels in the transition table."""
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
    """Yield the rows of the transition table: one per rule; several where a head may be at the left end."""
    for rule in machine.rules:
        read = (state[rule.state], *(own[label] for own, label in zip(symbol, rule.read, strict=True)))
        for conditions, move in _held_back(machine, rule, at_end):
            yield Row(str(rule), (*read, *conditions), labels(Action(rule.next, rule.write, move)))


def _held_back(
    machine: TuringMachine, rule: Rule, at_end: Sequence[Signal]
) -> Iterator[tuple[tuple[Signal, ...], tuple[str, ...]]]:
    """Yield the moves of a rule with their conditions: at the left end, L becomes S, or is an error."""
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
    """The transition table: one bit per label (those of the rows, and others), one unit per row."""
    return table("next", tuple(dict.fromkeys([*(label for row in rows for label in row.outputs), *also])), rows)


def twice_if_all(parts: Iterable[Signal]) -> Signal:
    """A logit: 2 where all bits are 1, else at most 0."""
    bits = stack(*parts)
    return 2 * (bits.total - (len(bits) - 1))


def verdict_logit(machine: TuringMachine, state: Signal, verdict: Verdict) -> Signal:
    """A logit: 1 in the states of a verdict, so that it is the largest exactly if no rule applies."""
    return state.among([q for q in machine.states if machine.verdict(q) is verdict])
