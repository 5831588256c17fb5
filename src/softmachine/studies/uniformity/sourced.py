"""Printer of the circuits of a family given by rules (``.family``; Lemma C.1 of Svete et al. 2026).

A rule defines gates for ranges of its indices, by arithmetic on numbers of O(log n) bits. It translates directly to a
program: loops over the indices, conditions, and a line for the gate. A gate is printed as the name of its rule and its
indices in binary, O(log n) bits. Differences in the bounds of ranges are truncated at 0, so a range that ends below 0
is empty; other negative numbers make the machine stop with an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from softmachine.languages.circuit import Circuit, GateKind
from softmachine.languages.family import Family
from softmachine.languages.family.expressions import Comparison, Expression, Log, Number, Operation, Variable
from softmachine.languages.family.family import Indexed, Range
from softmachine.studies.uniformity.library import less, logarithm, power
from softmachine.studies.uniformity.reading import Written
from softmachine.studies.uniformity.transducer import Transducer
from softmachine.studies.uniformity.translating import machine

INDENT = "    "
CALLED: dict[str, Callable[..., int]] = {"power": power, "logarithm": logarithm, "less": less}
"""Subroutines of generated programs."""
_SIGNS = {"+": "+", "-": "-", "*": "*", "/": "//", "%": "%"}


def printer(family: Family) -> Transducer:
    """Return the machine that prints C_n from 1ⁿ."""
    return machine(f"the circuits of {family.name}", Written(program(family), CALLED))


def program(family: Family) -> str:
    """Generate the program that prints the circuits of a family: its rules as loops."""
    lines = [f"{local('n')} = tape.unary()"]
    for rule in family.rules:
        body = [_put(rule.wire), f"tape.put({f' {rule.kind}'!r})"]
        body += [f"tape.put(' ', {code(rule.at_least)})"] if rule.at_least is not None else []
        for argument in rule.arguments:
            body += looped(argument.ranges, argument.conditions, ["tape.put(' ')", _put(argument)])
        lines += looped(rule.ranges, rule.conditions, [*body, r"tape.put('\n')"])
    return "\n".join([*lines, "tape.put('output ')", _put(family.output), r"tape.put('\n')", ""])


def description(circuit: Circuit) -> Iterator[str]:
    """Yield the expected lines of the machine for a circuit."""
    for gate in circuit.gates:
        threshold = f" {gate.threshold:b}" if gate.kind is GateKind.THR else ""
        yield " ".join([_spelled(gate.name), f"{gate.kind}{threshold}", *map(_spelled, gate.inputs)])
    yield f"output {_spelled(circuit.outputs[0])}"


def _spelled(wire: str) -> str:
    """Format a wire: its name, and its indices in binary."""
    letters, *indices = re.findall(r"\w+", wire)
    return " ".join([letters, *(f"{int(index):b}" for index in indices)])


def _put(wire: Indexed) -> str:
    parts = [repr(wire.name), *(part for index in wire.indices for part in ("' '", code(index)))]
    return f"tape.put({', '.join(parts)})"


def looped(ranges: tuple[Range, ...], conditions: tuple[Comparison, ...], body: list[str]) -> list[str]:
    """Generate loops over the values of indices that satisfy the conditions, around a body."""
    if conditions:
        test = " and ".join(f"{code(each.left)} {_relation(each.relation)} {code(each.right)}" for each in conditions)
        body = [f"if {test}:", *_indented(body)]
    for item in reversed(ranges):
        body = [f"for {local(item.index)} in range({code(item.first)}, {_after(item.last)}):", *_indented(body)]
    return body


def _after(last: Expression) -> str:
    """Generate the end of a range: its last value plus 1, truncated at 0."""
    match last:
        case Operation("-", left, right):
            return f"less({code(left)} + 1, {code(right)})"
    return f"{code(last)} + 1"


def _indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _relation(relation: str) -> str:
    return "==" if relation == "=" else relation


def local(variable: str) -> str:
    """Return the name of a variable in generated code, distinct from all keywords."""
    return f"v_{variable}"


def code(expression: Expression) -> str:
    """Generate the code of an expression."""
    match expression:
        case Number(value):
            return str(value)
        case Variable(name):
            return local(name)
        case Log(of):
            return f"logarithm({code(of)})"
        case Operation("^", left, right):
            return f"power({code(left)}, {code(right)})"
        case Operation(sign, left, right):
            return f"({code(left)} {_SIGNS[sign]} {code(right)})"
