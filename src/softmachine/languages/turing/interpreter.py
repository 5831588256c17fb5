"""Reference interpreter of Turing machines.

It is the oracle of everything compiled from a machine, so it is written for clarity. Long runs are delegated to
`softmachine.languages.turing.jit_interpreter`, which the tests compare with this interpreter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from softmachine.languages.turing.configuration import Action, Configuration, TapeContents
from softmachine.languages.turing.machine import TapeConvention, TuringMachine, Verdict
from softmachine.support.errors import UsageError
from softmachine.support.token_array import CodedSequence

INTERPRETED_STEPS, INTERPRETED_STEPS_WITH_NUMBA = 20_000, 1_000
"""Steps before the compiled loop takes over, so that short runs do not pay for its start-up; fewer if numba is
already imported."""
INTERPRETED_CHUNK, COMPILED_CHUNK = 1 << 10, 1 << 20
"""Steps per yielded chunk, interpreted and compiled."""


class TuringStopReason(StrEnum):
    """Why a run ended."""

    ACCEPTING_STATE = "accepting state"
    REJECTING_STATE = "rejecting state"
    NO_RULE = "no rule"
    LEFT_END = "left end"
    """The rule would move a head off the end of a tape on which that is an error."""
    STEP_LIMIT = "step limit"


@dataclass(frozen=True)
class TuringResult:
    """Result of a run.

    Args:
        machine: The machine.
        word: Its input.
        verdict: Accept, reject or halt; None if the step limit was reached.
        reason: Why the run ended.
        steps: The number of steps.
        state: The last state.
        tapes: The contents of the tapes, each from the leftmost to the rightmost non-blank cell.
        heads: The positions of the heads.
        actions: The action of every step, if a trace was requested.
    """

    machine: TuringMachine
    word: tuple[str, ...]
    verdict: Verdict | None
    reason: TuringStopReason
    steps: int
    state: str
    tapes: tuple[TapeContents, ...]
    heads: tuple[int, ...]
    actions: tuple[Action, ...] | None = field(default=None, repr=False)

    @property
    def output(self) -> str:
        """The first tape from the leftmost to the rightmost non-blank cell, as text."""
        return self.machine.format_symbols(self.tapes[0].symbols)

    @property
    def accepted(self) -> bool:
        """Whether the run ended in an accepting state."""
        return self.verdict is Verdict.ACCEPT

    @property
    def halted(self) -> bool:
        """Whether the machine halted, rather than reached the step limit."""
        return self.reason is not TuringStopReason.STEP_LIMIT


def next_action(machine: TuringMachine, configuration: Configuration) -> Action | TuringStopReason:
    """The next action, or the reason to halt. The configuration is not changed."""
    if configuration.state in machine.accept:
        return TuringStopReason.ACCEPTING_STATE
    if configuration.state in machine.reject:
        return TuringStopReason.REJECTING_STATE
    rule = machine.find_rule(configuration.state, configuration.read_symbols())
    if rule is None:
        return TuringStopReason.NO_RULE
    if machine.tape is TapeConvention.TWO_WAY:
        return Action(rule.next, rule.write, rule.move)
    held_back = [move == "L" and head == 0 for move, head in zip(rule.move, configuration.heads, strict=True)]
    if machine.tape is TapeConvention.ERROR and any(held_back):
        return TuringStopReason.LEFT_END
    move = tuple("S" if held else move for move, held in zip(rule.move, held_back, strict=True))
    return Action(rule.next, rule.write, move)


def interpreted_steps() -> int:
    """The number of steps before the compiled loop takes over."""
    return min(INTERPRETED_STEPS, INTERPRETED_STEPS_WITH_NUMBA) if "numba" in sys.modules else INTERPRETED_STEPS


def execute(
    machine: TuringMachine, word: str | Iterable[str], *, max_steps: int = 1_000_000, trace: bool = False
) -> TuringResult:
    """Run a machine on an input.

    A run that halts after exactly ``max_steps`` steps counts as halted: the limit is reached only if another rule
    applies.

    Args:
        machine: The machine.
        word: Its input: text, or a sequence of symbols.
        max_steps: Maximum number of steps.
        trace: Whether to keep the action of every step. Traced runs are slower (about 200,000 steps per second).

    Raises:
        InputError: If a symbol of the input is not in the machine's alphabet.
        UsageError: If the step limit is negative.
    """
    if max_steps < 0:
        raise UsageError(f"a run of {max_steps} steps is not possible", hint="write a step limit of 0 or more")
    word = machine.word(word)
    configuration = Configuration.initial(machine, word)
    actions: list[Action] | None = [] if trace else None
    reason = _advance(machine, configuration, max_steps if trace else min(max_steps, interpreted_steps()), actions)
    if reason is TuringStopReason.STEP_LIMIT and configuration.steps < max_steps:
        from softmachine.languages.turing import jit_interpreter

        jit_interpreter.advance(machine, configuration, max_steps)
        reason = _advance(machine, configuration, max_steps, actions)
    return TuringResult(
        machine=machine,
        word=word,
        verdict=None if reason is TuringStopReason.STEP_LIMIT else machine.verdict(configuration.state),
        reason=reason,
        steps=configuration.steps,
        state=configuration.state,
        tapes=configuration.tape_contents,
        heads=tuple(configuration.heads),
        actions=None if actions is None else tuple(actions),
    )


def _advance(
    machine: TuringMachine, configuration: Configuration, max_steps: int, actions: list[Action] | None
) -> TuringStopReason:
    """Run until the machine halts or ``max_steps`` total steps are reached; returns the reason."""
    shared: dict[Action, Action] = {}
    while not isinstance(action := next_action(machine, configuration), TuringStopReason):
        if configuration.steps >= max_steps:
            return TuringStopReason.STEP_LIMIT
        configuration.apply(action)
        if actions is not None:
            # A machine has few distinct actions: sharing them keeps a trace at one pointer per step.
            actions.append(shared.setdefault(action, action))
    return action


def iterate_actions(machine: TuringMachine, configuration: Configuration, max_steps: int) -> Iterator[Sequence[Action]]:
    """Yield the actions of a run from a configuration, in chunks, until it halts or reaches ``max_steps`` total steps.

    The configuration is updated in place, and is current once all chunks are yielded. Long runs use the compiled loop,
    in memory independent of their length.
    """
    yield from _interpret_actions(machine, configuration, min(max_steps, interpreted_steps()))
    if configuration.steps >= max_steps or isinstance(next_action(machine, configuration), TuringStopReason):
        return
    from softmachine.languages.turing import jit_interpreter

    if not jit_interpreter.fits_table_limit(machine):
        yield from _interpret_actions(machine, configuration, max_steps)
        return
    run = jit_interpreter.JitRun(machine, configuration)
    while not run.stopped and run.steps < max_steps:
        yield run.record(min(COMPILED_CHUNK, max_steps - run.steps))
    run.store_to(configuration)


def _interpret_actions(
    machine: TuringMachine, configuration: Configuration, max_steps: int
) -> Iterator[Sequence[Action]]:
    reason = TuringStopReason.STEP_LIMIT
    while reason is TuringStopReason.STEP_LIMIT and configuration.steps < max_steps:
        piece: list[Action] = []
        reason = _advance(machine, configuration, min(max_steps, configuration.steps + INTERPRETED_CHUNK), piece)
        yield piece


def replay(machine: TuringMachine, word: str | Iterable[str], actions: Iterable[Action]) -> Configuration:
    """Apply actions to the initial configuration on an input.

    The rules are not checked, so the result is the effect of a recorded or generated trace, whether or not it is a run
    of the machine.

    Raises:
        InputError: If a symbol of the input is not in the machine's alphabet.
    """
    configuration = Configuration.initial(machine, word)
    if isinstance(actions, CodedSequence) and len(actions) > interpreted_steps():
        from softmachine.languages.turing import jit_interpreter

        jit_interpreter.replay(machine, configuration, tuple(actions.names), actions.code_arrays())
        return configuration
    for action in actions:
        configuration.apply(action)
    return configuration
