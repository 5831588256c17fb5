"""Families of circuits, given by their direct connection languages: the kind and the arguments of every gate.

A family n ↦ C_n is L-uniform if a logarithmic-space machine decides its connection language (Definition A.2 of
"Revisiting Padded Transformer Expressivity"). Here the queries are answered by programs. Wires are numbered from 0: the
inputs, then the gates, each after its arguments; the last wire is the output.

The circuits of a family given by rules (``.family``) are printed by a program, too (Lemma C.1 of Svete et al. 2026).

A rule defines gates for ranges of its indices, by arithmetic on numbers of O(log n) bits. It translates directly to a
program: loops over the indices, conditions, and a line for the gate. A gate is printed as the name of its rule and its
indices in binary, O(log n) bits. Differences in the bounds of ranges are truncated at 0, so a range that ends below 0
is empty; other negative numbers make the machine stop with an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from softmachine.languages.circuit import Circuit, GateKind
from softmachine.languages.family import CircuitFamily
from softmachine.languages.family.family import (
    BinaryOperation,
    Expression,
    ExpressionComparison,
    IndexedWire,
    IndexRange,
    Log,
    Numeral,
    Variable,
)
from softmachine.studies.uniformity.python_to_machine import GeneratedProgram, compile_machine
from softmachine.studies.uniformity.stdlib import bit_length, ceil_log2, monus, power
from softmachine.studies.uniformity.transducer import Transducer

AND, OR, NOT, THRESHOLD = range(4)
"""Kinds of gates."""


class CircuitDescription(Protocol):
    """The circuits C_n, gate by gate. All numbers are natural, and every method is a program."""

    def wires(self, n: int) -> int:
        """Return the number of inputs and gates; the first n wires are the inputs."""

    def depth(self, n: int) -> int:
        """Return the number of gates on the longest path."""

    def max_fan_in(self, n: int) -> int:
        """Return the maximum fan-in of a gate."""

    def kind(self, n: int, g: int) -> int:
        """Return the kind of gate g."""

    def fan_in(self, n: int, g: int) -> int:
        """Return the number of arguments of gate g."""

    def threshold(self, n: int, g: int) -> int:
        """Return the threshold of gate g, if it is a threshold gate."""

    def argument(self, n: int, g: int, k: int) -> int:
        """Return the wire that is argument k of gate g, counted from 0."""


class AdjacentOnes:
    """Are two neighbours both 1? The OR of all x_k ∧ x_(k+1): depth 2, hence in AC⁰. For n ≥ 3."""

    @staticmethod
    def wires(n: int) -> int:
        """The inputs, n - 1 gates AND, and one OR."""
        return n + n

    @staticmethod
    def depth(n: int) -> int:
        """An OR of ANDs."""
        return 2

    @staticmethod
    def max_fan_in(n: int) -> int:
        """Those of the OR."""
        return n - 1

    @staticmethod
    def kind(n: int, g: int) -> int:
        """The last gate is the OR."""
        return OR if g + 1 == n + n else AND

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """The OR reads all other gates."""
        return n - 1 if g + 1 == n + n else 2

    @staticmethod
    def threshold(n: int, g: int) -> int:
        """There is no threshold gate."""
        return 0

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Gate n + j reads x_j and x_(j+1)."""
        return n + k if g + 1 == n + n else g - n + k


class AndOrTree:
    """A tree of binary gates, alternately AND and OR: depth ⌈log₂ n⌉. For n ≥ 2.

    Gate n + k reads wires 2k and 2k + 1. Every wire is read once, by a later gate, and there are n - 1 gates.
    """

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and n - 1 gates."""
        return n + n - 1

    @staticmethod
    def level(n: int, g: int) -> int:
        """Return the number of gates on the longest path to wire g, which leads through its second argument."""
        found = 0
        while g >= n:
            g -= n
            g += g
            g += 1
            found += 1
        return found

    @staticmethod
    def depth(n: int) -> int:
        """The level of the last gate."""
        return bit_length(n - 1)

    @staticmethod
    def max_fan_in(n: int) -> int:
        """Two."""
        return 2

    @staticmethod
    def kind(n: int, g: int) -> int:
        """AND at odd levels."""
        return AND if AndOrTree.level(n, g) % 2 == 1 else OR

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """Two."""
        return 2

    @staticmethod
    def threshold(n: int, g: int) -> int:
        """There is no threshold gate."""
        return 0

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Wires 2k and 2k + 1."""
        return g - n + (g - n) + k


class Majority:
    """Are more than half of the inputs 1? One threshold gate: in TC⁰ and not in AC⁰. For n ≥ 3."""

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and the gate."""
        return n + 1

    @staticmethod
    def depth(n: int) -> int:
        """One gate."""
        return 1

    @staticmethod
    def max_fan_in(n: int) -> int:
        """All inputs."""
        return n

    @staticmethod
    def kind(n: int, g: int) -> int:
        """A threshold gate."""
        return THRESHOLD

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """All inputs."""
        return n

    @staticmethod
    def threshold(n: int, g: int) -> int:
        """More than half."""
        return n // 2 + 1

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Input k."""
        return k


