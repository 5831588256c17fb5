"""Random programs whose heads are near the conditions of head rules, with random domains, determined by the seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from softmachine.ir import Program, Signal, attend, constant, loop, named, position, relu, stack, step, token
from softmachine.ir.domain import Domain
from softmachine.ir.ranges import real
from softmachine.transformer.attention import AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD, Mask
from softmachine.transformer.features import (
    I_SQUARED,
    N_PLUS_ONE,
    RECIPROCAL,
    REMAINING,
    Alternating,
    Bit,
    Distance,
    Feature,
    I,
    Last,
    N,
    PredecessorShare,
    Residue,
)

START = "<s>"
TOKENS = (START, "a", "b", "c")
FEATURES: tuple[Feature, ...] = (
    *(I, I_SQUARED, I * N_PLUS_ONE**-1, I_SQUARED * N_PLUS_ONE**-1, I * N_PLUS_ONE, N),
    *(RECIPROCAL, N_PLUS_ONE**-1, RECIPROCAL**2, REMAINING**-1, RECIPROCAL * N_PLUS_ONE**-1),
    *(Alternating(), Bit(0), Bit(1), Residue(3, 1), Residue(50, 0), Last(), PredecessorShare()),
)
WEIGHTINGS = (AVERAGE_HARD, AVERAGE_HARD, AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD)
_ANY = real(-(10**12), 10**12)


class RandomScores:
    """Generate a program: numbers of tokens and positions, means, lookups, units, and heads over all of these.

    Args:
        seed: The seed of the random numbers.
        positions: The number of positions, if it is fixed.
    """

    def __init__(self, seed: int, positions: int | None = None) -> None:
        self.rng, self.positions = random.Random(seed), positions
        self.count = 0
        self.start = token("start", {START: (1,), "a": (0,)})
        self.bits = [self.table((0, 1)) for _ in range(2)]
        self.numbers = [self.table((-2, -1, 0, 1, 2, 3)), self.table((0, 1, Fraction(1, 2)))]
        self.features = [position(feature) for feature in self.rng.sample(FEATURES, 5)]
        self.indices = [position(I), position(I_SQUARED)]
        self.computed: list[Signal] = []

    def program(self, size: int) -> Program:
        """A program with this many heads and units, and a loop in one of four."""
        for _ in range(size):
            self.computed.append(self.primitive())
        if self.rng.random() < 0.25:
            self.computed.append(self.loop())
        logits = stack(*self.computed[-3:], self.form())
        outputs = tuple(f"y{k}" for k in range(len(logits)))
        return Program("scores", TOKENS, outputs, logits, position_count=self.positions)

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what} {self.count}"

    def pick(self, *pools: Sequence[Signal]) -> Signal:
        signal = self.rng.choice(self.rng.choice([pool for pool in pools if pool]))
        return signal[self.rng.randrange(len(signal))]

    def factor(self) -> Fraction:
        return Fraction(self.rng.choice((-2, -1, 1, 1, 2, 3, 6)), self.rng.choice((1, 1, 1, 2, 3)))

    def table(self, values: Sequence[Fraction | int]) -> Signal:
        return token(self.name("token"), {name: (self.rng.choice(values),) for name in TOKENS})

    def atom(self) -> Signal:
        """A number of any kind."""
        return self.pick(self.bits, self.numbers, self.features, self.indices, self.computed, self.computed)

    def form(self) -> Signal:
        """A sum of one to three numbers."""
        total = self.atom() * self.factor()
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            total = total + self.atom() * self.factor()
        return total + self.rng.choice((0, 0, 1, -1))

    def primitive(self) -> Signal:
        made = (self.unit, self.mean, self.count_of_ties, self.lookup, self.ranked, self.ranked, self.head, self.head)
        found = self.rng.choice(made)()
        return named(self.name("named"), found) if self.rng.random() < 0.3 else found

    def unit(self) -> Signal:
        form = self.form()
        match self.rng.randrange(4):
            case 0:
                return step(self.name("step"), form)
            case 1:  # an approximate comparison with a threshold
                slope = self.rng.choice((1, 2, 4))
                edges = stack(form * slope, form * slope - 1)
                units = relu(self.name("relu"), edges)
                return units[0] - units[1]
        return relu(self.name("relu"), form)

    def mask(self) -> Mask:
        masks: list[Mask] = [Mask.CAUSAL, Mask.CAUSAL, *Mask]
        return self.rng.choice(masks)

    def mean(self) -> Signal:
        value = self.pick([self.start], self.bits, self.numbers, self.computed)
        return attend(self.name("mean"), value=value, mask=self.mask())

    def count_of_ties(self) -> Signal:
        """The mean of the start token's indicator, or of another bit, over all keys of one kind."""
        bit = self.pick(self.bits, self.computed)
        key = self.rng.choice((self.start + bit, bit, self.start * 2 + bit, bit - self.start))
        value = self.pick([self.start], self.bits, self.numbers)
        query = self.rng.choice((constant(1), constant(1), constant(-1), self.pick(self.bits)))
        return attend(self.name("ties"), query=query, key=key, value=value, mask=self.mask())

    def lookup(self) -> Signal:
        """What stands at the position X, or almost."""
        by, wanted = self.pick([constant(1)], self.features, self.computed), self.form()
        exact = self.rng.random() < 0.6
        by = constant(self.rng.choice((1, 2, Fraction(1, 3)))) if exact else by
        index, size = wanted * 2, self.rng.choice((1, 2, 3))
        linear = index * (by.forms[0].constant if exact else 1)
        key = stack(*self.indices) * self.rng.choice((1, 1, 2))
        value = self.pick(self.bits, self.indices, self.computed)
        return attend(self.name("lookup"), query=stack(linear, -by * (1 if exact else size)), key=key, value=value)

    def head(self) -> Signal:
        pairs = []
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            query = self.rng.choice((constant(self.factor()), constant(self.factor()), self.form()))
            key = self.rng.choice((self.form(), self.pick(self.bits), self.pick(self.features, self.indices)))
            pairs.append((query, key))
        value = stack(*(self.rng.choice((self.form(), pairs[0][1], self.atom())) for _ in range(2)))
        return attend(
            self.name("head"),
            query=stack(*(query for query, _ in pairs)),
            key=stack(*(key for _, key in pairs)),
            value=value,
            mask=self.mask(),
            weighting=self.rng.choice(WEIGHTINGS),
            bias=Distance() if self.rng.random() < 0.1 else None,
        )

    def ranked(self) -> Signal:
        """The best by one number, then by a smaller one, with the start token apart; the value is one of these."""
        parts = [
            self.pick(self.bits, self.numbers, self.features, self.computed) for _ in range(self.rng.choice((1, 2, 3)))
        ]
        sizes = [
            self.rng.choice((-1, 1)) * Fraction(self.rng.choice((1, 2, 10)), self.rng.choice((1, 1, 2, 10)))
            for _ in parts
        ]
        key = sum((part * size for part, size in zip(parts, sizes, strict=True)), constant(0))
        key = key + self.start * self.rng.choice((0, 0, 1, -1, Fraction(1, 2), 30, -30))
        pairs = [(self.rng.choice((constant(1), constant(1), self.mean(), self.count_of_ties())), key)]
        if self.rng.random() < 0.3:
            pairs.append((self.form(), self.pick(self.features, self.indices, self.bits)))
        value = self.rng.choice((parts[-1], stack(*parts), key, self.pick([self.start], self.bits, self.computed)))
        query, keys = (stack(*side) for side in zip(*pairs, strict=True))
        return attend(self.name("ranked"), query=query, key=keys, value=value, mask=self.mask())

    def loop(self) -> Signal:
        outside = self.computed

        def body(carried: Signal) -> Signal:
            self.computed = [*outside, carried, carried]
            for _ in range(self.rng.randrange(1, 4)):
                self.computed.append(self.primitive())
            return stack(self.form(), self.atom()).with_range(_ANY)

        start = stack(self.pick(self.bits, self.numbers), self.form()).with_range(_ANY)
        found = loop(self.name("loop"), iterations=self.rng.randrange(4), initial=start, body=body)
        self.computed = outside
        return found


def random_domain(rng: random.Random, positions: int | None = None) -> Domain:
    """A domain: every sequence, or with a start token, unique tokens, or tokens for each position."""
    kind = rng.randrange(4)
    if kind == 0:
        return Domain.all_sequences(TOKENS[:3])
    if kind == 1 and positions is not None:
        return Domain.of_positions([rng.sample(TOKENS, rng.choice((1, 2, 2))) for _ in range(positions)])
    letters = frozenset(TOKENS[1:])
    sets = [frozenset("a"), frozenset("bc")]
    first = frozenset({START, *rng.sample(TOKENS[1:], rng.choice((0, 0, 1)))})
    unique = tuple(some for some in sets if rng.random() < 0.3)
    later = tuple(some for some in sets if rng.random() < 0.3)
    return Domain(first, letters, unique, later)


def random_scores(seed: int) -> tuple[Program, Domain]:
    """A program and a domain."""
    rng = random.Random(-seed - 1)
    positions = rng.choice((None, None, 4, 6))
    return RandomScores(seed, positions).program(rng.randrange(1, 7)), random_domain(rng, positions)
