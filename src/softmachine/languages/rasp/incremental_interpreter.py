"""Streaming interpreter of causal RASP programs, in linear time per letter, and autoregressive generation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.interpreter import Row, combined, is_paired, looked_up, run, selected_value
from softmachine.languages.rasp.ir import UNDEFINED, Node, Undefined
from softmachine.languages.rasp.program import Program
from softmachine.languages.rasp.values import Result, apply, identity
from softmachine.support.errors import StuckError, UsageError


class Reading:
    """Evaluates a program on an input that arrives letter by letter.

    Programs that are not causal or have loops are re-run on every new letter: the number of iterations of a loop
    depends on all positions.

    Args:
        program: The program.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._letters: list[str] = []
        self._at = 0
        self._meanings = dict(zip(program.alphabet, program.letters, strict=True))
        self._values: dict[str, list[Result]] = {name: [] for name in program.nodes}
        self._tables: dict[str, dict[Hashable, Result]] = {}
        self._pairs: dict[str, set[Hashable]] = {}
        for name, node in program.nodes.items():
            if isinstance(node, ir.Table):
                self._tables[name] = {identity(given): result for given, result in node.rows}
            elif isinstance(node, ir.SelectPairs):
                self._pairs[name] = {identity(pair) for pair in node.pairs}
        loops = any(isinstance(node, ir.Repeat) for node in program.nodes.values())
        self._again = loops or not program.causal

    def read(self, letters: Iterable[str]) -> Result:
        """Read more letters; returns the output at the last of them.

        Raises:
            InputError: If a letter is not in the alphabet.
            StuckError: If a loop does not end, or if the input is still empty.
        """
        new = self.program.word(tuple(letters))
        self._letters += new
        if not self._letters:
            raise StuckError(f"{self.program.name!r} has no output on the empty input: there is no last position")
        if self._again:
            return run(self.program, self._letters)[-1]
        for letter in new:
            self._read(letter)
            self._at += 1
        return self._values[self.program.output][-1]

    def _read(self, letter: str) -> None:
        """Evaluate all definitions at one more position."""
        rows: dict[str, Row] = {}
        for name, node in self.program.nodes.items():
            match node:
                case ir.Select() | ir.SelectPairs() | ir.SelectAll() | ir.Combine():
                    rows[name] = self._row(name, node, rows)
                case ir.Tokens():
                    self._values[name].append(self._meanings[letter])
                case _:
                    self._values[name].append(self._value(name, node, rows))

    def _value(self, name: str, node: Node, rows: dict[str, Row]) -> Result:
        i = self._at
        match node:
            case ir.Indices():
                return i
            case ir.Length():
                return i + 1
            case ir.Constant(value=value):
                return value
            case ir.Apply():
                return apply(node.operator, tuple(self._values[operand][i] for operand in node.operands))
            case ir.Table():
                return looked_up(self._tables[name], tuple(self._values[operand][i] for operand in node.operands))
            case ir.Width():
                row = rows[node.selector]
                return UNDEFINED if isinstance(row, Undefined) else len(row)
            case ir.Aggregate():
                return selected_value(
                    node, rows[node.selector], self._values[node.values], self._values[node.default][i]
                )
        raise AssertionError(f"{node!r} has no value")

    def _row(self, name: str, node: Node, rows: dict[str, Row]) -> Row:
        """The keys that the new position selects."""
        match node:
            case ir.Select():
                return self._compared(node, lambda key, query: apply(node.comparison, (key, query)))
            case ir.SelectPairs():
                return self._compared(node, lambda key, query: is_paired(key, query, self._pairs[name]))
            case ir.Combine():
                return combined(node.operator, [rows[part] for part in node.selectors], range(self._at + 1))
            case ir.SelectAll():
                return list(range(self._at + 1)) if node.selected else []
        raise AssertionError(f"{node!r} is not a selector")

    def _compared(self, node: ir.Select | ir.SelectPairs, test: Callable[[Result, Result], Result]) -> Row:
        query = self._values[node.query][-1]
        tests = [test(key, query) for key in self._values[node.key]]
        return UNDEFINED if UNDEFINED in tests else [j for j, selected in enumerate(tests) if selected is True]


@dataclass(frozen=True)
class Generation:
    """The result of an autoregressive run.

    Args:
        letters: The letters appended to the input, without the stop symbol.
        stopped: Whether the program emitted its stop symbol; otherwise the step limit was reached.
    """

    letters: tuple[str, ...]
    stopped: bool


def generate(program: Program, word: str | Iterable[str], max_steps: int = 1000) -> Generation:
    """Run a program autoregressively: append the output at the last position until it is the stop symbol.

    Raises:
        UsageError: If the program has no stop symbol.
        StuckError: If the output is undefined, or if the input is empty.
        InputError: If a symbol of the word is not in the alphabet.
    """
    if program.stop is None:
        raise UsageError(
            f"{program.name!r} has no stop symbol, so it cannot run autoregressively",
            hint="add a line: # stop: $",
        )
    letters = program.word(word)
    if not letters:
        raise StuckError(
            f"{program.name!r} cannot start from the empty word: the next letter is the output at the last position"
        )
    written: list[str] = []
    reading = Reading(program)
    new: Iterable[str] = letters
    while len(written) < max_steps:
        output = reading.read(new)
        symbol = None if isinstance(output, Undefined) else program.symbol_of(output)
        if symbol is None:
            raise StuckError(f"the output of {program.name!r} after {len(written)} steps is undefined")
        if symbol == program.stop:
            return Generation(tuple(written), stopped=True)
        written.append(symbol)
        new = (symbol,)
    return Generation(tuple(written), stopped=False)
