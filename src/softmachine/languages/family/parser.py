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
    LEVELS,
    Comparison,
    Expression,
    Family,
    Indexed,
    Log,
    Number,
    Operation,
    Range,
    Rule,
    Variable,
)
from softmachine.languages.source import check_size, name_of
from softmachine.support.errors import Place, SourceError

LARGEST_SOURCE = 1 << 16
"""Maximum characters of a source."""
DEEPEST = 40
"""Maximum nesting of parentheses."""
TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<word>[^\W\d]\w*)|(?P<sign>\.\.|!=|<=|>=|[-+*/%^=<>()\[\],]))")
KEYWORDS = ("for", "in", "if", "and", "log")
EXAMPLE = "a rule is written as in: p(l, i) = AND p(l-1, 2*i) p(l-1, 2*i+1) for l in 1..log(n), i in 0..n-1"


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Family:
    """Parse a family.

    Raises:
        SourceError: If there is a syntax error.
        InvalidError: If the family is not valid.
    """
    check_size(text, source, "a family may have", largest=LARGEST_SOURCE)
    rules: list[Rule] = []
    header: dict[str, Line] = {}
    for number, written in enumerate(text.split("\n"), start=1):
        line = Line.of(written.partition("#")[0], Place(source, number))
        keyword = line.peek()
        if keyword in ("family", "depth", "output") and line.peek(1) not in ("=", "("):
            if keyword in header:
                raise line.error(f"there is already a line that begins with {keyword!r}")
            header[keyword] = line.next()
        elif keyword:
            rules.append(_rule(line))
    own_name = header["family"].rest() if "family" in header else ""
    exponent, deepest = _depth(header["depth"]) if "depth" in header else (1, None)
    if "output" not in header:
        raise SourceError("there is no output line", place=Place(source), hint="write, for example: output y")
    output = _indexed(header["output"])
    header["output"].end()
    return Family(
        name=name or own_name or name_of(source) or "family",
        exponent=exponent,
        rules=tuple(rules),
        output=output,
        deepest=deepest,
        place=Place(source),
    )


def to_text(family: Family) -> str:
    """Format a family as source text, which `parse` accepts."""
    at_most = f" <= {family.deepest}" if family.deepest is not None else ""
    lines = [f"family {family.name}", f"depth log^{family.exponent}{at_most}", "", *map(str, family.rules)]
    return "\n".join([*lines, f"output {family.output}"]) + "\n"


@dataclass
class Line:
    """The tokens of a line and the read position."""

    text: str
    place: Place
    tokens: tuple[tuple[str, int], ...]
    at: int = 0

    @staticmethod
    def of(text: str, place: Place) -> Line:
        """Tokenise a line, given without its comment."""
        tokens, position = [], 0
        header = text.split(maxsplit=1)
        if header and header[0] == "family":  # A name may be arbitrary text.
            return Line(text, place, (("family", text.index("family") + 1),))
        while text[position:].strip():
            found = TOKEN.match(text, position)
            if found is None:
                column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
                raise SourceError(
                    f"unexpected {text[column - 1]!r}\n    {text.strip()[:100]}",
                    place=replace(place, column=column),
                    hint=EXAMPLE,
                )
            tokens.append((found[found.lastgroup or 0], found.start(found.lastgroup or 0) + 1))
            position = found.end()
        return Line(text, place, tuple(tokens))

    def peek(self, ahead: int = 0) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at + ahead][0] if self.at + ahead < len(self.tokens) else ""

    def next(self) -> Line:
        """Skip a token; returns the line itself."""
        self.at += 1
        return self

    def take(self, *expected: str) -> str:
        """Consume the next token, which must be one of the expected ones."""
        token = self.peek()
        if token not in expected:
            found = repr(token) if token else "the end of the line"
            raise self.error(f"expected {' or '.join(map(repr, expected))}, found {found}")
        self.at += 1
        return token

    def name(self, what: str) -> str:
        """Consume the next token, which must be a name."""
        token = self.peek()
        if not token or not (token[0].isalpha() or token[0] == "_") or token in KEYWORDS:
            raise self.error(f"expected {what}, found {repr(token) if token else 'the end of the line'}")
        self.at += 1
        return token

    def rest(self) -> str:
        """The text after the first word."""
        return self.text.split(maxsplit=1)[1].strip() if len(self.text.split(maxsplit=1)) > 1 else ""

    def end(self) -> None:
        """Check that all tokens are consumed."""
        if self.peek():
            raise self.error(f"unexpected {self.peek()!r}; expected the end of the line")

    def error(self, message: str) -> SourceError:
        """A syntax error at the next token."""
        column = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text.rstrip()) + 1
        shown = f"{message}\n    {self.text.strip()[:100]}"
        return SourceError(shown, place=replace(self.place, column=column), hint=EXAMPLE)


