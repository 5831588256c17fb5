"""Random RASP programs, well-typed by construction: of all constructs, causal, with loops, or generating."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product

from softmachine.languages.rasp import (
    Definition,
    FiniteType,
    FractionType,
    IntegerType,
    Operator,
    RaspProgram,
    Reduction,
    Type,
    Value,
)
from softmachine.languages.rasp.inference import RaspTypeInference
from softmachine.languages.rasp.ir import (
    COMPARISONS,
    Aggregate,
    Apply,
    Combine,
    Constant,
    Indices,
    Length,
    Node,
    Repeat,
    Select,
    SelectAll,
    SelectPairs,
    Table,
    Tokens,
    Width,
    operands,
)
from softmachine.languages.rasp.ranges import deduplicate
from softmachine.languages.rasp.values import is_number
from softmachine.testing.randomness import Seed, generator

ALPHABETS: tuple[tuple[tuple[str, ...], tuple[Value, ...]], ...] = (
    (("a", "b"), ("a", "b")),
    (("a", "b", "c"), ("a", "b", "c")),
    (("0", "1"), (0, 1)),
    (("0", "1", "2"), (0, 1, 2)),
    (("t", "f"), (True, False)),
)
MAX_CASES = 24
"""Maximum number of cases of a table."""
MAX_PROPOSALS = 200
"""Maximum number of operations that are proposed for a program."""
STOP = "$"
"""The output symbol with which a generating program ends."""


def random_program(
    rng: Seed, *, operations: int = 10, depth: int = 6, causal: bool | None = None, loop: bool = False
) -> RaspProgram:
    """Draw a program that may use every construct.

    Args:
        rng: The random generator, or a seed.
        operations: The approximate number of operations besides the inputs.
        depth: The maximal length of a chain of operations.
        causal: Whether it is causal; None draws this, too.
        loop: Whether it has a loop.
    """
    rng = generator(rng)
    return _Grower(rng, depth, rng.random() < 0.5 if causal is None else causal).program(operations, loop)


def random_autoregressive_program(rng: Seed, *, operations: int = 6, depth: int = 6) -> RaspProgram:
    """Draw a causal program that reads its own output: each output is a letter or the stop symbol.

    Args:
        rng: The random generator, or a seed.
        operations: The approximate number of operations besides the inputs.
        depth: The maximal length of a chain of operations.
    """
    grower = _Grower(generator(rng), depth, causal=True)
    grower.grow(operations)
    return grower.generating()


class _Grower:
    """Adds definitions to a program: operations are proposed, and kept if their types fit."""

    def __init__(self, rng: random.Random, depth: int, causal: bool) -> None:
        self.rng = rng
        self.depth = depth
        self.alphabet, self.letters = rng.choice(ALPHABETS)
        self.causal = causal
        self.inference = RaspTypeInference(self.letters, causal)
        self.definitions: list[Definition] = []
        self.depths: dict[str, int] = {}
        self.selectors: list[str] = []
        self.sequences: list[str] = []
        constants = [Constant(value) for value in deduplicate((0, 1, 2, *self.letters[:2]))]
        inputs: list[Node] = [Tokens(), Indices(), Length(), *constants]
        for node in inputs:
            self.keep(node)

    def program(self, operations: int, loop: bool) -> RaspProgram:
        self.grow(operations)
        if loop:
            self.loop()
        # The last operations are the deepest.
        return self.made(self.sequences[-1] if self.rng.random() < 0.7 else self.rng.choice(self.sequences[-4:]))

    def generating(self) -> RaspProgram:
        """The program whose output maps each value of the last operation with few values to a letter or the end."""
        source = [name for name in self.sequences if _is_few(self.type_of(name))][-1]
        domain = self.type_of(source)
        assert isinstance(domain, FiniteType)
        results = [self.rng.choice([*self.letters, *self.letters, STOP]) for _ in domain.values]
        rows = tuple(((value,), result) for value, result in zip(domain.values, results, strict=True))
        self.definitions.append(Definition("said", Table((source,), rows)))
        return self.made("said", STOP)

    def made(self, output: str, stop: str | None = None) -> RaspProgram:
        return RaspProgram(
            name="random", alphabet=self.alphabet, letters=self.letters, definitions=tuple(self.definitions),
            output=output, causal=self.causal, stop=stop,
        )  # fmt: skip

    def grow(self, operations: int) -> None:
        wanted = len(self.definitions) + operations
        proposals: list[Callable[[], Node | None]] = [
            self.apply, self.apply, self.apply, self.table, self.select, self.select, self.select, self.pairs,
            self.combine, self.aggregate, self.aggregate, self.aggregate, self.width, self.width,
        ]  # fmt: skip
        for _ in range(MAX_PROPOSALS):
            if len(self.definitions) >= wanted:
                break
            node = self.rng.choice(proposals)()
            if node is not None and node not in self.inference.nodes.values():
                self.keep(node)

    def keep(self, node: Node) -> bool:
        """Add an operation, unless its types do not fit or it is too deep."""
        depth = 1 + max((self.depths[name] for name in operands(node)), default=-1)
        name = f"d{len(self.definitions)}"
        definition = Definition(name, node)
        if depth > self.depth or not self.fits(definition):
            return False
        self.definitions.append(definition)
        self.depths[name] = depth
        selector = isinstance(node, Select | SelectPairs | SelectAll | Combine)
        (self.selectors if selector else self.sequences).append(name)
        return True

    def fits(self, definition: Definition) -> bool:
        """Whether the types fit; if they do not, the definition leaves no trace."""
        known = set(self.inference.types) | set(self.inference.facts)
        self.inference.infer([definition])
        if not self.inference.problems:
            return True
        self.inference.problems.clear()
        tables: tuple[dict[str, object], ...] = (self.inference.types, self.inference.facts, self.inference.nodes)  # type: ignore[assignment]
        for table in tables:
            for name in set(table) - known:
                del table[name]
        return False

    def type_of(self, name: str) -> Type:
        found = self.inference.types[name]
        assert found is not None
        return found

    def sequence(self, wanted: Callable[[Type], bool] = lambda _: True) -> str | None:
        """A sequence operator of a type; later ones are more likely."""
        fitting = [name for name in self.sequences if wanted(self.type_of(name))]
        varying = [name for name in fitting if not isinstance(self.inference.nodes[name], Constant)]
        if varying and self.rng.random() < 0.85:
            fitting = varying
        if not fitting:
            return None
        return self.rng.choice(fitting[-4:]) if self.rng.random() < 0.6 else self.rng.choice(fitting)

    def apply(self) -> Node | None:
        rng = self.rng
        match rng.randrange(5):
            case 0:
                operator = rng.choice(COMPARISONS)
                same = self.sequence(_is_numeric) if rng.random() < 0.7 else self.sequence()
                other = self.sequence(_is_numeric if same and _is_numeric(self.type_of(same)) else _is_symbolic)
                return Apply(operator, (same, other)) if same and other else None
            case 1:
                condition, then = self.sequence(_is_boolean), self.sequence()
                numeric = then is not None and _is_numeric(self.type_of(then))
                otherwise = self.sequence(_is_numeric if numeric else _is_symbolic)
                return (
                    Apply(Operator.CHOOSE, (then, condition, otherwise)) if condition and then and otherwise else None
                )
            case 2:
                operator = rng.choice([Operator.AND, Operator.OR, Operator.NOT, Operator.INDICATOR])
                one, other = self.sequence(_is_boolean), self.sequence(_is_boolean)
                unary = operator in (Operator.NOT, Operator.INDICATOR)
                return Apply(operator, (one,) if unary else (one, other)) if one and other else None
            case _:
                return self.arithmetic()

    def arithmetic(self) -> Node | None:
        rng = self.rng
        common = [Operator.ADD, Operator.SUBTRACT, Operator.ADD, Operator.SUBTRACT, Operator.MINIMUM, Operator.MAXIMUM]
        rare = [Operator.MULTIPLY, Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.POWER]
        unary = [Operator.NEGATE, Operator.ABSOLUTE, Operator.ROUND, Operator.TRUNCATE]
        one = self.sequence(_is_numeric)
        if one is None:
            return None
        if rng.random() < 0.25:
            return Apply(rng.choice(unary), (one,))
        operator = rng.choice(common if rng.random() < 0.7 else rare)
        # Most products and quotients of two growing numbers have no construction without a bound on the length.
        few = operator in rare and rng.random() < 0.9
        other = self.sequence(
            (lambda found: isinstance(found, FiniteType) and _is_numeric(found)) if few else _is_numeric
        )
        return Apply(operator, (one, other)) if other else None

    def table(self) -> Node | None:
        names = [self.sequence(_is_few) for _ in range(self.rng.choice([1, 1, 2]))]
        operands = tuple(dict.fromkeys(name for name in names if name))
        domains = [found.values for found in map(self.type_of, operands) if isinstance(found, FiniteType)]
        cases = list(product(*domains))
        if not operands or not cases or len(cases) > MAX_CASES:
            return None
        results: list[Value] = self.rng.choice([["a", "b", "c"], [0, 1], [0, 1, 2], [True, False], [Fraction(1, 2), 1]])
        total = self.rng.random() < 0.9
        rows = tuple((case, self.rng.choice(results)) for case in cases if total or self.rng.random() < 0.8)
        return Table(operands, rows) if rows else None

    def select(self) -> Node | None:
        rng = self.rng
        if rng.random() < 0.1:
            return SelectAll(selected=rng.random() < 0.9)
        key = self.sequence(_is_integral if rng.random() < 0.6 else lambda _: True)
        numeric = key is not None and _is_numeric(self.type_of(key))
        query = self.sequence(_is_integral if numeric else _is_symbolic)
        comparison = Operator.EQUAL if rng.random() < 0.5 else rng.choice(COMPARISONS)
        return Select(key, query, comparison) if key and query else None

    def pairs(self) -> Node | None:
        key, query = self.sequence(_is_few), self.sequence(_is_few)
        if not key or not query:
            return None
        keys, queries = self.type_of(key), self.type_of(query)
        assert isinstance(keys, FiniteType)
        assert isinstance(queries, FiniteType)
        chosen = [pair for pair in product(keys.values, queries.values) if self.rng.random() < 0.5]
        return SelectPairs(key, query, tuple(chosen[:MAX_CASES]))

    def combine(self) -> Node | None:
        if len(self.selectors) < 2:
            return None
        operator = self.rng.choice([Operator.AND, Operator.AND, Operator.OR, Operator.NOT])
        return Combine(operator, tuple(self.rng.sample(self.selectors, 1 if operator is Operator.NOT else 2)))

    def aggregate(self) -> Node | None:
        values = self.sequence()
        if not self.selectors or not values:
            return None
        numeric = _is_numeric(self.type_of(values))
        default = self.sequence(_is_numeric if numeric else _is_symbolic)
        reductions = [Reduction.MEAN, Reduction.MEAN, Reduction.MAXIMUM, Reduction.MINIMUM]
        reduction = self.rng.choice(reductions) if numeric else Reduction.MEAN
        return Aggregate(self.rng.choice(self.selectors[-5:]), values, default, reduction) if default else None

    def width(self) -> Node | None:
        return Width(self.rng.choice(self.selectors[-5:])) if self.selectors else None

    def loop(self) -> None:
        """Add a loop that ends: each position receives the largest value of those that it sees."""
        start = self.sequence(lambda found: isinstance(found, FiniteType | IntegerType) and _is_integral(found))
        if start is None:
            return
        following = Definition("next_x", Apply(Operator.MAXIMUM, ("x", "handed_on")))
        for comparison in self.rng.sample(COMPARISONS, len(COMPARISONS)):
            before = Definition("seen", Select("d1", "d1", comparison))
            handed = Definition("handed_on", Aggregate("seen", "x", start, Reduction.MAXIMUM))
            if self.keep(Repeat((("x", start),), (before, handed, following), ("next_x",), "x")):
                return


def _is_numeric(found: Type) -> bool:
    return not isinstance(found, FiniteType) or all(is_number(value) for value in found.values)


def _is_symbolic(found: Type) -> bool:
    return isinstance(found, FiniteType) and not any(is_number(value) for value in found.values)


def _is_boolean(found: Type) -> bool:
    return isinstance(found, FiniteType) and all(isinstance(value, bool) for value in found.values)


def _is_integral(found: Type) -> bool:
    if isinstance(found, FiniteType):
        return all(isinstance(value, int) for value in found.values)
    return not isinstance(found, FractionType)


def _is_few(found: Type) -> bool:
    return isinstance(found, FiniteType) and 0 < len(found.values) <= 6
