"""RASP programs, as immutable, validated data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Final

from softmachine.languages.rasp.core import Definition, Length, Node, Repeat, Value
from softmachine.languages.rasp.expressions import literal
from softmachine.languages.rasp.inference import infer
from softmachine.languages.rasp.validation import letter_problems, shape_problems
from softmachine.languages.rasp.value_types import Finite, Type
from softmachine.languages.rasp.values import Result, same, spelled
from softmachine.languages.source import OfWords, name_problems
from softmachine.languages.text.problems import Problem, invalid
from softmachine.support.errors import Place

CAUSAL_LENGTH: Final = "the program is causal, so length is the number of letters up to each position, not of all"


@dataclass(frozen=True, kw_only=True)
class Program(OfWords):
    """A RASP program: sequence operators and selectors, one after the other, and the one that is the output.

    Args:
        name: What people call it.
        alphabet: The letters an input may have.
        letters: What `Tokens` is at each of these letters; by default the letter itself.
        definitions: The operations, in the order in which they are computed.
        output: The sequence operator that is the result.
        causal: Whether selectors see only keys up to the query, so that a decoder can run it.
        stop: With which output a program that feeds on its own output is done; None if it does not.
        example: The input that it suggests.
        notes: What people should know who read it from a text.
        place: Where it comes from, if it comes from a text,
        output_place: where its output is defined there, and
        lines: the text, for messages.
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
    place: Place | None = field(default=None, compare=False, repr=False)
    output_place: InitVar[Place | None] = None
    lines: InitVar[Sequence[str]] = ()

    def __post_init__(self, output_place: Place | None, lines: Sequence[str]) -> None:
        if not self.letters:
            object.__setattr__(self, "letters", self.alphabet)
        names = (self.name, *self.alphabet, *(() if self.stop is None else (self.stop,)))
        problems = [
            *map(Problem, name_problems(names)),
            *letter_problems(self.alphabet, self.letters),
            *self._problems(),
        ]
        problems += shape_problems(self.definitions, self.output, output_place)
        types: Mapping[str, Type] = {}
        if not problems:
            types, problems = infer(self.definitions, self.letters, self.causal)
        if not problems:
            problems += self._scratchpad_problems(types[self.output], output_place)
        if problems:
            raise invalid(f"RASP program {self.name!r}", problems, self.place, lines)
        # What a cached property does, only earlier.
        self.__dict__["types"] = types
        if self.causal and CAUSAL_LENGTH not in self.notes and self._reads_length:
            object.__setattr__(self, "notes", (*self.notes, CAUSAL_LENGTH))

    @property
    def _reads_length(self) -> bool:
        loops = [definition.node.body for definition in self.definitions if isinstance(definition.node, Repeat)]
        everything = chain(self.definitions, *loops)
        return any(isinstance(definition.node, Length) for definition in everything)

    def _problems(self) -> Iterator[Problem]:
        if self.stop is not None and not self.causal:
            yield Problem("only a causal program can feed on its own output; write a line: # causal")
        for letter in self.example:
            if letter not in self.alphabet:
                yield Problem(f"letter {letter!r} of the suggested input is not in the alphabet")

    def _scratchpad_problems(self, output: Type, place: Place | None) -> Iterator[Problem]:
        """What a program that feeds on its own output says must be letters, or that it stops."""
        if self.stop is None:
            return
        said = f"what a program says that feeds on its own output is a letter or {self.stop!r}"
        if not isinstance(output, Finite):
            yield Problem(f"{said}, but the output is {output}", place)
            return
        for value in output.values:
            if self.symbol_of(value) is None:
                yield Problem(f"{said}, but the output may be {literal(value)}", place)

    @property
    def default_input(self) -> tuple[str, ...]:
        """The input that it suggests."""
        return self.example

    def letter_of(self, item: Any) -> Any:
        """The letter that stands for a value; a string, or what no letter stands for, is returned unchanged."""
        if isinstance(item, str):
            return item
        pairs = zip(self.alphabet, self.letters, strict=True)
        return next((letter for letter, value in pairs if same(item, _as_given(item, value))), item)

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The operations by name."""
        return {definition.name: definition.node for definition in self.definitions}

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every sequence operator, in the order of the definitions; also of those inside of loops."""
        raise AssertionError("types are found when a program is made")

    def symbol_of(self, value: Value) -> str | None:
        """The letter, or the stop symbol, that an output stands for when a program feeds on it; None if for none."""
        for letter, meant in zip(self.alphabet, self.letters, strict=True):
            if same(value, meant):
                return letter
        written = spelled(value)
        return written if written == self.stop or written in self.alphabet else None

    def spell(self, values: Iterable[Result]) -> str:
        """Values of the output as text: joined if it always is one character, otherwise with blanks between."""
        written = [spelled(value) for value in values]
        output = self.types[self.output]
        possible = map(spelled, output.values) if isinstance(output, Finite) else ["any number"]
        joined = all(len(text) == 1 for text in (*possible, *written))
        return ("" if joined else " ").join(written)

    def __str__(self) -> str:
        count = len(self.definitions)
        return f"RASP program {self.name}: {len(self.alphabet)} letters, {count} definition{'s' * (count != 1)}"

    def _repr_html_(self) -> str:
        from softmachine.languages.rasp.printing import program_table

        return program_table(self)


def _as_given(item: object, value: Value) -> Any:
    """A value to compare an item with: as a float, if the item is one, since fractions are given as floats."""
    return float(value) if isinstance(item, float) and isinstance(value, Fraction) else value


@dataclass(frozen=True, kw_only=True)
class OpenProgram(Program):
    """A program that does not say which letters its inputs have; until somebody does, it has those that it mentions.

    Args:
        over: The same program over an alphabet.
    """

    over: Callable[[tuple[str, ...]], Program] = field(compare=False, repr=False)

    def extended(self, symbols: Iterable[str]) -> Program:
        """The same over more letters."""
        return self.over(tuple(symbols))