def _depth(line: Line) -> tuple[int, Expression | None]:
    """Parse the exponent and the optional bound on the depth."""
    exponent, deepest = 1, None
    line.take("log")
    if line.peek() not in ("", "<="):
        line.take("^")
        if not line.peek().isdecimal():
            raise line.error("expected an exponent, as in log^2")
        exponent = int(line.peek()[:6])
        line.next()
    if line.peek():
        line.take("<=")
        deepest = _expression(line)
    line.end()
    return exponent, deepest


def _rule(line: Line) -> Rule:
    wire = _indexed(line)
    line.take("=")
    known = [str(kind) for kind in KINDS]
    kind = GateKind(line.take(*known))
    at_least = None
    if kind is GateKind.THR:
        line.take("(")
        at_least = _expression(line)
        line.take(")")
    arguments = [_argument(line)]
    while line.peek() not in ("", "for", "if"):
        arguments.append(_argument(line))
    ranges, conditions = _bounds(line)
    line.end()
    return Rule(wire, kind, tuple(arguments), at_least, ranges, conditions, line.place)


def _argument(line: Line) -> Indexed:
    if line.peek() != "[":
        return _indexed(line)
    line.next()
    part = _indexed(line)
    if line.peek() != "for":
        raise line.error("expected 'for': brackets enclose a list of wires over some indices")
    ranges, conditions = _bounds(line)
    line.take("]")
    return replace(part, ranges=ranges, conditions=conditions)


def _indexed(line: Line) -> Indexed:
    name = line.name("the name of a wire")
    indices: list[Expression] = []
    if line.peek() == "(":
        line.next()
        indices.append(_expression(line))
        while line.take(",", ")") == ",":
            indices.append(_expression(line))
    return Indexed(name, tuple(indices))


def _bounds(line: Line) -> tuple[tuple[Range, ...], tuple[Comparison, ...]]:
    ranges: list[Range] = []
    conditions: list[Comparison] = []
    if line.peek() == "for":
        while line.peek() in ("for", ","):
            index = line.next().name("the name of an index")
            line.take("in")
            first = _expression(line)
            line.take("..")
            ranges.append(Range(index, first, _expression(line)))
    if line.peek() == "if":
        while line.peek() in ("if", "and"):
            left = _expression(line.next())
            relation = line.take("=", "!=", "<", "<=", ">", ">=")
            conditions.append(Comparison(relation, left, _expression(line)))
    return tuple(ranges), tuple(conditions)


def _expression(line: Line, level: int = 1, depth: int = 0) -> Expression:
    """Parse a sum (level 1), product (2) or power (3); all operators, powers included, are left-associative."""
    if depth > DEEPEST:
        raise line.error(f"parentheses are nested more than {DEEPEST} deep")
    if level > max(LEVELS.values()):
        return _atom(line, depth)
    found = _expression(line, level + 1, depth)
    while LEVELS.get(line.peek()) == level:
        sign = line.peek()
        found = Operation(sign, found, _expression(line.next(), level + 1, depth))
    return found


def _atom(line: Line, depth: int) -> Expression:
    token = line.peek()
    if token.isdecimal():
        if len(token) > 12:
            raise line.error("this number is too long")
        line.next()
        return Number(int(token))
    if token in ("(", "log"):
        line.next()
        if token == "log":
            line.take("(")
        inner = _expression(line, depth=depth + 1)
        line.take(")")
        return Log(inner) if token == "log" else inner
    return Variable(line.name("a number, n or an index"))
