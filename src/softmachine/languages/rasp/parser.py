"""Parser of the RASP text form (``.rasp`` files), and its entry points for printing.

Example::

    # alphabet: a b c
    opposite = select(indices, length - 1 - indices, ==);
    reverse = aggregate(opposite, tokens);

Elaboration leaves only sequence operators and selectors; functions (``def f(x) { … return y; }``), ``for`` over lists
and dictionaries, comprehensions and ``load "file";`` are expanded. The output is the last definition, or the one named
in a line ``# output: NAME``. Header comments may also give ``# input: WORD``, ``# causal``, ``# stop: SYMBOL`` and
``# program: NAME``. A loop is written ``repeat x = tokens { … x = …; } until unchanged;``.

``load`` only opens files in the folder of the loading file and its subfolders.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from softmachine.languages.rasp.elaborator import Elaborator
from softmachine.languages.rasp.ir import Value, structural_key
from softmachine.languages.rasp.printer import Headers, format_program, read_headers
from softmachine.languages.rasp.program import OpenProgram, RaspProgram, canonicalise
from softmachine.languages.rasp.syntax_tree import Node, Position, RaspAstBuilder
from softmachine.languages.source import MAX_SOURCE_LENGTH, check_source_length, default_name, split_symbols
from softmachine.languages.text.diagnostics import (
    DiagnosticRule,
    DiagnosticRules,
    ParserState,
    Problem,
    SyntaxDiagnostic,
    line_and_column,
    syntax_error,
)
from softmachine.languages.text.grammar import load_parser
from softmachine.languages.text.statements import QUOTED_OR_HASH, split_lines, unquote
from softmachine.support.errors import SoftmachineError, SourceLocation

__all__ = ["parse", "to_text"]


MAX_FILES: Final = 20
EXTENSION: Final = ".rasp"


class FileLoader:
    """Parses the files that a program loads.

    Args:
        source: The origin of the program text.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._count = 0

    def __call__(self, file: str, at: Position) -> tuple[Node, ...]:
        """Parse a file into statements.

        Raises:
            SyntaxDiagnostic: If the file does not exist, or cannot be read or parsed.
        """
        self._count += 1
        if self._count > MAX_FILES:
            raise SyntaxDiagnostic(
                f"more than {MAX_FILES} files are loaded", *at, "check for files that load each other"
            )
        try:
            return _parse_with_notes(split_lines(self._read_text(file, at)))[0]
        except SyntaxDiagnostic as error:
            if (error.line, error.column) == at:
                raise
            message = f"in {file!r}, line {error.line}: {error.message}"
            raise SyntaxDiagnostic(message, *at, error.hint) from None

    def _read_text(self, file: str, at: Position) -> str:
        name = file if file.endswith(EXTENSION) else file + EXTENSION
        if self.source.startswith("<") or not Path(self.source).is_file():
            raise SyntaxDiagnostic(
                "only a program in a file can load other files", *at, "save the program to a file first"
            )
        folder = Path(self.source).resolve().parent
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            hint = "move it to the folder of the loading file or a subfolder"
            raise SyntaxDiagnostic(f"{file!r} is outside the folder of the loading file", *at, hint)
        try:
            with path.open(encoding="utf-8") as opened:
                text = opened.read(MAX_SOURCE_LENGTH + 1)
        except (OSError, UnicodeDecodeError, ValueError):
            raise SyntaxDiagnostic(
                f"{name!r} cannot be read",
                *at,
                f"expected a readable file of this name in {folder.name}",
            ) from None
        if len(text) > MAX_SOURCE_LENGTH:
            raise SyntaxDiagnostic(f"{name!r} is longer than {MAX_SOURCE_LENGTH:,} characters", *at)
        return text


RELATIONS = "EQUAL UNEQUAL LESS AT_MOST GREATER AT_LEAST"
PARENTHESES_HINT = "ambiguous precedence: RASP tools differ from Python here; add parentheses"


def _missing_semicolon(stuck: ParserState) -> SyntaxDiagnostic | None:
    """A missing semicolon, detected at the start of the next statement."""
    if "SEMICOLON" not in stuck.accepted or not (stuck.is_at_end or stuck.starts_continuation_line):
        return None
    before = stuck.text_before.rstrip()
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    if stuck.is_at_end:
        place = stuck.token.end_line or 1, stuck.token.end_column or 1
    return SyntaxDiagnostic("expected ';' at the end of the statement", *place, "write ; here")


