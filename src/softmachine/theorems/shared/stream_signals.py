"""Signals of the decoders for third-party checkpoints: written symbols, digitwise comparison of addresses, logits."""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.ir import Signal, Vocabulary, named, stack
from softmachine.ir.kinds import BIT
from softmachine.languages.turing import Action, TuringMachine, Verdict
from softmachine.theorems.shared.stream_tokens import Meaning, Placed, StreamCodec
from softmachine.theorems.shared.transition import (
    action_labels,
    next_of,
    on_tape,
    rule_rows,
    twice_if_all,
    verdict_logit,
)
from softmachine.theorems.shared.turing_tokens import Begin, Given


def differing(digits: Signal) -> Iterator[Signal]:
    """Query that lowers the score by 2 for each digit in which an address (see :func:`own`) differs."""
    for k in range(len(digits)):
        yield stack(-2 * ~digits[k], -2 * digits[k])


def own(digits: Signal, silent: Signal) -> Iterator[Signal]:
    """An address as a key: each bit and its complement; zeros at silent tokens, whose address is 0."""
    for k in range(len(digits)):
        yield stack(digits[k], ~digits[k] - silent)


def state_of(tokens: Vocabulary[Meaning], machine: TuringMachine) -> Signal:
    """The state after this token; at <run>, the start state."""

    def state(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.state
        return machine.start if isinstance(token, Begin) else None

    return tokens.onehot("state", machine.states, state)


def written(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """The symbol that this token wrote; blank at tokens that write nothing, which represent unwritten cells."""

    def symbol(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.write[tape]
        if isinstance(token, Given) and tape == 0:
            return token.symbol
        return None if isinstance(token, Verdict) else machine.blank

    return tokens.onehot(on_tape(machine, "wrote", tape), machine.symbols, symbol)


def under_head(machine: TuringMachine, tape: int, found: Signal) -> Signal:
    """Name the symbol that a head reads."""
    bits = found.known(BIT).labelled(machine.symbols, exclusive=True)
    return named(on_tape(machine, "symbol", tape), bits)


def next_token(
    codec: StreamCodec, state: Signal, symbol: list[Signal], at_end: list[Signal], cells: list[Signal] | None = None
) -> dict[str, Signal]:
    """The logits; the largest exceeds the others by at least 1.

    An action has logit 2 if all of its parts are next (and, if tokens contain cells, the heads are on these cells
    modulo M), else at most 0. A verdict has logit 1 in its states, so that it is the largest exactly if no rule
    applies.
    """
    following = next_of(list(rule_rows(codec.machine, state, symbol, at_end)))
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        if isinstance(meaning, Action):
            parts = [following[label] for label in action_labels(meaning)]
            if cells and isinstance(meaning, Placed):
                parts += [own[str(cell)] for own, cell in zip(cells, meaning.cells, strict=True)]
            logits[token] = twice_if_all(parts)
        elif isinstance(meaning, Verdict):
            logits[token] = verdict_logit(codec.machine, state, meaning)
    return logits
