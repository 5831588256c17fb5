"""Selectors of the Python dialect, and the aggregates and widths over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import Operator, Reduction
from softmachine.languages.rasp.python.expression import (
    Expression,
    check_function,
    check_value,
    describe_object,
    usage_error,
)
from softmachine.languages.rasp.python.function_lowering import CoreFunction
from softmachine.languages.rasp.python.lowering import evaluate_expression
from softmachine.languages.rasp.python.predicate_lowering import lower_predicate
from softmachine.languages.rasp.python.sequences import SOp, check_sop, position_table
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.support.errors import UsageError


class Comparison(Enum):
    """Comparison of a key with a query."""

    EQ = "=="
    LT = "<"
    LEQ = "<="
    GT = ">"
    GEQ = ">="
    NEQ = "!="
    TRUE = "True"
    FALSE = "False"

    def __call__(self, key: Any, query: Any) -> Any:
        """Whether the comparison of a key with a query holds. None is not comparable."""
        if key is None or query is None:
            raise TypeError("None cannot be compared")
        if self in (Comparison.TRUE, Comparison.FALSE):
            return self is Comparison.TRUE
        return CoreFunction(Operator(self.value))(key, query)


class Selector(Expression):
    """A selector: the set of keys that each query selects.

    Selectors combine by ``&``, ``|`` and ``~``. Calling one on a list returns a row of Booleans per query.
    """

    default_name = "selector"
    kind = "selector"

    def __call__(self, xs: Sequence[object]) -> list[list[bool]]:
        """The Boolean selection matrix on an input, one row per query.

        Raises:
            InputError: If it is undefined at some query.
        """
        return evaluate_expression(self, xs)

    def __bool__(self) -> bool:
        raise UsageError(f"{self.name!r} is neither true nor false", hint="use & | ~ in place of and, or, not")

    def __and__(self, other: Selector) -> Selector:
        return SelectorAnd(self, other)

    def __or__(self, other: Selector) -> Selector:
        return SelectorOr(self, other)

    def __invert__(self) -> Selector:
        return SelectorNot(self)


class Select(Selector):
    """Selects the keys for which a predicate of key and query holds.

    Args:
        keys: The keys.
        queries: The queries.
        predicate: A `Comparison`, or a function of a key and a query.
    """

    default_name = "select"
    operand_names = ("keys", "queries")

    def __init__(self, keys: SOp, queries: SOp, predicate: Comparison | Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.keys = check_sop(keys, "the first argument of Select", self.place)
        self.queries = check_sop(queries, "the second argument of Select", self.place)
        self.predicate = check_function(
            predicate, "the predicate of Select", self.place, "a Comparison, or lambda key, query: …"
        )

    def define(self, builder: TypedBuilder, keys: NullableSequence, queries: NullableSequence) -> str:
        """Add the operations."""
        if not isinstance(self.predicate, Comparison):
            return lower_predicate(builder, self.predicate, keys, queries)
        always = self.predicate in (Comparison.TRUE, Comparison.FALSE)
        if always and builder.presence(keys) is None and builder.presence(queries) is None:
            return builder.add(ir.SelectAll(self.predicate is Comparison.TRUE))
        if always:
            return lower_predicate(builder, self.predicate, keys, queries)
        return builder.add(
            ir.Select(
                builder.none_as_undefined(keys), builder.none_as_undefined(queries), Operator(self.predicate.value)
            )
        )


class ConstantSelector(Selector):
    """A selector that does not depend on the input.

    Args:
        value: True for every key, False for none; or a matrix with a row per query, for inputs of that length.
        check_length: Whether the input must have exactly that length; otherwise it may be shorter.
    """

    default_name = "constant_selector"

    def __init__(self, value: bool | Sequence[Sequence[bool]], check_length: bool = True) -> None:
        super().__init__()
        self.value = value
        self.check_length = check_length
        if not isinstance(value, bool) and any(len(row) != len(value) for row in value):
            hint = "for example [[True, False], [True, True]]"
            raise usage_error("a row of a ConstantSelector must have one Boolean per key", self.place, hint)

    def define(self, builder: TypedBuilder) -> str:
        """Add the operations."""
        if isinstance(self.value, bool):
            return builder.add(ir.SelectAll(self.value))
        position = position_table(builder, range(len(self.value)), check_length=self.check_length)
        pairs = tuple((k, q) for q, row in enumerate(self.value) for k, chosen in enumerate(row) if chosen)
        return builder.add(ir.SelectPairs(position, position, pairs))


class _BinarySelector(Selector):
    operator: Operator
    operand_names = ("fst", "snd")

    def __init__(self, fst: Selector, snd: Selector) -> None:
        super().__init__()
        self.fst = check_selector(fst, self)
        self.snd = check_selector(snd, self)

    def define(self, builder: TypedBuilder, fst: str, snd: str) -> str:
        """Add the operation."""
        return fst if fst == snd else builder.add(ir.Combine(self.operator, (fst, snd)))


class SelectorAnd(_BinarySelector):
    """The conjunction of two selectors."""

    default_name = "selector_and"
    operator = Operator.AND


class SelectorOr(_BinarySelector):
    """The disjunction of two selectors."""

    default_name = "selector_or"
    operator = Operator.OR


class SelectorNot(Selector):
    """The negation of a selector."""

    default_name = "selector_not"
    operand_names = ("inner",)

    def __init__(self, inner: Selector) -> None:
        super().__init__()
        self.inner = check_selector(inner, self)

    def define(self, builder: TypedBuilder, inner: str) -> str:
        """Add the operation."""
        return builder.add(ir.Combine(Operator.NOT, (inner,)))


def selector_and(fst: Selector, snd: Selector, simplify: bool = True) -> Selector:  # noqa: ARG001
    """The conjunction of two selectors; ``simplify`` is ignored, for compatibility with tracr."""
    return fst & snd


def selector_or(fst: Selector, snd: Selector, simplify: bool = True) -> Selector:  # noqa: ARG001
    """The disjunction of two selectors; ``simplify`` is ignored."""
    return fst | snd


def selector_not(inner: Selector, simplify: bool = True) -> Selector:  # noqa: ARG001
    """The negation of a selector; ``simplify`` is ignored."""
    return ~inner


class SelectorWidth(SOp):
    """The number of keys that each query selects."""

    default_name = "selector_width"
    operand_names = ("selector",)

    def __init__(self, selector: Selector) -> None:
        super().__init__()
        self.selector = check_selector(selector, self)

    def define(self, builder: TypedBuilder, selector: str) -> NullableSequence:
        """Add the operation."""
        return NullableSequence(builder.add(ir.Width(selector)))


class Aggregate(SOp):
    """Reduces the selected values to one: the mean of numbers, or the single selected value of another kind.

    Args:
        selector: The selector.
        sop: The values.
        default: The value where nothing is selected.
        reduction: How several values are reduced; by default the mean.
    """

    default_name = "aggregate"
    operand_names = ("selector", "sop")

    def __init__(
        self, selector: Selector, sop: SOp, default: object = None, reduction: Reduction = Reduction.MEAN
    ) -> None:
        super().__init__()
        self.selector = check_selector(selector, self)
        self.sop = check_sop(sop, "the second argument of Aggregate", self.place)
        self.default = check_value(default, self.place)
        self.reduction = reduction

    def define(self, builder: TypedBuilder, selector: str, sop: NullableSequence) -> NullableSequence:
        """Add the operations. Where nothing is selected, the flag of an unbounded number marks it as None."""
        unused = self.default is None and builder.always_selects(selector) and builder.is_numeric(sop.reference)
        default = builder.constant(0 if unused else self.default)
        node = ir.Aggregate(selector, sop.reference, default, self.reduction)
        if sop.presence is None and builder.is_well_typed(node):
            return NullableSequence(builder.add(node))
        sop = NullableSequence(builder.fill_none(sop.reference), builder.presence(sop))
        zero = builder.constant(0 if self.default is None else self.default)
        value = builder.add(ir.Aggregate(selector, sop.reference, zero, self.reduction))
        if sop.presence is not None:
            return builder.column(value, [self._all_present(builder, selector, sop.presence)])
        if self.default is not None:
            return NullableSequence(value)
        return builder.column(
            value, [builder.apply(Operator.GREATER, builder.add(ir.Width(selector)), builder.constant(0))]
        )

    def _all_present(self, builder: TypedBuilder, selector: str, present: str) -> str:
        """True where no selected value is None, False where all are; undefined where only some are."""
        default = builder.constant(self.default is not None)
        either = [
            builder.add(ir.Aggregate(selector, present, default, reduction))
            for reduction in (Reduction.MINIMUM, Reduction.MAXIMUM)
        ]
        return builder.add(ir.Table(tuple(either), tuple(((flag, flag), flag) for flag in (True, False))))


def check_selector(item: object, expression: Expression) -> Selector:
    """Check that an argument is a selector and return it.

    Raises:
        UsageError: If it is not a selector.
    """
    if not isinstance(item, Selector):
        hint = "rasp.Select(keys, queries, rasp.Comparison.EQ)"
        raise usage_error(
            f"{type(expression).__name__} takes a selector, not {describe_object(item)}", expression.place, hint
        )
    return item
