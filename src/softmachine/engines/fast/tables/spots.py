"""Address assignment: packs the registers of a program into words (tokens, features, block outputs, lookup results).

Numbers are assumed to be -1, 0 or 1 until another one occurs. Then the outputs of that block or lookup become wide, and
the run is read again; that happens at most once for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from softmachine.engines.fast.tables import rows as row
from softmachine.engines.fast.tables.blocks import Block
from softmachine.engines.fast.tables.gathering import Spot, gathered
from softmachine.engines.fast.tables.program import Program
from softmachine.engines.fast.tables.words import LANES, WIDE


class Spots:
    """The addresses of all registers that are read, in words counted from 0; those of tokens come first.

    Args:
        program: The program.
        blocks: Its blocks.
        wide_blocks: The blocks that compute numbers other than -1, 0 and 1.
        wide_lookups: The lookups that find other numbers.
    """

    def __init__(
        self, program: Program, blocks: Sequence[Block], wide_blocks: frozenset[int], wide_lookups: frozenset[int]
    ) -> None:
        self.program = program
        self.words = 0
        """The number of words."""
        self.of: dict[int, Spot] = {}
        self.read = _places_read(program, blocks)
        self.tokens, self.token_words = self._tokens()
        """The initial words of all tokens, and their number per token."""
        self.features = self._features()
        """Position features, two parameters, and their addresses."""
        self.made: list[tuple[int, int]] = [(0, 0)] * len(blocks)
        """The first output word of each block, and the number of output words."""
        for stage in range(max(block.stage for block in blocks) + 1):
            for number, block in enumerate(blocks):
                if block.stage == stage:
                    places = [item.to for item in block.rows if item.to in self.read]
                    made = self._room(places, places if number in wide_blocks else ())
                    self.made[number] = (self._take(1), 1) if block.answers else made
            for number, lookup in enumerate(program.lookups):
                if lookup.stage == stage:
                    self._found(number, wide=number in wide_lookups)

    def any_wide(self, places: Iterable[int]) -> bool:
        """Whether any of some registers is wide."""
        return any(self.of[place][1] == WIDE for place in places)

    def _take(self, count: int) -> int:
        self.words += count
        return self.words - count

    def _room(self, places: Iterable[int], wide: Iterable[int]) -> tuple[int, int]:
        """Allocate words to registers, some of which are wide; returns the first word, and the number of words."""
        first, apart = self.words, set(wide)
        narrow = [place for place in places if place not in apart]
        for k, place in enumerate(narrow):
            self.of[place] = first + k // LANES, 2 * (k % LANES)
        self._take(-(-len(narrow) // LANES))
        for place in sorted(apart):
            self.of[place] = self._take(2), WIDE
        return first, self.words - first

    def _tokens(self) -> tuple[list[int], int]:
        embedding = self.program.embedding
        places = [place for place in (embedding[0] if embedding else ()) if place in self.read]
        wide = [place for place in places if any(token[place] not in (-1, 0, 1) for token in embedding)]
        _, count = self._room(places, wide)
        tokens = [0] * (len(embedding) * count)
        for number, token in enumerate(embedding):
            for place in places:
                (word, shift), value = self.of[place], token[place]
                if shift == WIDE:
                    tokens[number * count + word], tokens[number * count + word + 1] = value.as_integer_ratio()
                else:
                    tokens[number * count + word] |= (value.numerator & 3) << shift
        return tokens, count

    def _features(self) -> list[tuple[int, ...]]:
        features = [item for item in self.program.features if item[3] in self.read]
        self._room([item[3] for item in features], [item[3] for item in features if item[0] not in row.NARROW])
        return [(*item[:3], *self.of[item[3]]) for item in features]

    def _found(self, number: int, *, wide: bool) -> None:
        """Allocate words to lookup results: laid out like the stored words, unless only the results are wide."""
        lookup = self.program.lookups[number]
        if wide:
            self._room(lookup.found, lookup.found)
            return
        kept, width = gathered(lookup.values, self.of)
        first = self._take(width)
        for value, place in zip(lookup.values, lookup.found, strict=True):
            word, shift = kept[value]
            self.of[place] = first + word, shift


def _places_read(program: Program, blocks: Sequence[Block]) -> set[int]:
    read = {place for block in blocks for place in block.inputs}
    for lookup in program.lookups:
        read |= {*lookup.values, *program.indexes[lookup.index].places}
        read |= {place for item in program.questions[lookup.question].sums for place in item.terms}
    return read
