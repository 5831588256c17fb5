"""Printer of RASP programs: the text form, and an HTML table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

from softmachine.languages.rasp import core
from softmachine.languages.rasp.building import distinguished
from softmachine.languages.rasp.core import Definition, Node
from softmachine.languages.rasp.expressions import CHOICE, Level, literal, written
from softmachine.languages.rasp.headers import header_line
from softmachine.languages.rasp.names import ANONYMOUS

if TYPE_CHECKING:
    from softmachine.languages.rasp.program import Program

DEEPEST: Final = 12


def written_text(program: Program, *, readable: bool) -> str:
    """A program as text.

    Args:
        program: The program.
        readable: Whether anonymous operations with one use are inlined. Parsing creates anonymous operations in
            canonical order, so a program in another order round-trips only with one line per operation.
    """
    printer = _Printer(program.definitions, program.output, readable)
    return "\n".join([*_headers(program, exact=not readable), *printer.lines()]) + "\n"


def _headers(program: Program, *, exact: bool) -> Iterator[str]:
    yield header_line("program", [program.name])
    yield header_line("alphabet", program.alphabet)
    if distinguished(program.letters) != distinguished(program.alphabet):
        yield f"# tokens: {', '.join(map(literal, program.letters))}"
    if program.example:
        joined = all(len(letter) == 1 and not letter.isspace() for letter in program.alphabet)
        yield header_line("input", ["".join(program.example)] if joined else program.example)
    if program.causal:
        yield "# causal"
    if program.stop is not None:
        yield header_line("stop", [program.stop])
    if exact:
        yield "# exact"
    yield header_line("output", [program.output])


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
            self._inline(output, used)

    def _inline(self, output: str, used_after: tuple[str, ...]) -> None:
        uses = Counter(name for definition in self.definitions for name in _mentions(definition.node))
        uses.update(used_after)
        depths: dict[str, int] = {}
        for definition in self.definitions:
            name, node = definition.name, definition.node
            depth = 1 + max((depths.get(used, 0) for used in core.operands(node)), default=0)
            once = uses[name] == 1 and depth < DEEPEST
            if ANONYMOUS.fullmatch(name) and name != output and (once or isinstance(node, EVERYWHERE)):
                self.inlined[name] = node
                depths[name] = depth

    def lines(self) -> Iterator[str]:
        """One statement per definition that is not inlined; loops precede their first use."""
        for definition in self.definitions:
            if isinstance(definition.node, core.Repeat):
                yield from self._loop(definition.node)
            if definition.name not in self.inlined:
                yield self.statement(definition)

    def statement(self, definition: Definition) -> str:
        """The statement of a definition."""
        text = self._written(definition.node, CHOICE)
        return f"{definition.name} = {f'constant({text})' if isinstance(definition.node, core.Constant) else text};"

    def _loop(self, node: core.Repeat) -> Iterator[str]:
        """The statement of a loop, unless it was printed for another of its variables."""
        loop = distinguished(replace(node, result=""))
        if loop in self._loops:
            return
        self._loops.add(loop)
        starts = ", ".join(f"{name} = {self._operand(start, CHOICE)}" for name, start in node.variables)
        inner = _Printer(node.body, "", self.readable, self.inlined, node.following)
        yield f"repeat {starts} {{"
        yield from (f"    {line}" for line in inner.lines())
        names = ", ".join(name for name, _ in node.variables)
        yield f"    {names} = {', '.join(inner._operand(name, CHOICE) for name in node.following)};"
        yield "} until unchanged;"

    def _operand(self, name: str, level: Level) -> str:
        node = self.inlined.get(name)
        return name if node is None else self._written(node, level)

    def _written(self, node: Node, level: Level) -> str:
        return node.result if isinstance(node, core.Repeat) else written(node, self._operand, level)


EVERYWHERE: Final = (core.Constant, core.Tokens, core.Indices, core.Length, core.SelectAll, core.Repeat)
"""Operations that are inlined at every use."""


def _mentions(node: Node) -> tuple[str, ...]:
    """The names that an operation references, with multiplicity."""
    if isinstance(node, core.Repeat):
        inside = [name for step in node.body for name in _mentions(step.node)]
        return (*(start for _, start in node.variables), *inside, *node.following)
    return core.operands(node)


def program_table(program: Program) -> str:
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
