"""How words are put to a transformer for a counter machine, and how its chain of thought is read: as transitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from softmachine.codec import DecoderCodec, Outcome, Prompt, Word
from softmachine.languages.counter import Configuration, CounterMachine, RunError, Transition, execute, follow, parted
from softmachine.languages.crasp import ACCEPT, REJECT, Program
from softmachine.languages.crasp.from_counter import counter_program, transition_tokens
from softmachine.packed import Codes
from softmachine.theorems.crasp.tokens import CraspCodec


@dataclass(frozen=True)
class CounterCodec(DecoderCodec[CounterMachine]):
    """A start token, the word, one token for each transition that is taken, and the verdict.

    Args:
        source: The machine.
        length: The number of positions that the weights are made for, if they are made for one.
    """

    length: int | None = None

    @cached_property
    def program(self) -> Program:
        """The machine as a C-RASP program."""
        return counter_program(self.source)

    @cached_property
    def transitions(self) -> dict[str, Transition]:
        """What the tokens of the chain of thought mean."""
        return transition_tokens(self.source)

    @cached_property
    def _thought(self) -> CraspCodec:
        return CraspCodec(self.program, self.length)

    def prompt(self, word: Word) -> Prompt:
        return self._thought.prompt(word)

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict, or says that no transition applies."""
        return self._thought.stops(token)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The transitions that the machine takes, as its interpreter has them, and its verdict."""
        result = execute(self.source, word, max_steps=max_steps, trace=True)
        names = {transition: token for token, transition in self.transitions.items()}
        yield from (names[transition] for transition in result.transitions or ())
        if result.verdict is not None:
            yield ACCEPT if result.accepted else REJECT

    @property
    def chain(self) -> Program:
        return self.program

    def read(self, word: Word, tokens: Sequence[str]) -> CounterOutcome:
        """What a chain of thought says: the verdict, and the counters after all transitions.

        It must be the machine's own run: a model knows nothing of counters below 0, and where two tests hold it takes
        the first one.

        Raises:
            RunError: If the machine breaks the rules, or does something else; it names the first such step.
            StuckError: If no transition applied in the end.
        """
        letters = self.source.word(word)
        configuration = Configuration(self.source.start, self.source.initial(letters))
        taken = self._taken(tokens)
        follow(self.source, configuration, taken)
        thought = self._thought.read(letters, tokens)
        self._require_verdict(letters, configuration, thought.verdict)
        return CounterOutcome(
            verdict=thought.verdict,
            steps=len(taken),
            output=" ".join(f"{name}={value}" for name, value in configuration.counters.items()),
            machine=self.source,
            word=letters,
            taken=taken,
        )

    def _taken(self, tokens: Sequence[str]) -> Sequence[Transition]:
        """The transitions among the tokens, in little memory if there are many."""
        if isinstance(tokens, Codes):
            return tokens.chosen(self.transitions.get)
        return tuple(self.transitions[token] for token in tokens if not self.stops(token))

    def _require_verdict(self, letters: tuple[str, ...], last: Configuration, said: str | None) -> None:
        """See that a verdict is the one of the last state; words of the wrong shape are rejected at once."""
        shaped = self.source.has_shape(letters)
        if not shaped and (last.steps or said == "accept"):
            problem = f"the run goes on, but the letters are not in the order {' '.join(self.alphabet)}"
            raise RunError(self.source, problem, 1, self.source.initial(letters))
        if shaped and said is not None and said != self.source.verdict(last.state):
            raise parted(self.source, last, f"the verdict is {said}")


@dataclass(frozen=True, kw_only=True)
class CounterOutcome(Outcome):
    """What a counter machine's run came to, read off its tokens."""

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