def _keyword_as_name(stuck: ParserState) -> SyntaxDiagnostic | None:
    word = str(stuck.token)
    if stuck.is_at_end or not word.isalpha() or "NAME" not in stuck.accepted or len(stuck.accepted) > 1:
        return None
    return SyntaxDiagnostic(f"{word!r} is a keyword", *line_and_column(stuck.token), "choose another name")


explain_syntax_error = DiagnosticRules(
    construct="the text",
    first_check=lambda stuck: _keyword_as_name(stuck) or _missing_semicolon(stuck),
    unterminated_quote=("unterminated quote", 'write a symbol as "a"'),
    unknown_character="unexpected character {}",
    character_hints={"=": "write == for equality", "&": "write and", "|": "write or", "!": "write not"},
    categories={
        "NAME INTEGER QUOTED LPAR": "an expression",
        "PLUS MINUS": "an operator",
    },
    subsumed={
        "an expression": f"{RELATIONS} MINUS PLUS NOT LSQB LBRACE FLOAT NAME QUOTED FOR",
        "an operator": f"{RELATIONS} AND OR IN IF LPAR LSQB TIMES DIVIDE FLOOR PERCENT CARET NOT",
    },
    terminal_names={
        "SEMICOLON": "';'", "RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'", "COMMA": "','", "COLON": "':'",
        "__ANON_0": "'='", "LBRACE": "'{'", "LPAR": "'('", "NAME": "a name", "QUOTED": "a symbol", "AND": "'and'",
        "OR": "'or'", "ELSE": "'else'", "IF": "'if'", "IN": "'in'", "UNTIL": "'until'", "FOR": "'for'",
        "$END": "the end of the text",
    },
    rules=(
        DiagnosticRule("IF", "NAME", "if is an expression: x if p else y"),
        DiagnosticRule("AND OR IN IF PERCENT TIMES DIVIDE FLOOR CARET " + RELATIONS, "", PARENTHESES_HINT),
        DiagnosticRule("INTEGER NAME QUOTED", "SEMICOLON", "expected an operator or ';' before {token}"),
    ),
    ending_tokens="$END SEMICOLON RBRACE",
    closing_tokens="RPAR RSQB",
)  # fmt: skip


SHELL_COMMAND: Final = re.compile(
    r"\s*(?:set\s+(?:s-op\s+|selector\s+)?example\b.*|show\s+(?:s-op\s+|selector\s+)?example"
    r"|full seq display (?:on|off)|(?:s-op |selector )?examples (?:on|off)|(?:exit|quit)(?:\(\))?)\s*;?\s*(?:#.*)?"
)
"""Commands of the interactive shell of the original RASP interpreter, which are ignored."""
DEFAULT_LETTERS: Final = ("a", "b", "c")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> RaspProgram:
    """Parse a program from text."""
    check_source_length(text, source, "a program may have")
    return _parse(text, source, name, None)


def to_text(program: RaspProgram) -> str:
    """A program as text that parses back to the same program, in readable form if that form round-trips."""
    text = format_program(program, readable=True)
    try:
        again = parse(text, name=program.name)
    except SoftmachineError:
        return format_program(program, readable=False)
    return (
        text if _comparable_content(again) == _comparable_content(program) else format_program(program, readable=False)
    )


def _comparable_content(program: RaspProgram) -> object:
    """The content of a program as a comparable key that distinguishes True from 1."""
    values = structural_key(program.letters), structural_key(program.definitions)
    return (program.alphabet, *values, program.output, program.causal, program.stop, program.example)


def _parse(text: str, source: str, name: str | None, alphabet: tuple[str, ...] | None) -> RaspProgram:
    lines = split_lines(text)
    try:
        return _elaborate_program(lines, source, name, alphabet)
    except SyntaxDiagnostic as diagnostic:
        place = SourceLocation(source, diagnostic.line, diagnostic.column)
        raise syntax_error([Problem(diagnostic.full_message, place)], lines) from None


