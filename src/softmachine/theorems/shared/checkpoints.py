"""Codec of a Turing machine's run in a third-party checkpoint: a start token, the input, then one token per step.

    <bos> a b b a <run> (q,x,R) (p,_,L) … ACC

Position 0 holds the start token, the attention sink; input symbols count as writes. A token may also contain the cell
that it wrote, modulo M (:class:`Placed`), which makes low precision sufficient.

Signals of the decoders for third-party checkpoints: written symbols, digitwise comparison of addresses, logits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from softmachine.ir import Signal, Vocabulary, named, stack
from softmachine.ir.ranges import BIT
from softmachine.languages.turing import Action, Configuration, Reason, TuringMachine, Verdict, step
from softmachine.support.errors import InputError, OutgrownError
from softmachine.theorems.codec import Prompt, Word
from softmachine.theorems.shared.turing_codec import (
    Begin,
    Given,
    RunCodec,
    action_labels,
    actions_of,
    input_tokens,
    next_of,
    on_tape,
    positions_of_run,
    rule_rows,
    twice_if_all,
    verdict_logit,
    verdict_tokens,
)

START, BEGIN, LIMIT = "<bos>", "<run>", "<limit>"
POSITIONS = "the number of positions of a sequence: three markers, the input and one per step"


@dataclass(frozen=True)
class Start:
    """The start token of every sequence."""


@dataclass(frozen=True)
class Limit:
    """A head has left the part of the tape whose cells the model distinguishes: the run cannot continue."""


@dataclass(frozen=True, slots=True)
class Placed(Action):
    """The action of a step, and the cell of each tape that it wrote, modulo M."""

    cells: tuple[int, ...]


Meaning = Start | Limit | Given | Begin | Action | Verdict


@dataclass(frozen=True)
class StreamCodec(RunCodec[Meaning]):
    """Prompts and runs of a machine, for models with a fixed number of positions.

    Args:
        length: The number of positions: start token, input, ``<run>``, steps and verdict together.
        modulus: M, if tokens contain the cell that they wrote; else 0.
        most_wraps: The maximal distance of a head from the start in multiples of M, if tokens contain cells.
        longest_input: The maximal number of symbols of an input; 0 if only the length limits it.
    """

    length: int = 0
    modulus: int = 0
    most_wraps: int = 0
    longest_input: int = 0

    def spelled(self) -> Iterator[tuple[str, Meaning]]:
        yield START, Start()
        yield BEGIN, Begin()
        yield from verdict_tokens(self.verdicts)
        if self.modulus and self.wraps * self.modulus < self.length:
            yield LIMIT, Limit()
        yield from ((_text(action), action) for action in self.actions)
        yield from input_tokens(self.machine)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions of the rules, at every cell modulo M if tokens contain cells."""
        taken = actions_of(self.machine.rules, self.machine.tape)
        return tuple(dict.fromkeys(placed for action in taken for placed in self._placed(action)))

    def _placed(self, action: Action) -> Iterator[Action]:
        """The action at every cell modulo M."""
        if not self.modulus:
            yield action
            return
        for cells in product(range(self.modulus), repeat=self.machine.tapes):
            yield Placed(action.state, action.write, action.move, cells)

    @property
    def address_bits(self) -> int:
        """The maximal number of bits of a position."""
        return (self.length - 1).bit_length()

    @property
    def wraps(self) -> int:
        """The maximal number of wraps of a head, in either direction."""
        return min(-(-self.length // self.modulus), self.most_wraps) if self.modulus else 0

    @property
    def residue_bits(self) -> int:
        """The number of bits of a cell modulo M."""
        return (self.modulus - 1).bit_length()

    @property
    def wrap_bits(self) -> int:
        """The number of bits of a signed number of wraps."""
        return (2 * self.wraps).bit_length()

    def reaches(self, head: int) -> bool:
        """Whether the model distinguishes this cell from all others."""
        return not self.modulus or -self.wraps <= head // self.modulus <= self.wraps

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict, or marks that the model cannot continue."""
        return isinstance(self.meanings[token], Verdict | Limit)

    def prompt(self, word: Word) -> Prompt:
        """The start token, the input's symbols, and ``<run>``.

        Raises:
            OutgrownError: If no position is left for the run.
        """
        symbols = self.machine.word(word)
        if self.longest_input and len(symbols) > self.longest_input:
            raise InputError(f"the input has {len(symbols)} symbols; this model takes at most {self.longest_input}")
        if len(symbols) + 3 > self.length:
            raise OutgrownError(
                f"an input of {len(symbols)} symbols leaves no positions for a run in a context of {self.length}",
                context=2 * len(symbols) + 3,
            )
        return Prompt((START, *(self.tokens[Given(symbol)] for symbol in symbols), BEGIN))

    def positions(self, word: Word, max_steps: int) -> int:
        return positions_of_run(self, word, max_steps)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """Yield the tokens of the reference interpreter's run, up to a step limit or the last position."""
        word = self.machine.word(word)
        left = self.length - len(self.prompt(word).tokens)
        now = Configuration.initial(self.machine, word)
        while isinstance(action := step(self.machine, now), Action) and now.steps < min(max_steps, left):
            yield self.tokens[self._at(action, now.heads)]
            now.apply(action)
            if not all(map(self.reaches, now.heads)):
                yield LIMIT
                return
        if isinstance(action, Reason) and now.steps < left:
            yield self.tokens[self.machine.verdict(now.state)]

    def _at(self, action: Action, heads: Sequence[int]) -> Action:
        if not self.modulus:
            return action
        return Placed(action.state, action.write, action.move, tuple(head % self.modulus for head in heads))


def _text(action: Action) -> str:
    cells = ("|".join(map(str, action.cells)),) if isinstance(action, Placed) else ()
    return f"({','.join([action.state, '|'.join(action.write), '|'.join(action.move), *cells])})"


def differing(digits: Signal) -> Iterator[Signal]:
    """Query that lowers the score by 2 for each digit in which an address (see :func:`own`) differs."""
    for k in range(len(digits)):
        yield stack(-2 * ~digits[k], -2 * digits[k])


def own(digits: Signal, silent: Signal) -> Iterator[Signal]:
    """An address as a key: each bit and its complement; zeros at silent tokens, whose address is 0."""
    for k in range(len(digits)):
        yield stack(digits[k], ~digits[k] - silent)


def state_of(tokens: Vocabulary[Meaning], machine: TuringMachine) -> Signal:
    """The state after this token; at <run>, the start state."""

    def state(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.state
        return machine.start if isinstance(token, Begin) else None

    return tokens.onehot("state", machine.states, state)


def written(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """The symbol that this token wrote; blank at tokens that write nothing, which represent unwritten cells."""

    def symbol(token: Meaning) -> str | None:
        if isinstance(token, Action):
            return token.write[tape]
        if isinstance(token, Given) and tape == 0:
            return token.symbol
        return None if isinstance(token, Verdict) else machine.blank

    return tokens.onehot(on_tape(machine, "wrote", tape), machine.symbols, symbol)


def under_head(machine: TuringMachine, tape: int, found: Signal) -> Signal:
    """Name the symbol that a head reads."""
    bits = found.known(BIT).labelled(machine.symbols, exclusive=True)
    return named(on_tape(machine, "symbol", tape), bits)


def next_token(
    codec: StreamCodec, state: Signal, symbol: list[Signal], at_end: list[Signal], cells: list[Signal] | None = None
) -> dict[str, Signal]:
    """The logits; the largest exceeds the others by at least 1.

    An action has logit 2 if all of its parts are next (and, if tokens contain cells, the heads are on these cells
    modulo M), else at most 0. A verdict has logit 1 in its states, so that it is the largest exactly if no rule
    applies.
    """
    following = next_of(list(rule_rows(codec.machine, state, symbol, at_end)))
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        if isinstance(meaning, Action):
            parts = [following[label] for label in action_labels(meaning)]
            if cells and isinstance(meaning, Placed):
                parts += [own[str(cell)] for own, cell in zip(cells, meaning.cells, strict=True)]
            logits[token] = twice_if_all(parts)
        elif isinstance(meaning, Verdict):
            logits[token] = verdict_logit(codec.machine, state, meaning)
    return logits
