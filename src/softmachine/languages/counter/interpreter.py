"""Reference interpreter of counter machines.

It is the oracle for everything that is compiled from a machine, so it is written to be obviously correct. Long runs are
delegated to `softmachine.languages.counter.jit_interpreter`, which the tests compare with this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from softmachine.languages.counter.condition import holds
from softmachine.languages.counter.machine import CounterMachine, Transition, Verdict, describe_transition
from softmachine.support.errors import InputError, InvalidError, UsageError
from softmachine.support.token_array import CodedSequence

INTERPRETED_STEPS = 3_000
"""Steps before the JIT-compiled loop takes over; compiling it costs more than shorter runs gain."""


class CounterStopReason(StrEnum):
    """Why a run ended."""

    ACCEPTING_STATE = "accepting state"
    REJECTING_STATE = "rejecting state"
    WRONG_SHAPE = "shape"
    """The letters of the input are not in the required order: it is rejected before any step."""
    STEP_LIMIT = "step limit"


class RunError(InvalidError):
    """A run cannot continue: no transition applies, two apply, or a counter would become negative.

    Args:
        machine: The machine.
        problem: Description of the problem.
        step: Number of the failing step, from 1.
        counters: The values of the counters before it.
    """

    def __init__(self, machine: CounterMachine, problem: str, step: int, counters: Mapping[str, int]) -> None:
        self.step = step
        self.counters = dict(counters)
        values = ", ".join(f"{name} = {value:,}" for name, value in counters.items()) or "it has no counters"
        super().__init__(f"the run of counter machine {machine.name!r}", [f"at step {step:,}, {problem} ({values})"])


@dataclass(slots=True)
class Configuration:
    """State and counters of a run, with the number of steps so far. It is updated in place."""

    state: str
    counters: dict[str, int]
    steps: int = 0

    def apply(self, transition: Transition) -> None:
        """Apply a transition to the counters and the state, without evaluating its test."""
        for name, change in transition.updates:
            self.counters[name] += change
        self.state = transition.target
        self.steps += 1


@dataclass(frozen=True)
class CounterResult:
    """The result of a run.

    Args:
        machine: The machine.
        verdict: The verdict; None if the step limit was reached.
        reason: Why the run ended.
        steps: Number of transitions taken.
        state: The final state.
        counters: The final values of the counters.
        transitions: The transitions taken, if a trace was requested.
    """

    machine: CounterMachine = field(repr=False)
    verdict: Verdict | None
    reason: CounterStopReason
    steps: int
    state: str
    counters: Mapping[str, int]
    transitions: tuple[Transition, ...] | None = field(default=None, repr=False)

    @property
    def accepted(self) -> bool:
        """Whether the run ended in an accepting state."""
        return self.verdict is Verdict.ACCEPT

    @property
    def halted(self) -> bool:
        """Whether the run ended before the step limit."""
        return self.reason is not CounterStopReason.STEP_LIMIT


def next_transition(machine: CounterMachine, configuration: Configuration) -> Transition | CounterStopReason:
    """The next transition, or the reason why the run ends. The configuration is not changed.

    Raises:
        RunError: If no transition applies, two apply, or one would make a counter negative.
    """
    verdict = machine.verdict(configuration.state)
    if verdict is not None:
        return CounterStopReason.ACCEPTING_STATE if verdict is Verdict.ACCEPT else CounterStopReason.REJECTING_STATE
    counters = configuration.counters
    leaving = machine.transitions_from(configuration.state)
    applying = [one for one in leaving if one.test is not None and holds(one.test, counters)]
    applying = applying or [one for one in leaving if one.test is None]

    def fault(problem: str) -> RunError:
        return RunError(machine, problem, configuration.steps + 1, counters)

    if not applying:
        raise fault(f"no transition of state {configuration.state!r} applies; cover this case, or add an 'else'")
    if len(applying) > 1:
        pair = f"{describe_transition(applying[0])} and {describe_transition(applying[1])}"
        raise fault(f"two transitions apply: {pair}; make one test exclude the other")
    for name, change in applying[0].updates:
        if counters[name] + change < 0:
            raise fault(
                f"{describe_transition(applying[0])} takes counter {name!r} to {counters[name] + change:,}, below 0"
            )
    return applying[0]


def iterate_transitions(machine: CounterMachine, word: str | Iterable[str]) -> Iterator[Transition]:
    """Generate the transitions of a run on an input.

    Raises:
        InputError: If a letter of the input is not in the machine's alphabet.
        RunError: If the run cannot continue.
    """
    letters = machine.word(word)
    if not machine.has_shape(letters):
        return
    configuration = Configuration(machine.start, machine.initial_counters(letters))
    while not isinstance(transition := next_transition(machine, configuration), CounterStopReason):
        configuration.apply(transition)
        yield transition


def replay(machine: CounterMachine, configuration: Configuration, transitions: Sequence[Transition]) -> None:
    """Apply given transitions in place, and check that each is the one that the machine takes.

    Raises:
        RunError: If the run cannot continue, the machine takes another transition, or the run has ended before.
    """
    if isinstance(transitions, CodedSequence) and len(transitions) > INTERPRETED_STEPS:
        from softmachine.languages.counter.jit_interpreter import VERIFY_CHUNK_STEPS, advance, transition_indices

        numbers = transition_indices(machine, transitions.names)
        for part in transitions.code_arrays():
            for start in range(0, len(part), VERIFY_CHUNK_STEPS):
                codes = part[start : start + VERIFY_CHUNK_STEPS]
                given, done = numbers[codes], 0
                while done < len(codes):
                    before = configuration.steps
                    advance(machine, configuration, before + len(codes) - done, given[done:])
                    done += configuration.steps - before
                    # The plain loop handles counters beyond 64 bits and all errors.
                    plain = codes[done : done + max(INTERPRETED_STEPS, 1)].tolist()
                    _replay(machine, configuration, (transitions.names[code] for code in plain))
                    done += len(plain)
        return
    _replay(machine, configuration, transitions)


def _replay(machine: CounterMachine, configuration: Configuration, taken: Iterable[Transition]) -> None:
    for transition in taken:
        correct = next_transition(machine, configuration)
        if correct != transition:
            raise divergence_error(machine, configuration, f"{describe_transition(transition)} is taken")
        configuration.apply(transition)


def divergence_error(machine: CounterMachine, configuration: Configuration, claim: str) -> RunError:
    """The error for a claimed run that diverges from the machine's: the claim, and what the machine does instead.

    Raises:
        RunError: If the run of the machine cannot continue there.
    """
    correct = next_transition(machine, configuration)
    actual = (
        f"the run has ended ({correct})"
        if isinstance(correct, CounterStopReason)
        else f"{describe_transition(correct)} applies"
    )
    return RunError(machine, f"{claim}, but {actual}", configuration.steps + 1, configuration.counters)


def execute(
    machine: CounterMachine, word: str | Iterable[str], *, max_steps: int = 1_000_000, trace: bool = False
) -> CounterResult:
    """Run a machine on an input.

    A run that ends after exactly ``max_steps`` steps has ended: the limit is reached only if another step is possible.

    Args:
        machine: The machine.
        word: The input: text, or its letters.
        max_steps: Maximum number of steps.
        trace: Whether to record the transitions taken. Such a run is slower.

    Raises:
        InputError: If a letter of the input is not in the machine's alphabet.
        RunError: If the run cannot continue.
        UsageError: If the step limit is negative.
    """
    letters = machine.word(word)
    counters = machine.initial_counters(letters)
    if not machine.has_shape(letters):
        taken = () if trace else None
        return CounterResult(machine, Verdict.REJECT, CounterStopReason.WRONG_SHAPE, 0, machine.start, counters, taken)
    return execute_from(machine, counters, max_steps=max_steps, trace=trace)


def execute_from(
    machine: CounterMachine, counters: Mapping[str, int], *, max_steps: int = 1_000_000, trace: bool = False
) -> CounterResult:
    """Run a machine from these initial values of the counters, 0 by default.

    Args:
        machine: The machine.
        counters: Initial values of counters, by name.
        max_steps: Maximum number of steps.
        trace: Whether to record the transitions taken. Such a run is slower.

    Raises:
        InputError: If a counter does not exist, or a value is negative.
        RunError: If the run cannot continue.
        UsageError: If the step limit is negative.
    """
    if max_steps < 0:
        raise UsageError(f"the step limit {max_steps} is negative", hint="use a step limit of 0 or more")
    for name, value in counters.items():
        if name not in machine.counters or value < 0:
            problem = f"counter {name!r} cannot start with {value}" if value < 0 else f"there is no counter {name!r}"
            raise InputError(problem, hint=f"the counters of {machine.name!r} are {' '.join(machine.counters)}")
    configuration = Configuration(machine.start, {name: counters.get(name, 0) for name in machine.counters})
    taken: list[Transition] | None = [] if trace else None
    reason = _advance(machine, configuration, max_steps if trace else min(max_steps, INTERPRETED_STEPS), taken)
    if reason is CounterStopReason.STEP_LIMIT and configuration.steps < max_steps:
        from softmachine.languages.counter.jit_interpreter import advance

        while reason is CounterStopReason.STEP_LIMIT and configuration.steps < max_steps:
            advance(machine, configuration, max_steps)
            # The plain loop handles counters beyond 64 bits and the end of the run.
            reason = _advance(
                machine, configuration, min(max_steps, configuration.steps + max(INTERPRETED_STEPS, 1)), taken
            )
    verdict = machine.verdict(configuration.state) if reason is not CounterStopReason.STEP_LIMIT else None
    return CounterResult(
        machine,
        verdict,
        reason,
        configuration.steps,
        configuration.state,
        configuration.counters,
        None if taken is None else tuple(taken),
    )


def _advance(
    machine: CounterMachine, configuration: Configuration, max_steps: int, taken: list[Transition] | None
) -> CounterStopReason:
    """Advance until the machine halts or the total reaches ``max_steps``; return the reason."""
    while not isinstance(transition := next_transition(machine, configuration), CounterStopReason):
        if configuration.steps >= max_steps:
            return CounterStopReason.STEP_LIMIT
        configuration.apply(transition)
        if taken is not None:
            taken.append(transition)
    return transition
