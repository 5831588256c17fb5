"""Codec and signals of a Turing machine's run in a third-party checkpoint: start token, input, one token per step.

    <bos> a b b a <run> (q,x,R) (p,_,L) … ACC

Position 0 holds the start token, the attention sink; input symbols count as writes. A token may also contain the cell
that it wrote, modulo M (:class:`AddressedAction`), which makes low precision sufficient.

The signals are those that the decoders for third-party checkpoints share: written symbols, digitwise comparison of
addresses, logits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from softmachine.ir import Signal, Vocabulary, named, stack
from softmachine.ir.domain import Domain
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import Action, Configuration, TuringMachine, TuringStopReason, Verdict, next_action
from softmachine.support.errors import ContextTooShortError, InputError
from softmachine.theorems.codec import Prompt, Word
from softmachine.theorems.shared.turing_codec import (
    InputSymbol,
    RunMarker,
    TuringRunCodec,
    action_labels,
    conjunction_logit,
    count_run_positions,
    input_tokens,
    list_actions,
    name_on_tape,
    rule_rows,
    transition_table,
    verdict_logit,
    verdict_tokens,
)

START_TOKEN, RUN_TOKEN, LIMIT_TOKEN = "<bos>", "<run>", "<limit>"
LENGTH_MEANING = "the number of positions of a sequence: three markers, the input and one per step"


@dataclass(frozen=True)
class StartMarker:
    """The start token of every sequence."""


@dataclass(frozen=True)
class LimitMarker:
    """A head has left the part of the tape whose cells the model distinguishes: the run cannot continue."""


@dataclass(frozen=True, slots=True)
class AddressedAction(Action):
    """The action of a step, and the cell of each tape that it wrote, modulo M."""

    cells: tuple[int, ...]


Meaning = StartMarker | LimitMarker | InputSymbol | RunMarker | Action | Verdict


@dataclass(frozen=True)
class CheckpointCodec(TuringRunCodec[Meaning]):
    """Prompts and runs of a machine, for models with a fixed number of positions.

    Args:
        length: The number of positions: start token, input, ``<run>``, steps and verdict together.
        modulus: M, if tokens contain the cell that they wrote; else 0.
        max_wraps: The maximal distance of a head from the start in multiples of M, if tokens contain cells.
        max_input_length: The maximal number of symbols of an input; 0 if only the length limits it.
    """

    length: int = 0
    modulus: int = 0
    max_wraps: int = 0
    max_input_length: int = 0

    def token_meanings(self) -> Iterator[tuple[str, Meaning]]:
        yield START_TOKEN, StartMarker()
        yield RUN_TOKEN, RunMarker()
        yield from verdict_tokens(self.verdicts)
        if self.modulus and self.wraps * self.modulus < self.length:
            yield LIMIT_TOKEN, LimitMarker()
        yield from ((_action_text(action), action) for action in self.actions)
        yield from input_tokens(self.machine)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions of the rules, at every cell modulo M if tokens contain cells."""
        taken = list_actions(self.machine.rules, self.machine.tape)
        return tuple(dict.fromkeys(placed for action in taken for placed in self._addressed_actions(action)))

    def _addressed_actions(self, action: Action) -> Iterator[Action]:
        """The action at every cell modulo M."""
        if not self.modulus:
            yield action
            return
        for cells in product(range(self.modulus), repeat=self.machine.tapes):
            yield AddressedAction(action.state, action.write, action.move, cells)

    @property
    def address_bits(self) -> int:
        """The maximal number of bits of a position."""
        return (self.length - 1).bit_length()

    @property
    def wraps(self) -> int:
        """The maximal number of wraps of a head, in either direction."""
        return min(-(-self.length // self.modulus), self.max_wraps) if self.modulus else 0

    @property
    def residue_bits(self) -> int:
        """The number of bits of a cell modulo M."""
        return (self.modulus - 1).bit_length()

    @property
    def wrap_bits(self) -> int:
        """The number of bits of a signed number of wraps."""
        return (2 * self.wraps).bit_length()

    def can_address(self, head: int) -> bool:
        """Whether the model distinguishes this cell from all others."""
        return not self.modulus or -self.wraps <= head // self.modulus <= self.wraps

    def is_stop_token(self, token: str) -> bool:
        """Whether the token is a verdict, or marks that the model cannot continue."""
        return isinstance(self.meanings[token], Verdict | LimitMarker)

    def prompt(self, word: Word) -> Prompt:
        """The start token, the input's symbols, and ``<run>``.

        Raises:
            ContextTooShortError: If no position is left for the run.
        """
        symbols = self.machine.word(word)
        if self.max_input_length and len(symbols) > self.max_input_length:
            raise InputError(f"the input has {len(symbols)} symbols; this model takes at most {self.max_input_length}")
        if len(symbols) + 3 > self.length:
            raise ContextTooShortError(
                f"an input of {len(symbols)} symbols leaves no positions for a run in a context of {self.length}",
                context=2 * len(symbols) + 3,
            )
        return Prompt((START_TOKEN, *(self.tokens[InputSymbol(symbol)] for symbol in symbols), RUN_TOKEN))

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences that begin with the start token and contain at most one ``<run>``."""
        run = self.tokens_of(RunMarker)
        return Domain(self.tokens_of(StartMarker), run | self.tokens_of(InputSymbol, Action), unique=(run,))

    def count_positions(self, word: Word, max_steps: int) -> int:
        return count_run_positions(self, word, max_steps)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the tokens of the reference interpreter's run, up to a step limit or the last position."""
        word = self.machine.word(word)
        left = self.length - len(self.prompt(word).tokens)
        now = Configuration.initial(self.machine, word)
        while isinstance(action := next_action(self.machine, now), Action) and now.steps < min(max_steps, left):
            yield self.tokens[self._action_at(action, now.heads)]
            now.apply(action)
            if not all(map(self.can_address, now.heads)):
                yield LIMIT_TOKEN
                return
        if isinstance(action, TuringStopReason) and now.steps < left:
            yield self.tokens[self.machine.verdict(now.state)]

    def _action_at(self, action: Action, heads: Sequence[int]) -> Action:
        if not self.modulus:
            return action
        return AddressedAction(action.state, action.write, action.move, tuple(head % self.modulus for head in heads))


def _action_text(action: Action) -> str:
    cells = ("|".join(map(str, action.cells)),) if isinstance(action, AddressedAction) else ()
    return f"({','.join([action.state, '|'.join(action.write), '|'.join(action.move), *cells])})"


def mismatch_query(digits: Signal) -> Iterator[Signal]:
    """Query that lowers the score by 2 for each digit in which an address (see :func:`address_key`) differs."""
    for k in range(len(digits)):
        yield stack(-2 * ~digits[k], -2 * digits[k])


def address_key(digits: Signal, silent: Signal) -> Iterator[Signal]:
    """An address as a key: each bit and its complement; zeros at silent tokens, whose address is 0."""
    for k in range(len(digits)):
        yield stack(digits[k], ~digits[k] - silent)


def state_of(tokens: Vocabulary[Meaning], machine: TuringMachine) -> Signal:
    """The state after this token; at <run>, the start state."""

    def state(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.state
        return machine.start if isinstance(token, RunMarker) else None

    return tokens.one_hot("state", machine.states, state)


def written_symbol(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """The symbol that this token wrote; blank at tokens that write nothing, which represent unwritten cells."""

    def symbol(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.write[tape]
        if isinstance(token, InputSymbol) and tape == 0:
            return token.symbol
        return None if isinstance(token, Verdict) else machine.blank

    return tokens.one_hot(name_on_tape(machine, "wrote", tape), machine.symbols, symbol)


def name_symbol_under_head(machine: TuringMachine, tape: int, found: Signal) -> Signal:
    """Name the symbol that a head reads."""
    bits = found.with_range(BIT).with_labels(machine.symbols, exclusive=True)
    return named(name_on_tape(machine, "symbol", tape), bits)


def next_token_logits(
    codec: CheckpointCodec, state: Signal, symbol: list[Signal], at_end: list[Signal], cells: list[Signal] | None = None
) -> dict[str, Signal]:
    """The logits; the largest exceeds the others by at least 1.

    An action has logit 2 if all of its parts are next (and, if tokens contain cells, the heads are on these cells
    modulo M), else at most 0. A verdict has logit 1 in its states, so that it is the largest exactly if no rule
    applies.
    """
    following = transition_table(list(rule_rows(codec.machine, state, symbol, at_end)))
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        if isinstance(meaning, Action):
            parts = [following[label] for label in action_labels(meaning)]
            if cells and isinstance(meaning, AddressedAction):
                parts += [own[str(cell)] for own, cell in zip(cells, meaning.cells, strict=True)]
            logits[token] = conjunction_logit(parts)
        elif isinstance(meaning, Verdict):
            logits[token] = verdict_logit(codec.machine, state, meaning)
    return logits
