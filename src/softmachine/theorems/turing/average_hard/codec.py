"""Codec of Theorem 8.2 of Chiang's lecture notes: the input, BOS, and one action per step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from softmachine.ir.domain import Domain
from softmachine.languages.turing import Action, Configuration, TuringStopReason, Verdict, iterate_actions, next_action
from softmachine.support.token_array import CodedSequence
from softmachine.theorems.codec import Prompt, Word
from softmachine.theorems.shared.turing_codec import (
    InputSymbol,
    RunMarker,
    TuringOutcome,
    TuringRunCodec,
    action_tokens,
    count_run_positions,
    find_verdict,
    input_tokens,
    list_actions,
    verdict_tokens,
)

BEGIN = "BOS"
Meaning = InputSymbol | RunMarker | Action | Verdict


@dataclass(frozen=True)
class TuringCodec(TuringRunCodec[Meaning]):
    """Prompts and runs of a machine, in tokens.

    A run consists of the input symbols, BOS, the action (q_start, symbol under the head, no move), one action per step,
    and a verdict. In the notes the verdict replaces the last action (``keeps_last_action=False``); then the last write
    is not recorded, and the tape cannot be reconstructed from the tokens.
    """

    keeps_last_action: bool = True

    has_initial_token: ClassVar[bool] = True

    def token_meanings(self) -> Iterator[tuple[str, Meaning]]:
        yield BEGIN, RunMarker()
        yield from verdict_tokens(self.verdicts)
        yield from action_tokens(self.actions)
        yield from input_tokens(self.machine)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The first actions, and the actions of the rules."""
        machine = self.machine
        started = (self.first_action(symbol) for symbol in (*machine.alphabet, machine.blank))
        rules = [rule for rule in machine.rules if self.keeps_last_action or rule.next not in machine.halting_states]
        return tuple(dict.fromkeys([*started, *list_actions(rules, machine.tape)]))

    def first_action(self, symbol: str) -> Action:
        """Return the action emitted after BOS: the start state, with the tapes unchanged."""
        machine = self.machine
        return Action(machine.start, (symbol, *[machine.blank] * (machine.tapes - 1)), ("S",) * machine.tapes)

    def prompt(self, word: Word) -> Prompt:
        symbols = self.machine.word(word)
        return Prompt((*(self.tokens[InputSymbol(symbol)] for symbol in symbols), BEGIN))

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences of input symbols, actions and at most one BOS, which do not begin with an action."""
        begin, symbols = self.tokens_of(RunMarker), self.tokens_of(InputSymbol)
        return Domain(begin | symbols, begin | symbols | self.tokens_of(Action), unique=(begin,))

    def max_tokens(self, max_steps: int) -> int:
        return max_steps + 1

    def count_positions(self, word: Word, max_steps: int) -> int:
        return count_run_positions(self, word, max_steps)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the tokens of the reference interpreter's run, up to a step limit."""
        return chain.from_iterable(self.expected_chunks(word, max_steps))

    def expected_chunks(self, word: Word, max_steps: int) -> Iterator[Sequence[str]]:
        machine, word = self.machine, self.machine.word(word)
        now = Configuration.initial(machine, word)
        yield (self.tokens[self.first_action(word[0] if word else machine.blank)],)
        yield from self.format_actions(map(self._emitted_actions, iterate_actions(machine, now, max_steps)))
        if isinstance(next_action(machine, now), TuringStopReason):
            yield (self.tokens[machine.verdict(now.state)],)

    def _emitted_actions(self, actions: Sequence[Action]) -> Sequence[Action]:
        """Return the actions that are tokens: the verdict may replace the one that enters a final state."""
        ends = len(actions) > 0 and actions[-1].state in self.machine.halting_states
        return actions[:-1] if ends and not self.keeps_last_action else actions

    def parse_output(self, word: Word, emitted: Sequence[str]) -> TuringOutcome:
        """Parse the tokens of a run; the first one is not a step."""
        if isinstance(emitted, CodedSequence) and (packed := self._parse_compressed(emitted)):
            return self.build_outcome(word, *packed)
        meanings = [self.meanings[token] for token in emitted]
        actions = tuple(meaning for meaning in meanings[1:] if isinstance(meaning, Action))
        return self.build_outcome(word, actions, find_verdict(meanings))

    def _parse_compressed(self, emitted: CodedSequence[str]) -> tuple[Sequence[Action], Verdict | None] | None:
        """Parse a long run without unpacking it, if all tokens but a final verdict are actions; else return None."""
        meanings = [self.meanings[name] for name in emitted.names]
        last = self.meanings[emitted[-1]] if len(emitted) else None
        verdict = last if isinstance(last, Verdict) else None
        taken = emitted[1:-1] if verdict else emitted[1:]
        if not all(isinstance(meanings[code], Action) for code in taken.used_codes()):
            return None
        nothing = self.first_action(self.machine.blank)
        return taken.with_items([item if isinstance(item, Action) else nothing for item in meanings]), verdict
