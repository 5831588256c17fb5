"""Printer of RASP programs: the text form, and an HTML table.

Facts that the text form has no syntax for are header comments (``# alphabet: a b``), which other tools ignore.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Final

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.expression_printer import CHOICE, Level, format_literal, format_node
from softmachine.languages.rasp.ir import ANONYMOUS, NAME, Definition, Node, structural_key
from softmachine.languages.text.diagnostics import SyntaxDiagnostic
from softmachine.languages.text.statements import LocatedWord, Statement, quote, unquote

if TYPE_CHECKING:
    from softmachine.languages.rasp.program import RaspProgram


WORD_HEADERS: Final = ("program", "alphabet", "tokens", "input", "stop", "output")
FLAG_HEADERS: Final = ("causal", "exact")
HEADER: Final = re.compile(rf"\s*#\s*(?:({'|'.join(WORD_HEADERS)}):[ \t]*(.*?)|({'|'.join(FLAG_HEADERS)}))\s*")
COMMENT: Final = re.compile(r"\s*(#.*)?")


@dataclass(frozen=True)
class Header:
    """One header line: its words, its line number, and the text after the colon."""

    words: tuple[LocatedWord, ...] = ()
    line: int = 1
    text: str = ""


class Headers(dict[str, Header]):
    """The headers of a text, by keyword."""

    def words(self, keyword: str) -> tuple[str, ...]:
        """The unquoted words of a header; empty if the header is missing."""
        return tuple(map(_unquote, self.get(keyword, Header()).words))

    def single_word(self, keyword: str) -> str | None:
        """The only word of a header, or None if the header is missing."""
        words = self.words(keyword)
        if keyword in self and len(words) != 1:
            message = f"header {keyword!r} takes one word, not {len(words)}"
            raise SyntaxDiagnostic(message, self[keyword].line, 1, f"write for example: # {keyword}: x")
        return words[0] if words else None


def read_headers(lines: Sequence[str]) -> Headers:
    """Parse the headers of a text: the comments before the first statement.

    Raises:
        SyntaxDiagnostic: If a header occurs twice.
    """
    found = Headers()
    for number, line in enumerate(lines, start=1):
        if not COMMENT.fullmatch(line):
            break
        match = HEADER.fullmatch(line)
        if match is None:
            continue
        keyword = match[1] or match[3]
        words = tuple(Statement(" " * match.start(2) + match[2], number).words() if match[1] else ())
        if keyword == "output" and not (len(words) == 1 and NAME.fullmatch(words[0].text)):
            continue  # an ordinary comment, not an identifier
        if keyword in found:
            raise SyntaxDiagnostic(f"duplicate header '# {keyword}'", number, 1, "remove one of them")
        found[keyword] = Header(words, number, match[2] or "")
    return found


def format_header(keyword: str, words: Sequence[str]) -> str:
    """A header as text."""
    shown = [word if _is_plain(word) else quote(word, '"') for word in words]
    return f"# {keyword}: {' '.join(shown)}"


def _unquote(word: LocatedWord) -> str:
    if word.text[0] not in "'\"" or len(word.text) == 1:
        return word.text
    inner = unquote(word.text)
    if inner is None:
        hint = r"write a quote as \" and a backslash as \\"
        raise SyntaxDiagnostic("invalid quoted symbol", word.line, word.column, hint)
    return inner


def _is_plain(word: str) -> bool:
    """Whether a word can be written in a header without quotes."""
    return bool(word) and word.isprintable() and " " not in word and (word[0] not in "'\"" or len(word) == 1)


MAX_INLINE_DEPTH: Final = 12


def format_program(program: RaspProgram, *, readable: bool) -> str:
    """A program as text.

    Args:
        program: The program.
        readable: Whether anonymous operations with one use are inlined. Parsing creates anonymous operations in
            canonical order, so a program in another order round-trips only with one line per operation.
    """
    printer = _Printer(program.definitions, program.output, readable)
    return "\n".join([*_format_headers(program, exact=not readable), *printer.lines()]) + "\n"


def _format_headers(program: RaspProgram, *, exact: bool) -> Iterator[str]:
    yield format_header("program", [program.name])
    yield format_header("alphabet", program.alphabet)
    if structural_key(program.letters) != structural_key(program.alphabet):
        yield f"# tokens: {', '.join(map(format_literal, program.letters))}"
    if program.example:
        joined = all(len(letter) == 1 and not letter.isspace() for letter in program.alphabet)
        yield format_header("input", ["".join(program.example)] if joined else program.example)
    if program.causal:
        yield "# causal"
    if program.stop is not None:
        yield format_header("stop", [program.stop])
    if exact:
        yield "# exact"
    yield format_header("output", [program.output])


class _Printer:
    """Prints definitions as statements.

    Args:
        definitions: The definitions.
        output: The output, which is never inlined.
        readable: Whether anonymous operations are inlined; otherwise every operation has a line of its own.
        inlined: Inlined operations of the enclosing scope.
        used: Names used after the definitions.
    """

    def __init__(
        self,
        definitions: tuple[Definition, ...],
        output: str,
        readable: bool,
        inlined: Mapping[str, Node] | None = None,
        used: tuple[str, ...] = (),
    ) -> None:
        self.definitions = definitions
        self.readable = readable
        self.inlined: dict[str, Node] = dict(inlined or {})
        self._loops: set[Hashable] = set()
        if readable:
            self._choose_inlined(output, used)

    def _choose_inlined(self, output: str, used_after: tuple[str, ...]) -> None:
        uses = Counter(name for definition in self.definitions for name in _references(definition.node))
        uses.update(used_after)
        depths: dict[str, int] = {}
        for definition in self.definitions:
            name, node = definition.name, definition.node
            depth = 1 + max((depths.get(used, 0) for used in ir.operands(node)), default=0)
            once = uses[name] == 1 and depth < MAX_INLINE_DEPTH
            if ANONYMOUS.fullmatch(name) and name != output and (once or isinstance(node, ALWAYS_INLINED)):
                self.inlined[name] = node
                depths[name] = depth

    def lines(self) -> Iterator[str]:
        """One statement per definition that is not inlined; loops precede their first use."""
        for definition in self.definitions:
            if isinstance(definition.node, ir.Repeat):
                yield from self._loop(definition.node)
            if definition.name not in self.inlined:
                yield self.statement(definition)

    def statement(self, definition: Definition) -> str:
        """The statement of a definition."""
        text = self._format(definition.node, CHOICE)
        return f"{definition.name} = {f'constant({text})' if isinstance(definition.node, ir.Constant) else text};"

    def _loop(self, node: ir.Repeat) -> Iterator[str]:
        """The statement of a loop, unless it was printed for another of its variables."""
        loop = structural_key(replace(node, result=""))
        if loop in self._loops:
            return
        self._loops.add(loop)
        starts = ", ".join(f"{name} = {self._operand(start, CHOICE)}" for name, start in node.variables)
        inner = _Printer(node.body, "", self.readable, self.inlined, node.next_values)
        yield f"repeat {starts} {{"
        yield from (f"    {line}" for line in inner.lines())
        names = ", ".join(name for name, _ in node.variables)
        yield f"    {names} = {', '.join(inner._operand(name, CHOICE) for name in node.next_values)};"
        yield "} until unchanged;"

    def _operand(self, name: str, level: Level) -> str:
        node = self.inlined.get(name)
        return name if node is None else self._format(node, level)

    def _format(self, node: Node, level: Level) -> str:
        return node.result if isinstance(node, ir.Repeat) else format_node(node, self._operand, level)


ALWAYS_INLINED: Final = (ir.Constant, ir.Tokens, ir.Indices, ir.Length, ir.SelectAll, ir.Repeat)
"""Operations that are inlined at every use."""


def _references(node: Node) -> tuple[str, ...]:
    """The names that an operation references, with multiplicity."""
    if isinstance(node, ir.Repeat):
        inside = [name for step in node.body for name in _references(step.node)]
        return (*(start for _, start in node.variables), *inside, *node.next_values)
    return ir.operands(node)


def program_table(program: RaspProgram) -> str:
    """HTML table of the program: one row per definition, with its type."""
    readable = _Printer(program.definitions, program.output, readable=True)
    rows = "".join(
        f"<tr><th>{escape(entry.name)}{' <small>output</small>' if entry.name == program.output else ''}</th>"
        f"<td>{escape(str(program.types.get(entry.name, 'selector')))}</td>"
        f'<td style="text-align: left"><code>{escape(readable.statement(entry))}</code></td></tr>'
        for entry in program.definitions
        if entry.name not in readable.inlined
    )
    return (
        f"<table><caption>{escape(str(program))}</caption>"
        f"<thead><tr><th>name</th><th>type</th><th>definition</th></tr></thead><tbody>{rows}</tbody></table>"
    )
