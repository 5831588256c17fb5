"""C-RASP programs and their formulas, as immutable, validated data; their text, and HTML tables for notebooks.

A formula is true or false at every position 1 … n of a sequence of tokens, and only the past is visible. Symbols and
Boolean connectives are those of temporal logic; C-RASP adds comparisons of terms, and names. It is the counting part
TL[#←, +] of temporal logic, also known as K_t[#] (Yang and Chiang, "Counting Like Transformers"), with names, and with
counts through a relation.

A program is a sequence of definitions of terms and formulas. It either ends with an acceptance formula, and accepts the
words at whose last position it is true; or it has rules, and generates a chain of thought: the first rule whose body is
true at the last position determines the next token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from softmachine.languages.crasp.relations import RELATIONS
from softmachine.languages.crasp.terms import (
    AtomicTerm,
    Conditional,
    Count,
    Maximum,
    Minimum,
    NamedTerm,
    Term,
    find_atoms,
    find_formulas,
    max_abs_number,
    nesting_depth,
    subterms,
)
from softmachine.languages.linear import MAX_NUMBER, LinearExpression, Relation, format_linear
from softmachine.languages.source import WordSource, find_name_problems, find_repetitions, format_word
from softmachine.languages.temporal.formula import (
    And,
    BooleanConstant,
    Formula,
    Iff,
    Implies,
    LinearComparison,
    Not,
    Or,
    Symbol,
    subformulas,
)
from softmachine.languages.temporal.printer import ASCII, FormulaWriter, Level, quote_symbol
from softmachine.languages.text.diagnostics import Problem, validation_error
from softmachine.support.errors import SourceLocation
from softmachine.support.notebook_html import html_table
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula


TermShape: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False)
class NamedFormula(Formula):
    """Reference to a formula defined earlier."""

    name: str

    def write(self, _writer: FormulaWriter) -> tuple[str, Level]:
        return self.name, Level.ATOM


class TermComparison(LinearComparison[AtomicTerm]):
    """``2*#[φ] - P + 3 <= 5``: comparison of two terms."""

    def max_abs(self, side: Term) -> int:
        return max_abs_number(side)

    @property
    def parts(self) -> tuple[Formula, ...]:
        return find_formulas(self.left) + find_formulas(self.right)

    @property
    def label(self) -> tuple[object, ...]:
        """The relation and both terms, without the formulas in them."""
        return (self.relation, _term_shape(self.left), _term_shape(self.right))

    def format_side(self, side: Term, writer: FormulaWriter) -> str:
        return format_term(side, writer)


def _term_shape(term: Term) -> TermShape:
    """A term without its formulas."""
    return (term.constant, *((coefficient, *_atom_shape(number)) for coefficient, number in term.terms))


def _atom_shape(number: AtomicTerm) -> TermShape:
    own = number.relation if isinstance(number, Count) else number.name if isinstance(number, NamedTerm) else None
    return (type(number), own, *map(_term_shape, subterms(number)))


def make_comparison(left: Term | int, relation: str, right: Term | int) -> TermComparison:
    """Build a comparison, as in ``make_comparison(term(Count(Symbol("a"))), ">=", 2)``."""
    sides = (LinearExpression[AtomicTerm]((), side) if isinstance(side, int) else side for side in (left, right))
    return TermComparison(next(sides), Relation(relation), next(sides))


ACCEPT, REJECT = "ACC", "REJ"
"""The tokens that end a run."""
MAX_DEPTH = 200
"""Maximum nesting depth of operators."""
NAME = re.compile(r"[^\W\d]\w*")
RESERVED = frozenset({"true", "false", "not", "and", "or", "min", "max", "program", "alphabet", "accept"})
"""Keywords."""
OPERATORS = (Symbol, BooleanConstant, Not, And, Or, Implies, Iff, TermComparison, NamedFormula)


