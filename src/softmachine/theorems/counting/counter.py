"""Counter machines as C-RASP with chain of thought: Lemma 3.5 of "Softmax Transformers are Turing-Complete".

A run has one token per transition. The value of a counter is its initial value, the number of occurrences of its symbol
in the input, plus the updates of the transitions in the chain of thought: a sum of counts. The test of a transition is
therefore a comparison of counts, and the state is the target of the last transition. The C-RASP program has one rule
per transition, in order.

Needs and costs: those of C-RASP, see :mod:`softmachine.theorems.counting.crasp`; the reduction is
:mod:`softmachine.languages.crasp.from_counter`.

Codec of counter machines: prompts from words, and transitions and verdicts from chains of thought.

Guided tour of one token of a counter machine's run.

Counter machines, as C-RASP with chain of thought.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from softmachine.ir import Program as Signals
from softmachine.languages.counter import (
    Configuration,
    CounterMachine,
    RunError,
    Transition,
    Verdict,
    follow,
    parted,
    transitions,
)
from softmachine.languages.crasp import ACCEPT, REJECT, Program
from softmachine.languages.crasp.from_counter import counter_program, transition_tokens
from softmachine.languages.crasp.streaming_interpreter import VERDICTS
from softmachine.languages.run_view import Counters, Scene, Stretch
from softmachine.support.token_array import Codes
from softmachine.theorems.codec import DecoderCodec, Outcome, Prompt, Word
from softmachine.theorems.counting.crasp.boolean import Sign
from softmachine.theorems.counting.crasp.codec import CraspCodec
from softmachine.theorems.counting.crasp.counts import InRelation
from softmachine.theorems.counting.crasp.theorem import COST, POSITIONS, RULES, UNIFORM, of_program, tell
from softmachine.theorems.theorem import Guide, Needs, Theorem


@dataclass(frozen=True)
class CounterCodec(DecoderCodec[CounterMachine]):
    """Codec with context "start token, word, one token per transition, verdict".

    Args:
        source: The machine.
        length: The number of positions that the weights are built for; None if they serve every length.
    """

    length: int | None = None

    @cached_property
    def program(self) -> Program:
        """The machine as a C-RASP program."""
        return counter_program(self.source)

    @cached_property
    def transitions(self) -> dict[str, Transition]:
        """The transition of each token of the chain of thought."""
        return transition_tokens(self.source)

    @cached_property
    def _thought(self) -> CraspCodec:
        return CraspCodec(self.program, self.length)

    def prompt(self, word: Word) -> Prompt:
        return self._thought.prompt(word)

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict, or the one for "no transition applies"."""
        return self._thought.stops(token)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The tokens of the transitions that the reference interpreter takes, and its verdict."""
        names = {transition: token for token, transition in self.transitions.items()}
        taken, state = 0, self.source.start
        for transition in transitions(self.source, word):
            if taken >= max_steps:
                return
            yield names[transition]
            taken, state = taken + 1, transition.target
        shaped = self.source.has_shape(self.source.word(word))
        yield ACCEPT if shaped and self.source.verdict(state) is Verdict.ACCEPT else REJECT

    @property
    def chain(self) -> Program:
        return self.program

    def require_run(self, word: Word, said: Sequence[str]) -> None:
        """Require that the output is the machine's run: the model does not detect negative counters or nondeterminism.

        Raises:
            RunError: If the run is invalid for the machine or differs from it; the message gives the first such step.
            PartedError: If a token is not a transition.
        """
        letters, taken = self.source.word(word), self._taken(said)
        now = Configuration(self.source.start, self.source.initial(letters))
        follow(self.source, now, taken)
        end = said[-1] if len(said) and self.stops(said[-1]) else None
        if len(taken) < len(said) - (end is not None):
            super().require_run(word, said)
        self._require_end(letters, now, end)

    def _require_end(self, letters: tuple[str, ...], last: Configuration, token: str | None) -> None:
        """Require that the verdict is that of the last state; words of the wrong shape must be rejected at once."""
        shaped, verdict = self.source.has_shape(letters), VERDICTS.get(token or "")
        if not shaped and (last.steps or token not in (None, REJECT)):
            problem = f"the run continues, but the input symbols are not in the order {' '.join(self.alphabet)}"
            raise RunError(self.source, problem, 1, self.source.initial(letters))
        if shaped and token is not None and (verdict is None or verdict != self.source.verdict(last.state)):
            raise parted(self.source, last, f"the verdict is {verdict}" if verdict else "no transition is taken")

    def outcome(self, word: Word, said: Sequence[str]) -> CounterOutcome:
        """The verdict of a chain of thought, and the counters after all its transitions."""
        letters, taken = self.source.word(word), self._taken(said)
        counters = self.source.initial(letters)
        for transition, times in _times(taken):
            for name, change in transition.updates:
                counters[name] += times * change
        return CounterOutcome(
            verdict=VERDICTS.get(said[-1]) if len(said) else None,
            steps=len(taken),
            output=" ".join(f"{name}={value}" for name, value in counters.items()),
            machine=self.source,
            word=letters,
            taken=taken,
        )

    def scene(self, word: Word, shown: Stretch) -> Scene:
        """The counters, and at every position the transition that is taken next."""
        before = self.outcome(word, shown.before)
        now = Configuration(self.source.start, self.source.initial(before.word))
        for transition in before.taken:
            now.apply(transition)
        meant = [self.transitions.get(token) for token in shown.tokens]
        lines = self.lines
        number = {one: len(lines) - len(self.source.transitions) + k for k, one in enumerate(self.source.transitions)}
        counters = Counters(
            state=now.state,
            counters=now.counters,
            steps=now.steps,
            actions={
                token: (one.target, dict(one.updates))
                for token, one in zip(shown.tokens, meant, strict=True)
                if one is not None
            },
        )
        active = [None if following is None else number[following] for following in [*meant[1:], None]]
        return Scene(lines, active, picture=counters)

    def _taken(self, tokens: Sequence[str]) -> Sequence[Transition]:
        """The transitions among the tokens; compressed if the tokens are."""
        if isinstance(tokens, Codes):
            return tokens.chosen(self.transitions.get)
        return tuple(self.transitions[token] for token in tokens if token in self.transitions)


def _times(taken: Sequence[Transition]) -> Iterable[tuple[Transition, int]]:
    """Transitions with multiplicities."""
    return zip(taken.names, taken.counts(), strict=True) if isinstance(taken, Codes) else ((one, 1) for one in taken)


@dataclass(frozen=True, kw_only=True)
class CounterOutcome(Outcome):
    """The result of a counter machine's run, read from its tokens."""

    machine: CounterMachine
    taken: Sequence[Transition]

    def trace(self) -> Iterator[str]:
        """The configurations: step, state and counters."""
        configuration = Configuration(self.machine.start, self.machine.initial(self.word))
        width = max(map(len, self.machine.states))
        yield _line(configuration, width)
        for transition in self.taken:
            configuration.apply(transition)
            yield _line(configuration, width)


