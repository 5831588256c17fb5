"""Random signal programs of all primitives, with many ties, determined by the seed."""

from __future__ import annotations

import random
from fractions import Fraction

from softmachine.ir import Program, Signal, attend, loop, named, position, relu, stack, step, token
from softmachine.ir.ranges import real
from softmachine.transformer.attention import AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD, Mask
from softmachine.transformer.features import (
    N_PLUS_ONE,
    RECIPROCAL,
    Alternating,
    Bit,
    Distance,
    Feature,
    I,
    Last,
    Logarithm,
    N,
    Prime,
    Residue,
)

TOKENS = ("<s>", "a", "b", "c")
_FEATURES: list[Feature] = [
    *(I, RECIPROCAL, Alternating(), N, Last(), I * N_PLUS_ONE**-1, Prime()),
    Bit(0),
    Residue(3, 1),
]
_TIMES: list[int | Feature] = [0, 1, 2, 3, Logarithm(of_length=True), N]
_ANY = real(-(10**12), 10**12)


class RandomGraph:
    """A growing pool of signals, extended by random primitives."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        self.pool: list[Signal] = []
        self.count = 0

    def program(self, size: int, name: str = "random") -> Program:
        """A program of the given number of primitives and a few logits."""
        self.pool = [self.table(), self.feature()]
        for _ in range(size):
            self.pool.append(self.primitive())
        outputs = self.chooser.randrange(2, 5)
        logits = stack(*(self.scalar() for _ in range(outputs)))
        return Program(name, TOKENS, tuple(f"out {k}" for k in range(outputs)), logits)

    def name(self, what: str) -> str:
        """A fresh name or a used one."""
        self.count += self.chooser.random() < 0.8
        return f"{what} {self.count}"

    def number(self) -> Fraction:
        return Fraction(self.chooser.choice((-2, -1, -1, 0, 1, 1, 2, 3)), self.chooser.choice((1, 1, 1, 2, 3)))

    def signal(self) -> Signal:
        """A random signal of the pool; later ones are more likely."""
        return self.pool[max(self.chooser.randrange(len(self.pool)) for _ in range(2))]

    def scalar(self) -> Signal:
        """An affine combination of a few components."""
        result = self.number() + self.component() * self.chooser.choice((1, 1, -1, 2))
        for _ in range(self.chooser.randrange(3)):
            result = result + self.number() * self.component()
        return result

    def component(self) -> Signal:
        signal = self.signal()
        return signal[self.chooser.randrange(len(signal))]

    def vector(self, width: int) -> Signal:
        return stack(*(self.chooser.choice((self.scalar, self.component))() for _ in range(width)))

    def table(self) -> Signal:
        width = self.chooser.randrange(1, 4)
        used = self.chooser.sample(TOKENS, self.chooser.randrange(1, 5))
        return token(self.name("token"), {key: tuple(self.number() for _ in range(width)) for key in used})

    def feature(self) -> Signal:
        return position(self.chooser.choice(_FEATURES))

    def primitive(self, *, inside_loop: bool = False) -> Signal:
        made = [self.table, self.feature, self.unit, self.unit, self.head, self.head, self.naming]
        return self.chooser.choice(made if inside_loop else [*made, self.looped])()

    def unit(self) -> Signal:
        width = self.chooser.randrange(1, 4)
        return self.chooser.choice((relu, relu, step))(self.name("unit"), self.vector(width))

    def naming(self) -> Signal:
        return named(self.name("named"), self.vector(self.chooser.randrange(1, 4)))

    def head(self) -> Signal:
        width = self.chooser.choice((0, 1, 1, 2, 3))
        weighting = self.chooser.choice((AVERAGE_HARD, AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD))
        return attend(
            self.name("head"),
            query=self.vector(width) if width else None,
            key=self.vector(width) if width else None,
            value=self.vector(self.chooser.randrange(1, 4)),
            mask=self.chooser.choice(list(Mask)),
            weighting=weighting,
            bias=Distance() if self.chooser.random() < 0.2 else None,
        )

    def looped(self) -> Signal:
        width, outside = self.chooser.randrange(1, 3), self.pool

        def body(carried: Signal) -> Signal:
            self.pool = [*outside, carried, carried]
            for _ in range(self.chooser.randrange(5)):
                self.pool.append(self.primitive(inside_loop=True))
            return (self.vector(width) * self.chooser.choice((1, Fraction(1, 2)))).with_range(_ANY)

        start = self.vector(width).with_range(_ANY)
        result = loop(self.name("loop"), iterations=self.chooser.choice(_TIMES), initial=start, body=body)
        self.pool = outside
        return result


def random_program(seed: int, size: int | None = None) -> Program:
    graph = RandomGraph(seed)
    return graph.program(graph.chooser.randrange(1, 14) if size is None else size)


def random_tokens(seed: int, length: int) -> list[str]:
    chooser = random.Random(seed)
    return ["<s>", *(chooser.choice(TOKENS) for _ in range(length - 1))]
