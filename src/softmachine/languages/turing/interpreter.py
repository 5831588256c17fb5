"""The reference interpreter: what a Turing machine does, by definition.

It is the oracle of everything that is compiled from the machine, so it is written to be obviously right. Long runs
are handed to `softmachine.languages.turing.compiled`, which the tests hold to this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from softmachine.languages.turing.configuration import Action, Configuration, Contents
from softmachine.languages.turing.machine import Tape, TuringMachine, Verdict
from softmachine.support.errors import UsageError
from softmachine.support.token_array import Codes

PLAIN_STEPS, PLAIN_STEPS_WITH_NUMBA = 20_000, 1_000
"""So many steps are made here before the compiled loop takes over: short runs never pay for its start. It takes less
where numba is there already."""
PLAIN_PIECE, PIECE = 1 << 10, 1 << 20
"""So many steps are handed out at a time."""


class Reason(StrEnum):
    """Why a run ended."""

    ACCEPTING_STATE = "accepting state"
    REJECTING_STATE = "rejecting state"
    NO_RULE = "no rule"
    LEFT_END = "left end"
    """The rule would move a head off the end of a tape on which that is an error."""
    STEP_LIMIT = "step limit"


@dataclass(frozen=True)
class Result:
    """How a run ended.

    Args:
        machine: What ran.
        word: Its input.
        verdict: What the end means; None if the step limit was reached.
        reason: Why the run ended.
        steps: How many rules were applied.
        state: The last state.
        tapes: What is on the tapes, each from the leftmost to the rightmost cell that is not blank.
        heads: The cell each head is on.
        actions: What every step did, if a trace was asked for.
    """

    machine: TuringMachine
    word: tuple[str, ...]
    verdict: Verdict | None
    reason: Reason
    steps: int
    state: str
    tapes: tuple[Contents, ...]
    heads: tuple[int, ...]
    actions: tuple[Action, ...] | None = field(default=None, repr=False)

    @property
    def output(self) -> str:
        """The first tape from the leftmost to the rightmost cell that is not blank, as text."""
        return self.machine.spell(self.tapes[0].symbols)

    @property
    def accepted(self) -> bool:
        """Whether the run ended in an accepting state."""
        return self.verdict is Verdict.ACCEPT

    @property
    def halted(self) -> bool:
        """Whether the machine stopped by itself."""
        return self.reason is not Reason.STEP_LIMIT


def step(machine: TuringMachine, configuration: Configuration) -> Action | Reason:
    """What the machine does next, or why it stops. The configuration stays as it is."""
    if configuration.state in machine.accept:
        return Reason.ACCEPTING_STATE
    if configuration.state in machine.reject:
        return Reason.REJECTING_STATE
    rule = machine.rule(configuration.state, configuration.read())
    if rule is None:
        return Reason.NO_RULE
    if machine.tape is Tape.TWO_WAY:
        return Action(rule.next, rule.write, rule.move)
    held_back = [move == "L" and head == 0 for move, head in zip(rule.move, configuration.heads, strict=True)]
    if machine.tape is Tape.ERROR and any(held_back):
        return Reason.LEFT_END
    move = tuple("S" if held else move for move, held in zip(rule.move, held_back, strict=True))
    return Action(rule.next, rule.write, move)


def plain_steps() -> int:
    """How many steps are made here before the compiled loop takes over."""
    return min(PLAIN_STEPS, PLAIN_STEPS_WITH_NUMBA) if "numba" in sys.modules else PLAIN_STEPS


def execute(
    machine: TuringMachine, word: str | Iterable[str], *, max_steps: int = 1_000_000, trace: bool = False
) -> Result:
    """Run a machine on an input.

    A run that ends after exactly ``max_steps`` steps has ended: the limit is reached only if another rule applies.

    Args:
        machine: What to run.
        word: Its input: text, or its symbols.
        max_steps: How many steps to make at most.
        trace: Whether to keep what every step did. Such a run is slower (about 200,000 steps a second).

    Raises:
        InputError: If a symbol of the input is not in the machine's alphabet.
        UsageError: If the step limit is negative.
    """
    if max_steps < 0:
        raise UsageError(f"a run of {max_steps} steps is not possible", hint="write a step limit of 0 or more")
    word = machine.word(word)
    configuration = Configuration.initial(machine, word)
    actions: list[Action] | None = [] if trace else None
    reason = _advance(machine, configuration, max_steps if trace else min(max_steps, plain_steps()), actions)
    if reason is Reason.STEP_LIMIT and configuration.steps < max_steps:
        from softmachine.languages.turing import compiled

        compiled.advance(machine, configuration, max_steps)
        reason = _advance(machine, configuration, max_steps, actions)
    return Result(
        machine=machine,
        word=word,
        verdict=None if reason is Reason.STEP_LIMIT else machine.verdict(configuration.state),
        reason=reason,
        steps=configuration.steps,
        state=configuration.state,
        tapes=configuration.tapes,
        heads=tuple(configuration.heads),
        actions=None if actions is None else tuple(actions),
    )


def _advance(
    machine: TuringMachine, configuration: Configuration, max_steps: int, actions: list[Action] | None
) -> Reason:
    """Go on until the machine stops or has made ``max_steps`` steps in all; say which."""
    shared: dict[Action, Action] = {}
    while not isinstance(action := step(machine, configuration), Reason):
        if configuration.steps >= max_steps:
            return Reason.STEP_LIMIT
        configuration.apply(action)
        if actions is not None:
            # A machine has few different actions: sharing them keeps a trace at one pointer a step.
            actions.append(shared.setdefault(action, action))
    return action


def traced(machine: TuringMachine, configuration: Configuration, max_steps: int) -> Iterator[Sequence[Action]]:
    """What the machine does from a configuration on, in pieces, until it stops or has made ``max_steps`` steps in all.

    The configuration follows, and is up to date when all pieces are handed out. Long runs are made by the compiled
    loop, in memory that does not grow with them.
    """
    yield from _plainly_traced(machine, configuration, min(max_steps, plain_steps()))
    if configuration.steps >= max_steps or isinstance(step(machine, configuration), Reason):
        return
    from softmachine.languages.turing import compiled

    if not compiled.fits(machine):
        yield from _plainly_traced(machine, configuration, max_steps)
        return
    run = compiled.Running(machine, configuration)
    while not run.stopped and run.steps < max_steps:
        yield run.record(min(PIECE, max_steps - run.steps))
    run.restore(configuration)


def _plainly_traced(machine: TuringMachine, configuration: Configuration, max_steps: int) -> Iterator[Sequence[Action]]:
    reason = Reason.STEP_LIMIT
    while reason is Reason.STEP_LIMIT and configuration.steps < max_steps:
        piece: list[Action] = []
        reason = _advance(machine, configuration, min(max_steps, configuration.steps + PLAIN_PIECE), piece)
        yield piece


def replay(machine: TuringMachine, word: str | Iterable[str], actions: Iterable[Action]) -> Configuration:
    """Apply actions, one after the other, to the start on an input.

    No rule is consulted: whoever took the actions is believed. So this shows what a run that was recorded, or
    generated, leaves on the tapes, whether or not it is a run of the machine.

    Raises:
        InputError: If a symbol of the input is not in the machine's alphabet.
    """
    configuration = Configuration.initial(machine, word)
    if isinstance(actions, Codes) and len(actions) > plain_steps():
        from softmachine.languages.turing import compiled

        compiled.replay(machine, configuration, tuple(actions.names), actions.parts())
        return configuration
    for action in actions:
        configuration.apply(action)
    return configuration