def _elaborate_program(
    lines: list[str], source: str, name: str | None, alphabet: tuple[str, ...] | None
) -> RaspProgram:
    headers = read_headers(lines)
    statements, notes = _parse_with_notes(lines)
    mentioned = headers.words("alphabet") or tuple(dict.fromkeys((*_quoted_symbols(lines), *(alphabet or ()))))
    known = (
        mentioned
        if alphabet is not None or len(mentioned) > 1
        else tuple(dict.fromkeys((*mentioned, *DEFAULT_LETTERS)))
    )
    letters = _letter_values(headers, known)
    elaborator = Elaborator(source, known, letters, library_functions(), FileLoader(source), "exact" in headers)
    try:
        elaborator.elaborate(statements)
    except RecursionError:
        raise SyntaxDiagnostic("the program is nested too deeply", 1, 1, "assign subexpressions to names") from None
    output, place = _find_output(elaborator, headers)
    definitions, output = elaborator.builder.definitions(), elaborator.builder.name(output)
    if "exact" not in headers:
        definitions, output = canonicalise(definitions, output)
    fields = {
        "name": name or headers.single_word("program") or default_name(source) or "program",
        "alphabet": known,
        "letters": letters,
        "definitions": definitions,
        "output": output,
        "causal": "causal" in headers,
        "stop": headers.single_word("stop"),
        "example": _parse_example(headers, known),
        "notes": (*notes, *elaborator.notes),
        "place": SourceLocation(source),
        "output_place": SourceLocation(source, *place),
        "lines": lines,
    }
    if "alphabet" in headers or alphabet is not None:
        return RaspProgram(**fields)  # type: ignore[arg-type]
    text = "\n".join(lines)
    return OpenProgram(**fields, with_alphabet=lambda more: _parse(text, source, name, more))  # type: ignore[arg-type]


def _parse_with_notes(lines: list[str]) -> tuple[tuple[Node, ...], list[str]]:
    """The statements of a text, and notes about ignored shell commands."""
    commands = [number for number, line in enumerate(lines, start=1) if SHELL_COMMAND.fullmatch(line)]
    notes = [f"line {number}: shell command ignored" for number in commands]
    left = set(commands)
    return _parse_statements(
        "\n".join("" if number in left else line for number, line in enumerate(lines, start=1))
    ), notes


def _parse_statements(text: str) -> tuple[Node, ...]:
    from lark.exceptions import UnexpectedInput

    try:
        return load_parser("rasp", RaspAstBuilder).parse(text)  # type: ignore[return-value]
    except UnexpectedInput as error:
        raise explain_syntax_error(error, text) from None


@cache
def library_functions() -> tuple[Node, ...]:
    """The library functions available in every program."""
    return _parse_statements(files("softmachine.languages.rasp").joinpath("library.rasp").read_text("utf-8"))


def _quoted_symbols(lines: list[str]) -> list[str]:
    """The quoted one-character symbols in a text."""
    symbols: list[str] = []
    for line in lines:
        for found in QUOTED_OR_HASH.finditer(line):
            if found[0] == "#":
                break
            symbol = unquote(found[0])
            symbols += [symbol] if symbol is not None and len(symbol) == 1 else []
    return symbols


def _letter_values(headers: Headers, alphabet: tuple[str, ...]) -> tuple[Value, ...]:
    """The values of the letters: themselves, unless a header lists other values."""
    header = headers.get("tokens")
    if header is None:
        return alphabet
    try:
        (statement,) = _parse_statements(f"[{header.text}];")
        bare = Elaborator("", (), (), (), lambda _file, _at: ())
        values = bare.evaluate(statement.parts[0])
    except (SyntaxDiagnostic, ValueError) as error:
        message = error.full_message if isinstance(error, SyntaxDiagnostic) else "expected a list of values"
        raise SyntaxDiagnostic(message, header.line, 1, "separate the values by commas: # tokens: 0, 1") from None
    return tuple(values)  # type: ignore[arg-type]


def _find_output(elaborator: Elaborator, headers: Headers) -> tuple[str, Position]:
    """The output sequence operator, and the position that specifies it."""
    declared = headers.single_word("output")
    at = (headers["output"].line, headers["output"].words[0].column) if declared else elaborator.output_position
    name = declared or elaborator.output
    if name is None:
        raise SyntaxDiagnostic("the program has no output", *at, "define a sequence operator, for example: x = tokens;")
    scope = elaborator.global_scope.find(name)
    if scope is None:
        raise SyntaxDiagnostic(f"the output {name!r} is not defined", *at, "define it")
    return elaborator.to_sequence(scope.names[name], Node("name", (name,), at)), at


def _parse_example(headers: Headers, alphabet: tuple[str, ...]) -> tuple[str, ...]:
    header = headers.get("input")
    if header is None:
        return ()
    words = headers.words("input")
    return split_symbols(" ".join(words), alphabet) if len(words) == 1 else words