@dataclass(frozen=True)
class Definition:
    """``name := body``: definition of a formula or a term."""

    name: str
    body: Formula | Term
    place: SourceLocation | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Rule:
    """``token <- body``: the first rule whose body is true at the last position determines the next token."""

    token: str
    body: Formula
    place: SourceLocation | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CraspProgram(WordSource):
    """A C-RASP program. All problems are reported at once.

    Positions are 1 … n over the input and the generated tokens. At position 0, before the first token, there is no
    symbol and every count is 0; the empty word is evaluated there.

    Args:
        name: Name of the program.
        alphabet: The input alphabet.
        definitions: Definitions of formulas and terms, which may use earlier ones.
        rules: The rules of the chain of thought, in order; empty if there is an acceptance formula.
        accept: The acceptance formula, true at the last position of accepted words; None if there are rules.
        place: Origin of the text, if the program was parsed.
        accept_place: Place of the acceptance formula in the text.
        lines: The lines of the text, for messages.
    """

    language: ClassVar[str] = "crasp"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    definitions: tuple[Definition, ...] = ()
    rules: tuple[Rule, ...] = ()
    accept: Formula | None = None
    place: SourceLocation | None = field(default=None, compare=False, repr=False)
    accept_place: InitVar[SourceLocation | None] = None
    lines: InitVar[Sequence[str]] = ()

    def __post_init__(self, accept_place: SourceLocation | None, lines: Sequence[str]) -> None:
        names = (self.name, *self.alphabet, *(rule.token for rule in self.rules))
        problems = list(map(Problem, find_name_problems(names)))
        problems = problems or find_problems(self.alphabet, self.definitions, self.rules, self.accept, accept_place)
        if problems:
            raise validation_error(f"C-RASP program {self.name!r}", problems, self.place, lines)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The letters, followed by the other tokens of the rules."""
        return tuple(dict.fromkeys((*self.alphabet, *(rule.token for rule in self.rules))))

    @property
    def has_chain_of_thought(self) -> bool:
        """Whether the program generates a chain of thought."""
        return bool(self.rules)

    @property
    def bodies(self) -> tuple[Formula | Term, ...]:
        """The bodies of the definitions and rules, and the acceptance formula, in order."""
        accepted = () if self.accept is None else (self.accept,)
        return (*(entry.body for entry in self.definitions), *(rule.body for rule in self.rules), *accepted)

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The relations used in counts."""
        terms = (term for body in self.bodies for term in _terms_of(body))
        counts = (number for term in terms for number in find_atoms(term) if isinstance(number, Count))
        return tuple(dict.fromkeys(count.relation for count in counts if count.relation is not None))

    def __getitem__(self, name: str) -> Formula | Term:
        """The body of a definition."""
        return self._bodies[name]

    @cached_property
    def _bodies(self) -> dict[str, Formula | Term]:
        return {definition.name: definition.body for definition in self.definitions}

    def format_tokens(self, tokens: Iterable[str]) -> str:
        """Format tokens: concatenated if all tokens of the program are single characters, else separated by spaces."""
        return format_word(tokens, self.tokens)

    def __str__(self) -> str:
        size = pluralize(len(self.rules), "rule") if self.rules else "no chain of thought"
        letters, names = pluralize(len(self.alphabet), "letter"), pluralize(len(self.definitions), "name")
        return f"C-RASP program {self.name}: {letters}, {names}, {size}"

    def _repr_html_(self) -> str:
        return program_table(self)


def _terms_of(body: Formula | Term) -> Iterator[Term]:
    """The body itself if it is a term, and both sides of every comparison in it."""
    if isinstance(body, LinearExpression):
        yield body
    for part in subformulas_of(body):
        if isinstance(part, TermComparison):
            yield part.left
            yield part.right


def subformulas_of(body: Formula | Term) -> tuple[Formula, ...]:
    """All formulas in a body in topological order, parts first, without repetition."""
    roots = find_formulas(body) if isinstance(body, LinearExpression) else (body,)
    return subformulas(*roots)


def find_problems(
    alphabet: tuple[str, ...],
    definitions: tuple[Definition, ...],
    rules: tuple[Rule, ...],
    accept: Formula | None,
    accept_place: SourceLocation | None,
) -> list[Problem]:
    """All problems of a program."""
    problems = list(_alphabet_problems(alphabet))
    tokens = frozenset((*alphabet, *(rule.token for rule in rules)))
    known: dict[str, Formula | Term] = {}
    for definition in definitions:
        problems += _name_problems(definition, known)
        problems += (
            Problem(f"{definition.name!r}: {problem}", definition.place)
            for problem in _body_problems(definition.body, known, tokens)
        )
        known.setdefault(definition.name, definition.body)
    for rule in rules:
        if not rule.token:
            problems.append(Problem("a rule has an empty token", rule.place))
        problems += (
            Problem(f"rule for {rule.token!r}: {problem}", rule.place)
            for problem in _body_problems(rule.body, known, tokens)
        )
    if accept is not None:
        problems += (Problem(f"accept: {problem}", accept_place) for problem in _body_problems(accept, known, tokens))
    if accept is not None and rules:
        problems.append(Problem("it has both rules and accept; remove one of them", accept_place))
    if accept is None and not rules:
        examples = "ACC <- #[Q_a] = 0, or with: accept #[Q_a] = 0"
        problems.append(Problem(f"it has neither rules nor accept; end with rules such as {examples}"))
    return problems


def _alphabet_problems(alphabet: tuple[str, ...]) -> Iterator[Problem]:
    if not alphabet:
        yield Problem("it has no alphabet; add a line such as: alphabet a b")
    if "" in alphabet:
        yield Problem("the alphabet has an empty symbol; a symbol has at least one character")
    yield from map(Problem, find_repetitions(alphabet))
    for letter in (ACCEPT, REJECT):
        if letter in alphabet:
            yield Problem(f"{letter} ends a run, so it cannot be a letter; rename the letter")


