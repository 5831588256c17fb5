"""Parser and printer entry points of the RASP text form (``.rasp`` files).

Example::

    # alphabet: a b c
    opposite = select(indices, length - 1 - indices, ==);
    reverse = aggregate(opposite, tokens);

Elaboration leaves only sequence operators and selectors; functions (``def f(x) { … return y; }``), ``for`` over lists
and dictionaries, comprehensions and ``load "file";`` are expanded. The output is the last definition, or the one named
in a line ``# output: NAME``. Header comments may also give ``# input: WORD``, ``# causal``, ``# stop: SYMBOL`` and
``# program: NAME``. A loop is written ``repeat x = tokens { … x = …; } until unchanged;``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, NoReturn

from softmachine.languages.rasp.building import distinguished
from softmachine.languages.rasp.canonical import canonical
from softmachine.languages.rasp.core import Value
from softmachine.languages.rasp.elaborate import Elaborator
from softmachine.languages.rasp.headers import Headers, read_headers
from softmachine.languages.rasp.loading import Loader
from softmachine.languages.rasp.mistakes import explain
from softmachine.languages.rasp.printing import written_text
from softmachine.languages.rasp.program import OpenProgram, Program
from softmachine.languages.rasp.reading import TreeBuilder
from softmachine.languages.rasp.trees import At, Name, Statement
from softmachine.languages.source import check_size, name_of, spelled_out
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.layout import QUOTED_OR_HASH, split_lines, unquote
from softmachine.languages.text.mistakes import Mistake
from softmachine.languages.text.problems import Problem, refuse
from softmachine.support.errors import Place, SoftmachineError

__all__ = ["parse", "to_text"]

COMMAND: Final = re.compile(
    r"\s*(?:set\s+(?:s-op\s+|selector\s+)?example\b.*|show\s+(?:s-op\s+|selector\s+)?example"
    r"|full seq display (?:on|off)|(?:s-op |selector )?examples (?:on|off)|(?:exit|quit)(?:\(\))?)\s*;?\s*(?:#.*)?"
)
"""Commands of the interactive shell of the original RASP interpreter, which are ignored."""
SOME_LETTERS: Final = ("a", "b", "c")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Program:
    """Parse a program from text."""
    check_size(text, source, "a program may have")
    return _read(text, source, name, None)


def to_text(program: Program) -> str:
    """A program as text that parses back to the same program, in readable form if that form round-trips."""
    text = written_text(program, readable=True)
    try:
        again = parse(text, name=program.name)
    except SoftmachineError:
        return written_text(program, readable=False)
    return text if _content(again) == _content(program) else written_text(program, readable=False)


def _content(program: Program) -> object:
    """The content of a program as a comparable key that distinguishes True from 1."""
    values = distinguished(program.letters), distinguished(program.definitions)
    return (program.alphabet, *values, program.output, program.causal, program.stop, program.example)


def _read(text: str, source: str, name: str | None, alphabet: tuple[str, ...] | None) -> Program:
    lines = split_lines(text)
    try:
        return _program(lines, source, name, alphabet)
    except Mistake as diagnostic:
        _refuse(diagnostic, source, lines)


def _refuse(diagnostic: Mistake, source: str, lines: list[str]) -> NoReturn:
    refuse([Problem(diagnostic.sentence, Place(source, diagnostic.line, diagnostic.column))], lines)
    raise AssertionError("refuse() always raises")


def _program(lines: list[str], source: str, name: str | None, alphabet: tuple[str, ...] | None) -> Program:
    headers = read_headers(lines)
    statements, notes = _statements(lines)
    mentioned = headers.words("alphabet") or tuple(dict.fromkeys((*_mentioned(lines), *(alphabet or ()))))
    known = (
        mentioned if alphabet is not None or len(mentioned) > 1 else tuple(dict.fromkeys((*mentioned, *SOME_LETTERS)))
    )
    letters = _letters(headers, known)
    elaborator = Elaborator(source, known, letters, library(), Loader(source, _statements_of), "exact" in headers)
    try:
        elaborator.run(statements)
    except RecursionError:
        raise Mistake("the program is nested too deeply", 1, 1, "assign subexpressions to names") from None
    output, place = _output(elaborator, headers)
    if "exact" in headers:
        definitions = elaborator.recorder.builder.definitions()
    else:
        definitions, output = canonical(
            elaborator.recorder.builder.definitions(), elaborator.recorder.builder.name(output)
        )
    fields = {
        "name": name or headers.one("program") or name_of(source) or "program",
        "alphabet": known,
        "letters": letters,
        "definitions": definitions,
        "output": output,
        "causal": "causal" in headers,
        "stop": headers.one("stop"),
        "example": _example(headers, known),
        "notes": (*notes, *elaborator.notes),
        "place": Place(source),
        "output_place": Place(source, place.line, place.column),
        "lines": lines,
    }
    if "alphabet" in headers or alphabet is not None:
        return Program(**fields)  # type: ignore[arg-type]
    text = "\n".join(lines)
    return OpenProgram(**fields, over=lambda more: _read(text, source, name, more))  # type: ignore[arg-type]


def _statements(lines: list[str]) -> tuple[tuple[Statement, ...], list[str]]:
    """The statements of a text, and notes about ignored shell commands."""
    commands = [number for number, line in enumerate(lines, start=1) if COMMAND.fullmatch(line)]
    notes = [f"line {number}: shell command ignored" for number in commands]
    left = set(commands)
    return _trees("\n".join("" if number in left else line for number, line in enumerate(lines, start=1))), notes


def _statements_of(text: str) -> tuple[Statement, ...]:
    return _statements(split_lines(text))[0]


def _trees(text: str) -> tuple[Statement, ...]:
    from lark.exceptions import UnexpectedInput

    try:
        return parser("rasp", TreeBuilder).parse(text)  # type: ignore[return-value]
    except UnexpectedInput as error:
        raise explain(error, text) from None


@cache
def library() -> tuple[Statement, ...]:
    """The library functions available in every program."""
    return _trees(files("softmachine.languages.rasp").joinpath("library.rasp").read_text("utf-8"))


def _mentioned(lines: list[str]) -> list[str]:
    """The quoted one-character symbols in a text."""
    symbols: list[str] = []
    for line in lines:
        for found in QUOTED_OR_HASH.finditer(line):
            if found[0] == "#":
                break
            symbol = unquote(found[0])
            symbols += [symbol] if symbol is not None and len(symbol) == 1 else []
    return symbols


def _letters(headers: Headers, alphabet: tuple[str, ...]) -> tuple[Value, ...]:
    """The values of the letters: themselves, unless a header lists other values."""
    header = headers.found.get("tokens")
    if header is None:
        return alphabet
    try:
        (statement,) = _trees(f"[{header.text}];")
        bare = Elaborator("", (), (), (), lambda _file, _at: ())
        values = bare.evaluate(statement.expression)  # type: ignore[union-attr]
    except (Mistake, ValueError) as error:
        message = error.sentence if isinstance(error, Mistake) else "expected a list of values"
        raise Mistake(message, header.line, 1, "separate the values by commas: # tokens: 0, 1") from None
    return tuple(values)  # type: ignore[arg-type]


def _output(elaborator: Elaborator, headers: Headers) -> tuple[str, At]:
    """The output sequence operator, and the position that specifies it."""
    declared = headers.one("output")
    at = At(headers.found["output"].line, headers.found["output"].words[0].column) if declared else elaborator.output_at
    name = declared or elaborator.output
    if name is None:
        raise Mistake(
            "the program has no output", at.line, at.column, "define a sequence operator, for example: x = tokens;"
        )
    scope = elaborator.top.find(name)
    if scope is None:
        raise Mistake(f"the output {name!r} is not defined", at.line, at.column, "define it")
    return elaborator.sequence(scope.names[name], Name(name, at=at)), at


def _example(headers: Headers, alphabet: tuple[str, ...]) -> tuple[str, ...]:
    header = headers.found.get("input")
    if header is None:
        return ()
    words = headers.words("input")
    return spelled_out(" ".join(words), alphabet) if len(words) == 1 else words
