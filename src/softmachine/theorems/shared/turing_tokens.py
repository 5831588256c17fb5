"""The tokens of a Turing machine's chain of thought: one token a step, and how runs are written and read in them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar

from softmachine.codec import DecoderCodec, Outcome, Prompt, Word
from softmachine.languages.turing import Action, Rule, Tape, TuringMachine, Verdict, execute, replay
from softmachine.languages.turing.picture import trace_lines
from softmachine.packed import Coded, Codes

BEGIN = "BOS"
VERDICTS = {Verdict.ACCEPT: "ACC", Verdict.REJECT: "REJ", Verdict.HALT: "HALT"}
MOST_TOKENS = 1 << 20
"""A vocabulary of more tokens is refused."""


@dataclass(frozen=True)
class Given:
    """An input symbol."""

    symbol: str


@dataclass(frozen=True)
class Begin:
    """The end of the prompt: the run begins."""


Meaning = Given | Begin | Action | Verdict


class OfMachine:
    """What the codecs of Turing machines have in common."""

    source: TuringMachine

    @property
    def machine(self) -> TuringMachine:
        """The machine."""
        return self.source

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that the machine can reach."""
        return tuple(dict.fromkeys(self.machine.verdict(state) for state in self.machine.states))

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the rules do."""
        return tuple(dict.fromkeys(actions_of(self.machine.rules, self.machine.tape)))


@dataclass(frozen=True)
class TuringCodec(OfMachine, DecoderCodec[TuringMachine]):
    """Prompts and runs of a machine, in tokens.

    A run is: the input symbols, BOS, the action (q_start, symbol under the head, no move), one action a step, and a
    verdict. The notes let the verdict take the place of the last action (``last_action=False``); then the last write is
    not recorded, and the tape cannot be told from the tokens.
    """

    last_action: bool = True

    view: ClassVar[str] = "tape"
    announces: ClassVar[bool] = True
    """Whether a run's first token only says where it starts."""

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """All tokens, and what they mean. Only actions that some rule takes are tokens."""
        tokens: dict[str, Meaning] = {BEGIN: Begin()}
        tokens |= {VERDICTS[verdict]: verdict for verdict in self.verdicts}
        for action in self.actions:
            tokens[fresh(action_text(action), tokens)] = action
        for symbol in self.machine.alphabet:
            tokens[fresh(symbol, tokens)] = Given(symbol)
        return tokens

    @cached_property
    def tokens(self) -> dict[Meaning, str]:
        """The token of each meaning."""
        return {meaning: token for token, meaning in self.meanings.items()}

    @property
    def actions(self) -> tuple[Action, ...]:
        """The first actions, and what the rules do."""
        machine = self.machine
        started = (self.first_action(symbol) for symbol in (*machine.alphabet, machine.blank))
        rules = [rule for rule in machine.rules if self.last_action or rule.next not in machine.final]
        return tuple(dict.fromkeys([*started, *actions_of(rules, machine.tape)]))

    def first_action(self, symbol: str) -> Action:
        """What the BOS step emits: the start state, with the tapes left as they are."""
        machine = self.machine
        return Action(machine.start, (symbol, *[machine.blank] * (machine.tapes - 1)), ("S",) * machine.tapes)

    def prompt(self, word: Word) -> Prompt:
        """The input's symbols, then BOS."""
        symbols = self.machine.word(word)
        return Prompt((*(self.tokens[Given(symbol)] for symbol in symbols), BEGIN))

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict."""
        return isinstance(self.meanings[token], Verdict)

    def token_limit(self, max_steps: int) -> int:
        """One token to begin, one a step."""
        return max_steps + 1

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The tokens that the reference interpreter's run stands for, up to a step limit."""
        word = self.machine.word(word)
        result = execute(self.machine, word, max_steps=max_steps, trace=True)
        actions = result.actions or ()
        yield self.tokens[self.first_action(word[0] if word else self.machine.blank)]
        for action in actions if self.last_action or not result.halted else actions[: self._recorded(actions)]:
            yield self.tokens[action]
        if result.verdict is not None:
            yield self.tokens[result.verdict]

    def _recorded(self, actions: Sequence[Action]) -> int:
        """How many actions are tokens when the verdict takes the place of one that enters a final state."""
        return len(actions) - (bool(actions) and actions[-1].state in self.machine.final)

    def read(self, word: Word, tokens: Sequence[str]) -> TuringOutcome:
        """What a run's tokens (those after the prompt) say: the verdict and, by replaying the actions, the tapes."""
        word = self.machine.word(word)
        verdict, actions = self._coded(tokens) if isinstance(tokens, Coded) else self._plain(tokens)
        configuration = replay(self.machine, word, actions)
        first = configuration.tapes[0]
        return TuringOutcome(
            verdict=verdict,
            steps=len(actions),
            output=self.machine.spell(first.symbols),
            machine=self.machine,
            word=word,
            actions=actions,
        )

    def _plain(self, tokens: Sequence[str]) -> tuple[Verdict | None, Sequence[Action]]:
        meanings = [self.meanings[token] for token in tokens]
        verdict = next((meaning for meaning in meanings if isinstance(meaning, Verdict)), None)
        return verdict, tuple(meaning for meaning in meanings[1:] if isinstance(meaning, Action))

    def _coded(self, tokens: Coded[str]) -> tuple[Verdict | None, Sequence[Action]]:
        """The same for a long run, of which only a verdict at the end is not an action."""
        meanings = [self.meanings[name] for name in tokens.names]
        last = meanings[int(tokens.codes[-1])] if len(tokens) else None
        verdict = last if isinstance(last, Verdict) else None
        taken = tokens[1:-1] if verdict else tokens[1:]
        nothing = Action(self.machine.start, (self.machine.blank,) * self.machine.tapes, ("S",) * self.machine.tapes)
        actions = [meaning if isinstance(meaning, Action) else nothing for meaning in meanings]
        if not all(isinstance(meanings[code], Action) for code in taken.used()):
            return self._plain(tuple(tokens))
        return verdict, Coded(taken.codes, tuple(actions))


