"""Streaming interpreter of causal RASP programs, in linear time per letter, and autoregressive generation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from softmachine.languages.rasp import ir
from softmachine.languages.rasp.interpreter import (
    SelectedKeys,
    aggregate_selected,
    combine_selectors,
    is_paired,
    lookup_table,
    run,
)
from softmachine.languages.rasp.ir import UNDEFINED, Node, Undefined
from softmachine.languages.rasp.program import RaspProgram
from softmachine.languages.rasp.values import PartialValue, apply, identity_key
from softmachine.support.errors import NoNextTokenError, UsageError


class StreamingEvaluator:
    """Evaluates a program on an input that arrives letter by letter.

    Programs that are not causal or have loops are re-run on every new letter: the number of iterations of a loop
    depends on all positions.

    Args:
        program: The program.
    """

    def __init__(self, program: RaspProgram) -> None:
        self.program = program
        self._letters: list[str] = []
        self._at = 0
        self._meanings = dict(zip(program.alphabet, program.letters, strict=True))
        self._values: dict[str, list[PartialValue]] = {name: [] for name in program.nodes}
        self._tables: dict[str, dict[Hashable, PartialValue]] = {}
        self._pairs: dict[str, set[Hashable]] = {}
        for name, node in program.nodes.items():
            if isinstance(node, ir.Table):
                self._tables[name] = {identity_key(given): result for given, result in node.rows}
            elif isinstance(node, ir.SelectPairs):
                self._pairs[name] = {identity_key(pair) for pair in node.pairs}
        loops = any(isinstance(node, ir.Repeat) for node in program.nodes.values())
        self._again = loops or not program.causal

    def append(self, letters: Iterable[str]) -> PartialValue:
        """Read more letters; returns the output at the last of them.

        Raises:
            InputError: If a letter is not in the alphabet.
            NoNextTokenError: If a loop does not end, or if the input is still empty.
        """
        new = self.program.word(tuple(letters))
        self._letters += new
        if not self._letters:
            raise NoNextTokenError(f"{self.program.name!r} has no output on the empty input: there is no last position")
        if self._again:
            return run(self.program, self._letters)[-1]
        for letter in new:
            self._append(letter)
            self._at += 1
        return self._values[self.program.output][-1]

    def _append(self, letter: str) -> None:
        """Evaluate all definitions at one more position."""
        rows: dict[str, SelectedKeys] = {}
        for name, node in self.program.nodes.items():
            match node:
                case ir.Select() | ir.SelectPairs() | ir.SelectAll() | ir.Combine():
                    rows[name] = self._row(name, node, rows)
                case ir.Tokens():
                    self._values[name].append(self._meanings[letter])
                case _:
                    self._values[name].append(self._value(name, node, rows))

    def _value(self, name: str, node: Node, rows: dict[str, SelectedKeys]) -> PartialValue:
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
                return lookup_table(self._tables[name], tuple(self._values[operand][i] for operand in node.operands))
            case ir.Width():
                row = rows[node.selector]
                return UNDEFINED if isinstance(row, Undefined) else len(row)
            case ir.Aggregate():
                return aggregate_selected(
                    node, rows[node.selector], self._values[node.values], self._values[node.default][i]
                )
        raise AssertionError(f"{node!r} has no value")

    def _row(self, name: str, node: Node, rows: dict[str, SelectedKeys]) -> SelectedKeys:
        """The keys that the new position selects."""
        match node:
            case ir.Select():
                return self._compared(node, lambda key, query: apply(node.comparison, (key, query)))
            case ir.SelectPairs():
                return self._compared(node, lambda key, query: is_paired(key, query, self._pairs[name]))
            case ir.Combine():
                return combine_selectors(node.operator, [rows[part] for part in node.selectors], range(self._at + 1))
            case ir.SelectAll():
                return list(range(self._at + 1)) if node.selected else []
        raise AssertionError(f"{node!r} is not a selector")

    def _compared(
        self, node: ir.Select | ir.SelectPairs, test: Callable[[PartialValue, PartialValue], PartialValue]
    ) -> SelectedKeys:
        query = self._values[node.query][-1]
        tests = [test(key, query) for key in self._values[node.key]]
        return UNDEFINED if UNDEFINED in tests else [j for j, selected in enumerate(tests) if selected is True]


@dataclass(frozen=True)
class GeneratedRun:
    """The result of an autoregressive run.

    Args:
        letters: The letters appended to the input, without the stop symbol.
        is_complete: Whether the program emitted its stop symbol; otherwise the step limit was reached.
    """

    letters: tuple[str, ...]
    is_complete: bool


def generate(program: RaspProgram, word: str | Iterable[str], max_steps: int = 1000) -> GeneratedRun:
    """Run a program autoregressively: append the output at the last position until it is the stop symbol.

    Raises:
        UsageError: If the program has no stop symbol.
        NoNextTokenError: If the output is undefined, or if the input is empty.
        InputError: If a symbol of the word is not in the alphabet.
    """
    if program.stop is None:
        raise UsageError(
            f"{program.name!r} has no stop symbol, so it cannot run autoregressively",
            hint="add a line: # stop: $",
        )
    letters = program.word(word)
    if not letters:
        raise NoNextTokenError(
            f"{program.name!r} cannot start from the empty word: the next letter is the output at the last position"
        )
    written: list[str] = []
    reading = StreamingEvaluator(program)
    new: Iterable[str] = letters
    while len(written) < max_steps:
        output = reading.append(new)
        symbol = None if isinstance(output, Undefined) else program.output_symbol(output)
        if symbol is None:
            raise NoNextTokenError(f"the output of {program.name!r} after {len(written)} steps is undefined")
        if symbol == program.stop:
            return GeneratedRun(tuple(written), is_complete=True)
        written.append(symbol)
        new = (symbol,)
    return GeneratedRun(tuple(written), is_complete=False)