def _name_problems(definition: Definition, known: dict[str, Formula | Term]) -> Iterator[Problem]:
    name = definition.name
    if name in RESERVED:
        yield Problem(f"{name!r} is a keyword; choose another name", definition.place)
    elif not NAME.fullmatch(name) or name.startswith("Q_"):
        yield Problem(f"{name!r} is not a valid name; use letters, digits and _, and no prefix Q_", definition.place)
    if name in known:
        yield Problem(f"{name!r} is defined twice; give the second one another name", definition.place)


def _body_problems(body: Formula | Term, known: dict[str, Formula | Term], tokens: frozenset[str]) -> Iterator[str]:
    formulas = subformulas_of(body)
    if formulas and max(part.depth for part in formulas) > MAX_DEPTH:
        yield f"it is nested more than {MAX_DEPTH} deep; define parts of it by name"
    for part in formulas:
        if not isinstance(part, OPERATORS):
            yield f"C-RASP has no {type(part).__name__}, only not, and, or, ->, <-> and comparisons of counts"
        elif isinstance(part, Symbol) and part.symbol not in tokens:
            yield f"{part.symbol!r} is neither a letter nor the token of a rule"
        elif isinstance(part, NamedFormula) and not isinstance(known.get(part.name), Formula):
            yield _name_problem(part.name, "formula", known)
    terms = tuple(_terms_of(body))
    for number in dict.fromkeys(number for each in terms for number in find_atoms(each)):
        if isinstance(number, NamedTerm) and not isinstance(known.get(number.name), LinearExpression):
            yield _name_problem(number.name, "term", known)
        if isinstance(number, Count) and number.relation is not None and number.relation not in RELATIONS:
            yield f"unknown relation {number.relation!r}; the relations are {', '.join(RELATIONS)}"
    if any(nesting_depth(each) > MAX_DEPTH for each in terms):
        yield f"its conditional terms are nested more than {MAX_DEPTH} deep; define parts of it by name"
    if any(max_abs_number(each) > MAX_NUMBER for each in terms):
        yield "it has a number larger than 10^18, the maximum"


def _name_problem(name: str, expected: str, known: dict[str, Formula | Term]) -> str:
    if name in known:
        return f"{name!r} is a {'formula' if expected == 'term' else 'term'}; expected a {expected}"
    return f"{name!r} is not defined before its use"


MAX_HEAD_WIDTH = 16


def to_text(program: CraspProgram) -> str:
    """Format a program. `parse` is the inverse."""
    names = (entry.name for entry in program.definitions)
    width = min(
        MAX_HEAD_WIDTH,
        max((len(head) for head in (*names, *(_format_token(rule.token) for rule in program.rules))), default=0),
    )
    lines = [
        f"program {_format_token(program.name)}",
        f"alphabet {' '.join(_format_token(letter) for letter in program.alphabet)}",
        *(f"{entry.name:{width}} := {format_body(entry.body)}" for entry in program.definitions),
        *(f"{_format_token(rule.token):{width}} <- {format_body(rule.body)}" for rule in program.rules),
    ]
    if program.accept is not None:
        lines.append(f"accept {format_body(program.accept)}")
    return "\n".join(lines) + "\n"


def format_body(body: Formula | Term) -> str:
    """Format a formula or a term."""
    if not isinstance(body, LinearExpression):
        return str(body)
    writer = FormulaWriter(ASCII)
    for formula in find_formulas(body):
        for part in subformulas(formula):
            writer.write(part)
    return format_term(body, writer)


def format_term(term: Term, writer: FormulaWriter) -> str:
    """Format a term whose formulas have been written already."""
    return format_linear(term, lambda number: _format_atom(number, writer))


def _format_atom(number: AtomicTerm, writer: FormulaWriter) -> str:
    match number:
        case Count(of, relation):
            return f"#{relation or ''}[{writer.parenthesise(of, Level.IFF)}]"
        case NamedTerm(name):
            return name
        case Conditional(condition, then, otherwise):
            branches = f"{format_term(then, writer)} : {format_term(otherwise, writer)}"
            return f"({writer.parenthesise(condition, Level.IFF)} ? {branches})"
        case Minimum(of):
            return f"min({', '.join(format_term(each, writer) for each in of)})"
        case Maximum(of):
            return f"max({', '.join(format_term(each, writer) for each in of)})"


def _format_token(token: str) -> str:
    """Format a token, in quotes if necessary."""
    return token if re.fullmatch(r"\w+", token) else quote_symbol(token)


def program_table(program: CraspProgram) -> str:
    """HTML table of the definitions, rules and acceptance formula, one per row."""
    rows = [(entry.name, ":=", format_body(entry.body)) for entry in program.definitions]
    rows += [(rule.token, "←", format_body(rule.body)) for rule in program.rules]
    if program.accept is not None:
        rows.append(("accept", "", format_body(program.accept)))
    return html_table(rows, f"C-RASP program {program.name} over {' '.join(program.alphabet)}")
