"""S-RASP programs as immutable, validated data; their text, and HTML tables for notebooks.

A program is a sequence of definitions of vectors. A vector has a Boolean, a symbol or an integer at every position of
the input. B-RASP is the fragment without integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import ClassVar

from softmachine.languages.source import WordSource, find_name_problems, find_repetitions
from softmachine.languages.srasp.ast import Expression, Type, Value, ValueKind, format_expression, tree_depth
from softmachine.languages.srasp.inference import IndexScope, SraspTypeInference, symbol_problem
from softmachine.languages.text.diagnostics import Problem, validation_error
from softmachine.languages.text.statements import quote
from softmachine.support.errors import SourceLocation
from softmachine.support.notebook_html import html_table

MAX_DEPTH = 100
RESERVED = frozenset(
    {"i", "j", "in", "pos", "psum", "leftmost", "rightmost", "where", "if", "else", "and", "or", "not", "true", "false"}
    | {"program", "alphabet", "output"}
)
NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Definition:
    """``name(i) = body``."""

    name: str
    body: Expression
    place: SourceLocation | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class SraspProgram(WordSource):
    """An S-RASP program: vectors, each computed at every position from the input and the vectors before it.

    The types of the vectors are inferred, and all problems of a program are reported at once.

    Args:
        name: Name of the program.
        alphabet: The input alphabet.
        definitions: The vectors, in the order of computation.
        output: The vector that is the result. If it is Boolean, its value at the last position is the verdict.
        place: Origin of the text, if the program was parsed.
        output_place: Place of the output declaration in the text.
        lines: The lines of the text, for messages.
    """

    language: ClassVar[str] = "srasp"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    definitions: tuple[Definition, ...]
    output: str
    place: SourceLocation | None = field(default=None, compare=False, repr=False)
    output_place: InitVar[SourceLocation | None] = None
    lines: InitVar[Sequence[str]] = ()

    def __post_init__(self, output_place: SourceLocation | None, lines: Sequence[str]) -> None:
        if problems := list(map(Problem, find_name_problems((self.name, *self.alphabet)))):
            raise validation_error(f"S-RASP program {self.name!r}", problems, self.place, lines)
        problems, types = find_problems(self.alphabet, self.definitions, self.output, output_place)
        if problems:
            raise validation_error(f"S-RASP program {self.name!r}", problems, self.place, lines)
        # Fills the cached property.
        self.__dict__["types"] = {name: found for name, found in types.items() if found}

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every vector, in the order of the definitions."""
        raise AssertionError("types are inferred when a program is constructed")

    @cached_property
    def _bodies(self) -> dict[str, Expression]:
        return {definition.name: definition.body for definition in self.definitions}

    def __getitem__(self, name: str) -> Expression:
        """The expression that defines a vector."""
        return self._bodies[name]

    def type_of(self, expression: Expression) -> Type:
        """The type of an expression over the vectors of this program, at i or j."""
        inference = SraspTypeInference(self.alphabet, self.types, frozenset())
        found = inference.infer(expression, IndexScope.VALUE)
        if found is None:
            raise validation_error(f"S-RASP program {self.name!r}", inference.problems, expression.place)
        return found

    @property
    def has_verdict(self) -> bool:
        """Whether the output is Boolean, so that its value at the last position is a verdict."""
        return self.types[self.output].kind is ValueKind.BOOLEAN

    def format_values(self, values: Iterable[Value]) -> str:
        """Format values of the output: single-character symbols concatenated, all other values separated by spaces."""
        written = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        output = self.types[self.output]
        joined = output.kind is ValueKind.SYMBOL and all(len(symbol) == 1 for symbol in output.symbols)
        return ("" if joined else " ").join(written)

    def __str__(self) -> str:
        vectors = f"{len(self.definitions)} vector{'' if len(self.definitions) == 1 else 's'}"
        return f"S-RASP program {self.name}: {len(self.alphabet)} letters, {vectors}, output {self.output}"

    def _repr_html_(self) -> str:
        return program_table(self)


def find_problems(
    alphabet: tuple[str, ...], definitions: tuple[Definition, ...], output: str, output_place: SourceLocation | None
) -> tuple[list[Problem], dict[str, Type | None]]:
    """All problems of a program, and the types of its vectors (None for vectors with problems)."""
    problems = list(_alphabet_problems(alphabet))
    types: dict[str, Type | None] = {}
    inference = SraspTypeInference(alphabet, types, frozenset(definition.name for definition in definitions))
    for definition in definitions:
        inference.problems += _name_problems(definition, types)
        found = None
        if tree_depth(definition.body) > MAX_DEPTH:
            message = f"{definition.name!r} is nested more than {MAX_DEPTH} deep; define parts of it as vectors"
            inference.problems.append(Problem(message, definition.place))
        else:
            found = inference.infer(definition.body)
        types.setdefault(definition.name, found)
    problems += inference.problems
    problems += _output_problems(types, output, output_place)
    return problems, types


def _alphabet_problems(alphabet: tuple[str, ...]) -> Iterator[Problem]:
    if not alphabet:
        yield Problem("it has no alphabet; add a line such as: alphabet a b")
    yield from map(Problem, find_repetitions(alphabet))
    for problem in filter(None, map(symbol_problem, dict.fromkeys(alphabet))):
        yield Problem(f"in the alphabet, {problem}")


def _name_problems(definition: Definition, types: Mapping[str, Type | None]) -> Iterator[Problem]:
    name = definition.name
    if name in RESERVED:
        yield Problem(f"{name!r} is a keyword; rename the vector", definition.place)
    elif not NAME.fullmatch(name):
        yield Problem(f"{name!r} is not a valid name; use letters, digits and _", definition.place)
    if name in types:
        yield Problem(f"{name!r} is defined twice; give the second one another name", definition.place)


def _output_problems(types: Mapping[str, Type | None], output: str, place: SourceLocation | None) -> Iterator[Problem]:
    known = " ".join(types) or "there are none"
    if not output:
        yield Problem(
            f"it has no output; end with a line that names a vector, as in: output {next(iter(types), 'good')}"
        )
    elif output not in types:
        yield Problem(f"the output {output!r} is not one of its vectors ({known})", place)


MAX_NAME_WIDTH = 16


def to_text(program: SraspProgram) -> str:
    """Format a program. `parse` is the inverse."""
    width = min(MAX_NAME_WIDTH, max(len(definition.name) for definition in program.definitions)) + len("(i)")
    lines = [
        # Outside the alphabet line, # begins a comment.
        f"program {program.name if _is_plain(program.name) and '#' not in program.name else quote(program.name)}",
        f"alphabet {' '.join(letter if _is_plain(letter) else quote(letter) for letter in program.alphabet)}",
        *(f"{f'{entry.name}(i)':{width}} = {format_expression(entry.body)}" for entry in program.definitions),
        f"output {program.output}",
    ]
    return "\n".join(lines) + "\n"


def program_table(program: SraspProgram) -> str:
    """HTML table of the vectors, one per row, with types and definitions."""
    rows = [
        (
            entry.name,
            str(program.types[entry.name]),
            format_expression(entry.body),
            "output" * (entry.name == program.output),
        )
        for entry in program.definitions
    ]
    return html_table(rows, str(program), head=("vector", "type", "definition", ""))


def _is_plain(word: str) -> bool:
    """Whether a word needs no quotes: it has no spaces, and begins neither a quote nor a comment."""
    return bool(word) and word.isprintable() and " " not in word and word[0] not in "'\"#"
