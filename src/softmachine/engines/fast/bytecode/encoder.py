"""Encoder: a program as records in the two arrays that `kernel` works on.

Address assignment: packs the registers of a program into words (tokens, features, block outputs, lookup results).

Numbers are assumed to be -1, 0 or 1 until another one occurs. Then the outputs of that block or lookup become wide, and
the run is read again; that happens at most once for each.

Schedule: the operations of a position, in order: blocks, key insertion, queries, value insertion, retrieval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from softmachine.engines.fast.analysis.grids import SAFE, Declined
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode import memo_blocks
from softmachine.engines.fast.bytecode import rows as row
from softmachine.engines.fast.bytecode.memo_blocks import Block, KeepingRows
from softmachine.engines.fast.bytecode.packed_trits import LANES, WIDE, Spot, gathered, moves
from softmachine.engines.fast.bytecode.program import Program, Sum
from softmachine.engines.fast.indexes import groups as finding
from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.transformer.attention import Choice


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


Op = tuple[int, int]
"""An operation, and the number of its block, index, query or lookup."""


@dataclass(frozen=True)
class Order:
    """The operations of a position.

    Args:
        answered: If its output is needed.
        unanswered: Otherwise: keys and values that later positions need, and everything these depend on.
        past: For the previous position, with the numbers computed there: insertions of heads with a strict mask.
    """

    answered: list[Op]
    unanswered: list[Op]
    past: list[Op]


def order_of(program: Program, blocks: Sequence[Block]) -> Order:
    """The schedule of a program, stage by stage."""
    needed = _registers_needed_later(program, blocks)
    blocks_needed = [not needed.isdisjoint(row.to for row in block.rows) for block in blocks]
    finds_needed = [not needed.isdisjoint(lookup.found) for lookup in program.lookups]
    past: dict[Op, None] = {}  # an ordered set
    for number, lookup in enumerate(program.lookups):
        if not program.indexes[lookup.index].causal:
            past |= {(of.KEEP_KEY, lookup.index): None, (of.KEEP_VALUE, number): None}
    answered = _list_operations(program, blocks, [True] * len(blocks), [True] * len(program.lookups))
    return Order(answered, _list_operations(program, blocks, blocks_needed, finds_needed), list(past))


def _list_operations(
    program: Program, blocks: Sequence[Block], recalls: Sequence[bool], finds: Sequence[bool]
) -> list[Op]:
    """The operations that evaluate the selected blocks and lookups."""
    ops: dict[Op, None] = {}  # an ordered set
    for stage in range(1 + max(block.stage for block in blocks)):
        ops |= {(of.BLOCK, k): None for k, block in enumerate(blocks) if block.stage == stage and recalls[k]}
        now = [(k, lookup) for k, lookup in enumerate(program.lookups) if lookup.stage == stage]
        keeps = {k: program.indexes[lookup.index].causal for k, lookup in now}
        ops |= {(of.KEEP_KEY, lookup.index): None for k, lookup in now if keeps[k]}
        ops |= {(of.ASK, lookup.question): None for k, lookup in now if finds[k]}
        for k, _ in now:
            if keeps[k] or finds[k]:
                ops[of.KEEP_VALUE if not finds[k] else of.KEEP_AND_FIND if keeps[k] else of.FIND, k] = None
    return list(ops)


def _registers_needed_later(program: Program, blocks: Sequence[Block]) -> set[int]:
    """The registers that keys and values depend on."""
    needed = {place for lookup in program.lookups for place in lookup.values}
    needed |= {place for index in program.indexes for place in index.places}
    for stage in reversed(range(1 + max(block.stage for block in blocks))):
        for lookup in program.lookups:
            if lookup.stage == stage and not needed.isdisjoint(lookup.found):
                needed |= {place for item in program.questions[lookup.question].sums for place in item.terms}
        for block in blocks:
            if block.stage == stage and not needed.isdisjoint(row.to for row in block.rows):
                needed |= set(block.inputs)
    return needed


MOST_ANSWERS = 1 << 16
"""Maximum number of memoised answers of a table, which is cleared when it is full."""
CHOICES = {Choice.LEFTMOST: finding.LEFTMOST, Choice.RIGHTMOST: finding.RIGHTMOST}


class Layout:
    """The encoded program, and the addresses of its parts.

    Args:
        program: The program.
        blocks: Its blocks.
        wide_blocks: The blocks that compute numbers other than -1, 0 and 1.
        wide_lookups: The lookups that find other numbers.
        everything: Whether to compute all numbers at every position, without memoisation.

    Raises:
        Declined: If weights do not fit.
    """

    def __init__(
        self,
        program: Program,
        blocks: Sequence[Block],
        wide_blocks: frozenset[int],
        wide_lookups: frozenset[int],
        *,
        everything: bool,
    ) -> None:
        self.program, self.blocks, self.everything = program, blocks, everything
        self.wide_blocks, self.wide_lookups = wide_blocks, wide_lookups
        self.spots = Spots(program, blocks, wide_blocks, wide_lookups)
        self.heap = self.spots.words
        """The size of the fixed part of the heap, which begins with the words."""
        self.numbers = self._take(2 * program.places)
        """The address of all registers as fractions, after the words."""
        self.at_first = {self._number(place) + 1: 1 for place in range(program.places)}
        """The nonzero initial contents of the heap."""
        self.tables: list[int] = []
        """The stores of memoised answers."""
        self._code = [0] * of.HEADER
        self._shared: dict[str, int] = {}
        self._values: dict[int, int] = {}
        """The offset of a lookup's value in a group."""
        self._rows = [self._rows_of(number) for number in range(len(blocks))]
        self.blocks_at, self.indexes = [0] * len(blocks), [0] * len(program.indexes)
        self.questions, self.lookups = [0] * len(program.questions), [0] * len(program.lookups)
        """The addresses of the records, by number."""
        self._head_up()
        self.code: Integers = np.array(self._code, dtype=np.int64)

    def _record(self, what: int, number: int) -> int:
        """The record of an operation, encoded at first use: records are in the order of execution."""
        records, make = {
            of.BLOCK: (self.blocks_at, self._block),
            of.KEEP_KEY: (self.indexes, self._index),
            of.ASK: (self.questions, self._question),
        }.get(what, (self.lookups, self._lookup))
        if not records[number]:
            records[number] = make(number)
        return records[number]

    def _head_up(self) -> None:
        """Encode all records, and fill the header of the code."""
        code, program, spots = self._code, self.program, self.spots
        order = order_of(program, self.blocks)
        answered, unanswered, past = (
            [(what, self._record(what, number)) for what, number in ops]
            for ops in (order.answered, order.unanswered, order.past)
        )
        code[of.OPS], code[of.OPS_END] = self._listed(answered)
        code[of.UNANSWERED], code[of.UNANSWERED_END] = self._listed(answered if self.everything else unanswered)
        code[of.PAST], code[of.PAST_END] = self._listed(past)
        code[of.TOKENS], code[of.TOKEN_WORDS] = self._put(spots.tokens), spots.token_words
        code[of.FEATURES], code[of.FEATURES_END] = self._listed(spots.features)
        code[of.LOGITS], code[of.OUTPUTS] = self._number(program.logits[0]), len(program.logits)
        code[of.ANSWER] = self.blocks_at[-1]
        widest = max((2 * len(index.places) for index in program.indexes), default=0)
        largest = max((6 * len(lookup.values) for lookup in program.lookups), default=0)
        code[of.ROOM] = self._take(widest + largest)
        code[of.ROOM_END], code[of.EVERYTHING], code[of.FREE] = self.heap, self.everything, self._take(3)

    def _put(self, numbers: Iterable[int]) -> int:
        """Append integers to the code; returns the address of the first."""
        begin = len(self._code)
        self._code += map(int, numbers)
        return begin

    def _listed(self, items: Iterable[Sequence[int]]) -> tuple[int, int]:
        """Append integers to the code; returns the address of the first, and the address after the last."""
        return self._put(number for item in items for number in item), len(self._code)

    def _take(self, count: int) -> int:
        """Allocate part of the heap; returns its address."""
        self.heap += count
        return self.heap - count

    def _number(self, place: int) -> int:
        return self.numbers + 2 * place

    def _reader(self, pairs: Iterable[tuple[int, Spot]], width: int, last: int) -> tuple[int, int, int]:
        """Encode a reader: the moves of registers to addresses in ``width`` words of its own."""
        begin = len(self._code)
        for part in moves([(self.spots.of[place], to) for place, to in pairs], width):
            self._put([len(self._code) + 1 + 3 * len(part)])
            self._listed(part)
        return begin, width, last

    def _located(self, places: Iterable[int], spots: Mapping[int, Spot], first: int = 0) -> tuple[int, int]:
        """Encode the addresses of registers, in words counted from ``first``."""
        return self._listed([(self._number(place), first + spots[place][0], spots[place][1]) for place in places])

    def _block(self, number: int) -> int:
        block, (first, count), (last, rows) = self.blocks[number], self.spots.made[number], self._rows[number]
        own, width = gathered(block.inputs, self.spots.of)
        table, known = self._table_of(number, own, width), self._take(1)
        self.at_first[known] = of.UNDECIDED
        what = (first, count, table, known, block.answers, number, self._is_narrow(number))
        return self._put((*self._reader(own.items(), width, last), *what, *rows))

    def _rows_of(self, number: int) -> tuple[int, tuple[int, ...]]:
        """The address of a block's gathered input words, and the part of its record that evaluates its rows."""
        block, (first, count) = self.blocks[number], self.spots.made[number]
        own, width = gathered(block.inputs, self.spots.of)
        last, written = self._take(width), [item.to for item in block.rows if item.to in self.spots.read]
        if self._is_narrow(number):
            draft = self._take(count)
            write = {
                place: (draft + word - first, shift) for place in written for word, shift in [self.spots.of[place]]
            }
            if block.answers:
                write |= {place: (self._number(place), memo_blocks.AS_NUMBER) for place in self.program.logits}
            return last, (*self._changing(KeepingRows(block, write.keys()), own, width, write), draft)
        rows = self._listed([self._row(item.to, item.activation, item.sum) for item in block.rows])
        return last, (*rows, *self._located(block.inputs, own, last), *self._located(written, self.spots.of))

    def _is_narrow(self, number: int) -> bool:
        """Whether a block reads and writes only -1, 0 and 1, and its sums are integers that always fit."""
        block = self.blocks[number]
        most = dict.fromkeys(block.inputs, Fraction(1))
        for item in block.rows:
            weights = item.sum.terms
            if any(weight.denominator != 1 for weight in (item.sum.bias, *weights.values())):
                return False
            most[item.to] = abs(item.sum.bias) + sum(abs(weight) * most[place] for place, weight in weights.items())
        narrow = number not in self.wide_blocks and not self.spots.any_wide(block.inputs) and not self.everything
        return narrow and max(most.values()) < SAFE

    def _changing(
        self, keeping: KeepingRows, own: Mapping[int, Spot], width: int, write: Mapping[int, Spot]
    ) -> tuple[int, ...]:
        """Encode rows for incremental evaluation, with their reader lists."""
        count, words = len(keeping.rows), (len(keeping.rows) + memo_blocks.IN_WORD) >> memo_blocks.BITS
        before, sums, results = self._take(width), self._take(count), self._take(count)
        changed = self._take(words)
        self.at_first |= {sums + number: total for number, total in enumerate(keeping.at_first)}
        for word in range(words):  # all rows are dirty at first
            self.at_first[changed + word] = (1 << min(count - (word << memo_blocks.BITS), 1 << memo_blocks.BITS)) - 1
        lanes = [(0, 0)] * (width * LANES)
        for place, (word, shift) in own.items():
            lanes[word * LANES + shift // 2] = self._listed(keeping.readers_of_input(place))
        ends = [self._listed(keeping.readers_of_row(item.to)) for item in keeping.rows]
        rows = [
            (item.activation, *write.get(item.to, (0, memo_blocks.UNREAD)), *end)
            for item, end in zip(keeping.rows, ends, strict=True)
        ]
        return self._listed(rows)[0], self._listed(lanes)[0], before, sums, results, changed, words

    def _row(self, to: int, activation: int, item: Sum) -> tuple[int, ...]:
        over, weights, (bias,) = _scaled([item])
        entries = self._listed(zip(map(self._number, item.terms), weights, strict=True))
        large = sum(map(abs, weights)) * row.SMALL + abs(bias) >= SAFE
        return self._number(to), activation, bias, over, large, *entries

    def _store(self, state: int, width: int, stride: int, most: int = SAFE, *, hashed: bool = True) -> int:
        """Encode a store of entries."""
        return self._put((state, width, stride, hashed, most))

    def _table_of(self, number: int, own: Mapping[int, Spot], width: int) -> int:
        """The memo table of a block; blocks that are the same function of their input words share one."""
        block, (first, count) = self.blocks[number], self.spots.made[number]
        names: dict[int, object] = {**own, **{item.to: k for k, item in enumerate(block.rows)}}
        rows = [
            (item.activation, item.sum.bias, sorted((str(names[k]), w) for k, w in item.sum.terms.items()))
            for item in block.rows
        ]
        read = [(k, self.spots.of[item.to]) for k, item in enumerate(block.rows) if item.to in self.spots.read]
        signature = repr((width, rows, [(k, word - first, shift) for k, (word, shift) in read], block.answers))
        if signature not in self._shared:
            state = self._take(of.STATE_SIZE)
            self._shared[signature] = self._store(state, width, count, MOST_ANSWERS)
            self.tables.append(self._shared[signature])
        return self._shared[signature]

    def _index(self, number: int) -> int:
        places = self.program.indexes[number].places
        own, width = gathered(places, self.spots.of)
        reader, parts = self._reader(own.items(), width, self._take(width)), self._located(places, own)
        groups, stride = self._take(of.GROUPS_SIZE), of.PLACE
        for k, lookup in enumerate(self.program.lookups):
            if lookup.index == number:
                self._values[k] = stride
                stride += 1 + gathered(lookup.values, self.spots.of)[1]
        store = self._store(groups, width, stride)
        return self._put((*reader, *parts, self.spots.any_wide(places), store, self._take(of.MOST_KINDS * width)))

    def _question(self, number: int) -> int:
        question, spots = self.program.questions[number], self.spots
        parts = self.program.indexes[question.index].places
        over, weights, biases = _scaled(question.sums)
        sources = [next(iter(item.terms), None) for item in question.sums]
        given = iter(weights)
        sizes = [bias if place is None else next(given) for place, bias in zip(sources, biases, strict=True)]
        factors = [
            (0, 0, 0, size) if place is None else (*spots.of[place], size, 0)
            for place, size in zip(sources, sizes, strict=True)
        ]
        fits = sum(map(abs, (*weights, *biases))) < row.SMALL
        narrow = not spots.any_wide([*parts, *(place for place in sources if place is not None)])
        plain = fits and narrow and not question.time
        own, width = gathered(parts, spots.of)
        pairs = [(place, own[part]) for part, place in zip(parts, sources, strict=True) if place is not None]
        reader = self._reader(pairs, width, self._take(width)) if plain else (0, 0, 0)
        room = self._take(len(parts)), self._take(width), self._take(of.FOUND_SIZE + width + 2 * of.MOST_KINDS)
        signed = [(own[part], place is None, size) for part, place, size in zip(parts, sources, sizes, strict=True)]
        signs = self._signs(signed, width) if plain else (0, 0, 0)
        head = (self._record(of.KEEP_KEY, question.index), plain, question.time * over)
        return self._put((*reader, *head, self._listed(factors)[0], *room, *signs))

    def _signs(self, factors: Iterable[tuple[Spot, bool, int]], width: int) -> tuple[int, int, int]:
        """Encode the signs of a plain query: for each word, those of constants and which to invert; and the sizes."""
        inverted = [[0, 0] for _ in range(width)]
        sizes: dict[tuple[int, int], int] = {}
        for (word, shift), constant, size in factors:
            if constant:
                inverted[word][0] |= (0 if not size else 1 if size > 0 else 3) << shift
            elif size < 0:
                inverted[word][1] |= 1 << shift
            sizes[abs(size), word] = sizes.get((abs(size), word), 0) | 1 << shift
        return self._listed(inverted)[0], *self._listed([(*size, mask) for size, mask in sizes.items()])

    def _lookup(self, number: int) -> int:
        lookup, spots = self.program.lookups[number], self.spots
        choice = CHOICES.get(lookup.choice, finding.AVERAGE)
        time = self.program.questions[lookup.question].time
        mean = choice == finding.AVERAGE and time == 0
        later = time > 0 or (time == 0 and choice == finding.RIGHTMOST)
        own, width = gathered(lookup.values, spots.of)
        reader = self._reader(own.items(), width, self._take(width))
        ends = (*self._located(lookup.values, own), *self._located(lookup.found, spots.of))
        first = min((spots.of[place][0] for place in lookup.found), default=0)
        records = self._record(of.KEEP_KEY, lookup.index), self._record(of.ASK, lookup.question)
        what = (*records, choice, later, mean, *ends, first)
        sums = self._take(of.STATE_SIZE)
        store = self._store(sums, 0, 2 * len(lookup.values), hashed=False)
        kept = self._values[number], self._take(1), store
        return self._put((*reader, *what, number in self.wide_lookups, *kept, number))


def _scaled(sums: Sequence[Sum]) -> tuple[int, list[int], list[int]]:
    """A common denominator of sums, the numerators of all weights, and those of the biases."""
    weights = [weight for item in sums for weight in item.terms.values()]
    biases = [item.bias for item in sums]
    over = lcm(*(number.denominator for number in (*weights, *biases)))
    found = [int(number * over) for number in (*weights, *biases)]
    if max(map(abs, [*found, over])) >= SAFE:
        raise Declined("its weights are not 62-bit integers over a common denominator")
    return over, found[: len(weights)], found[len(weights) :]
