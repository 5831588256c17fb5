"""Families of circuits that are written down as rules (``.family``): machines that print their circuits (Lemma C.1).

A rule says which gates there are for which values of its indices, by arithmetic on numbers of O(log n) bits. So it is a
program already: loops over the indices, conditions, and in the middle a line for the gate. A gate's name is that of its
rule and its indices in binary, O(log n) bits. Differences in the bounds of ranges stop at 0, so that a range that ends
below 0 is empty; anywhere else the machine gets stuck below 0.
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
"""What programs made of rules call."""
_SIGNS = {"+": "+", "-": "-", "*": "*", "/": "//", "%": "%"}


def printer(family: Family) -> Transducer:
    """The machine that prints C_n from 1ⁿ."""
    return machine(f"the circuits of {family.name}", Written(program(family), CALLED))


def program(family: Family) -> str:
    """The program that prints the circuits of a family: the rules, read as loops."""
    lines = [f"{local('n')} = tape.unary()"]
    for rule in family.rules:
        body = [_put(rule.wire), f"tape.put({f' {rule.kind}'!r})"]
        body += [f"tape.put(' ', {code(rule.at_least)})"] if rule.at_least is not None else []
        for argument in rule.arguments:
            body += looped(argument.ranges, argument.conditions, ["tape.put(' ')", _put(argument)])
        lines += looped(rule.ranges, rule.conditions, [*body, r"tape.put('\n')"])
    return "\n".join([*lines, "tape.put('output ')", _put(family.output), r"tape.put('\n')", ""])


def description(circuit: Circuit) -> Iterator[str]:
    """The lines that such a machine should print for a circuit."""
    for gate in circuit.gates:
        asked = f" {gate.threshold:b}" if gate.kind is GateKind.THR else ""
        yield " ".join([_spelled(gate.name), f"{gate.kind}{asked}", *map(_spelled, gate.inputs)])
    yield f"output {_spelled(circuit.outputs[0])}"


def _spelled(wire: str) -> str:
    """A wire as it is printed: its name, and its indices in binary."""
    letters, *indices = re.findall(r"\w+", wire)
    return " ".join([letters, *(f"{int(index):b}" for index in indices)])


def _put(wire: Indexed) -> str:
    parts = [repr(wire.name), *(part for index in wire.indices for part in ("' '", code(index)))]
    return f"tape.put({', '.join(parts)})"


def looped(ranges: tuple[Range, ...], conditions: tuple[Comparison, ...], body: list[str]) -> list[str]:
    """A body for all values of indices that fulfil conditions."""
    if conditions:
        test = " and ".join(f"{code(each.left)} {_relation(each.relation)} {code(each.right)}" for each in conditions)
        body = [f"if {test}:", *_indented(body)]
    for item in reversed(ranges):
        body = [f"for {local(item.index)} in range({code(item.first)}, {_after(item.last)}):", *_indented(body)]
    return body


def _after(last: Expression) -> str:
    """One more than the last value of a range; 0 if that is below 0."""
    match last:
        case Operation("-", left, right):
            return f"less({code(left)} + 1, {code(right)})"
    return f"{code(last)} + 1"


def _indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _relation(relation: str) -> str:
    return "==" if relation == "=" else relation


def local(variable: str) -> str:
    """A name that no word of the program is."""
    return f"v_{variable}"


def code(expression: Expression) -> str:
    """An expression, as programs have it."""
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
