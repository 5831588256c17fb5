"""Codec of a Turing machine's run in a third-party checkpoint: a start token, the input, then one token per step.

    <bos> a b b a <run> (q,x,R) (p,_,L) … ACC

Position 0 holds the start token, the attention sink; input symbols count as writes. A token may also contain the cell
that it wrote, modulo M (:class:`Placed`), which makes low precision sufficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from softmachine.languages.turing import Action, Configuration, Reason, Verdict, step
from softmachine.support.errors import InputError, OutgrownError
from softmachine.theorems.codec import Prompt, Word
from softmachine.theorems.shared.turing_tokens import (
    Begin,
    Given,
    RunCodec,
    actions_of,
    input_tokens,
    positions_of_run,
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
