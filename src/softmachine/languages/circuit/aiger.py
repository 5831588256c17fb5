"""The ASCII format of AIGER, ``.aag``: and-inverter graphs.

The header ``aag M I L O A`` gives the largest variable and the numbers of inputs, latches, outputs and ANDs; the lines
after it are literals: 2v is variable v, 2v+1 its negation, 0 and 1 are constants. Names follow as ``i0 name`` and
``o0 name``, then comments after a line ``c``. Latches are memory, and such a file is refused, as is the binary format.
"""

from __future__ import annotations

import re

from softmachine.errors import Place, SourceError
from softmachine.languages.circuit.builder import Builder
from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.gates import GateKind
from softmachine.languages.circuit.lines import Line, lines_of
from softmachine.languages.circuit.network import Basis, Network, used
from softmachine.languages.circuit.simplify import as_network
from softmachine.languages.formats import Format
from softmachine.languages.source import name_of

HEADER = "the first line is like: aag 7 2 0 1 5 (largest variable, inputs, latches, outputs, ANDs)"


def looks_like(text: str) -> bool:
    """Whether a text is meant as such a file, though there may be a mistake in it."""
    return re.match(r"\s*aa?g\s+\d", text) is not None or re.match(r"\s*aig\s+\d", text) is not None


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """The circuit that a file describes."""
    lines = list(lines_of(text, source))
    if not lines:
        raise SourceError("the file is empty", place=Place(source), hint=HEADER)
    return _Reader(lines, name or name_of(source) or "circuit").circuit()


