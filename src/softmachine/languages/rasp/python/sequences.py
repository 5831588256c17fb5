"""Sequence operators of the Python dialect: the inputs and the elementwise functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.python.expression import (
    Expression,
    Operators,
    check_function,
    check_value,
    describe_object,
    usage_error,
)
from softmachine.languages.rasp.python.function_lowering import CoreFunction, lower_function
from softmachine.languages.rasp.python.lowering import evaluate_expression
from softmachine.languages.rasp.python.typed_builder import NullableSequence, TypedBuilder
from softmachine.languages.rasp.values import is_number, to_value
from softmachine.support.errors import SourceLocation, UsageError


class Encoding(Enum):
    """How tracr encodes a sequence operator. Ignored here, since every encoding is exact."""

    CATEGORICAL = "categorical"
    NUMERICAL = "numerical"


class SOp(Expression, Operators["SOp"]):
    """A sequence operator: a value at every position of the input.

    Python's operators combine two sequence operators, or one and a constant. Calling it on a list returns its values.
    """

    default_name = "sop"
    kind = "sequence operator"
    __hash__ = object.__hash__

    def operate(self, operator: Operator, *operands: object) -> SOp:
        """Build an elementwise operation."""
        function = CoreFunction(operator)
        first, *others = [operand if isinstance(operand, SOp) else Full(operand) for operand in operands]
        return SequenceMap(function, first, others[0]) if others else Map(function, first)

    def __call__(self, xs: Sequence[object]) -> list[Any]:
        """Its values on an input over any letters.

        Raises:
            InputError: If it is undefined at some position.
        """
        return evaluate_expression(self, xs)

    def __bool__(self) -> bool:
        raise UsageError(
            f"{self.name!r} has a value at every position, so it is neither true nor false",
            hint="use & | ~ in place of and, or, not; rasp.Map or rasp.SequenceMap in place of if",
        )


class TokensType(SOp):
    """The input."""

    default_name = "tokens"

    def define(self, builder: TypedBuilder) -> NullableSequence:
        """Add the operation."""
        return NullableSequence(builder.add(ir.Tokens()))


class IndicesType(SOp):
    """The position, counted from 0."""

    default_name = "indices"

    def define(self, builder: TypedBuilder) -> NullableSequence:
        """Add the operation."""
        return NullableSequence(builder.add(ir.Indices()))


class LengthType(SOp):
    """The length of the input; in a causal program, of the prefix read so far."""

    default_name = "length"

    def define(self, builder: TypedBuilder) -> NullableSequence:
        """Add the operation."""
        return NullableSequence(builder.add(ir.Length()))


tokens = TokensType()
indices = IndicesType()
length = LengthType()


class Full(SOp):
    """The same value at every position.

    Args:
        fill: The value.
    """

    default_name = "full"

    def __init__(self, fill: object) -> None:
        super().__init__()
        self.fill = check_value(fill, self.place)

    def define(self, builder: TypedBuilder) -> NullableSequence:
        """Add the operation."""
        return NullableSequence(builder.constant(self.fill))


class Map(SOp):
    """A function applied elementwise. It is not called on None, which stays None.

    Args:
        f: The function.
        inner: Its argument.
        simplify: Ignored; accepted for compatibility with tracr.
    """

    default_name = "map"
    operand_names = ("inner",)

    def __init__(self, f: Callable[[Any], Any], inner: SOp, simplify: bool = True) -> None:  # noqa: ARG002
        super().__init__()
        self.f = check_function(f, "the first argument of Map", self.place, "Map(lambda x: …, sop)")
        self.inner = check_sop(inner, "the argument of Map", self.place)

    def define(self, builder: TypedBuilder, inner: NullableSequence) -> NullableSequence:
        """Add the operations."""
        return lower_elementwise(builder, self.f, inner)


class SequenceMap(SOp):
    """A function of two sequence operators, applied elementwise. The result is None where an argument is None.

    Args:
        f: The function.
        fst: Its first argument.
        snd: Its second argument.
    """

    default_name = "sequence_map"
    operand_names = ("fst", "snd")

    def __init__(self, f: Callable[[Any, Any], Any], fst: SOp, snd: SOp) -> None:
        super().__init__()
        self.f = check_function(f, "the first argument of SequenceMap", self.place, "SequenceMap(lambda x, y: …, a, b)")
        self.fst = check_sop(fst, f"the first argument of {type(self).__name__}", self.place)
        self.snd = check_sop(snd, f"the second argument of {type(self).__name__}", self.place)

    def define(self, builder: TypedBuilder, fst: NullableSequence, snd: NullableSequence) -> NullableSequence:
        """Add the operations."""
        return lower_elementwise(builder, self.f, fst, snd)


class LinearSequenceMap(SequenceMap):
    """A linear combination of two numeric sequence operators.

    Args:
        fst: The first operand.
        snd: The second operand.
        fst_fac: The factor of the first operand.
        snd_fac: The factor of the second operand.
    """

    default_name = "linear_sequence_map"

    def __init__(self, fst: SOp, snd: SOp, fst_fac: float, snd_fac: float) -> None:
        super().__init__(lambda x, y: fst_fac * x + snd_fac * y, fst, snd)
        factors = [check_value(factor, self.place) for factor in (fst_fac, snd_fac)]
        if not all(map(is_number, factors)):
            raise UsageError("a factor of LinearSequenceMap must be a number", hint="LinearSequenceMap(a, b, 1, -1)")
        self.fst_fac, self.snd_fac = fst_fac, snd_fac

    def define(self, builder: TypedBuilder, fst: NullableSequence, snd: NullableSequence) -> NullableSequence:
        """Add the operations; fractional factors are exact."""
        first = _times(builder, to_value(self.fst_fac), fst)
        if self.snd_fac < 0:
            return lower_elementwise(
                builder, CoreFunction(Operator.SUBTRACT), first, _times(builder, to_value(-self.snd_fac), snd)
            )
        return lower_elementwise(
            builder, CoreFunction(Operator.ADD), first, _times(builder, to_value(self.snd_fac), snd)
        )


def _times(builder: TypedBuilder, factor: Value, column: NullableSequence) -> NullableSequence:
    if factor == 1:
        return column
    return lower_elementwise(
        builder, CoreFunction(Operator.MULTIPLY), NullableSequence(builder.constant(factor)), column
    )


class ConstantSOp(SOp):
    """Values that do not depend on the input, for tests; undefined at inputs of other lengths.

    Args:
        value: The value at each position.
        check_length: Whether the input must have exactly this length; otherwise it may be shorter.
    """

    default_name = "constant_sop"

    def __init__(self, value: Sequence[object], check_length: bool = True) -> None:
        super().__init__()
        self.value = [check_value(item, self.place) for item in value]
        self.check_length = check_length

    def define(self, builder: TypedBuilder) -> NullableSequence:
        """Add the operations."""
        return NullableSequence(position_table(builder, self.value, check_length=self.check_length))


def position_table(builder: TypedBuilder, items: Sequence[Value], *, check_length: bool) -> str:
    """A table from positions to values; with ``check_length``, defined only for inputs of that length."""
    position, size = builder.add(ir.Indices()), builder.add(ir.Length())
    if check_length and not builder.causal:
        rows = tuple(((k, len(items)), item) for k, item in enumerate(items))
        return builder.add(ir.Table((position, size), rows))
    return builder.add(ir.Table((position,), tuple(((k,), item) for k, item in enumerate(items))))


def lower_elementwise(
    builder: TypedBuilder, function: Callable[..., Any], *columns: NullableSequence
) -> NullableSequence:
    """Lower an elementwise function, to one operation if the core has it."""
    domains = [builder.finite_domain(column.reference) for column in columns]
    if not isinstance(function, CoreFunction) or not function.agrees_with_python(domains):
        return lower_function(builder, function, columns)
    references = [column.reference for column in columns]
    value = _match_mask(builder, function, references) or builder.apply(function.operator, *references)
    return builder.column(value, [column.presence for column in columns if column.presence])


def _match_mask(builder: TypedBuilder, function: CoreFunction, references: Sequence[str]) -> str | None:
    """An unbounded number times a 0/1 mask as a choice, which has a construction at every length."""
    if function.operator is not Operator.MULTIPLY:
        return None
    for mask, number in (references, references[::-1]):
        domain = builder.finite_domain(mask)
        if domain is not None and set(domain) <= {0, 1} and builder.finite_domain(number) is None:
            return builder.apply(Operator.CHOOSE, number, mask, builder.constant(0))
    return None


def sop_not(sop: SOp) -> SOp:
    """The elementwise negation of a sequence operator."""
    return ~sop


def numerical(sop: SOp) -> SOp:
    """Mark a sequence operator as numerical and return it."""
    return sop.annotated(encoding=Encoding.NUMERICAL)


def categorical(sop: SOp) -> SOp:
    """Mark a sequence operator as categorical and return it."""
    return sop.annotated(encoding=Encoding.CATEGORICAL)


def get_encoding(sop: SOp) -> Encoding:
    """The encoding mark of a sequence operator; categorical by default."""
    found = sop.annotations.get("encoding", Encoding.CATEGORICAL)
    assert isinstance(found, Encoding)
    return found


def is_numerical(sop: SOp) -> bool:
    """Whether it is marked as numerical."""
    return get_encoding(sop) is Encoding.NUMERICAL


def is_categorical(sop: SOp) -> bool:
    """Whether it is marked as categorical, or not marked."""
    return get_encoding(sop) is Encoding.CATEGORICAL


def check_sop(item: object, description: str, place: SourceLocation | None) -> SOp:
    """Check that an argument is a sequence operator and return it.

    Raises:
        UsageError: If it is not a sequence operator.
    """
    if not isinstance(item, SOp):
        hint = "use rasp.Aggregate or SelectorWidth" if isinstance(item, Expression) else "use rasp.Full(value)"
        raise usage_error(f"{description} must be a sequence operator, not {describe_object(item)}", place, hint)
    return item
