"""Signal programs of selectors: numbers of matching positions and sums of their values, exact at every length.

Position 0 is the sink. A selector head scores the keys that match as the sink, and all others at least 1 below, so that
its mean of the sink's bit is u = 1/(c+1) for c matches. The lookup with query (2(1-u), -u) and key (j, j²) finds c.
Every number comes with its expected value, by definition.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Program, Signal, attend, constant, named, position, relu, stack, step, token
from softmachine.ir.gadgets.lookup import WithSquare, fetch_previous, position_with_square
from softmachine.ir.primitives import ScoreDecay, one_hot
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import N_PLUS_ONE, RECIPROCAL, Feature

SINK = "<s>"
Word = Sequence[str]


@dataclass(frozen=True)
class Label:
    """A label at every letter, one-hot and zero at the sink, with its expected value."""

    signal: Signal
    of: Callable[[Word], Sequence[str]]


@dataclass(frozen=True)
class Number:
    """An integer at every letter with its expected value, and its value at the sink."""

    signal: WithSquare
    of: Callable[[Word], Sequence[int]]
    at_sink: int = 0

    def plus(self, more: int) -> Number:
        """The integer plus a constant."""
        value, square = self.signal.value, self.signal.square
        raised = WithSquare(value + more, square + 2 * more * value + more * more)
        return Number(raised, lambda word: [x + more for x in self.of(word)], self.at_sink + more)


Match = tuple[Label, Label] | tuple[Number, Number]
"""The features of the query and of the key that must be equal."""


@dataclass(frozen=True)
class Selectors:
    """Selector heads over an alphabet.

    Args:
        mask: The visible keys: all of them, or those up to the query.
        alphabet: The letters.
    """

    mask: Mask
    alphabet: tuple[str, ...] = ("a", "b", "c")

    @property
    def sink(self) -> Signal:
        """Whether this is the sink, as a bit."""
        return token("sink", {SINK: (1,), **dict.fromkeys(self.alphabet, (0,))})

    @property
    def letter(self) -> Label:
        """The letter itself."""
        return Label(one_hot("letter", self.alphabet, (SINK,)), lambda word: word)

    @property
    def index(self) -> Number:
        """The position; the first letter stands at 1."""
        return Number(position_with_square(), lambda word: range(1, len(word) + 1))

    @property
    def gap(self) -> Feature:
        """The score gap of lookups of a selector's results."""
        return RECIPROCAL if self.mask.is_causal else 1 / N_PLUS_ONE

    @property
    def half_gap(self) -> Signal:
        """Half of the gap."""
        return position(self.gap) * Fraction(1, 2)

    def select(self, name: str, value: Signal, *matches: Match, as_good: Fraction | int = 0) -> Signal:
        """The mean of a value over the sink and the matching keys; ``as_good`` is added to the score of the sink.

        An integer that is not 0 at the sink adds -(x - y)² there, too, which is compensated.
        """
        query: list[Signal] = []
        key: list[Signal] = []
        sink = self.sink + as_good  # at the sink no other key scores as high, so that all numbers are 0 there
        for ours, theirs in matches:
            if isinstance(ours, Label) and isinstance(theirs, Label):
                query, key, sink = [*query, ours.signal], [*key, theirs.signal], sink + 1
            elif isinstance(ours, Number) and isinstance(theirs, Number):
                query += [2 * ours.signal.value, constant(-1)]
                key += [theirs.signal.value, theirs.signal.square]
                sink = sink + ours.plus(-theirs.at_sink).signal.square
        return attend(name, query=stack(*query, sink), key=stack(*key, self.sink), value=value, mask=self.mask, gap=1)

    def recover_count(self, name: str, share: Signal, one: Signal) -> WithSquare:
        """The integer s and s², from s·u and u = 1/(c+1)."""
        place = position_with_square()
        looked = attend(
            f"undo {name}",
            query=stack(2 * share, -one),
            key=stack(place.value, place.square),
            value=stack(place.value, place.square),
            mask=self.mask,
            gap=self.gap,
            single_key=True,
            decay=ScoreDecay.QUADRATIC,
        )
        return WithSquare(named(name, looked[0]), named(f"{name}²", looked[1]))

    def width(self, name: str, *matches: Match) -> Number:
        """The number of matching keys."""
        u = self.select(f"1/(1+{name})", self.sink, *matches)
        return Number(
            self.recover_count(name, 1 - u, u), lambda word: [len(found) for found in self.found(word, matches)]
        )

    def total(self, name: str, letter: str, *matches: Match) -> Number:
        """The number of matching keys that hold a letter."""
        both = self.select(f"{name}/(1+c)", stack(self.letter.signal[letter], self.sink), *matches)
        return Number(
            self.recover_count(name, both[0], both[1]),
            lambda word: [sum(word[j] == letter for j in found) for found in self.found(word, matches)],
        )

    def found(self, word: Word, matches: Sequence[Match]) -> list[list[int]]:
        """For each letter, which ones match it."""
        sides = [(ours.of(word), theirs.of(word)) for ours, theirs in matches]
        seen = [range(i + 1) if self.mask.is_causal else range(len(word)) for i in range(len(word))]
        return [[j for j in seen[i] if all(q[i] == k[j] for q, k in sides)] for i in range(len(word))]

    def output_program(self, number: Number, largest: int) -> Program:
        """A program that outputs an integer, up to a maximum."""
        logits = stack(*(2 * v * number.signal.value - v * v for v in range(largest + 1)))
        outputs = tuple(map(str, range(largest + 1)))
        return Program("selectors", (SINK, *self.alphabet), outputs, logits, Fraction(1))

    def decoder(self, number: Number) -> Program:
        """A decoder that emits the first letter for a number up to 1, the second for 2, and so on."""
        logits = stack(*(2 * v * number.signal.value - v * v for v in range(1, len(self.alphabet) + 1)))
        return Program("decoder", (SINK, *self.alphabet), self.alphabet, logits, Fraction(1))

    def histogram(self) -> Number:
        """The number of occurrences of the letter."""
        return self.width("count", (self.letter, self.letter))

    def double_histogram(self) -> Number:
        """The number of positions whose letter occurs as often as this one."""
        count = self.histogram()
        return self.width("as often", (count, count))

    @property
    def before(self) -> Label:
        """The previous letter; for the first one, the sink."""
        read = one_hot("letter or sink", (SINK, *self.alphabet))
        found = fetch_previous("before", read)
        # At the sink that is the sink itself, which has to be 0.
        return Label(stack(found[0] - self.sink, found[1:]), lambda word: [SINK, *word][: len(word)])

    def pairs(self) -> Number:
        """The number of occurrences of the letter after the letter that precedes it here."""
        return self.width("pairs", (self.letter, self.letter), (self.before, self.before))

    def rank(self) -> Number:
        """The number of letters that occur more often than this one."""
        letters = self.letter.signal
        shares = attend("shares", value=letters, mask=self.mask)
        mine = relu("share", shares + letters - constant(1, len(letters))).total
        # Different shares differ by a gap at least; half of it separates equal from larger ones.
        others = stack(*(mine - shares[k] for k in range(len(letters)))) + stack(*[self.half_gap] * len(letters))
        rank = len(letters) - step("no more often", others).total
        return Number(WithSquare(rank, rank), self._ranks)  # the square is unused

    def _ranks(self, word: Word) -> list[int]:
        seen = [word[: i + 1] if self.mask.is_causal else word for i in range(len(word))]
        return [sum(seen[i].count(other) > seen[i].count(word[i]) for other in self.alphabet) for i in range(len(word))]


def random_number(seed: int, mask: Mask, depth: int) -> tuple[Selectors, Number]:
    """An integer computed by a stack of selectors."""
    chooser, selectors = random.Random(seed), Selectors(mask)
    numbers = [selectors.index, selectors.histogram()]
    for level in range(depth):
        matches: list[Match] = [(chooser.choice(numbers), numbers[-1])]
        if chooser.random() < 0.4:
            more = chooser.choice((0, 1)), chooser.choice((0, 0, 2))
            matches.append((chooser.choice(numbers).plus(more[0]), chooser.choice(numbers).plus(more[1])))
        if chooser.random() < 0.4:
            matches.append((selectors.letter, selectors.letter))
        if chooser.random() < 0.5:
            numbers.append(selectors.width(f"width {level}", *matches))
        else:
            numbers.append(selectors.total(f"total {level}", chooser.choice(selectors.alphabet), *matches))
    return selectors, numbers[-1]
