"""Counter machines as C-RASP with chain of thought: Lemma 3.5 of "Softmax Transformers are Turing-Complete".

A run has one token per transition. The value of a counter is its initial value, the number of occurrences of its symbol
in the input, plus the updates of the transitions in the chain of thought: a sum of counts. The test of a transition is
therefore a comparison of counts, and the state is the target of the last transition. The C-RASP program has one rule
per transition, in order.

Needs and costs: those of C-RASP, see :mod:`softmachine.theorems.counting.crasp`; the reduction is
:mod:`softmachine.languages.crasp.from_counter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from softmachine.ir import Program as Signals
from softmachine.ir.domain import Domain
from softmachine.languages.counter import (
    Configuration,
    CounterMachine,
    RunError,
    Transition,
    Verdict,
    divergence_error,
    iterate_transitions,
    replay,
)
from softmachine.languages.crasp import ACCEPT, REJECT, CraspProgram
from softmachine.languages.crasp.from_counter import build_counter_program, transition_tokens
from softmachine.languages.crasp.streaming_interpreter import VERDICTS
from softmachine.languages.run_view import CountersPicture, RunView, TokenWindow
from softmachine.support.token_array import CodedSequence
from softmachine.theorems.codec import DecoderCodec, Outcome, Prompt, Word
from softmachine.theorems.counting.crasp.boolean import SignUnits
from softmachine.theorems.counting.crasp.codec import CraspCodec
from softmachine.theorems.counting.crasp.counts import InRelation
from softmachine.theorems.counting.crasp.theorem import (
    COST,
    LENGTH_MEANING,
    RULES_STEP,
    UNIFORM_REQUIREMENTS,
    build_signals,
)
from softmachine.theorems.theorem import Requirements, Theorem, TourStep


@dataclass(frozen=True)
class CounterCodec(DecoderCodec[CounterMachine]):
    """Codec with context "start token, word, one token per transition, verdict".

    Args:
        source: The machine.
        length: The number of positions that the weights are built for; None if they serve every length.
    """

    length: int | None = None

    @cached_property
    def program(self) -> CraspProgram:
        """The machine as a C-RASP program."""
        return build_counter_program(self.source)

    @cached_property
    def transitions(self) -> dict[str, Transition]:
        """The transition of each token of the chain of thought."""
        return transition_tokens(self.source)

    @cached_property
    def _chain_of_thought(self) -> CraspCodec:
        return CraspCodec(self.program, self.length)

    def prompt(self, word: Word) -> Prompt:
        return self._chain_of_thought.prompt(word)

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        return self._chain_of_thought.domain(vocabulary)

    def is_stop_token(self, token: str) -> bool:
        """Whether the token is a verdict, or the one for "no transition applies"."""
        return self._chain_of_thought.is_stop_token(token)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The tokens of the transitions that the reference interpreter takes, and its verdict."""
        names = {transition: token for token, transition in self.transitions.items()}
        taken, state = 0, self.source.start
        for transition in iterate_transitions(self.source, word):
            if taken >= max_steps:
                return
            yield names[transition]
            taken, state = taken + 1, transition.target
        shaped = self.source.has_shape(self.source.word(word))
        yield ACCEPT if shaped and self.source.verdict(state) is Verdict.ACCEPT else REJECT

    @property
    def chain_program(self) -> CraspProgram:
        return self.program

    def verify_run(self, word: Word, emitted: Sequence[str]) -> None:
        """Require that the output is the machine's run: the model does not detect negative counters or nondeterminism.

        Raises:
            RunError: If the run is invalid for the machine or differs from it; the message gives the first such step.
            DivergedError: If a token is not a transition.
        """
        letters, taken = self.source.word(word), self._transitions_among(emitted)
        now = Configuration(self.source.start, self.source.initial_counters(letters))
        replay(self.source, now, taken)
        end = emitted[-1] if len(emitted) and self.is_stop_token(emitted[-1]) else None
        if len(taken) < len(emitted) - (end is not None):
            super().verify_run(word, emitted)
        self._verify_verdict(letters, now, end)

    def _verify_verdict(self, letters: tuple[str, ...], last: Configuration, token: str | None) -> None:
        """Require that the verdict is that of the last state; words of the wrong shape must be rejected at once."""
        shaped, verdict = self.source.has_shape(letters), VERDICTS.get(token or "")
        if not shaped and (last.steps or token not in (None, REJECT)):
            problem = f"the run continues, but the input symbols are not in the order {' '.join(self.alphabet)}"
            raise RunError(self.source, problem, 1, self.source.initial_counters(letters))
        if shaped and token is not None and (verdict is None or verdict != self.source.verdict(last.state)):
            raise divergence_error(
                self.source, last, f"the verdict is {verdict}" if verdict else "no transition is taken"
            )

    def parse_output(self, word: Word, emitted: Sequence[str]) -> CounterOutcome:
        """The verdict of a chain of thought, and the counters after all its transitions."""
        letters, taken = self.source.word(word), self._transitions_among(emitted)
        counters = self.source.initial_counters(letters)
        for transition, times in _count_transitions(taken):
            for name, change in transition.updates:
                counters[name] += times * change
        return CounterOutcome(
            verdict=VERDICTS.get(emitted[-1]) if len(emitted) else None,
            steps=len(taken),
            output=" ".join(f"{name}={value}" for name, value in counters.items()),
            machine=self.source,
            word=letters,
            transitions=taken,
        )

    def describe_output(self, output: str, position: int = 0) -> str:
        """Describe a transition, with its number, counted from 1; a verdict is described by itself."""
        del position
        names = list(self.transitions)
        return f"transition {names.index(output) + 1}: {self.transitions[output]}" if output in names else output

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """The counters, and at every position the transition that is taken next."""
        before = self.parse_output(word, window.generated_before)
        now = Configuration(self.source.start, self.source.initial_counters(before.word))
        for transition in before.transitions:
            now.apply(transition)
        meant = [self.transitions.get(token) for token in window.tokens]
        lines = self.source_lines
        number = {one: len(lines) - len(self.source.transitions) + k for k, one in enumerate(self.source.transitions)}
        counters = CountersPicture(
            state=now.state,
            counters=now.counters,
            steps=now.steps,
            actions={
                token: (one.target, dict(one.updates))
                for token, one in zip(window.tokens, meant, strict=True)
                if one is not None
            },
        )
        active = [None if following is None else number[following] for following in [*meant[1:], None]]
        return RunView(lines, active, picture=counters)

    def _transitions_among(self, tokens: Sequence[str]) -> Sequence[Transition]:
        """The transitions among the tokens; compressed if the tokens are."""
        if isinstance(tokens, CodedSequence):
            return tokens.map_items(self.transitions.get)
        return tuple(self.transitions[token] for token in tokens if token in self.transitions)


