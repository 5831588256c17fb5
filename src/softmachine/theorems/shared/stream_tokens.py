"""The tokens of a Turing machine's run in a stock checkpoint: a start token, the input, then one token a step.

    <bos> a b b a <run> (q,x,R) (p,_,L) … ACC

Position 0 holds the start token, so that heads have something to fall on, and input symbols are writes like any other.
A token may also say which cell it wrote, modulo M (:class:`Placed`): that is how low precision finds its way.
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
POSITIONS = "the number of positions of a sequence: three marks, the input and one for each step"


@dataclass(frozen=True)
class Start:
    """The first token of every sequence."""


@dataclass(frozen=True)
class Limit:
    """A head has left the stretch of tape that the model can tell cells of apart: the run cannot go on."""


@dataclass(frozen=True, slots=True)
class Placed(Action):
    """What a step did, and the cell of each tape that it wrote, modulo M."""

    cells: tuple[int, ...]


Meaning = Start | Limit | Given | Begin | Action | Verdict


@dataclass(frozen=True)
class StreamCodec(RunCodec[Meaning]):
    """Prompts and runs of a machine, for models with a fixed number of positions.

    Args:
        length: The number of positions: start token, input, ``<run>``, steps and verdict together.
        modulus: M, if tokens say which cell they wrote; 0 if they do not.
        most_wraps: How often a head may get M cells further from the start, if tokens say which cell they wrote.
        longest_input: The largest number of symbols of an input; 0 if only the length limits it.
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
        """What the rules do, at every cell modulo M if tokens say where."""
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
        """How many bits the number of a position has, at most."""
        return (self.length - 1).bit_length()

    @property
    def wraps(self) -> int:
        """How often a head can wrap around, to either side."""
        return min(-(-self.length // self.modulus), self.most_wraps) if self.modulus else 0

    @property
    def residue_bits(self) -> int:
        """How many bits a cell modulo M has."""
        return (self.modulus - 1).bit_length()

    @property
    def wrap_bits(self) -> int:
        """How many bits a number of wraps has, to either side."""
        return (2 * self.wraps).bit_length()

    def reaches(self, head: int) -> bool:
        """Whether the model knows a head on this cell from one on any other."""
        return not self.modulus or -self.wraps <= head // self.modulus <= self.wraps

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict, or says that the model cannot go on."""
        return isinstance(self.meanings[token], Verdict | Limit)

    def prompt(self, word: Word) -> Prompt:
        """The start token, the input's symbols, and ``<run>``.

        Raises:
            OutgrownError: If no position is left for the run.
        """
        symbols = self.machine.word(word)
        if self.longest_input and len(symbols) > self.longest_input:
            raise InputError(f"the model takes inputs of at most {self.longest_input} symbols, not {len(symbols)}")
        if len(symbols) + 3 > self.length:
            raise OutgrownError(
                f"an input of {len(symbols)} symbols leaves no room for a run in {self.length} positions",
                context=2 * len(symbols) + 3,
            )
        return Prompt((START, *(self.tokens[Given(symbol)] for symbol in symbols), BEGIN))

    def positions(self, word: Word, max_steps: int) -> int:
        return positions_of_run(self, word, max_steps)

    def expected(self, word: Word, max_steps: int) -> Iterator[str]:
        """The tokens that the reference interpreter's run stands for, up to a step limit or the last position."""
        word = self.machine.word(word)
        room = self.length - len(self.prompt(word).tokens)
        now = Configuration.initial(self.machine, word)
        while isinstance(action := step(self.machine, now), Action) and now.steps < min(max_steps, room):
            yield self.tokens[self._at(action, now.heads)]
            now.apply(action)
            if not all(map(self.reaches, now.heads)):
                yield LIMIT
                return
        if isinstance(action, Reason) and now.steps < room:
            yield self.tokens[self.machine.verdict(now.state)]

    def _at(self, action: Action, heads: Sequence[int]) -> Action:
        if not self.modulus:
            return action
        return Placed(action.state, action.write, action.move, tuple(head % self.modulus for head in heads))


def _text(action: Action) -> str:
    cells = ("|".join(map(str, action.cells)),) if isinstance(action, Placed) else ()
    return f"({','.join([action.state, '|'.join(action.write), '|'.join(action.move), *cells])})"
