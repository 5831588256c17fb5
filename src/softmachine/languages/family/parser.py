"""Parser and printer of uniform circuit families: ``.family`` files.

    family parity                                    the name
    depth log^1 <= 2*log(n) + 1                      O(log n), the d of AC^d or TC^d; the bound is optional

    odd(0, i)  = OR x(i)   for i in 0..n-1           a gate for each i; x(0), …, x(n-1) are the inputs
    even(0, i) = NOT x(i)  for i in 0..n-1
    some(l)    = OR [odd(l, i) for i in 0..n-1 if i % 2 = 0]  for l in 0..log(n)
    most       = THR(n/2 + 1) [x(i) for i in 0..n-1]
    output odd(log(n), 0)

Numbers: n, indices, + - * / % ^ and log(x), which is ⌈log₂ x⌉; / rounds down. Ranges include both bounds. A rule may
have several ranges, separated by commas, and after ``if`` conditions, joined by ``and``. Gates are AND, OR, NOT and
THR(k). ``#`` begins a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from softmachine.languages.circuit import GateKind
from softmachine.languages.family.family import (
    KINDS,
    PRECEDENCE,
    BinaryOperation,
    CircuitFamily,
    Expression,
    ExpressionComparison,
    IndexedWire,
    IndexRange,
    Log,
    Numeral,
    Rule,
    Variable,
)
from softmachine.languages.source import check_source_length, default_name
from softmachine.support.errors import SourceError, SourceLocation

MAX_SOURCE_LENGTH = 1 << 16
"""Maximum characters of a source."""
MAX_NESTING = 40
"""Maximum nesting of parentheses."""
TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<word>[^\W\d]\w*)|(?P<sign>\.\.|!=|<=|>=|[-+*/%^=<>()\[\],]))")
KEYWORDS = ("for", "in", "if", "and", "log")
RULE_HINT = "a rule is written as in: p(l, i) = AND p(l-1, 2*i) p(l-1, 2*i+1) for l in 1..log(n), i in 0..n-1"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> CircuitFamily:
    """Parse a family.

    Raises:
        SourceError: If there is a syntax error.
        InvalidError: If the family is not valid.
    """
    check_source_length(text, source, "a family may have", max_length=MAX_SOURCE_LENGTH)
    rules: list[Rule] = []
    header: dict[str, TokenCursor] = {}
    for number, written in enumerate(text.split("\n"), start=1):
        line = TokenCursor.tokenise(written.partition("#")[0], SourceLocation(source, number))
        keyword = line.peek()
        if keyword in ("family", "depth", "output") and line.peek(1) not in ("=", "("):
            if keyword in header:
                raise line.error(f"there is already a line that begins with {keyword!r}")
            header[keyword] = line.skip()
        elif keyword:
            rules.append(_parse_rule(line))
    own_name = header["family"].text_after_keyword() if "family" in header else ""
    exponent, deepest = _parse_depth(header["depth"]) if "depth" in header else (1, None)
    if "output" not in header:
        raise SourceError("there is no output line", place=SourceLocation(source), hint="write, for example: output y")
    output = _parse_indexed(header["output"])
    header["output"].expect_end()
    return CircuitFamily(
        name=name or own_name or default_name(source) or "family",
        exponent=exponent,
        rules=tuple(rules),
        output=output,
        max_depth=deepest,
        place=SourceLocation(source),
    )


def to_text(family: CircuitFamily) -> str:
    """Format a family as source text, which `parse` accepts."""
    at_most = f" <= {family.max_depth}" if family.max_depth is not None else ""
    lines = [f"family {family.name}", f"depth log^{family.exponent}{at_most}", "", *map(str, family.rules)]
    return "\n".join([*lines, f"output {family.output}"]) + "\n"


@dataclass
class TokenCursor:
    """The tokens of a line and the read position."""

    text: str
    place: SourceLocation
    tokens: tuple[tuple[str, int], ...]
    position: int = 0

    @staticmethod
    def tokenise(text: str, place: SourceLocation) -> TokenCursor:
        """Tokenise a line, given without its comment."""
        tokens, position = [], 0
        header = text.split(maxsplit=1)
        if header and header[0] == "family":  # A name may be arbitrary text.
            return TokenCursor(text, place, (("family", text.index("family") + 1),))
        while text[position:].strip():
            found = TOKEN.match(text, position)
            if found is None:
                column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
                raise SourceError(
                    f"unexpected {text[column - 1]!r}\n    {text.strip()[:100]}",
                    place=replace(place, column=column),
                    hint=RULE_HINT,
                )
            tokens.append((found[found.lastgroup or 0], found.start(found.lastgroup or 0) + 1))
            position = found.end()
        return TokenCursor(text, place, tuple(tokens))

    def peek(self, ahead: int = 0) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.position + ahead][0] if self.position + ahead < len(self.tokens) else ""

    def skip(self) -> TokenCursor:
        """Skip a token; returns the line itself."""
        self.position += 1
        return self

    def expect(self, *expected: str) -> str:
        """Consume the next token, which must be one of the expected ones."""
        token = self.peek()
        if token not in expected:
            found = repr(token) if token else "the end of the line"
            raise self.error(f"expected {' or '.join(map(repr, expected))}, found {found}")
        self.position += 1
        return token

    def expect_name(self, description: str) -> str:
        """Consume the next token, which must be a name."""
        token = self.peek()
        if not token or not (token[0].isalpha() or token[0] == "_") or token in KEYWORDS:
            raise self.error(f"expected {description}, found {repr(token) if token else 'the end of the line'}")
        self.position += 1
        return token

    def text_after_keyword(self) -> str:
        """The text after the first word."""
        return self.text.split(maxsplit=1)[1].strip() if len(self.text.split(maxsplit=1)) > 1 else ""

    def expect_end(self) -> None:
        """Check that all tokens are consumed."""
        if self.peek():
            raise self.error(f"unexpected {self.peek()!r}; expected the end of the line")

    def error(self, message: str) -> SourceError:
        """A syntax error at the next token."""
        column = self.tokens[self.position][1] if self.position < len(self.tokens) else len(self.text.rstrip()) + 1
        shown = f"{message}\n    {self.text.strip()[:100]}"
        return SourceError(shown, place=replace(self.place, column=column), hint=RULE_HINT)


def _parse_depth(line: TokenCursor) -> tuple[int, Expression | None]:
    """Parse the exponent and the optional bound on the depth."""
    exponent, deepest = 1, None
    line.expect("log")
    if line.peek() not in ("", "<="):
        line.expect("^")
        if not line.peek().isdecimal():
            raise line.error("expected an exponent, as in log^2")
        exponent = int(line.peek()[:6])
        line.skip()
    if line.peek():
        line.expect("<=")
        deepest = _parse_expression(line)
    line.expect_end()
    return exponent, deepest


def _parse_rule(line: TokenCursor) -> Rule:
    wire = _parse_indexed(line)
    line.expect("=")
    known = [str(kind) for kind in KINDS]
    kind = GateKind(line.expect(*known))
    at_least = None
    if kind is GateKind.THR:
        line.expect("(")
        at_least = _parse_expression(line)
        line.expect(")")
    arguments = [_parse_argument(line)]
    while line.peek() not in ("", "for", "if"):
        arguments.append(_parse_argument(line))
    ranges, conditions = _parse_bounds(line)
    line.expect_end()
    return Rule(wire, kind, tuple(arguments), at_least, ranges, conditions, line.place)


def _parse_argument(line: TokenCursor) -> IndexedWire:
    if line.peek() != "[":
        return _parse_indexed(line)
    line.skip()
    part = _parse_indexed(line)
    if line.peek() != "for":
        raise line.error("expected 'for': brackets enclose a list of wires over some indices")
    ranges, conditions = _parse_bounds(line)
    line.expect("]")
    return replace(part, ranges=ranges, conditions=conditions)


def _parse_indexed(line: TokenCursor) -> IndexedWire:
    name = line.expect_name("the name of a wire")
    indices: list[Expression] = []
    if line.peek() == "(":
        line.skip()
        indices.append(_parse_expression(line))
        while line.expect(",", ")") == ",":
            indices.append(_parse_expression(line))
    return IndexedWire(name, tuple(indices))


def _parse_bounds(line: TokenCursor) -> tuple[tuple[IndexRange, ...], tuple[ExpressionComparison, ...]]:
    ranges: list[IndexRange] = []
    conditions: list[ExpressionComparison] = []
    if line.peek() == "for":
        while line.peek() in ("for", ","):
            index = line.skip().expect_name("the name of an index")
            line.expect("in")
            first = _parse_expression(line)
            line.expect("..")
            ranges.append(IndexRange(index, first, _parse_expression(line)))
    if line.peek() == "if":
        while line.peek() in ("if", "and"):
            left = _parse_expression(line.skip())
            relation = line.expect("=", "!=", "<", "<=", ">", ">=")
            conditions.append(ExpressionComparison(relation, left, _parse_expression(line)))
    return tuple(ranges), tuple(conditions)


def _parse_expression(line: TokenCursor, level: int = 1, depth: int = 0) -> Expression:
    """Parse a sum (level 1), product (2) or power (3); all operators, powers included, are left-associative."""
    if depth > MAX_NESTING:
        raise line.error(f"parentheses are nested more than {MAX_NESTING} deep")
    if level > max(PRECEDENCE.values()):
        return _parse_atom(line, depth)
    found = _parse_expression(line, level + 1, depth)
    while PRECEDENCE.get(line.peek()) == level:
        sign = line.peek()
        found = BinaryOperation(sign, found, _parse_expression(line.skip(), level + 1, depth))
    return found


def _parse_atom(line: TokenCursor, depth: int) -> Expression:
    token = line.peek()
    if token.isdecimal():
        if len(token) > 12:
            raise line.error("this number is too long")
        line.skip()
        return Numeral(int(token))
    if token in ("(", "log"):
        line.skip()
        if token == "log":
            line.expect("(")
        inner = _parse_expression(line, depth=depth + 1)
        line.expect(")")
        return Log(inner) if token == "log" else inner
    return Variable(line.expect_name("a number, n or an index"))