@dataclass(frozen=True, kw_only=True)
class TuringOutcome(Outcome):
    """What a Turing machine's run came to, read off its tokens."""

    machine: TuringMachine
    actions: Sequence[Action]

    def trace(self) -> Iterator[str]:
        """The configurations: step, state, and the tapes with the head's cell in brackets."""
        return trace_lines(self.machine, self.word, self.actions)


def outcome_of(
    machine: TuringMachine,
    word: Word,
    said: Sequence[str],
    meanings: Mapping[str, object],
    printed: Sequence[str] | None = None,
) -> TuringOutcome:
    """What the tokens of a run say: the verdict, and the first tape, by replaying the actions if it was not printed."""
    word = machine.word(word)
    actions, verdict = _steps_of(said, meanings)
    symbols = replay(machine, word, actions).tapes[0].symbols if printed is None else printed
    return TuringOutcome(
        verdict=verdict,
        steps=len(actions),
        output=machine.spell(symbols),
        machine=machine,
        word=word,
        actions=actions,
    )


def _steps_of(said: Sequence[str], meanings: Mapping[str, object]) -> tuple[Sequence[Action], Verdict | None]:
    """The actions among the tokens of a run, and its verdict; other tokens are left out."""
    actions: Sequence[Action]
    if isinstance(said, Codes):
        actions = said.chosen(lambda token: meaning if isinstance(meaning := meanings[token], Action) else None)
        used = [meanings[said.names[code]] for code in said.used()]
        return actions, next((meaning for meaning in used if isinstance(meaning, Verdict)), None)
    found = [meanings[token] for token in said]
    actions = tuple(meaning for meaning in found if isinstance(meaning, Action))
    return actions, next((meaning for meaning in found if isinstance(meaning, Verdict)), None)


def actions_of(rules: Iterable[Rule], tape: Tape) -> Iterator[Action]:
    """What rules do: under the "stay" convention a move L may also be held back."""
    for rule in rules:
        options = [["L", "S"] if move == "L" and tape is Tape.STAY else [move] for move in rule.move]
        yield from (Action(rule.next, rule.write, move) for move in product(*options))


def action_text(action: Action) -> str:
    """An action as a token: the state, what is written, and how the heads move."""
    return f"({action.state},{' '.join(action.write)},{' '.join(action.move)})"


def fresh(text: str, taken: Container[str]) -> str:
    """The text, in as many quotes as it takes to be a new token."""
    while text in taken:
        text = f"'{text}'"
    return text
