"""The type of every expression, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import Enum

from softmachine.languages.linear import Relation
from softmachine.languages.source import is_symbol, name_problems
from softmachine.languages.srasp import expressions as ex
from softmachine.languages.srasp.equality import separate
from softmachine.languages.srasp.expressions import Expression, Index, indices, show
from softmachine.languages.srasp.value_types import BOOLEAN, INTEGER, Kind, Type
from softmachine.languages.text.layout import quote
from softmachine.languages.text.problems import Problem

LARGEST_INTEGER = 10**9
LONGEST_SHOWN = 60
MOST_COMPARED = 200
NO_J = "there is no j here: only psum, leftmost and rightmost have one"
ONLY_J = "a prefix sum is over j, and what it adds may not depend on i"


class Scope(Enum):
    """Where an expression stands, and so which positions it may speak of."""

    HERE = "i"
    TERM = "j"
    VALUE = "ij"
    PREDICATE = "ij, compared by equality only"


class Inference:
    """Infers the types of expressions and collects what is wrong with them.

    Args:
        alphabet: The letters of the input.
        types: The types of the vectors so far; None for one that has none because of a mistake reported elsewhere.
        names: The names of all vectors, those that are defined later among them.
    """

    def __init__(self, alphabet: tuple[str, ...], types: Mapping[str, Type | None], names: frozenset[str]) -> None:
        self.given = {"in": Type(Kind.SYMBOL, tuple(dict.fromkeys(alphabet))), "pos": INTEGER}
        self.types = types
        self.names = names
        self.problems: list[Problem] = []

    def infer(self, expression: Expression, scope: Scope = Scope.HERE) -> Type | None:
        """The type of an expression; None, and a problem, if it has none."""
        match expression:
            case ex.Vector(name=name, at=at):
                known = self._is_known(expression)
                in_scope = self._is_in_scope(expression, at, scope)
                return self.given.get(name) or self.types[name] if in_scope and known else None
            case ex.Symbol(value=symbol):
                return Type(Kind.SYMBOL, (symbol,)) if self._is_symbol(symbol, expression) else None
            case ex.Integer(value=number):
                return INTEGER if self._is_moderate(number, expression) else None
            case ex.Truth():
                return BOOLEAN
            case ex.Not(operand=operand):
                self._demand(operand, scope, Kind.BOOLEAN, "'not' negates a Boolean")
                return BOOLEAN
            case ex.And(parts=parts) | ex.Or(parts=parts):
                word = "and" if isinstance(expression, ex.And) else "or"
                if len(parts) < 2:
                    self._report(f"{word!r} joins two parts or more; here are {len(parts)}", expression)
                for part in parts:
                    self._demand(part, scope, Kind.BOOLEAN, f"{word!r} joins Booleans")
                return BOOLEAN
            case ex.Add(left=left, right=right) | ex.Subtract(left=left, right=right):
                sign, verb = ("+", "adds") if isinstance(expression, ex.Add) else ("-", "subtracts")
                for operand in (left, right):
                    self._demand(operand, scope, Kind.INTEGER, f"{sign!r} {verb} integers")
                return INTEGER
            case ex.Compare():
                return self._compare(expression, scope)
            case ex.Member():
                return self._member(expression, scope)
            case ex.Conditional(condition=condition, then=then, otherwise=otherwise):
                self._demand(condition, scope, Kind.BOOLEAN, "what stands between 'if' and 'else' is a Boolean")
                return self._either(then, scope, otherwise, scope, "what stands before 'if' and after 'else'")
            case ex.PrefixSum(term=term):
                self._is_outermost(expression, scope)
                demand = "a prefix sum adds integers; write (1 if … else 0) to count"
                self._demand(term, Scope.TERM, Kind.INTEGER, demand)
                return INTEGER
            case ex.Attention():
                self._is_outermost(expression, scope)
                self._demand(expression.predicate, Scope.PREDICATE, Kind.BOOLEAN, "what follows 'where' is a Boolean")
                what = "the value and the default of an attention"
                return self._either(expression.value, Scope.VALUE, expression.default, Scope.HERE, what)

    def _demand(self, expression: Expression, scope: Scope, kind: Kind, why: str) -> None:
        found = self.infer(expression, scope)
        if found and found.kind is not kind:
            self._report(f"{_short(expression)} is {_a(found)}, but {why}", expression)

    def _either(self, one: Expression, scope: Scope, other: Expression, other_scope: Scope, what: str) -> Type | None:
        first, second = self.infer(one, scope), self.infer(other, other_scope)
        if first and second and first.kind is not second.kind:
            pair = f"{_short(one)} is {_a(first)} and {_short(other)} is {_a(second)}"
            self._report(f"{what} must be of one type, but {pair}", other)
            return None
        return first.union(second) if first and second else first or second

    def _compare(self, expression: ex.Compare, scope: Scope) -> Type:
        left, right = self.infer(expression.left, scope), self.infer(expression.right, scope)
        if not left or not right:
            return BOOLEAN
        ordered = expression.relation not in (Relation.EQUAL, Relation.UNEQUAL)

        def pair() -> str:
            return f"{_short(expression.left)} is {_a(left)} and {_short(expression.right)} is {_a(right)}"

        if left.kind is not right.kind:
            self._report(f"only values of one type can be compared, but {pair()}", expression)
        elif ordered and left.kind is not Kind.INTEGER:
            self._report(f"{expression.relation.value!r} compares integers, but {pair()}", expression)
        elif left.kind is Kind.SYMBOL and not set(left.symbols) & set(right.symbols):
            if isinstance(expression.right, ex.Symbol):
                self._never(expression.left, left, expression.right.value)
            else:
                self._report(f"{_short(expression)}: these are never equal, for {pair()}", expression)
        elif left.kind is Kind.INTEGER and scope is Scope.PREDICATE and len(indices(expression)) > 1:
            if ordered:
                self._report(
                    f"{_short(expression)}: an integer at i and one at j can only be compared by '=' and '!=' "
                    "when an attention chooses; other comparisons may stand in its value",
                    expression,
                )
            elif separate(expression) is None:
                self._report(
                    f"{_short(expression)}: a term of this depends on both i and j; "
                    "write it as an integer at i = an integer at j",
                    expression,
                )
        return BOOLEAN

    def _member(self, expression: ex.Member, scope: Scope) -> Type:
        found = self.infer(expression.operand, scope)
        if not expression.symbols:
            self._report(f"{_short(expression)}: the set is empty; write at least one symbol", expression)
        if found and found.kind is not Kind.SYMBOL:
            self._report(f"{_short(expression.operand)} is {_a(found)}, but a set has symbols", expression.operand)
        elif found:
            possible = set(found.symbols)
            for symbol in expression.symbols:
                if symbol not in possible:
                    self._never(expression.operand, found, symbol)
        return BOOLEAN

    def _never(self, expression: Expression, found: Type, symbol: str) -> None:
        self._report(f"{_short(expression)} is never {quote(symbol)}: it is {_a(found)}", expression)

    def _is_in_scope(self, read: Expression, at: Index, scope: Scope) -> bool:
        # Checked as a value and not as a type, for programs built in Python.
        if at not in ("i", "j"):
            self._report(f"{_short(read)}: the positions are called i and j", read)
            return False
        if scope is Scope.HERE and at == "j":
            self._report(f"{_short(read)}: {NO_J}; write i", read)
        elif scope is Scope.TERM and at == "i":
            self._report(f"{_short(read)}: {ONLY_J}; write j", read)
        return True

    def _is_known(self, read: ex.Vector) -> bool:
        if read.name in self.given or read.name in self.types:
            return True
        if read.name in self.names:
            self._report(f"{read.name!r} is used before it is defined; vectors are computed from top to bottom", read)
        else:
            # A long list of similar mistakes is cut when it is shown, and looking for similar names takes long.
            known = sorted(self.names) if max(len(self.problems), len(self.names)) < MOST_COMPARED else []
            similar = get_close_matches(read.name, known, n=1)
            hint = f"did you mean {similar[0]!r}?" if similar else "define it in a line before this one"
            self._report(f"there is no vector {read.name!r}; {hint}", read)
        return False

    def _is_symbol(self, symbol: str, expression: Expression) -> bool:
        problem = symbol_problem(symbol)
        if problem:
            self._report(problem, expression)
        return not problem

    def _is_moderate(self, number: int, expression: Expression) -> bool:
        if abs(number) > LARGEST_INTEGER:
            self._report(f"integers in a program are at most {LARGEST_INTEGER:,} in size", expression)
            return False
        return True

    def _is_outermost(self, operation: Expression, scope: Scope) -> None:
        if scope is not Scope.HERE:
            message = (
                "an operation cannot stand inside another, where j is taken; define it as a vector of its own first"
            )
            self._report(f"{_short(operation)}: {message}", operation)

    def _report(self, message: str, expression: Expression) -> None:
        self.problems.append(Problem(message, expression.place))


def symbol_problem(symbol: str) -> str | None:
    """What is wrong with a symbol, if anything."""
    if not is_symbol(symbol):
        return f"symbol {quote(symbol)} is empty or has blanks in it"
    return next(iter(name_problems((symbol,))), None)


def _a(found: Type) -> str:
    return f"an {found}" if found.kind is Kind.INTEGER else f"a {found}"


def _short(expression: Expression) -> str:
    text = show(expression)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 2].rstrip() + " …"