class _Reader:
    """A file on its way to a circuit."""

    def __init__(self, lines: list[Line], name: str) -> None:
        self.lines = lines
        self.name = name
        self.largest, inputs, outputs, ands = self._header()
        body = lines[1:]
        if len(body) < inputs + outputs + ands:
            raise lines[-1].error(
                f"the file ends here, but its header speaks of {inputs} inputs, {outputs} outputs and {ands} ANDs"
            )
        self.inputs, body = body[:inputs], body[inputs:]
        self.outputs, body = body[:outputs], body[outputs:]
        self.ands = body[:ands]
        self.symbols = _symbols(body[ands:], inputs, outputs)

    def _header(self) -> tuple[int, int, int, int]:
        """The largest variable, and how many inputs, outputs and ANDs there are."""
        first = self.lines[0]
        word, *_ = first.fields
        if word == "aig":
            raise first.error(
                "this is the binary format of AIGER", "the ASCII format begins with aag; convert it first"
            )
        if word != "aag" or not 6 <= len(first.fields) <= 10:
            raise first.error("this is not the header of an AIGER file", HEADER)
        what = ("the largest variable", *(f"the number of {kind}" for kind in ("inputs", "latches", "outputs", "ANDs")))
        largest, inputs, latches, outputs, ands = (first.number(k, text) for k, text in enumerate(what, start=1))
        if latches:
            raise first.error(
                f"there are {latches} latches, which are memory; only combinational circuits are supported",
                "cut the circuit at its latches: make their outputs inputs, and their inputs outputs",
                field=3,
            )
        for extra in range(6, len(first.fields)):
            if first.number(extra, "a number of properties"):
                raise first.error("properties and constraints are not supported; give them as outputs", field=extra)
        return largest, inputs, outputs, ands

    def circuit(self) -> Circuit:
        """All of it."""
        variables: dict[int, str] = {}
        for k, line in enumerate(self.inputs):
            variables[self._variable(line, variables, "an input")] = self.symbols.get(f"i{k}", f"i{k}")
        inputs = list(variables.values())
        named = self._output_names(variables, set(inputs))
        for line in self.ands:
            if len(line.fields) != 3:
                raise line.error("this is not an AND", "an AND is like: 6 2 4")
            variable = self._variable(line, variables, "an AND")
            variables[variable] = named.get(2 * variable, f"v{variable}")
        builder = Builder(self.name, inputs, reserved={*variables.values(), *self.symbols.values()})
        literals = {2 * variable: wire for variable, wire in variables.items()}
        for line in self.ands:
            wires = [self._wire(builder, literals, named, line, k) for k in (1, 2)]
            builder.gate(GateKind.AND, *wires, name=variables[line.number(0, "an AND") // 2], place=line.place)
        outputs = [self._wire(builder, literals, named, line, 0) for line in self.outputs]
        taken = {*variables.values(), *named.values()}
        for k, (line, wire) in enumerate(zip(self.outputs, outputs, strict=True)):
            wanted = self.symbols.get(f"o{k}", wire)
            if wanted != wire and wanted not in taken:
                outputs[k] = builder.gate(GateKind.BUF, wire, name=wanted, place=line.place)
        return builder.build(outputs, self.lines[0].place)

    def _output_names(self, variables: dict[int, str], taken: set[str]) -> dict[int, str]:
        """The literals that are called as the output is that they are: no gate passes them on."""
        named: dict[int, str] = {}
        for k, line in enumerate(self.outputs):
            literal = line.number(0, "an output", most=2 * self.largest + 1)
            name = self.symbols.get(f"o{k}")
            free = name not in taken and literal not in named and (literal // 2 not in variables or literal % 2)
            if name is not None and free:
                named[literal] = name
                taken.add(name)
        return named

    def _variable(self, line: Line, known: dict[int, str], what: str) -> int:
        """The variable that a line defines."""
        literal = line.number(0, what, most=2 * self.largest + 1)
        if literal % 2 or not literal:
            raise line.error(f"{what} is a literal that is even and not 0, not {literal}", field=0)
        if literal // 2 in known:
            raise line.error(f"literal {literal} is defined twice; a wire has one driver", field=0)
        if len(line.fields) > 1 and what == "an input":
            raise line.error("this is not an input", "an input is one even literal a line")
        return literal // 2

    def _wire(self, builder: Builder, literals: dict[int, str], named: dict[int, str], line: Line, field: int) -> str:
        """The wire of a literal; constants and negations get a gate when they are first read."""
        literal = line.number(field, "a literal", most=2 * self.largest + 1)
        if literal not in literals:
            if literal < 2:
                literals[literal] = builder.constant(literal == 1, named.get(literal))
            elif literal - 1 in literals:
                name = named.get(literal)
                literals[literal] = builder.gate(GateKind.NOT, literals[literal - 1], name=name, place=line.place)
            else:
                raise line.error(f"nothing drives variable {literal // 2} (literal {literal})", field=field)
        return literals[literal]


def _symbols(lines: list[Line], inputs: int, outputs: int) -> dict[str, str]:
    """The names of inputs and outputs."""
    found = {}
    for line in lines:
        if line.text.strip() == "c":
            break
        match = re.fullmatch(r"\s*([io])([0-9]{1,9})\s+(\S.*?)\s*", line.text)
        if match is None:
            raise line.error("this is neither a name nor a comment", "a name is like: i0 x; comments follow a line c")
        if int(match[2]) >= (inputs if match[1] == "i" else outputs):
            raise line.error(f"there is no {'input' if match[1] == 'i' else 'output'} {match[2]}", field=0)
        found[match[1] + str(int(match[2]))] = match[3]
    return found


def to_text(circuit: Circuit) -> str:
    """The circuit as such a file: gates are written as ANDs of two and negations; their names are lost."""
    network, wires = as_network(circuit, Basis.AIG)
    literal = _literals(network, [wires[wire] for wire in circuit.outputs])
    ands = [number for number in literal if network.nodes[number][0] == "and"]
    outputs = [literal[wires[wire]] for wire in circuit.outputs]
    lines = [f"aag {circuit.width + len(ands)} {circuit.width} 0 {len(outputs)} {len(ands)}"]
    lines += [str(literal[number]) for number in network.inputs]
    lines += map(str, outputs)
    for number in ands:
        one, other = sorted((literal[argument] for argument in network.nodes[number][1]), reverse=True)
        lines.append(f"{literal[number]} {one} {other}")
    lines += [f"i{k} {wire}" for k, wire in enumerate(circuit.inputs) if _nameable(wire)]
    lines += [f"o{k} {wire}" for k, wire in enumerate(circuit.outputs) if _nameable(wire)]
    return "\n".join([*lines, "c", circuit.name if _nameable(circuit.name) else "circuit"]) + "\n"


def _literals(network: Network, outputs: list[int]) -> dict[int, int]:
    """The literal of each gate that the outputs depend on, and of all inputs."""
    literal = {0: 0, 1: 1, **{number: 2 * k for k, number in enumerate(network.inputs, start=1)}}
    variable = len(network.inputs)
    for number in used(network, outputs):
        kind, arguments, _ = network.nodes[number]
        if kind == "and":
            variable += 1
            literal[number] = 2 * variable
        elif kind == "not":
            literal[number] = literal[arguments[0]] + 1
    return literal


def _nameable(name: str) -> bool:
    return name.isprintable() and name == name.strip() != ""


FORMAT = Format("aiger", (".aag",), looks_like, parse, to_text, rank=90)