def _count_transitions(taken: Sequence[Transition]) -> Iterable[tuple[Transition, int]]:
    """Transitions with multiplicities."""
    return (
        zip(taken.names, taken.count_codes(), strict=True)
        if isinstance(taken, CodedSequence)
        else ((one, 1) for one in taken)
    )


@dataclass(frozen=True, kw_only=True)
class CounterOutcome(Outcome):
    """The result of a counter machine's run, read from its tokens."""

    machine: CounterMachine
    transitions: Sequence[Transition]

    def format_trace(self) -> Iterator[str]:
        """The configurations: step, state and counters."""
        configuration = Configuration(self.machine.start, self.machine.initial_counters(self.word))
        width = max(map(len, self.machine.states))
        yield _format_configuration(configuration, width)
        for transition in self.transitions:
            configuration.apply(transition)
            yield _format_configuration(configuration, width)


def _format_configuration(configuration: Configuration, width: int) -> str:
    counters = "  ".join(f"{name} = {value}" for name, value in islice(configuration.counters.items(), 40))
    return f"{configuration.steps:>5}  {configuration.state:<{width}}  {counters}".rstrip()


TOUR = (
    TourStep(
        "Which transition was last?",
        "Lemma 3.5 of “Softmax Transformers are Turing-Complete”. A run has a token for each transition; the last "
        "transition determines the state, so that the token here determines it.",
        ("token",),
    ),
    TourStep(
        "What is in the counters?",
        "Lemma 3.5 of “Softmax Transformers are Turing-Complete”. A counter is the number of its letter in the input, "
        "plus the changes by the transitions so far: a sum of counts. Uniform attention gives each sum over i+1 "
        "(Proposition 2.1 of the same paper), and 1/(i+1).",
        ("mean…",),
    ),
    TourStep(
        "Which tests hold?",
        "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. A test compares a counter with a number: the "
        "sign of a sum that is never nearer to 0 than 1/(2(i+1)).",
        ("a ≥ …", "a ≤ …"),
    ),
    RULES_STEP,
)


_STATEMENT = "a counter machine as C-RASP with chain of thought, "
_REFERENCE = "Softmax Transformers are Turing-Complete, Lemma 3.5 and Proposition 2.1"


def signals(codec: CounterCodec, attention: str, sign: SignUnits) -> Signals:
    """The signals of the machine's C-RASP program."""
    return build_signals(codec.program, sign, attention, codec.length, codec.describe_output)


def _theorem(name: str, sign_units: SignUnits, units: str, needs: Requirements, rank: int, length: str = "") -> Theorem:
    return Theorem(
        name,
        f"{_STATEMENT}{units}",
        _REFERENCE,
        needs,
        COST,
        CounterMachine,
        ("soft", "hard"),
        codec=CounterCodec,
        signals=lambda codec, attention: signals(codec, attention, sign_units),
        steps=(
            "A counter is a sum of counts: of its symbol in the input, and of the transitions that update it.",
            "The test of a transition is a comparison of such sums; the state is the target of the last transition.",
            "Each transition is a rule of C-RASP with chain of thought, which the theorem crasp compiles.",
        ),
        tour=TOUR,
        features=(InRelation,),
        length=length,
        rank=rank,
    )


THEOREMS = (
    _theorem("counter", SignUnits.HEAVISIDE, "by uniform attention and Heaviside units", UNIFORM_REQUIREMENTS, 1),
    _theorem(
        "counter-relu",
        SignUnits.RELU,
        "with ReLU alone",
        UNIFORM_REQUIREMENTS.with_remark("input symbols in any order"),
        2,
    ),
    _theorem(
        "counter-relu-max-length",
        SignUnits.BOUNDED,
        "with ReLU alone, with a slope for a maximal length",
        UNIFORM_REQUIREMENTS,
        3,
        LENGTH_MEANING,
    ),
)
