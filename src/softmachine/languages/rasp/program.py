"""RASP programs as immutable, validated data.

Definitions have a canonical order: dead code removed, each anonymous operation right before its first use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Final

from softmachine.languages.rasp.expression_printer import format_literal
from softmachine.languages.rasp.inference import infer_types
from softmachine.languages.rasp.ir import (
    ANONYMOUS,
    Definition,
    Length,
    Node,
    Repeat,
    Value,
    operands,
    rename_operands,
    structural_key,
)
from softmachine.languages.rasp.types import FiniteType, Type
from softmachine.languages.rasp.validation import find_letter_problems, find_structural_problems
from softmachine.languages.rasp.values import PartialValue, format_value, is_identical
from softmachine.languages.source import WordSource, find_name_problems
from softmachine.languages.text.diagnostics import Problem, validation_error
from softmachine.support.errors import SourceLocation

CAUSAL_LENGTH_NOTE: Final = (
    "the program is causal, so length is the number of letters up to each position, not of the whole input"
)


@dataclass(frozen=True, kw_only=True)
class RaspProgram(WordSource):
    """A RASP program: a list of sequence operators and selectors, one of which is the output.

    Args:
        name: Display name.
        alphabet: The input letters.
        letters: The value of `Tokens` for each letter; by default the letter itself.
        definitions: The operations, in evaluation order.
        output: The name of the output sequence operator.
        causal: Whether selectors see only keys up to the query, so that a decoder can run the program.
        stop: The output that ends an autoregressive run; None if the program is not autoregressive.
        example: The suggested input.
        notes: Remarks for users, such as parts of the text that were ignored.
        place: The origin of the program, if it was parsed from text.
        output_place: The place of the output definition, for messages.
        lines: The lines of the text, for messages.
    """

    language: ClassVar[str] = "rasp"
    name: str
    alphabet: tuple[str, ...]
    letters: tuple[Value, ...] = ()
    definitions: tuple[Definition, ...]
    output: str
    causal: bool = False
    stop: str | None = None
    example: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    place: SourceLocation | None = field(default=None, compare=False, repr=False)
    output_place: InitVar[SourceLocation | None] = None
    lines: InitVar[Sequence[str]] = ()

    def __post_init__(self, output_place: SourceLocation | None, lines: Sequence[str]) -> None:
        if not self.letters:
            object.__setattr__(self, "letters", self.alphabet)
        names = (self.name, *self.alphabet, *(() if self.stop is None else (self.stop,)))
        problems = [
            *map(Problem, find_name_problems(names)),
            *find_letter_problems(self.alphabet, self.letters),
            *self._problems(),
        ]
        problems += find_structural_problems(self.definitions, self.output, output_place)
        types: Mapping[str, Type] = {}
        if not problems:
            types, problems = infer_types(self.definitions, self.letters, self.causal)
        if not problems:
            problems += self._scratchpad_problems(types[self.output], output_place)
        if problems:
            raise validation_error(f"RASP program {self.name!r}", problems, self.place, lines)
        # Fills the cached property eagerly.
        self.__dict__["types"] = types
        if self.causal and CAUSAL_LENGTH_NOTE not in self.notes and self._reads_length:
            object.__setattr__(self, "notes", (*self.notes, CAUSAL_LENGTH_NOTE))

    @property
    def _reads_length(self) -> bool:
        loops = [definition.node.body for definition in self.definitions if isinstance(definition.node, Repeat)]
        everything = chain(self.definitions, *loops)
        return any(isinstance(definition.node, Length) for definition in everything)

    def _problems(self) -> Iterator[Problem]:
        if self.stop is not None and not self.causal:
            yield Problem("only a causal program can have a stop symbol; add a line: # causal")
        for letter in self.example:
            if letter not in self.alphabet:
                yield Problem(f"letter {letter!r} of the suggested input is not in the alphabet")

    def _scratchpad_problems(self, output: Type, place: SourceLocation | None) -> Iterator[Problem]:
        """The output of an autoregressive program must be a letter or the stop symbol."""
        if self.stop is None:
            return
        rule = f"with a stop symbol, every output must be a letter or {self.stop!r}"
        if not isinstance(output, FiniteType):
            yield Problem(f"{rule}, but the output is {output}", place)
            return
        for value in output.values:
            if self.output_symbol(value) is None:
                yield Problem(f"{rule}, but the output may be {format_literal(value)}", place)

    @property
    def default_input(self) -> tuple[str, ...]:
        """The suggested input."""
        return self.example

    def letter_of(self, item: Any) -> Any:
        """The letter for a value; strings, and values without a letter, are returned unchanged."""
        if isinstance(item, str):
            return item
        pairs = zip(self.alphabet, self.letters, strict=True)
        return next((letter for letter, value in pairs if is_identical(item, _comparable_value(item, value))), item)

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The operations by name."""
        return {definition.name: definition.node for definition in self.definitions}

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every sequence operator in order of definition, including those inside loops."""
        raise AssertionError("__post_init__ sets the types")

    def output_symbol(self, value: Value) -> str | None:
        """The letter or stop symbol that an autoregressive run appends for an output value; None if there is none."""
        for letter, meant in zip(self.alphabet, self.letters, strict=True):
            if is_identical(value, meant):
                return letter
        written = format_value(value)
        return written if written == self.stop or written in self.alphabet else None

    def format_values(self, values: Iterable[PartialValue]) -> str:
        """Output values as text: concatenated if every possible value is one character, else separated by spaces."""
        written = [format_value(value) for value in values]
        output = self.types[self.output]
        possible = map(format_value, output.values) if isinstance(output, FiniteType) else ["any number"]
        joined = all(len(text) == 1 for text in (*possible, *written))
        return ("" if joined else " ").join(written)

    def __str__(self) -> str:
        count = len(self.definitions)
        return f"RASP program {self.name}: {len(self.alphabet)} letters, {count} definition{'s' * (count != 1)}"

    def _repr_html_(self) -> str:
        from softmachine.languages.rasp.printer import program_table

        return program_table(self)


def _comparable_value(item: object, value: Value) -> Any:
    """A value for comparison with an item: a fraction becomes a float if the item is a float."""
    return float(value) if isinstance(item, float) and isinstance(value, Fraction) else value


@dataclass(frozen=True, kw_only=True)
class OpenProgram(RaspProgram):
    """A program text without a declared alphabet; by default its alphabet is the letters that it mentions.

    Args:
        with_alphabet: Function from an alphabet to the same program over it.
    """

    with_alphabet: Callable[[tuple[str, ...]], RaspProgram] = field(compare=False, repr=False)

    def with_symbols(self, symbols: Iterable[str]) -> RaspProgram:
        """The same program over an alphabet extended by more letters."""
        return self.with_alphabet(tuple(symbols))


def canonicalise(definitions: Iterable[Definition], output: str) -> tuple[tuple[Definition, ...], str]:
    """The definitions that an output depends on, in the order in which parsing creates them, and the output's name.

    Named definitions keep their relative order. Anonymous ones come right before their first use and are numbered by
    index: ``_1``, ``_2``, …, and in the first loop ``_1_1``, ``_1_2``, …
    """
    result, names = _renumber(definitions, [output], "_", {})
    return result, names[output]


def _renumber(
    definitions: Iterable[Definition], roots: Sequence[str], prefix: str, loops: dict[Hashable, Repeat]
) -> tuple[tuple[Definition, ...], dict[str, str]]:
    """The needed definitions in order, with anonymous ones numbered; and the new names of all."""
    names: dict[str, str] = {}
    result: list[Definition] = []
    by_name = {definition.name: definition for definition in definitions}
    for number, definition in enumerate(_topological_order(by_name, roots), start=1):
        name = f"{prefix}{number}" if ANONYMOUS.fullmatch(definition.name) else definition.name
        names[definition.name] = name
        node = definition.node
        if isinstance(node, Repeat):
            node = _canonicalise_loop(node, loops)
        result.append(Definition(name, rename_operands(node, names), definition.place))
    return tuple(result), names


def _canonicalise_loop(node: Repeat, loops: dict[Hashable, Repeat]) -> Repeat:
    key = structural_key(replace(node, result=""))
    if key not in loops:
        body, names = _renumber(node.body, node.next_values, f"_{len(loops) + 1}_", loops)
        loops[key] = replace(node, body=body, next_values=tuple(names.get(name, name) for name in node.next_values))
    return replace(loops[key], result=node.result)


def _topological_order(by_name: Mapping[str, Definition], roots: Iterable[str]) -> list[Definition]:
    """The requested definitions and their transitive operands, in topological order."""
    needed: set[str] = set()
    waiting = [name for name in roots if name in by_name]
    roots = list(waiting)
    while waiting:
        name = waiting.pop()
        if name not in needed and name in by_name:
            needed.add(name)
            waiting += operands(by_name[name].node)
    named = [name for name in by_name if name in needed and not ANONYMOUS.fullmatch(name)]
    done: dict[str, Definition] = {}
    for root in [*named, *roots]:
        stack = [root]
        while stack:
            name = stack[-1]
            missing = [used for used in operands(by_name[name].node) if used in by_name and used not in done]
            if name in done or not missing:
                done.setdefault(name, by_name[name])
                stack.pop()
            else:
                stack.append(missing[0])
    return list(done.values())
