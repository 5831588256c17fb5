"""Selectors: which keys a query selects; and what is made of what they select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from softmachine.languages.rasp import core
from softmachine.languages.rasp.core import Operator, Reduction
from softmachine.languages.rasp.python.draft import Column, Draft
from softmachine.languages.rasp.python.elementary import Elementary
from softmachine.languages.rasp.python.expressions import Expression, checked_function, checked_value, described, usage
from softmachine.languages.rasp.python.predicates import selected
from softmachine.languages.rasp.python.programs import values
from softmachine.languages.rasp.python.sequences import SOp, by_position, checked_sop
from softmachine.support.errors import UsageError


class Comparison(Enum):
    """How a key is compared with a query."""

    EQ = "=="
    LT = "<"
    LEQ = "<="
    GT = ">"
    GEQ = ">="
    NEQ = "!="
    TRUE = "True"
    FALSE = "False"

    def __call__(self, key: Any, query: Any) -> Any:
        """Whether a key and a query compare so. None cannot be compared."""
        if key is None or query is None:
            raise TypeError("None cannot be compared")
        if self in (Comparison.TRUE, Comparison.FALSE):
            return self is Comparison.TRUE
        return Elementary(Operator(self.value))(key, query)


class Selector(Expression):
    """Which keys each query selects.

    They are joined by & and |, and negated by ~. Called on a list, one gives a row of Booleans for each query.
    """

    default_name = "selector"
    kind = "selector"

    def __call__(self, xs: Sequence[object]) -> list[list[bool]]:
        """Which keys each query selects, on an input.

        Raises:
            InputError: If it is undefined somewhere.
        """
        return values(self, xs)

    def __bool__(self) -> bool:
        raise UsageError(f"{self.name!r} is neither true nor false", hint="use & | ~ in place of and, or, not")

    def __and__(self, other: Selector) -> Selector:
        return SelectorAnd(self, other)

    def __or__(self, other: Selector) -> Selector:
        return SelectorOr(self, other)

    def __invert__(self) -> Selector:
        return SelectorNot(self)


class Select(Selector):
    """The keys that compare so with the query.

    Args:
        keys: The keys.
        queries: The queries.
        predicate: A `Comparison`, or a function of a key and a query.
    """

    default_name = "select"

    def __init__(self, keys: SOp, queries: SOp, predicate: Comparison | Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.keys = checked_sop(keys, "the first argument of Select", self.place)
        self.queries = checked_sop(queries, "the second argument of Select", self.place)
        self.predicate = checked_function(
            predicate, "the predicate of Select", self.place, "a Comparison, or lambda key, query: …"
        )

    @property
    def children(self) -> Sequence[Expression]:
        """Keys and queries."""
        return (self.keys, self.queries)

    def define(self, draft: Draft, keys: Column, queries: Column) -> str:
        """Add the operations."""
        if not isinstance(self.predicate, Comparison):
            return selected(draft, self.predicate, keys, queries)
        always = self.predicate in (Comparison.TRUE, Comparison.FALSE)
        if always and draft.presence(keys) is None and draft.presence(queries) is None:
            return draft.add(core.SelectAll(self.predicate is Comparison.TRUE))
        if always:
            return selected(draft, self.predicate, keys, queries)
        return draft.add(core.Select(draft.defined(keys), draft.defined(queries), Operator(self.predicate.value)))


class ConstantSelector(Selector):
    """A selector that does not depend on the input.

    Args:
        value: True for every key, False for none; or a row for each query, for inputs of that length.
        check_length: Whether the input must be as long as the rows; otherwise it may be shorter.
    """

    default_name = "constant_selector"

    def __init__(self, value: bool | Sequence[Sequence[bool]], check_length: bool = True) -> None:
        super().__init__()
        self.value = value
        self.check_length = check_length
        if not isinstance(value, bool) and any(len(row) != len(value) for row in value):
            hint = "for example [[True, False], [True, True]]"
            raise usage("a row of a ConstantSelector has a Boolean for each key", self.place, hint)

    @property
    def children(self) -> Sequence[Expression]:
        """Nothing."""
        return ()

    def define(self, draft: Draft) -> str:
        """Add the operations."""
        if isinstance(self.value, bool):
            return draft.add(core.SelectAll(self.value))
        position = by_position(draft, range(len(self.value)), check_length=self.check_length)
        pairs = tuple((k, q) for q, row in enumerate(self.value) for k, wanted in enumerate(row) if wanted)
        return draft.add(core.SelectPairs(position, position, pairs))


class _Joined(Selector):
    operator: Operator

    def __init__(self, fst: Selector, snd: Selector) -> None:
        super().__init__()
        self.fst = checked_selector(fst, self)
        self.snd = checked_selector(snd, self)

    @property
    def children(self) -> Sequence[Expression]:
        """Both."""
        return (self.fst, self.snd)

    def define(self, draft: Draft, fst: str, snd: str) -> str:
        """Add the operation."""
        return fst if fst == snd else draft.add(core.Combine(self.operator, (fst, snd)))


class SelectorAnd(_Joined):
    """The keys that two selectors both select."""

    default_name = "selector_and"
    operator = Operator.AND


class SelectorOr(_Joined):
    """The keys that at least one of two selectors selects."""

    default_name = "selector_or"
    operator = Operator.OR


class SelectorNot(Selector):
    """The keys that a selector does not select."""

    default_name = "selector_not"

    def __init__(self, inner: Selector) -> None:
        super().__init__()
        self.inner = checked_selector(inner, self)

    @property
    def children(self) -> Sequence[Expression]:
        """The selector."""
        return (self.inner,)

    def define(self, draft: Draft, inner: str) -> str:
        """Add the operation."""
        return draft.add(core.Combine(Operator.NOT, (inner,)))


def selector_and(fst: Selector, snd: Selector, simplify: bool = True) -> Selector:  # noqa: ARG001
    """The keys that both select; ``simplify`` is there for programs that say it, and means nothing."""
    return fst & snd


def selector_or(fst: Selector, snd: Selector, simplify: bool = True) -> Selector:  # noqa: ARG001
    """The keys that at least one selects."""
    return fst | snd


def selector_not(inner: Selector, simplify: bool = True) -> Selector:  # noqa: ARG001
    """The keys that it does not select."""
    return ~inner


class SelectorWidth(SOp):
    """How many keys each query selects."""

    default_name = "selector_width"

    def __init__(self, selector: Selector) -> None:
        super().__init__()
        self.selector = checked_selector(selector, self)

    @property
    def children(self) -> Sequence[Expression]:
        """The selector."""
        return (self.selector,)

    def define(self, draft: Draft, selector: str) -> Column:
        """Add the operation."""
        return Column(draft.add(core.Width(selector)))


class Aggregate(SOp):
    """What is selected, as one value: the mean of numbers; of others the one that is selected.

    Args:
        selector: Which values.
        sop: The values.
        default: The value where nothing is selected.
        reduction: What is made of several values; the mean, unless it is said.
    """

    default_name = "aggregate"

    def __init__(
        self, selector: Selector, sop: SOp, default: object = None, reduction: Reduction = Reduction.MEAN
    ) -> None:
        super().__init__()
        self.selector = checked_selector(selector, self)
        self.sop = checked_sop(sop, "the second argument of Aggregate", self.place)
        self.default = checked_value(default, self.place)
        self.reduction = reduction

    @property
    def children(self) -> Sequence[Expression]:
        """Selector and values."""
        return (self.selector, self.sop)

    def define(self, draft: Draft, selector: str, sop: Column) -> Column:
        """Add the operations. Where nothing is selected, a number without bound is None beside its value."""
        unused = self.default is None and draft.always_selects(selector) and draft.numeric(sop.reference)
        default = draft.constant(0 if unused else self.default)
        node = core.Aggregate(selector, sop.reference, default, self.reduction)
        if sop.present is None and draft.fits(node):
            return Column(draft.add(node))
        sop = Column(draft.filled(sop.reference), draft.presence(sop))
        zero = draft.constant(0 if self.default is None else self.default)
        value = draft.add(core.Aggregate(selector, sop.reference, zero, self.reduction))
        if sop.present is not None:
            return draft.column(value, [self._all_present(draft, selector, sop.present)])
        if self.default is not None:
            return Column(value)
        return draft.column(value, [draft.apply(Operator.GREATER, draft.add(core.Width(selector)), draft.constant(0))])

    def _all_present(self, draft: Draft, selector: str, present: str) -> str:
        """Where nothing that is selected is None; undefined where some is and some is not."""
        default = draft.constant(self.default is not None)
        either = [
            draft.add(core.Aggregate(selector, present, default, reduction))
            for reduction in (Reduction.SMALLEST, Reduction.LARGEST)
        ]
        return draft.add(core.Table(tuple(either), tuple(((flag, flag), flag) for flag in (True, False))))


def checked_selector(item: object, where: Expression) -> Selector:
    """A selector.

    Raises:
        UsageError: If it is none.
    """
    if not isinstance(item, Selector):
        hint = "rasp.Select(keys, queries, rasp.Comparison.EQ)"
        raise usage(f"{type(where).__name__} takes a selector, not {described(item)}", where.place, hint)
    return item