def _line(configuration: Configuration, width: int) -> str:
    counters = "  ".join(f"{name} = {value}" for name, value in islice(configuration.counters.items(), 40))
    return f"{configuration.steps:>5}  {configuration.state:<{width}}  {counters}".rstrip()


GUIDE = (
    Guide(
        "Which transition was last?",
        "Lemma 3.5 of “Softmax Transformers are Turing-Complete”. A run has a token for each transition; the last "
        "transition determines the state, so that the token here determines it.",
        ("token",),
    ),
    Guide(
        "What is in the counters?",
        "Lemma 3.5 of “Softmax Transformers are Turing-Complete”. A counter is the number of its letter in the input, "
        "plus the changes by the transitions so far: a sum of counts. Uniform attention gives each sum over i+1 "
        "(Proposition 2.1 of the same paper), and 1/(i+1).",
        ("mean…",),
    ),
    Guide(
        "Which tests hold?",
        "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. A test compares a counter with a number: the "
        "sign of a sum that is never nearer to 0 than 1/(2(i+1)).",
        ("a ≥ …", "a ≤ …"),
    ),
    RULES,
)


_STATEMENT = "a counter machine as C-RASP with chain of thought, "
_REFERENCE = "Softmax Transformers are Turing-Complete, Lemma 3.5 and Proposition 2.1"


def signals(codec: CounterCodec, attention: str, sign: Sign) -> Signals:
    """The signals of the machine's C-RASP program."""
    return of_program(codec.program, sign, attention, codec.length)


def _theorem(name: str, sign: Sign, how: str, needs: Needs, rank: int, length: str = "") -> Theorem:
    return Theorem(
        name,
        f"{_STATEMENT}{how}",
        _REFERENCE,
        needs,
        COST,
        CounterMachine,
        ("soft", "hard"),
        codec=CounterCodec,
        signals=lambda codec, attention: signals(codec, attention, sign),
        steps=(
            "A counter is a sum of counts: of its symbol in the input, and of the transitions that update it.",
            "The test of a transition is a comparison of such sums; the state is the target of the last transition.",
            "Each transition is a rule of C-RASP with chain of thought, which the theorem crasp compiles.",
        ),
        guide=GUIDE,
        tells=tell,
        features=(InRelation,),
        length=length,
        rank=rank,
    )


THEOREMS = (
    _theorem("counter", Sign.HEAVISIDE, "by uniform attention and Heaviside units", UNIFORM, 1),
    _theorem("counter-relu", Sign.RELU, "with ReLU alone", UNIFORM.and_also("input symbols in any order"), 2),
    _theorem(
        "counter-relu-max-length",
        Sign.BOUNDED,
        "with ReLU alone, with a slope for a maximal length",
        UNIFORM,
        3,
        POSITIONS,
    ),
)
