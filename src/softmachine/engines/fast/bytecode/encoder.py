"""Encoder: a program as records in the two arrays that the interpreter works on.

Encoding assigns an address to every register of a program, packed into words (tokens, features, block outputs, lookup
results), and schedules the operations of a position: blocks, key insertion, queries, value insertion, retrieval.

Numbers are assumed to be -1, 0 or 1 until another one occurs. Then the outputs of that block or lookup become wide, and
the run is read again; that happens at most once for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT, UnsupportedModel
from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode import memo_blocks
from softmachine.engines.fast.bytecode import rows as row
from softmachine.engines.fast.bytecode.memo_blocks import IncrementalRows, RowBlock
from softmachine.engines.fast.bytecode.packed_trits import LANES, WIDE_SHIFT, BitAddress, pack_addresses, plan_moves
from softmachine.engines.fast.bytecode.program import RegisterProgram, RegisterSum
from softmachine.engines.fast.indexes import groups
from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.transformer.attention import AttentionKind


class Addresses:
    """The addresses of all registers that are read, in words counted from 0; those of tokens come first.

    Args:
        program: The program.
        blocks: Its blocks.
        wide_blocks: The blocks that compute numbers other than -1, 0 and 1.
        wide_lookups: The lookups that find other numbers.
    """

    def __init__(
        self,
        program: RegisterProgram,
        blocks: Sequence[RowBlock],
        wide_blocks: frozenset[int],
        wide_lookups: frozenset[int],
    ) -> None:
        self.program = program
        self.word_count = 0
        """The number of words."""
        self.address_of: dict[int, BitAddress] = {}
        self.registers_read = _places_read(program, blocks)
        self.tokens, self.token_words = self._tokens()
        """The initial words of all tokens, and their number per token."""
        self.features = self._features()
        """Position features, two parameters, and their addresses."""
        self.block_outputs: list[tuple[int, int]] = [(0, 0)] * len(blocks)
        """The first output word of each block, and the number of output words."""
        for stage in range(max(block.stage for block in blocks) + 1):
            for number, block in enumerate(blocks):
                if block.stage == stage:
                    places = [item.register for item in block.rows if item.register in self.registers_read]
                    made = self._assign(places, places if number in wide_blocks else ())
                    self.block_outputs[number] = (self._allocate(1), 1) if block.has_logits else made
            for number, lookup in enumerate(program.lookups):
                if lookup.stage == stage:
                    self._assign_results(number, wide=number in wide_lookups)

    def any_wide(self, places: Iterable[int]) -> bool:
        """Whether any of some registers is wide."""
        return any(self.address_of[place][1] == WIDE_SHIFT for place in places)

    def _allocate(self, count: int) -> int:
        self.word_count += count
        return self.word_count - count

    def _assign(self, places: Iterable[int], wide: Iterable[int]) -> tuple[int, int]:
        """Allocate words to registers, some of which are wide; returns the first word, and the number of words."""
        first, apart = self.word_count, set(wide)
        narrow = [place for place in places if place not in apart]
        for k, place in enumerate(narrow):
            self.address_of[place] = first + k // LANES, 2 * (k % LANES)
        self._allocate(-(-len(narrow) // LANES))
        for place in sorted(apart):
            self.address_of[place] = self._allocate(2), WIDE_SHIFT
        return first, self.word_count - first

    def _tokens(self) -> tuple[list[int], int]:
        embedding = self.program.embedding
        places = [place for place in (embedding[0] if embedding else ()) if place in self.registers_read]
        wide = [place for place in places if any(token[place] not in (-1, 0, 1) for token in embedding)]
        _, count = self._assign(places, wide)
        tokens = [0] * (len(embedding) * count)
        for number, token in enumerate(embedding):
            for place in places:
                (word, shift), value = self.address_of[place], token[place]
                if shift == WIDE_SHIFT:
                    tokens[number * count + word], tokens[number * count + word + 1] = value.as_integer_ratio()
                else:
                    tokens[number * count + word] |= (value.numerator & 3) << shift
        return tokens, count

    def _features(self) -> list[tuple[int, ...]]:
        features = [item for item in self.program.features if item[3] in self.registers_read]
        self._assign(
            [item[3] for item in features], [item[3] for item in features if item[0] not in row.BINARY_FEATURES]
        )
        return [(*item[:3], *self.address_of[item[3]]) for item in features]

    def _assign_results(self, number: int, *, wide: bool) -> None:
        """Allocate words to lookup results: laid out like the stored words, unless only the results are wide."""
        lookup = self.program.lookups[number]
        if wide:
            self._assign(lookup.results, lookup.results)
            return
        kept, width = pack_addresses(lookup.values, self.address_of)
        first = self._allocate(width)
        for value, place in zip(lookup.values, lookup.results, strict=True):
            word, shift = kept[value]
            self.address_of[place] = first + word, shift


def _places_read(program: RegisterProgram, blocks: Sequence[RowBlock]) -> set[int]:
    read = {place for block in blocks for place in block.inputs}
    for lookup in program.lookups:
        read |= {*lookup.values, *program.indexes[lookup.index].registers}
        read |= {place for item in program.queries[lookup.query].factors for place in item.terms}
    return read


Operation = tuple[int, int]
"""An operation, and the number of its block, index, query or lookup."""


@dataclass(frozen=True)
class Schedule:
    """The operations of a position.

    Args:
        with_output: If its output is needed.
        without_output: Otherwise: keys and values that later positions need, and everything these depend on.
        previous: For the previous position, with the numbers computed there: insertions of heads with a strict mask.
    """

    with_output: list[Operation]
    without_output: list[Operation]
    previous: list[Operation]


def make_schedule(program: RegisterProgram, blocks: Sequence[RowBlock]) -> Schedule:
    """The schedule of a program, stage by stage."""
    needed = _registers_needed_later(program, blocks)
    blocks_needed = [not needed.isdisjoint(row.register for row in block.rows) for block in blocks]
    finds_needed = [not needed.isdisjoint(lookup.results) for lookup in program.lookups]
    past: dict[Operation, None] = {}  # an ordered set
    for number, lookup in enumerate(program.lookups):
        if not program.indexes[lookup.index].causal:
            past |= {(of.INSERT_KEY, lookup.index): None, (of.INSERT_VALUE, number): None}
    answered = _list_operations(program, blocks, [True] * len(blocks), [True] * len(program.lookups))
    return Schedule(answered, _list_operations(program, blocks, blocks_needed, finds_needed), list(past))


def _list_operations(
    program: RegisterProgram, blocks: Sequence[RowBlock], recalls: Sequence[bool], finds: Sequence[bool]
) -> list[Operation]:
    """The operations that evaluate the selected blocks and lookups."""
    ops: dict[Operation, None] = {}  # an ordered set
    for stage in range(1 + max(block.stage for block in blocks)):
        ops |= {(of.BLOCK, k): None for k, block in enumerate(blocks) if block.stage == stage and recalls[k]}
        now = [(k, lookup) for k, lookup in enumerate(program.lookups) if lookup.stage == stage]
        keeps = {k: program.indexes[lookup.index].causal for k, lookup in now}
        ops |= {(of.INSERT_KEY, lookup.index): None for k, lookup in now if keeps[k]}
        ops |= {(of.EVALUATE_QUERY, lookup.query): None for k, lookup in now if finds[k]}
        for k, _ in now:
            if keeps[k] or finds[k]:
                ops[of.INSERT_VALUE if not finds[k] else of.INSERT_AND_RETRIEVE if keeps[k] else of.RETRIEVE, k] = None
    return list(ops)


def _registers_needed_later(program: RegisterProgram, blocks: Sequence[RowBlock]) -> set[int]:
    """The registers that keys and values depend on."""
    needed = {place for lookup in program.lookups for place in lookup.values}
    needed |= {place for index in program.indexes for place in index.registers}
    for stage in reversed(range(1 + max(block.stage for block in blocks))):
        for lookup in program.lookups:
            if lookup.stage == stage and not needed.isdisjoint(lookup.results):
                needed |= {place for item in program.queries[lookup.query].factors for place in item.terms}
        for block in blocks:
            if block.stage == stage and not needed.isdisjoint(row.register for row in block.rows):
                needed |= set(block.inputs)
    return needed


MAX_MEMO_ENTRIES = 1 << 16
"""Maximum number of memoised answers of a table, which is cleared when it is full."""
TIE_BREAKS = {AttentionKind.LEFTMOST: groups.LEFTMOST, AttentionKind.RIGHTMOST: groups.RIGHTMOST}


class EncodedProgram:
    """The encoded program, and the addresses of its parts.

    Args:
        program: The program.
        blocks: Its blocks.
        wide_blocks: The blocks that compute numbers other than -1, 0 and 1.
        wide_lookups: The lookups that find other numbers.
        compute_all: Whether to compute all numbers at every position, without memoisation.

    Raises:
        UnsupportedModel: If weights do not fit.
    """

    def __init__(
        self,
        program: RegisterProgram,
        blocks: Sequence[RowBlock],
        wide_blocks: frozenset[int],
        wide_lookups: frozenset[int],
        *,
        compute_all: bool,
    ) -> None:
        self.program, self.blocks, self.compute_all = program, blocks, compute_all
        self.wide_blocks, self.wide_lookups = wide_blocks, wide_lookups
        self.addresses = Addresses(program, blocks, wide_blocks, wide_lookups)
        self.heap_size = self.addresses.word_count
        """The size of the fixed part of the heap, which begins with the words."""
        self.registers = self._allocate(2 * program.register_count)
        """The address of all registers as fractions, after the words."""
        self.initial_heap = {self._number(place) + 1: 1 for place in range(program.register_count)}
        """The nonzero initial contents of the heap."""
        self.memo_stores: list[int] = []
        """The stores of memoised answers."""
        self._code = [0] * of.HEADER
        self._shared: dict[str, int] = {}
        self._values: dict[int, int] = {}
        """The offset of a lookup's value in a group."""
        self._rows = [self._rows_of(number) for number in range(len(blocks))]
        self.blocks_at, self.indexes = [0] * len(blocks), [0] * len(program.indexes)
        self.queries, self.lookups = [0] * len(program.queries), [0] * len(program.lookups)
        """The addresses of the records, by number."""
        self._encode()
        self.code: Integers = np.array(self._code, dtype=np.int64)

    def _record(self, what: int, number: int) -> int:
        """The record of an operation, encoded at first use: records are in the order of execution."""
        records, make = {
            of.BLOCK: (self.blocks_at, self._block),
            of.INSERT_KEY: (self.indexes, self._index),
            of.EVALUATE_QUERY: (self.queries, self._query),
        }.get(what, (self.lookups, self._lookup))
        if not records[number]:
            records[number] = make(number)
        return records[number]

    def _encode(self) -> None:
        """Encode all records, and fill the header of the code."""
        code, program, spots = self._code, self.program, self.addresses
        order = make_schedule(program, self.blocks)
        answered, unanswered, past = (
            [(what, self._record(what, number)) for what, number in ops]
            for ops in (order.with_output, order.without_output, order.previous)
        )
        code[of.OPS], code[of.OPS_END] = self._append_all(answered)
        code[of.OPS_WITHOUT_OUTPUT], code[of.OPS_WITHOUT_OUTPUT_END] = self._append_all(
            answered if self.compute_all else unanswered
        )
        code[of.PREVIOUS_OPS], code[of.PREVIOUS_OPS_END] = self._append_all(past)
        code[of.TOKENS], code[of.TOKEN_WORDS] = self._append(spots.tokens), spots.token_words
        code[of.FEATURES], code[of.FEATURES_END] = self._append_all(spots.features)
        code[of.LOGITS], code[of.OUTPUTS] = self._number(program.logits[0]), len(program.logits)
        code[of.LOGIT_BLOCK] = self.blocks_at[-1]
        widest = max((2 * len(index.registers) for index in program.indexes), default=0)
        largest = max((6 * len(lookup.values) for lookup in program.lookups), default=0)
        code[of.SCRATCH] = self._allocate(widest + largest)
        code[of.SCRATCH_END], code[of.COMPUTE_ALL], code[of.FREE] = self.heap_size, self.compute_all, self._allocate(3)

    def _append(self, numbers: Iterable[int]) -> int:
        """Append integers to the code; returns the address of the first."""
        begin = len(self._code)
        self._code += map(int, numbers)
        return begin

    def _append_all(self, items: Iterable[Sequence[int]]) -> tuple[int, int]:
        """Append integers to the code; returns the address of the first, and the address after the last."""
        return self._append(number for item in items for number in item), len(self._code)

    def _allocate(self, count: int) -> int:
        """Allocate part of the heap; returns its address."""
        self.heap_size += count
        return self.heap_size - count

    def _number(self, place: int) -> int:
        return self.registers + 2 * place

    def _reader(self, pairs: Iterable[tuple[int, BitAddress]], width: int, last: int) -> tuple[int, int, int]:
        """Encode a reader: the moves of registers to addresses in ``width`` words of its own."""
        begin = len(self._code)
        for part in plan_moves([(self.addresses.address_of[place], to) for place, to in pairs], width):
            self._append([len(self._code) + 1 + 3 * len(part)])
            self._append_all(part)
        return begin, width, last

    def _append_addresses(
        self, places: Iterable[int], spots: Mapping[int, BitAddress], first: int = 0
    ) -> tuple[int, int]:
        """Encode the addresses of registers, in words counted from ``first``."""
        return self._append_all([(self._number(place), first + spots[place][0], spots[place][1]) for place in places])

    def _block(self, number: int) -> int:
        block, (first, count), (last, rows) = (
            self.blocks[number],
            self.addresses.block_outputs[number],
            self._rows[number],
        )
        own, width = pack_addresses(block.inputs, self.addresses.address_of)
        table, known = self._memo_store(number, own, width), self._allocate(1)
        self.initial_heap[known] = of.UNDECIDED
        what = (first, count, table, known, block.has_logits, number, self._is_narrow(number))
        return self._append((*self._reader(own.items(), width, last), *what, *rows))

    def _rows_of(self, number: int) -> tuple[int, tuple[int, ...]]:
        """The address of a block's gathered input words, and the part of its record that evaluates its rows."""
        block, (first, count) = self.blocks[number], self.addresses.block_outputs[number]
        own, width = pack_addresses(block.inputs, self.addresses.address_of)
        last, written = (
            self._allocate(width),
            [item.register for item in block.rows if item.register in self.addresses.registers_read],
        )
        if self._is_narrow(number):
            draft = self._allocate(count)
            write = {
                place: (draft + word - first, shift)
                for place in written
                for word, shift in [self.addresses.address_of[place]]
            }
            if block.has_logits:
                write |= {place: (self._number(place), memo_blocks.AS_NUMBER) for place in self.program.logits}
            return last, (*self._incremental_rows(IncrementalRows(block, write.keys()), own, width, write), draft)
        rows = self._append_all([self._row(item.register, item.activation, item.sum) for item in block.rows])
        return last, (
            *rows,
            *self._append_addresses(block.inputs, own, last),
            *self._append_addresses(written, self.addresses.address_of),
        )

    def _is_narrow(self, number: int) -> bool:
        """Whether a block reads and writes only -1, 0 and 1, and its sums are integers that always fit."""
        block = self.blocks[number]
        most = dict.fromkeys(block.inputs, Fraction(1))
        for item in block.rows:
            weights = item.sum.terms
            if any(weight.denominator != 1 for weight in (item.sum.bias, *weights.values())):
                return False
            most[item.register] = abs(item.sum.bias) + sum(
                abs(weight) * most[place] for place, weight in weights.items()
            )
        narrow = number not in self.wide_blocks and not self.addresses.any_wide(block.inputs) and not self.compute_all
        return narrow and max(most.values()) < OVERFLOW_LIMIT

    def _incremental_rows(
        self, keeping: IncrementalRows, own: Mapping[int, BitAddress], width: int, write: Mapping[int, BitAddress]
    ) -> tuple[int, ...]:
        """Encode rows for incremental evaluation, with their reader lists."""
        count, words = len(keeping.rows), (len(keeping.rows) + memo_blocks.DIRTY_MASK) >> memo_blocks.DIRTY_BITS
        before, sums, results = self._allocate(width), self._allocate(count), self._allocate(count)
        changed = self._allocate(words)
        self.initial_heap |= {sums + number: total for number, total in enumerate(keeping.initial_sums)}
        for word in range(words):  # all rows are dirty at first
            self.initial_heap[changed + word] = (
                1 << min(count - (word << memo_blocks.DIRTY_BITS), 1 << memo_blocks.DIRTY_BITS)
            ) - 1
        lanes = [(0, 0)] * (width * LANES)
        for place, (word, shift) in own.items():
            lanes[word * LANES + shift // 2] = self._append_all(keeping.readers_of_input(place))
        ends = [self._append_all(keeping.readers_of_row(item.register)) for item in keeping.rows]
        rows = [
            (item.activation, *write.get(item.register, (0, memo_blocks.UNREAD)), *end)
            for item, end in zip(keeping.rows, ends, strict=True)
        ]
        return self._append_all(rows)[0], self._append_all(lanes)[0], before, sums, results, changed, words

    def _row(self, to: int, activation: int, item: RegisterSum) -> tuple[int, ...]:
        over, weights, (bias,) = _scale_to_integers([item])
        entries = self._append_all(zip(map(self._number, item.terms), weights, strict=True))
        large = sum(map(abs, weights)) * row.MAX_SMALL + abs(bias) >= OVERFLOW_LIMIT
        return self._number(to), activation, bias, over, large, *entries

    def _store(self, state: int, width: int, stride: int, most: int = OVERFLOW_LIMIT, *, hashed: bool = True) -> int:
        """Encode a store of entries."""
        return self._append((state, width, stride, hashed, most))

    def _memo_store(self, number: int, own: Mapping[int, BitAddress], width: int) -> int:
        """The memo table of a block; blocks that are the same function of their input words share one."""
        block, (first, count) = self.blocks[number], self.addresses.block_outputs[number]
        names: dict[int, object] = {**own, **{item.register: k for k, item in enumerate(block.rows)}}
        rows = [
            (item.activation, item.sum.bias, sorted((str(names[k]), w) for k, w in item.sum.terms.items()))
            for item in block.rows
        ]
        read = [
            (k, self.addresses.address_of[item.register])
            for k, item in enumerate(block.rows)
            if item.register in self.addresses.registers_read
        ]
        signature = repr((width, rows, [(k, word - first, shift) for k, (word, shift) in read], block.has_logits))
        if signature not in self._shared:
            state = self._allocate(of.STATE_SIZE)
            self._shared[signature] = self._store(state, width, count, MAX_MEMO_ENTRIES)
            self.memo_stores.append(self._shared[signature])
        return self._shared[signature]

    def _index(self, number: int) -> int:
        places = self.program.indexes[number].registers
        own, width = pack_addresses(places, self.addresses.address_of)
        reader, parts = self._reader(own.items(), width, self._allocate(width)), self._append_addresses(places, own)
        group_table, stride = self._allocate(of.GROUPS_SIZE), of.GROUP_HEADER_SIZE
        for k, lookup in enumerate(self.program.lookups):
            if lookup.index == number:
                self._values[k] = stride
                stride += 1 + pack_addresses(lookup.values, self.addresses.address_of)[1]
        store = self._store(group_table, width, stride)
        return self._append(
            (*reader, *parts, self.addresses.any_wide(places), store, self._allocate(of.MAX_KINDS * width))
        )

    def _query(self, number: int) -> int:
        question, spots = self.program.queries[number], self.addresses
        parts = self.program.indexes[question.index].registers
        over, weights, biases = _scale_to_integers(question.factors)
        sources = [next(iter(item.terms), None) for item in question.factors]
        given = iter(weights)
        sizes = [bias if place is None else next(given) for place, bias in zip(sources, biases, strict=True)]
        factors = [
            (0, 0, 0, size) if place is None else (*spots.address_of[place], size, 0)
            for place, size in zip(sources, sizes, strict=True)
        ]
        fits = sum(map(abs, (*weights, *biases))) < row.MAX_SMALL
        narrow = not spots.any_wide([*parts, *(place for place in sources if place is not None)])
        plain = fits and narrow and not question.position_weight
        own, width = pack_addresses(parts, spots.address_of)
        pairs = [(place, own[part]) for part, place in zip(parts, sources, strict=True) if place is not None]
        reader = self._reader(pairs, width, self._allocate(width)) if plain else (0, 0, 0)
        room = (
            self._allocate(len(parts)),
            self._allocate(width),
            self._allocate(of.SEARCH_RESULT_SIZE + width + 2 * of.MAX_KINDS),
        )
        signed = [(own[part], place is None, size) for part, place, size in zip(parts, sources, sizes, strict=True)]
        signs = self._signs(signed, width) if plain else (0, 0, 0)
        head = (self._record(of.INSERT_KEY, question.index), plain, question.position_weight * over)
        return self._append((*reader, *head, self._append_all(factors)[0], *room, *signs))

    def _signs(self, factors: Iterable[tuple[BitAddress, bool, int]], width: int) -> tuple[int, int, int]:
        """Encode the signs of a plain query: for each word, those of constants and which to invert; and the sizes."""
        inverted = [[0, 0] for _ in range(width)]
        sizes: dict[tuple[int, int], int] = {}
        for (word, shift), constant, size in factors:
            if constant:
                inverted[word][0] |= (0 if not size else 1 if size > 0 else 3) << shift
            elif size < 0:
                inverted[word][1] |= 1 << shift
            sizes[abs(size), word] = sizes.get((abs(size), word), 0) | 1 << shift
        return self._append_all(inverted)[0], *self._append_all([(*size, mask) for size, mask in sizes.items()])

    def _lookup(self, number: int) -> int:
        lookup, spots = self.program.lookups[number], self.addresses
        choice = TIE_BREAKS.get(lookup.choice, groups.AVERAGE)
        time = self.program.queries[lookup.query].position_weight
        mean = choice == groups.AVERAGE and time == 0
        later = time > 0 or (time == 0 and choice == groups.RIGHTMOST)
        own, width = pack_addresses(lookup.values, spots.address_of)
        reader = self._reader(own.items(), width, self._allocate(width))
        ends = (*self._append_addresses(lookup.values, own), *self._append_addresses(lookup.results, spots.address_of))
        first = min((spots.address_of[place][0] for place in lookup.results), default=0)
        records = self._record(of.INSERT_KEY, lookup.index), self._record(of.EVALUATE_QUERY, lookup.query)
        what = (*records, choice, later, mean, *ends, first)
        sums = self._allocate(of.STATE_SIZE)
        store = self._store(sums, 0, 2 * len(lookup.values), hashed=False)
        kept = self._values[number], self._allocate(1), store
        return self._append((*reader, *what, number in self.wide_lookups, *kept, number))


def _scale_to_integers(sums: Sequence[RegisterSum]) -> tuple[int, list[int], list[int]]:
    """A common denominator of sums, the numerators of all weights, and those of the biases."""
    weights = [weight for item in sums for weight in item.terms.values()]
    biases = [item.bias for item in sums]
    over = lcm(*(number.denominator for number in (*weights, *biases)))
    found = [int(number * over) for number in (*weights, *biases)]
    if max(map(abs, [*found, over])) >= OVERFLOW_LIMIT:
        raise UnsupportedModel("its weights are not 62-bit integers over a common denominator")
    return over, found[: len(weights)], found[len(weights) :]
