"""Parser and printer entry points of the RASP text form (``.rasp`` files).

Example::

    # alphabet: a b c
    opposite = select(indices, length - 1 - indices, ==);
    reverse = aggregate(opposite, tokens);

Elaboration leaves only sequence operators and selectors; functions (``def f(x) { … return y; }``), ``for`` over lists
and dictionaries, comprehensions and ``load "file";`` are expanded. The output is the last definition, or the one named
in a line ``# output: NAME``. Header comments may also give ``# input: WORD``, ``# causal``, ``# stop: SYMBOL`` and
``# program: NAME``. A loop is written ``repeat x = tokens { … x = …; } until unchanged;``.

File loader of the statement ``load "file";``, restricted to the folder of the loading file and its subfolders.

Syntax error messages of the RASP text form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NoReturn

from softmachine.languages.rasp.builder import distinguished
from softmachine.languages.rasp.elaborator import Elaborator
from softmachine.languages.rasp.ir import Value
from softmachine.languages.rasp.printer import Headers, read_headers, written_text
from softmachine.languages.rasp.program import OpenProgram, Program, canonical
from softmachine.languages.rasp.syntax_tree import At, Name, Statement, TreeBuilder
from softmachine.languages.source import LARGEST_SOURCE, check_size, name_of, spelled_out
from softmachine.languages.text.diagnostics import Case, Explainer, Mistake, Problem, Stuck, place_of, refuse
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.statements import QUOTED_OR_HASH, split_lines, unquote
from softmachine.support.errors import Place, SoftmachineError

__all__ = ["parse", "to_text"]


MOST_FILES: Final = 20
EXTENSION: Final = ".rasp"


class Loader:
    """Parses the files that a program loads.

    Args:
        source: The origin of the program text.
        statements: Parser of the text of a file.
    """

    def __init__(self, source: str, statements: Callable[[str], tuple[Statement, ...]]) -> None:
        self.source = source
        self._statements = statements
        self._count = 0

    def __call__(self, file: str, at: At) -> tuple[Statement, ...]:
        """Parse a file into statements.

        Raises:
            Mistake: If the file does not exist, or cannot be read or parsed.
        """
        self._count += 1
        if self._count > MOST_FILES:
            raise Mistake(
                f"more than {MOST_FILES} files are loaded", at.line, at.column, "check for files that load each other"
            )
        try:
            return self._statements(self._text(file, at))
        except Mistake as error:
            if error.line == at.line and error.column == at.column:
                raise
            message = f"in {file!r}, line {error.line}: {error.message}"
            raise Mistake(message, at.line, at.column, error.hint) from None

    def _text(self, file: str, at: At) -> str:
        name = file if file.endswith(EXTENSION) else file + EXTENSION
        if self.source.startswith("<") or not Path(self.source).is_file():
            raise Mistake(
                "only a program in a file can load other files", at.line, at.column, "save the program to a file first"
            )
        folder = Path(self.source).resolve().parent
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            hint = "move it to the folder of the loading file or a subfolder"
            raise Mistake(f"{file!r} is outside the folder of the loading file", at.line, at.column, hint)
        try:
            with path.open(encoding="utf-8") as opened:
                text = opened.read(LARGEST_SOURCE + 1)
        except (OSError, UnicodeDecodeError, ValueError):
            raise Mistake(
                f"{name!r} cannot be read",
                at.line,
                at.column,
                f"expected a readable file of this name in {folder.name}",
            ) from None
        if len(text) > LARGEST_SOURCE:
            raise Mistake(f"{name!r} is longer than {LARGEST_SOURCE:,} characters", at.line, at.column)
        return text


RELATIONS = "EQUAL UNEQUAL LESS AT_MOST GREATER AT_LEAST"
BRACKETS = "ambiguous precedence: RASP tools differ from Python here; add parentheses"


def _unfinished(stuck: Stuck) -> Mistake | None:
    """A missing semicolon, detected at the start of the next statement."""
    if "SEMICOLON" not in stuck.accepts or not (stuck.ended or stuck.begins_line):
        return None
    before = stuck.before.rstrip()
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    if stuck.ended:
        place = stuck.token.end_line or 1, stuck.token.end_column or 1
    return Mistake("expected ';' at the end of the statement", *place, "write ; here")


def _keyword(stuck: Stuck) -> Mistake | None:
    word = str(stuck.token)
    if stuck.ended or not word.isalpha() or "NAME" not in stuck.accepts or len(stuck.accepts) > 1:
        return None
    return Mistake(f"{word!r} is a keyword", *place_of(stuck.token), "choose another name")


explain = Explainer(
    whole="the text",
    first=lambda stuck: _keyword(stuck) or _unfinished(stuck),
    quote=("unterminated quote", 'write a symbol as "a"'),
    character="unexpected character {}",
    character_hints={"=": "write == for equality", "&": "write and", "|": "write or", "!": "write not"},
    kinds={
        "NAME INTEGER QUOTED LPAR": "an expression",
        "PLUS MINUS": "an operator",
    },
    covered={
        "an expression": f"{RELATIONS} MINUS PLUS NOT LSQB LBRACE FLOAT NAME QUOTED FOR",
        "an operator": f"{RELATIONS} AND OR IN IF LPAR LSQB TIMES DIVIDE FLOOR PERCENT CARET NOT",
    },
    spelled={
        "SEMICOLON": "';'", "RPAR": "')'", "RSQB": "']'", "RBRACE": "'}'", "COMMA": "','", "COLON": "':'",
        "__ANON_0": "'='", "LBRACE": "'{'", "LPAR": "'('", "NAME": "a name", "QUOTED": "a symbol", "AND": "'and'",
        "OR": "'or'", "ELSE": "'else'", "IF": "'if'", "IN": "'in'", "UNTIL": "'until'", "FOR": "'for'",
        "$END": "the end of the text",
    },
    cases=(
        Case("IF", "NAME", "if is an expression: x if p else y"),
        Case("AND OR IN IF PERCENT TIMES DIVIDE FLOOR CARET " + RELATIONS, "", BRACKETS),
        Case("INTEGER NAME QUOTED", "SEMICOLON", "expected an operator or ';' before {token}"),
    ),
    ending="$END SEMICOLON RBRACE",
    closing="RPAR RSQB",
)  # fmt: skip


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