class MajorityTree:
    """A tree of majorities of three: depth O(log n). For odd n ≥ 3.

    Gate n + k reads wires 3k, 3k + 1 and 3k + 2, and there are (n - 1)/2 gates.
    """

    @staticmethod
    def wires(n: int) -> int:
        """The inputs and (n - 1)/2 gates."""
        return n + n // 2

    @staticmethod
    def depth(n: int) -> int:
        """The level of the last gate: one more than that of its third argument."""
        g = MajorityTree.wires(n) - 1
        found = 0
        while g >= n:
            g = 3 * (g - n) + 2
            found += 1
        return found

    @staticmethod
    def max_fan_in(n: int) -> int:
        """Three."""
        return 3

    @staticmethod
    def kind(n: int, g: int) -> int:
        """Threshold gates."""
        return THRESHOLD

    @staticmethod
    def fan_in(n: int, g: int) -> int:
        """Three."""
        return 3

    @staticmethod
    def threshold(n: int, g: int) -> int:
        """Two of three."""
        return 2

    @staticmethod
    def argument(n: int, g: int, k: int) -> int:
        """Wires 3k, 3k + 1 and 3k + 2."""
        return 3 * (g - n) + k


def wire_at(family: CircuitDescription, n: int, i: int) -> tuple[int, int]:
    """Return the wire at position i, and 0, or k for the k-th argument of that gate; gates precede their arguments."""
    g = i
    which = 0
    if i >= n:
        g = n
        which = i - n
        while which > family.fan_in(n, g):
            which -= family.fan_in(n, g) + 1
            g += 1
    return g, which


INDENT = "    "
SUBROUTINES: dict[str, Callable[..., int]] = {"power": power, "logarithm": ceil_log2, "less": monus}
"""Subroutines of generated programs."""
_SIGNS = {"+": "+", "-": "-", "*": "*", "/": "//", "%": "%"}


def compile_printer(family: CircuitFamily) -> Transducer:
    """Return the machine that prints C_n from 1ⁿ."""
    return compile_machine(f"the circuits of {family.name}", GeneratedProgram(generate_program(family), SUBROUTINES))


def generate_program(family: CircuitFamily) -> str:
    """Generate the program that prints the circuits of a family: its rules as loops."""
    lines = [f"{local_name('n')} = tape.unary()"]
    for rule in family.rules:
        threshold = "" if rule.threshold is None else f" {{{generate_code(rule.threshold)}:b}}"
        body = [_generate_put(rule.wire, after=f" {rule.kind}{threshold}")]
        for argument in rule.arguments:
            body += generate_loops(argument.ranges, argument.conditions, [_generate_put(argument, before=" ")])
        lines += generate_loops(rule.ranges, rule.conditions, [*body, r"tape.put('\n')"])
    return "\n".join([*lines, _generate_put(family.output, before="output ", after=r"\n"), ""])


def describe_circuit(circuit: Circuit) -> Iterator[str]:
    """Yield the expected lines of the machine for a circuit."""
    for gate in circuit.gates:
        threshold = f" {gate.threshold:b}" if gate.kind is GateKind.THR else ""
        yield " ".join([_format_wire(gate.name), f"{gate.kind}{threshold}", *map(_format_wire, gate.inputs)])
    yield f"output {_format_wire(circuit.outputs[0])}"


def _format_wire(wire: str) -> str:
    """Format a wire: its name, and its indices in binary."""
    letters, *indices = re.findall(r"\w+", wire)
    return " ".join([letters, *(f"{int(index):b}" for index in indices)])


def _generate_put(wire: IndexedWire, before: str = "", after: str = "") -> str:
    """Generate the code that prints a wire: its name, and its indices in binary."""
    indices = "".join(f" {{{generate_code(index)}:b}}" for index in wire.indices)
    return f"tape.put(f'{before}{wire.name}{indices}{after}')"


def generate_loops(
    ranges: tuple[IndexRange, ...], conditions: tuple[ExpressionComparison, ...], body: list[str]
) -> list[str]:
    """Generate loops over the values of indices that satisfy the conditions, around a body."""
    if conditions:
        test = " and ".join(
            f"{generate_code(each.left)} {'==' if each.relation == '=' else each.relation} {generate_code(each.right)}"
            for each in conditions
        )
        body = [f"if {test}:", *_indent(body)]
    for item in reversed(ranges):
        body = [
            f"for {local_name(item.index)} in range({generate_code(item.first)}, {_generate_end(item.last)}):",
            *_indent(body),
        ]
    return body


def _generate_end(last: Expression) -> str:
    """Generate the end of a range: its last value plus 1, truncated at 0."""
    match last:
        case BinaryOperation("-", left, right):
            return f"less({generate_code(left)} + 1, {generate_code(right)})"
    return f"{generate_code(last)} + 1"


def _indent(lines: Iterable[str]) -> list[str]:
    return [INDENT + line for line in lines]


def local_name(variable: str) -> str:
    """Return the name of a variable in generated code, distinct from all keywords."""
    return f"v_{variable}"


def generate_code(expression: Expression) -> str:
    """Generate the code of an expression."""
    match expression:
        case Numeral(value):
            return str(value)
        case Variable(name):
            return local_name(name)
        case Log(of):
            return f"logarithm({generate_code(of)})"
        case BinaryOperation("^", left, right):
            return f"power({generate_code(left)}, {generate_code(right)})"
        case BinaryOperation(sign, left, right):
            return f"({generate_code(left)} {_SIGNS[sign]} {generate_code(right)})"
