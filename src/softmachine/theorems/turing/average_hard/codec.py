"""Codec of Theorem 8.2 of Chiang's lecture notes: the input, BOS, and one action per step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from softmachine.languages.turing import Action, Configuration, Reason, Verdict, step, traced
from softmachine.support.token_array import Codes
from softmachine.theorems.codec import Prompt, Word
from softmachine.theorems.shared.turing_codec import (
    Begin,
    Given,
    RunCodec,
    TuringOutcome,
    action_tokens,
    actions_of,
    input_tokens,
    positions_of_run,
    verdict_in,
    verdict_tokens,
)

BEGIN = "BOS"
Meaning = Given | Begin | Action | Verdict


@dataclass(frozen=True)
class TuringCodec(RunCodec[Meaning]):
    """Prompts and runs of a machine, in tokens.

    A run consists of the input symbols, BOS, the action (q_start, symbol under the head, no move), one action per step,
    and a verdict. In the notes the verdict replaces the last action (``last_action=False``); then the last write is not
    recorded, and the tape cannot be reconstructed from the tokens.
    """

    last_action: bool = True

    announces: ClassVar[bool] = True

    def spelled(self) -> Iterator[tuple[str, Meaning]]:
        yield BEGIN, Begin()
        yield from verdict_tokens(self.verdicts)
        yield from action_tokens(self.actions)
        yield from input_tokens(self.machine)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The first actions, and the actions of the rules."""
        machine = self.machine
        started = (self.first_action(symbol) for symbol in (*machine.alphabet, machine.blank))
        rules = [rule for rule in machine.rules if self.last_action or rule.next not in machine.final]
        return tuple(dict.fromkeys([*started, *actions_of(rules, machine.tape)]))

    def first_action(self, symbol: str) -> Action:
        """Return the action emitted after BOS: the start state, with the tapes unchanged."""
        machine = self.machine
        return Action(machine.start, (symbol, *[machine.blank] * (machine.tapes - 1)), ("S",) * machine.tapes)

    def prompt(self, word: Word) -> Prompt:
        symbols = self.machine.word(word)
        return Prompt((*(self.tokens[Given(symbol)] for symbol in symbols), BEGIN))

    def token_limit(self, max_steps: int) -> int:
        return max_steps + 1

    def positions(self, word: Word, max_steps: int) -> int:
        return positions_of_run(self, word, max_steps)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the tokens of the reference interpreter's run, up to a step limit."""
        return chain.from_iterable(self.expected_pieces(word, max_steps))

    def expected_pieces(self, word: Word, max_steps: int) -> Iterator[Sequence[str]]:
        machine, word = self.machine, self.machine.word(word)
        now = Configuration.initial(machine, word)
        yield (self.tokens[self.first_action(word[0] if word else machine.blank)],)
        yield from self.spell(map(self._recorded, traced(machine, now, max_steps)))
        if isinstance(step(machine, now), Reason):
            yield (self.tokens[machine.verdict(now.state)],)

    def _recorded(self, actions: Sequence[Action]) -> Sequence[Action]:
        """Return the actions that are tokens: the verdict may replace the one that enters a final state."""
        ends = len(actions) > 0 and actions[-1].state in self.machine.final
        return actions[:-1] if ends and not self.last_action else actions

    def outcome(self, word: Word, said: Sequence[str]) -> TuringOutcome:
        """Parse the tokens of a run; the first one is not a step."""
        if isinstance(said, Codes) and (packed := self._packed(said)):
            return self.after(word, *packed)
        meanings = [self.meanings[token] for token in said]
        actions = tuple(meaning for meaning in meanings[1:] if isinstance(meaning, Action))
        return self.after(word, actions, verdict_in(meanings))

    def _packed(self, said: Codes[str]) -> tuple[Sequence[Action], Verdict | None] | None:
        """Parse a long run without unpacking it, if all tokens but a final verdict are actions; else return None."""
        meanings = [self.meanings[name] for name in said.names]
        last = self.meanings[said[-1]] if len(said) else None
        verdict = last if isinstance(last, Verdict) else None
        taken = said[1:-1] if verdict else said[1:]
        if not all(isinstance(meanings[code], Action) for code in taken.used()):
            return None
        nothing = self.first_action(self.machine.blank)
        return taken.renamed([item if isinstance(item, Action) else nothing for item in meanings]), verdict
