"""Random S-RASP and B-RASP programs, well-typed by construction."""

from __future__ import annotations

import random

from softmachine.languages.linear import Relation
from softmachine.languages.srasp import BOOLEAN, INTEGER, Definition, SraspProgram, Type, ValueKind
from softmachine.languages.srasp.ast import (
    Add,
    And,
    Attention,
    AttentionChoice,
    BooleanLiteral,
    Compare,
    Conditional,
    Expression,
    Index,
    IntegerLiteral,
    Mask,
    Member,
    Not,
    Or,
    PrefixSum,
    Subtract,
    SymbolLiteral,
    VectorRead,
)
from softmachine.testing.randomness import Seed, generator

HERE: tuple[Index, ...] = ("i",)
THERE: tuple[Index, ...] = ("j",)
BOTH: tuple[Index, ...] = ("i", "j")
"""The positions that an expression may read: its own, the one attended to, or both."""
NONE = "?"
CONNECTIVES: list[type[And] | type[Or]] = [And, Or]
ARITHMETIC: list[type[Add] | type[Subtract]] = [Add, Subtract]


def random_program(
    rng: Seed,
    *,
    letters: tuple[str, ...] = ("a", "b"),
    vectors: int = 6,
    depth: int = 3,
    integers: bool = True,
    linear: bool = False,
    conjunctive: bool = False,
    nested: bool = True,
) -> SraspProgram:
    """Draw a program.

    Args:
        rng: The random generator, or a seed.
        letters: The alphabet.
        vectors: The number of vectors that are defined.
        depth: The approximate nesting of expressions.
        integers: Whether there are integers; without integers the program is in B-RASP.
        linear: Whether prefix sums add only 0 and 1, chosen by finite values, so that integers grow linearly with the
            length.
        conjunctive: Whether every predicate is a finite condition, an equality of integers at i and j, or the
            conjunction of both.
        nested: Whether operations may occur inside expressions.
    """
    return _Grower(generator(rng), letters, depth, integers, linear, conjunctive, nested).program(vectors)


