"""C-RASP programs, as immutable, validated data.

A program names terms and formulas, one after the other. It either ends with a formula, and accepts the words at whose
last position this is true; or it has rules, and writes a chain of thought: at the last position of the tokens so far,
the first rule whose body is true says which token comes next.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import ClassVar

from softmachine.languages.crasp.formula import Comparison, NamedFormula
from softmachine.languages.crasp.printing import program_table
from softmachine.languages.crasp.relation import RELATIONS
from softmachine.languages.crasp.terms import Count, NamedTerm, Term, formulas_in, largest_number, nesting, numbers_in
from softmachine.languages.linear import LARGEST_NUMBER, Linear
from softmachine.languages.source import OfWords, name_problems, spelled
from softmachine.languages.temporal.formula import And, Constant, Formula, Iff, Implies, Not, Or, Symbol, subformulas
from softmachine.languages.text.problems import Problem, invalid
from softmachine.support.errors import Place
from softmachine.support.text import many

ACCEPT, REJECT = "ACC", "REJ"
"""The tokens that end a run."""
DEEPEST = 200
"""Operators nested in one another."""
NAME = re.compile(r"[^\W\d]\w*")
RESERVED = frozenset({"true", "false", "not", "and", "or", "min", "max", "program", "alphabet", "accept"})
"""Words of the language."""
OPERATORS = (Symbol, Constant, Not, And, Or, Implies, Iff, Comparison, NamedFormula)


@dataclass(frozen=True)
class Definition:
    """``name := body``: a formula or a term that later lines may use."""

    name: str
    body: Formula | Term
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Rule:
    """``token <- body``: if the body is true at the last position, and that of no rule before, the token comes next."""

    token: str
    body: Formula
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Program(OfWords):
    """A C-RASP program. All problems are reported at once.

    Positions are 1 … n over the input and the tokens that follow it. Where there is no token yet, before the first
    position, no symbol is there and every count is 0; that is where the empty word is judged.

    Args:
        name: What people call it.
        alphabet: The letters an input may have.
        definitions: Named formulas and terms, each made of those before it.
        rules: The rules of the chain of thought, in order; none if it only accepts.
        accept: What is true at the last position of the words it accepts; None if it has rules.
        place: Where it comes from, if it comes from a text,
        accept_place: where what is accepted stands there, and
        lines: the text, for messages.
    """

    language: ClassVar[str] = "crasp"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    definitions: tuple[Definition, ...] = ()
    rules: tuple[Rule, ...] = ()
    accept: Formula | None = None
    place: Place | None = field(default=None, compare=False, repr=False)
    accept_place: InitVar[Place | None] = None
    lines: InitVar[Sequence[str]] = ()

    def __post_init__(self, accept_place: Place | None, lines: Sequence[str]) -> None:
        names = (self.name, *self.alphabet, *(rule.token for rule in self.rules))
        problems = list(map(Problem, name_problems(names)))
        problems = problems or check(self.alphabet, self.definitions, self.rules, self.accept, accept_place)
        if problems:
            raise invalid(f"C-RASP program {self.name!r}", problems, self.place, lines)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The letters, and the heads of the rules that are no letters."""
        return tuple(dict.fromkeys((*self.alphabet, *(rule.token for rule in self.rules))))

    @property
    def thinks(self) -> bool:
        """Whether it writes a chain of thought."""
        return bool(self.rules)

    @property
    def bodies(self) -> tuple[Formula | Term, ...]:
        """What its lines say, in their order."""
        accepted = () if self.accept is None else (self.accept,)
        return (*(entry.body for entry in self.definitions), *(rule.body for rule in self.rules), *accepted)

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The relations that it counts through."""
        terms = (term for body in self.bodies for term in _terms_of(body))
        counts = (number for term in terms for number in numbers_in(term) if isinstance(number, Count))
        return tuple(dict.fromkeys(count.relation for count in counts if count.relation is not None))

    def __getitem__(self, name: str) -> Formula | Term:
        """What a name stands for."""
        return self._bodies[name]

    @cached_property
    def _bodies(self) -> dict[str, Formula | Term]:
        return {definition.name: definition.body for definition in self.definitions}

    def spell(self, tokens: Iterable[str]) -> str:
        """Tokens as text: joined if all that there are have one character, with blanks between otherwise."""
        return spelled(tokens, self.tokens)

    def __str__(self) -> str:
        size = many(len(self.rules), "rule") if self.rules else "no chain of thought"
        letters, names = many(len(self.alphabet), "letter"), many(len(self.definitions), "name")
        return f"C-RASP program {self.name}: {letters}, {names}, {size}"

    def _repr_html_(self) -> str:
        return program_table(self)


def _terms_of(body: Formula | Term) -> Iterator[Term]:
    """Every term of a body that is not part of another one, apart from those in formulas that are counted in it."""
    if isinstance(body, Linear):
        yield body
    for part in formulas_of(body):
        if isinstance(part, Comparison):
            yield part.left
            yield part.right


def formulas_of(body: Formula | Term) -> tuple[Formula, ...]:
    """All formulas in a body, each once and after its parts."""
    roots = formulas_in(body) if isinstance(body, Linear) else (body,)
    return subformulas(*roots)


def check(
    alphabet: tuple[str, ...],
    definitions: tuple[Definition, ...],
    rules: tuple[Rule, ...],
    accept: Formula | None,
    accept_place: Place | None,
) -> list[Problem]:
    """Everything that is wrong with a program."""
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
        problems.append(Problem("it has rules and ends with accept; leave out one of both", accept_place))
    if accept is None and not rules:
        problems.append(Problem("it says nothing; end with rules like ACC <- #[Q_a] = 0, or with: accept #[Q_a] = 0"))
    return problems


def _alphabet_problems(alphabet: tuple[str, ...]) -> Iterator[Problem]:
    if not alphabet:
        yield Problem("it has no alphabet; write a line like: alphabet a b")
    for letter, times in Counter(alphabet).items():
        if not letter:
            yield Problem("the alphabet has an empty symbol; a symbol has at least one character")
        if times > 1:
            yield Problem(f"letter {letter!r} is listed {times} times in the alphabet")
        if letter in (ACCEPT, REJECT):
            yield Problem(f"{letter} ends a run, so it is no letter; call the letter something else")


def _name_problems(definition: Definition, known: dict[str, Formula | Term]) -> Iterator[Problem]:
    name = definition.name
    if name in RESERVED:
        yield Problem(f"{name!r} is a word of the language; choose another name", definition.place)
    elif not NAME.fullmatch(name) or name.startswith("Q_"):
        yield Problem(f"{name!r} is not a name; use letters, digits and _, and not Q_ at the start", definition.place)
    if name in known:
        yield Problem(f"{name!r} is defined twice; give the second one another name", definition.place)


def _body_problems(body: Formula | Term, known: dict[str, Formula | Term], tokens: frozenset[str]) -> Iterator[str]:
    formulas = formulas_of(body)
    if formulas and max(part.depth for part in formulas) > DEEPEST:
        yield f"it is nested more than {DEEPEST} deep; name parts of it"
    for part in formulas:
        if not isinstance(part, OPERATORS):
            yield f"C-RASP has no {type(part).__name__}, only not, and, or, ->, <-> and comparisons of counts"
        elif isinstance(part, Symbol) and part.symbol not in tokens:
            yield f"{part.symbol!r} is neither a letter nor the head of a rule"
        elif isinstance(part, NamedFormula) and not isinstance(known.get(part.name), Formula):
            yield _misnamed(part.name, "formula", known)
    terms = tuple(_terms_of(body))
    for number in dict.fromkeys(number for each in terms for number in numbers_in(each)):
        if isinstance(number, NamedTerm) and not isinstance(known.get(number.name), Linear):
            yield _misnamed(number.name, "term", known)
        if isinstance(number, Count) and number.relation is not None and number.relation not in RELATIONS:
            yield f"there is no relation {number.relation!r}; there is {', '.join(RELATIONS)}"
    if any(nesting(each) > DEEPEST for each in terms):
        yield f"its conditional terms are nested more than {DEEPEST} deep; name parts of it"
    if any(largest_number(each) > LARGEST_NUMBER for each in terms):
        yield "it has a number larger than 10^18, the largest there is"


def _misnamed(name: str, wanted: str, known: dict[str, Formula | Term]) -> str:
    if name in known:
        return f"{name!r} is a {'formula' if wanted == 'term' else 'term'}, and a {wanted} is needed"
    return f"{name!r} is not defined before"
