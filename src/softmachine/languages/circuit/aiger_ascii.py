"""Parser of ASCII AIGER, ``.aag``: one line per input, output and AND, then names and comments."""

from __future__ import annotations

from softmachine.languages.circuit.aiger_header import EXAMPLE, Header, header_of, symbols_of
from softmachine.languages.circuit.and_inverter import And, AndInverterGraph, Output
from softmachine.languages.circuit.lines import Line, lines_of
from softmachine.support.errors import Place, SourceError


def read(text: str, source: str) -> AndInverterGraph:
    """Parse an ASCII AIGER file.

    Raises:
        SourceError: If the text is not an ASCII AIGER file.
    """
    lines = list(lines_of(text, source))
    if not lines:
        raise SourceError("the file is empty", place=Place(source), hint=EXAMPLE)
    return _Reader(header_of(lines[0], "aag"), lines).graph()


class _Reader:
    """Parser state: the lines of each section, and the variables driven so far."""

    def __init__(self, header: Header, lines: list[Line]) -> None:
        inputs, outputs, ands = header.inputs, header.outputs, header.ands
        self.header, self.first, body = header, lines[0], lines[1:]
        if len(body) < inputs + outputs + ands:
            raise lines[-1].error(
                f"the file ends here, but its header declares {inputs} inputs, {outputs} outputs and {ands} ANDs"
            )
        self.inputs, body = body[:inputs], body[inputs:]
        self.outputs, body = body[:outputs], body[outputs:]
        self.ands = body[:ands]
        self.symbols = symbols_of(body[ands:], header)
        self.driven: set[int] = set()

    def graph(self) -> AndInverterGraph:
        """Parse the file; every variable is driven exactly once, and gates may come in any order."""
        inputs = [
            self._variable(line, "an input", fields=1, example="an input is one even literal per line")
            for line in self.inputs
        ]
        variables = [self._variable(line, "an AND", fields=3, example="an AND is like: 6 2 4") for line in self.ands]
        ands = [
            And(variable, self._literal(line, 1), self._literal(line, 2), line.place)
            for variable, line in zip(variables, self.ands, strict=True)
        ]
        outputs = [Output(self._literal(line, 0), line.place) for line in self.outputs]
        return AndInverterGraph(inputs, ands, outputs, self.symbols, self.first.place)

    def _variable(self, line: Line, what: str, *, fields: int, example: str) -> int:
        """Parse the variable that a line defines."""
        if len(line.fields) != fields:
            raise line.error(f"this is not {what}", example)
        literal = line.number(0, what, most=self.header.largest_literal)
        if literal % 2 or not literal:
            raise line.error(f"{what} is a literal that is even and not 0, not {literal}", field=0)
        if literal // 2 in self.driven:
            raise line.error(f"literal {literal} is defined twice; a wire has one driver", field=0)
        self.driven.add(literal // 2)
        return literal // 2

    def _literal(self, line: Line, field: int) -> int:
        """Parse a literal that is used as an argument or an output."""
        literal = line.number(field, "a literal", most=self.header.largest_literal)
        if literal > 1 and literal // 2 not in self.driven:
            raise line.error(f"nothing drives variable {literal // 2} (literal {literal})", field=field)
        return literal