class _Grower:
    def __init__(
        self,
        rng: random.Random,
        letters: tuple[str, ...],
        depth: int,
        integers: bool,
        linear: bool,
        conjunctive: bool,
        nested: bool,
    ) -> None:
        self.rng = rng
        self.letters = letters
        self.depth = depth
        self.integers = integers
        self.linear = linear
        self.conjunctive = conjunctive
        self.nested = nested
        self.types: dict[str, Type] = {}
        self.definitions: list[Definition] = []

    def program(self, vectors: int) -> SraspProgram:
        kinds = [ValueKind.BOOLEAN, ValueKind.SYMBOL] + [ValueKind.INTEGER, ValueKind.INTEGER] * self.integers
        for number in range(vectors):
            name = f"v{number}"
            kind = self.rng.choice(kinds)
            body = self.operation(kind) if self.rng.random() < 0.6 else self.of(kind, HERE, self.depth, self.nested)
            self.definitions.append(Definition(name, body))
            # Symbols are inferred from a program, so the definitions up to here are made one.
            self.types[name] = self.so_far(name).types[name]
        outputs = [name for name, found in self.types.items() if found.kind is ValueKind.BOOLEAN]
        last = f"v{vectors - 1}"
        return self.so_far(self.rng.choice(outputs) if outputs and self.rng.random() < 0.5 else last)

    def so_far(self, output: str) -> SraspProgram:
        return SraspProgram(name="random", alphabet=self.letters, definitions=tuple(self.definitions), output=output)

    def of(self, kind: ValueKind, scope: tuple[Index, ...], depth: int, operations: bool = False) -> Expression:
        """An expression of a kind over these positions; only one over i may contain operations."""
        if operations and depth > 0 and self.rng.random() < 0.1:
            return self.operation(kind)
        if kind is ValueKind.BOOLEAN:
            return self.boolean(scope, depth, operations)
        if kind is ValueKind.SYMBOL:
            return self.symbol(scope, depth, operations)[0]
        return self.integer(scope, depth, operations)

    def operation(self, kind: ValueKind) -> Expression:
        if kind is ValueKind.INTEGER and self.rng.random() < 0.6:
            return PrefixSum(self.term())
        return Attention(
            self.rng.choice(list(AttentionChoice)),
            self.rng.choice(list(Mask)),
            self.predicate(),
            self.of(kind, self.rng.choice([THERE, THERE, BOTH]), 1),
            self.of(kind, HERE, 1, self.nested),
        )

    def term(self) -> Expression:
        if not self.linear:
            return self.of(ValueKind.INTEGER, THERE, 2)
        return Conditional(self.finite(THERE, 2), IntegerLiteral(1), IntegerLiteral(0))

    def predicate(self) -> Expression:
        if self.rng.random() < 0.15:
            return BooleanLiteral(True)
        if not self.integers:
            return self.finite(BOTH, self.depth)
        if self.conjunctive:
            parts = [self.equality(equal=True)] * (self.rng.random() < 0.5)
            parts += [self.finite(BOTH, self.depth)] * (not parts or self.rng.random() < 0.6)
            return parts[0] if len(parts) == 1 else And(tuple(parts))
        return self.boolean(BOTH, self.depth, False, predicate=True)

    def finite(self, scope: tuple[Index, ...], depth: int) -> Expression:
        """A Boolean expression without integers."""
        integers, self.integers = self.integers, False
        try:
            return self.boolean(scope, depth)
        finally:
            self.integers = integers

    def boolean(
        self, scope: tuple[Index, ...], depth: int, operations: bool = False, predicate: bool = False
    ) -> Expression:
        rng = self.rng
        if depth <= 0:
            return self.leaf(BOOLEAN, scope) or self.symbol_test(scope, 0)
        match rng.randrange(9):
            case 0:
                return Not(self.boolean(scope, depth - 1, operations, predicate))
            case 1 | 2:
                count = rng.choice([2, 2, 3])
                parts = tuple(self.boolean(scope, depth - 1, operations, predicate) for _ in range(count))
                return rng.choice(CONNECTIVES)(parts)
            case 3:
                condition, then, otherwise = (self.boolean(scope, depth - 2, operations, predicate) for _ in range(3))
                return Conditional(condition, then, otherwise)
            case 4:
                sides = [self.boolean(scope, depth - 2, operations, predicate) for _ in range(2)]
                return Compare(rng.choice([Relation.EQUAL, Relation.NOT_EQUAL]), *sides)
            case 5 | 6 if self.integers:
                if predicate and rng.random() < 0.5:
                    return self.equality()
                at = (rng.choice(scope),) if predicate else scope
                left, right = (self.integer(at, depth - 1, operations) for _ in range(2))
                return Compare(rng.choice(list(Relation)), left, right)
            case 7:
                return self.leaf(BOOLEAN, scope) or BooleanLiteral(rng.random() < 0.5)
            case _:
                return self.symbol_test(scope, depth - 1)

    def equality(self, equal: bool = False) -> Expression:
        """An equation (or inequation) of an integer at i and one at j."""
        here, there = self.read(INTEGER, "i"), self.read(INTEGER, "j")
        if self.rng.random() < 0.4:
            here = self.rng.choice(ARITHMETIC)(here, IntegerLiteral(self.rng.randint(-2, 2)))
        if self.rng.random() < 0.1:
            return Compare(Relation.EQUAL, Subtract(here, there), IntegerLiteral(self.rng.randint(-1, 1)))
        left, right = (here, there) if self.rng.random() < 0.5 else (there, here)
        return Compare(Relation.EQUAL if equal or self.rng.random() < 0.7 else Relation.NOT_EQUAL, left, right)

    def symbol_test(self, scope: tuple[Index, ...], depth: int) -> Expression:
        rng = self.rng
        left, symbols = self.symbol(scope, depth)
        other, others = self.symbol(scope, depth)
        if set(symbols) & set(others) and rng.random() < 0.5:
            return Compare(rng.choice([Relation.EQUAL, Relation.NOT_EQUAL]), left, other)
        if rng.random() < 0.4:
            return Member(left, tuple(rng.sample(symbols, rng.randint(1, len(symbols)))))
        return Compare(rng.choice([Relation.EQUAL, Relation.NOT_EQUAL]), left, SymbolLiteral(rng.choice(symbols)))

    def symbol(
        self, scope: tuple[Index, ...], depth: int, operations: bool = False
    ) -> tuple[Expression, tuple[str, ...]]:
        """An expression for a symbol, and its possible values."""
        rng = self.rng
        if depth > 0 and rng.random() < 0.3:
            (then, one), (otherwise, other) = (self.symbol(scope, depth - 1, operations) for _ in range(2))
            condition = self.finite(scope, depth - 1)
            return Conditional(condition, then, otherwise), tuple(dict.fromkeys(one + other))
        if rng.random() < 0.15:
            constant = rng.choice([*self.letters, NONE])
            return SymbolLiteral(constant), (constant,)
        names = [name for name, found in self.types.items() if found.kind is ValueKind.SYMBOL]
        at = rng.choice(scope)
        if names and rng.random() < 0.5:
            name = rng.choice(names)
            return VectorRead(name, at), self.types[name].symbols
        return VectorRead("in", at), self.letters

    def integer(self, scope: tuple[Index, ...], depth: int, operations: bool = False) -> Expression:
        rng = self.rng
        if depth > 0 and rng.random() < 0.6:
            if rng.random() < 0.4:
                condition = self.finite(scope, depth - 1)
                branches = self.of(ValueKind.INTEGER, scope, depth - 1, operations), self.integer(scope, depth - 1)
                return Conditional(condition, *branches)
            operands = self.of(ValueKind.INTEGER, scope, depth - 1, operations), self.integer(scope, depth - 1)
            return rng.choice(ARITHMETIC)(*operands)
        if rng.random() < 0.3:
            return IntegerLiteral(rng.randint(-2, 3))
        return self.read(INTEGER, rng.choice(scope))

    def read(self, of: Type, at: Index) -> Expression:
        names = [name for name, found in self.types.items() if found == of]
        if not names or self.rng.random() < 0.3:
            return VectorRead("pos", at)
        return VectorRead(self.rng.choice(names), at)

    def leaf(self, of: Type, scope: tuple[Index, ...]) -> Expression | None:
        names = [name for name, found in self.types.items() if found == of]
        return VectorRead(self.rng.choice(names), self.rng.choice(scope)) if names else None
