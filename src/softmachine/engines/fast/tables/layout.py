"""Where the numbers of a program are in words, and all of it as records: what `kernel` works on.

Numbers are taken for -1, 0 or 1 until one turns out to be something else. Then what the block computes, or what the
head finds, becomes wide, and the run is read again; that happens at most once for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from softmachine.engines.fast.analysis.grids import SAFE, Declined
from softmachine.engines.fast.indexes import finding
from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables import rows as row
from softmachine.engines.fast.tables.blocks import Block
from softmachine.engines.fast.tables.program import Program, Sum, TableIndex
from softmachine.engines.fast.tables.words import ALL, LANES, WIDE
from softmachine.transformer.attention import Choice

CHOICES = {Choice.LEFTMOST: finding.LEFTMOST, Choice.RIGHTMOST: finding.RIGHTMOST}


class Layout:
    """Where everything is.

    Args:
        program: The program.
        blocks: Its blocks.
        wide_blocks: The blocks that compute other numbers than -1, 0 and 1.
        wide_heads: The heads that find other numbers.

    Raises:
        Declined: If weights do not fit.
    """

    def __init__(
        self, program: Program, blocks: Sequence[Block], wide_blocks: frozenset[int], wide_heads: frozenset[int]
    ) -> None:
        self.program, self.blocks = program, blocks
        self.wide_blocks, self.wide_heads = wide_blocks, wide_heads
        self.heap = 0
        """How much of the heap is taken by what does not grow."""
        self.where: dict[int, tuple[int, int]] = {}
        """The word of a place, and the shift there."""
        self.indexes: list[int] = []
        self.questions: list[int] = []
        self.heads: list[int] = []
        self.blocks_at: list[int] = []
        """The records of these."""
        self.tables: list[tuple[int, int, int]] = []
        """For each table of answers its address in the heap, and how many words a key has, and both together."""
        self.at_first: dict[int, int] = {}
        """What is not 0 in the heap at first."""
        self._code = [0] * of.HEADER
        self._shared: dict[str, int] = {}
        self._read = self._places_read()
        self._lay_out()
        self.code: Integers = np.array(self._code, dtype=np.int64)

    def _places_read(self) -> set[int]:
        program = self.program
        read = {place for block in self.blocks for place in block.inputs}
        for head in program.heads:
            read |= {*head.values, *program.indexes[head.index].places}
            read |= {place for item in program.questions[head.question].sums for place in item.terms}
        return read

    def _lay_out(self) -> None:
        code, program = self._code, self.program
        tokens, count = self._tokens()
        features = self._features()
        ops = self._words()
        self.numbers = self._take(2 * program.places)
        self.at_first = {self._number(place) + 1: 1 for place in range(program.places)}
        code[of.TOKENS], code[of.TOKEN_WORDS] = self._put(tokens), count
        code[of.FEATURES], code[of.FEATURES_END] = self._listed(features)
        self._rows = [self._rows_of(number) for number in range(len(self.blocks))]
        for number in range(len(self.blocks)):  # what is used at every token is together
            self._block(number)
        for number in range(len(program.indexes)):
            self._index(number)
        for number in range(len(program.questions)):
            self._question(number)
        for number in range(len(program.heads)):
            self._head(number)
        records = {of.BLOCK: self.blocks_at, of.HEAD: self.heads}
        code[of.OPS], code[of.OPS_END] = self._listed([(what, records[what][number]) for what, number in ops])
        past = [
            (h,) for h, head in zip(self.heads, program.heads, strict=True) if not program.indexes[head.index].causal
        ]
        code[of.PAST], code[of.PAST_END] = self._listed(past)
        code[of.LOGITS], code[of.LOGITS_END] = self._listed([(self._number(place),) for place in program.logits])
        code[of.ANSWER] = self.blocks_at[-1]
        widest = max((2 * len(index.places) for index in program.indexes), default=0)
        largest = max((6 * len(head.values) for head in program.heads), default=0)
        code[of.ROOM] = self._take(widest + largest)
        code[of.ROOM_END], code[of.EVERY] = self.heap, self._take(1)
        groups = [(code[index + of.GROUPED], self.width(index), self.width(index)) for index in self.indexes]
        code[of.FOUND_BY_KEY], code[of.FOUND_BY_KEY_END] = self._listed([*groups, *self.tables])
        code[of.INDEXES], code[of.HEADS] = len(program.indexes), len(program.heads)

    def width(self, record: int) -> int:
        """How many words somebody reads."""
        return (self._code[record + of.KEY_END] - self._code[record + of.KEY]) // 2

    def _put(self, numbers: Iterable[int]) -> int:
        """Put integers into the code; the address of the first."""
        begin = len(self._code)
        self._code += map(int, numbers)
        return begin

    def _listed(self, items: Iterable[Sequence[int]]) -> tuple[int, int]:
        """Put integers into the code; the address of the first, and that after the last."""
        return self._put(number for item in items for number in item), len(self._code)

    def _take(self, count: int) -> int:
        """Take room in the heap; the address of the first."""
        self.heap += count
        return self.heap - count

    def _number(self, place: int) -> int:
        return self.numbers + 2 * place

    def _room(self, places: Iterable[int], wide: Iterable[int]) -> tuple[int, int]:
        """Give words to places, some of which are wide; the first word, and how many."""
        first, apart = self.heap, set(wide)
        narrow = [place for place in places if place not in apart]
        for k, place in enumerate(narrow):
            self.where[place] = first + k // LANES, 2 * (k % LANES)
        self._take(-(-len(narrow) // LANES))
        for place in sorted(apart):
            self.where[place] = self._take(2), WIDE
        return first, self.heap - first

    def _tokens(self) -> tuple[list[int], int]:
        """The words of all tokens, and how many each has."""
        embedding = self.program.embedding
        places = [place for place in (embedding[0] if embedding else ()) if place in self._read]
        wide = [place for place in places if any(token[place] not in (-1, 0, 1) for token in embedding)]
        _, count = self._room(places, wide)
        tokens = [0] * (len(embedding) * count)
        for number, token in enumerate(embedding):
            for place in places:
                (word, shift), value = self.where[place], token[place]
                if shift == WIDE:
                    tokens[number * count + word], tokens[number * count + word + 1] = value.as_integer_ratio()
                else:
                    tokens[number * count + word] |= (value.numerator & 3) << shift
        return tokens, count

    def _features(self) -> list[tuple[int, ...]]:
        """Position features and where they are."""
        features = [item for item in self.program.features if item[3] in self._read]
        self._room([item[3] for item in features], [item[3] for item in features if item[0] not in row.NARROW])
        return [(*item[:3], *self.where[item[3]]) for item in features]

    def _words(self) -> list[tuple[int, int]]:
        """Give words to all that blocks compute and heads find; what to do in which order."""
        self._made: list[tuple[int, int]] = []
        ops: list[tuple[int, int]] = []
        stages = max(block.stage for block in self.blocks)
        for stage in range(stages + 1):
            for number, block in enumerate(self.blocks):
                if block.stage == stage:
                    places = [item.to for item in block.rows if item.to in self._read]
                    made = self._room(places, places if number in self.wide_blocks else ())
                    self._made.append((self._take(1), 1) if block.answers else made)
                    ops.append((of.BLOCK, number))
            for number, head in enumerate(self.program.heads):
                if head.stage == stage:
                    self._found(number)
                    ops.append((of.HEAD, number))
        return ops

    def _found(self, number: int) -> None:
        """Give words to what a head finds: copies of the words of its values, unless it is wide and they are not."""
        head = self.program.heads[number]
        if number in self.wide_heads:
            self._room(head.found, head.found)
            return
        words = [word for word, _ in self._masked(head.values)]
        first = self._take(len(words))
        for value, place in zip(head.values, head.found, strict=True):
            word, shift = self.where[value]
            self.where[place] = first + words.index(word), shift

    def _any_wide(self, places: Iterable[int]) -> bool:
        return any(self.where[place][1] == WIDE for place in places)

    def _masked(self, places: Iterable[int]) -> list[tuple[int, int]]:
        """Words and masks that have these places."""
        masks: dict[int, int] = {}
        for word, shift in sorted(self.where[place] for place in set(places)):
            masks[word] = ALL if shift == WIDE else masks.get(word, 0) | 3 << shift
            if shift == WIDE:
                masks[word + 1] = ALL
        return list(masks.items())

    def _reader(self, places: Iterable[int]) -> tuple[int, int, int]:
        """The beginning of a record that reads some places."""
        masks = self._masked(places)
        return *self._listed(masks), self._take(len(masks))

    def _located(self, places: Sequence[int], among: Sequence[int] | None = None) -> tuple[int, int]:
        """Where places are: in words of the heap, or, by number, among some words."""
        words = [self.where[place][0] if among is None else among.index(self.where[place][0]) for place in places]
        pairs = zip(places, words, strict=True)
        return self._listed([(self._number(place), word, self.where[place][1]) for place, word in pairs])

    def _block(self, number: int) -> None:
        block, (first, count) = self.blocks[number], self._made[number]
        recalled = (*self._reader(block.inputs), first, count, self._table_of(block, first, count), self._take(1))
        self.at_first[recalled[-1]] = of.UNDECIDED
        self.blocks_at.append(self._put((*recalled, *self._rows[number], block.answers, number)))

    def _rows_of(self, number: int) -> tuple[int, ...]:
        """The rows of a block, what it reads and writes, whether rows keep their sums, and drafts."""
        block, (first, count) = self.blocks[number], self._made[number]
        keeps, draft = self._is_narrow(number), self._take(count)
        return *(self._changing(block, draft - first) if keeps else self._computing(block)), keeps, draft

    def _is_narrow(self, number: int) -> bool:
        """Whether a block reads and writes -1, 0 and 1, and its sums are integers that always fit."""
        block = self.blocks[number]
        most = dict.fromkeys(block.inputs, Fraction(1))
        for item in block.rows:
            weights = item.sum.terms
            if any(weight.denominator != 1 for weight in (item.sum.bias, *weights.values())):
                return False
            most[item.to] = abs(item.sum.bias) + sum(abs(weight) * most[place] for place, weight in weights.items())
        return number not in self.wide_blocks and not self._any_wide(block.inputs) and max(most.values()) < SAFE

    def _changing(self, block: Block, draft: int) -> tuple[int, ...]:
        """Rows that keep their sums, and what they read; drafts of their words are so far away from the words."""
        own = {place: self._take(1) for place in block.inputs} | {item.to: self._take(2) for item in block.rows}
        readers: dict[int, list[tuple[int, int]]] = {place: [] for place in own}
        for item in block.rows:
            self.at_first[own[item.to]] = int(item.sum.bias)
            for place, weight in item.sum.terms.items():
                readers[place].append((own[item.to], int(weight)))
        ends = {place: self._listed(pairs) for place, pairs in readers.items()}
        inputs = [(own[place], *self.where[place], *ends[place]) for place in block.inputs]
        rows: list[tuple[int, ...]] = []
        for item in block.rows:
            word, shift = self.where[item.to] if item.to in self._read else (0, -1)
            rows.append((own[item.to], word + draft, shift, *ends[item.to], item.activation, self._number(item.to)))
        return *self._listed(rows), *self._listed(inputs), 0, 0

    def _computing(self, block: Block) -> tuple[int, ...]:
        """Rows that are computed anew, what they read, and what they write."""
        rows = self._listed([self._row(item.to, item.activation, item.sum) for item in block.rows])
        write = self._located([item.to for item in block.rows if item.to in self._read])
        return *rows, *self._located(block.inputs), *write

    def _row(self, to: int, activation: int, item: Sum) -> tuple[int, ...]:
        over, weights, (bias,) = _scaled([item])
        entries = self._listed(zip(map(self._number, item.terms), weights, strict=True))
        large = sum(map(abs, weights)) * row.SMALL + abs(bias) >= SAFE
        return self._number(to), activation, bias, over, large, *entries

    def _table_of(self, block: Block, first: int, count: int) -> int:
        """The table of a block: the same for blocks that make the same words of the same words."""
        masks = self._masked(block.inputs)
        words = [word for word, _ in masks]
        names: dict[int, object] = {
            place: (words.index(self.where[place][0]), self.where[place][1]) for place in block.inputs
        }
        names |= {item.to: k for k, item in enumerate(block.rows)}
        rows = [
            (item.activation, item.sum.bias, sorted((str(names[k]), w) for k, w in item.sum.terms.items()))
            for item in block.rows
        ]
        read = [(k, self.where[item.to]) for k, item in enumerate(block.rows) if item.to in self._read]
        writes = [(k, word - first, shift) for k, (word, shift) in read]
        signature = repr(([mask for _, mask in masks], rows, writes, block.answers))
        if signature not in self._shared:
            self._shared[signature] = self._take(of.TABLE_SIZE)
            self.tables.append((self._shared[signature], len(masks), len(masks) + count))
        return self._shared[signature]

    def _index(self, number: int) -> None:
        index = self.program.indexes[number]
        reader, words = self._reader(index.places), [word for word, _ in self._masked(index.places)]
        parts, state = self._located(index.places, words), self._take(of.GROUPS)
        wide, kinds = self._any_wide(index.places), self._take(of.MOST_KINDS * len(words))
        self.indexes.append(self._put((*reader, *parts, wide, index.causal, state, kinds, number)))

    def _question(self, number: int) -> None:
        question = self.program.questions[number]
        index = self.program.indexes[question.index]
        over, weights, biases = _scaled(question.sums)
        places = [place for item in question.sums for place in item.terms]
        given = iter(weights)
        asks = [
            (*self.where[next(iter(item.terms))], next(given), 0) if item.terms else (0, 0, 0, bias)
            for item, bias in zip(question.sums, biases, strict=True)
        ]
        fits = sum(map(abs, (*weights, *biases))) < row.SMALL
        plain = fits and not self._any_wide((*places, *index.places)) and not question.time
        room = self._take(len(index.places)), self._take(len(self._masked(index.places))), self._take(5)
        signs = self._signs(index, asks) if plain else (0, 0, 0, 0, 0)
        ends = (self._listed(asks)[0], *room, *signs)
        what = (self.indexes[question.index], plain, question.time * over)
        self.questions.append(self._put((*self._reader(places), *what, *ends)))

    def _signs(self, index: TableIndex, asks: Sequence[tuple[int, int, int, int]]) -> tuple[int, int, int, int, int]:
        """The signs of a plain question: constants, copies, and sizes."""
        words = [word for word, _ in self._masked(index.places)]
        constant = [0] * len(words)
        runs: dict[tuple[int, int, int, bool], int] = {}
        sizes: dict[tuple[int, int], int] = {}
        for place, (word, shift, weight, bias) in zip(index.places, asks, strict=True):
            to, lane = words.index(self.where[place][0]), self.where[place][1]
            if weight:
                run = word, lane - shift, to, weight < 0
                runs[run] = runs.get(run, 0) | 3 << shift
            else:
                constant[to] |= (0 if not bias else 1 if bias > 0 else 3) << lane
            size = abs(weight or bias), to
            sizes[size] = sizes.get(size, 0) | 1 << lane
        copies = [(word, mask, shift, to, negative) for (word, shift, to, negative), mask in runs.items()]
        alike = [(size, to, mask) for (size, to), mask in sizes.items()]
        return self._put(constant), *self._listed(copies), *self._listed(alike)

    def _head(self, number: int) -> None:
        head = self.program.heads[number]
        choice = CHOICES.get(head.head.weighting.choice, finding.AVERAGE)
        time = self.program.questions[head.question].time
        mean = choice == finding.AVERAGE and time == 0
        later = time > 0 or (time == 0 and choice == finding.RIGHTMOST)
        words = [word for word, _ in self._masked(head.values)]
        ends = (*self._located(head.values, words), *self._located(head.found))
        first = min((self.where[place][0] for place in head.found), default=0)
        what = (self.indexes[head.index], self.questions[head.question], choice, later, mean, *ends, first)
        self.heads.append(
            self._put((*self._reader(head.values), *what, number in self.wide_heads, self._take(5), number))
        )


def _scaled(sums: Sequence[Sum]) -> tuple[int, list[int], list[int]]:
    """A common denominator of sums; the numerators of all weights, and those of the biases."""
    weights = [weight for item in sums for weight in item.terms.values()]
    biases = [item.bias for item in sums]
    over = lcm(*(number.denominator for number in (*weights, *biases)))
    found = [int(number * over) for number in (*weights, *biases)]
    if max(map(abs, [*found, over])) >= SAFE:
        raise Declined("its weights are not integers of 62 bits over a common denominator")
    return over, found[: len(weights)], found[len(weights) :]
