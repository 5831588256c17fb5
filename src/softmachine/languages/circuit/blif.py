"""Berkeley Logic Interchange Format (BLIF): parser and printer of its combinational subset, one model per file.

``.model``, ``.inputs``, ``.outputs`` and ``.end``, and for each gate ``.names`` with its arguments and its wire,
followed by a cover: rows of 0, 1 and - that give the on-set (or, all of them, the off-set). Covers that equal a gate
are parsed as that gate (AND, OR, XOR, threshold, …); others become an OR of ANDs. Latches, subcircuits and library
gates are rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb

from softmachine.languages.circuit.circuit import CONSTANT_KINDS, UNARY_KINDS, Circuit, CircuitBuilder, Gate, GateKind
from softmachine.languages.circuit.lines import SourceLine, check_names, source_lines
from softmachine.languages.circuit.structural_hashing import Basis, simplify
from softmachine.languages.source import default_name
from softmachine.support.errors import SourceError, SourceLocation

SEQUENTIAL_KEYWORDS = (".latch", ".mlatch", ".start_kiss", ".clock")
WIDE_KINDS = [kind for kind in GateKind if kind not in UNARY_KINDS | CONSTANT_KINDS | {GateKind.THR}]
MAX_TABLE_INPUTS = 8
"""Covers of at most this many arguments are compared with all symmetric gates."""
MAX_ROWS = 70
"""Maximum rows per printed gate; the printer splits gates that need more."""


@dataclass
class _Cover:
    """A ``.names`` statement: its wires, its rows, and the value of these (1 for the on-set, 0 for the off-set)."""

    place: SourceLocation
    inputs: list[str]
    output: str
    rows: list[str] = field(default_factory=list)
    value: str | None = None


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Circuit:
    """Parse a BLIF file."""
    model: str | None = None
    inputs: list[str] = []
    outputs: list[str] = []
    covers: list[_Cover] = []
    for line in _join_lines(source_lines(text, source, comment="#")):
        word, *rest = line.fields
        match word:
            case ".model" if model is not None:
                raise line.error("this is a second model; only one per file is supported")
            case ".model":
                model = rest[0] if rest else ""
            case ".inputs":
                inputs += rest
            case ".outputs":
                outputs += rest
            case ".names" if rest:
                covers.append(_Cover(line.place, rest[:-1], rest[-1]))
            case ".names":
                raise line.error(".names needs a wire, after the arguments if there are any")
            case ".end":
                break
            case _ if word.startswith("."):
                raise _unsupported_error(line, word)
            case _:
                _parse_row(covers, line)
    if not (covers or inputs or outputs):
        raise SourceError("there is no circuit in this file", place=SourceLocation(source), hint="begin with .model")
    taken = {*inputs, *outputs, *(wire for cover in covers for wire in (*cover.inputs, cover.output))}
    builder = CircuitBuilder(name or model or default_name(source) or "circuit", inputs, reserved=taken)
    for cover in covers:
        _add_gates(builder, cover)
    return builder.build(outputs, SourceLocation(source))


def _join_lines(lines: Iterator[SourceLine]) -> Iterator[SourceLine]:
    """Join lines that end in a backslash to the next line."""
    begun: SourceLine | None = None
    for line in lines:
        whole = SourceLine(f"{begun.text[:-1]} {line.text.lstrip()}", begun.place) if begun else line
        begun = whole if whole.text.endswith("\\") else None
        if begun is None:
            yield whole
    if begun is not None and begun.text[:-1].strip():
        yield SourceLine(begun.text[:-1], begun.place)


def _unsupported_error(line: SourceLine, word: str) -> SourceError:
    if word in SEQUENTIAL_KEYWORDS:
        return line.error(
            f"{word} describes memory; only combinational circuits are supported",
            "cut the circuit at its latches: make their outputs inputs, and their inputs outputs",
        )
    known = ".model, .inputs, .outputs, .names and .end"
    return line.error(f"{word[:40]} is not supported", f"the combinational subset has {known}")


def _parse_row(covers: list[_Cover], line: SourceLine) -> None:
    """Parse a row and append it to the last cover."""
    if not covers:
        raise line.error("a row of a cover before any .names")
    cover, fields = covers[-1], line.fields
    width = len(cover.inputs)
    pattern, value = ("", fields[0]) if not width and len(fields) == 1 else (fields[0], fields[-1])
    if len(fields) != (2 if width else 1) or not set(pattern) <= set("01-") or value not in ("0", "1"):
        raise line.error("this is not a row of a cover", "a row is like 1-0 1: one character per argument, then 0 or 1")
    if len(pattern) != width:
        raise line.error(f"the row has {len(pattern)} characters, but {cover.output!r} has {width} arguments", field=0)
    if cover.value not in (None, value):
        raise line.error("the rows of a cover must all end in 1, or all in 0", field=len(fields) - 1)
    cover.value = value
    cover.rows.append(pattern)


def _add_gates(builder: CircuitBuilder, cover: _Cover) -> None:
    """Add the gate that a cover equals, or else an OR of ANDs."""
    place, positive = cover.place, cover.value != "0"
    simple = _match_symmetric_gate(cover.rows, len(cover.inputs), positive) or _match_basic_gate(cover.rows, positive)
    if simple is not None:
        kind, threshold = simple
        arguments = () if kind in CONSTANT_KINDS else cover.inputs
        builder.gate(kind, *arguments, name=cover.output, threshold=threshold, place=place)
        return
    inverse: dict[str, str] = {}
    products = []
    for row in cover.rows:
        literals = []
        for wire, sign in zip(cover.inputs, row, strict=True):
            if sign == "0" and wire not in inverse:
                inverse[wire] = builder.gate(GateKind.NOT, wire, place=place, stem=f"{cover.output}:not")
            literals += [] if sign == "-" else [wire if sign == "1" else inverse[wire]]
        one = literals[0] if len(literals) == 1 else None
        whole = GateKind.AND if literals else GateKind.ONE
        products.append(one or builder.gate(whole, *literals, place=place, stem=f"{cover.output}:row"))
    builder.gate(GateKind.OR if positive else GateKind.NOR, *products, name=cover.output, place=place)


_ONE_ROW = {"11": GateKind.AND, "10": GateKind.NAND, "01": GateKind.NOR, "00": GateKind.OR}
_ROW_EACH = {"11": GateKind.OR, "10": GateKind.NOR, "01": GateKind.NAND, "00": GateKind.AND}
"""Gates of covers with a single row without -, and of covers with one row per argument.

The key is the character in the rows, then the value of the cover.
"""


def _match_basic_gate(rows: list[str], positive: bool) -> tuple[GateKind, int | None] | None:
    """Recognise AND, OR, NAND and NOR of any width."""
    for sign in "10":
        case = f"{sign}{positive:d}"
        if len(rows) == 1 and set(rows[0]) == {sign}:
            return _ONE_ROW[case], None
        if len(rows) == len(rows[0]) and _is_one_row_per_argument(rows, sign):
            return _ROW_EACH[case], None
    return None


def _is_one_row_per_argument(rows: list[str], sign: str) -> bool:
    """Whether each row constrains exactly one argument, and each argument has one such row."""
    places = {row.index(sign) for row in rows if row.count(sign) == 1 and row.count("-") == len(row) - 1}
    return len(places) == len(rows)


def _match_symmetric_gate(rows: list[str], width: int, positive: bool) -> tuple[GateKind, int | None] | None:
    """Recognise symmetric gates: covers whose value depends only on the number of ones."""
    if not rows:
        return GateKind.ZERO, None
    if width > MAX_TABLE_INPUTS:
        return None
    covered = {point for row in set(rows) for point in product(*("01" if sign == "-" else sign for sign in row))}
    inside = Counter(point.count("1") for point in covered)
    if any(count != comb(width, ones) for ones, count in inside.items()):
        return None
    return _gate_of_counts([(ones in inside) is positive for ones in range(width + 1)])


def _gate_of_counts(values: list[bool]) -> tuple[GateKind, int | None] | None:
    """The gate whose value for each number of ones is given, if there is one."""
    width = len(values) - 1
    if len(set(values)) == 1:
        return (GateKind.ONE if values[0] else GateKind.ZERO), None
    for kind in UNARY_KINDS if width == 1 else WIDE_KINDS:
        gate = Gate("", kind, ("",) * width)
        if [gate.evaluate(*(k < ones for k in range(width))) for ones in range(width + 1)] == values:
            return kind, None
    first = values.index(True)
    return (GateKind.THR, first) if all(values[first:]) else None


def to_text(circuit: Circuit) -> str:
    """Format a circuit as a BLIF file. XOR, MAJ and THR of many arguments are split into several gates."""
    if any(_count_rows(gate) > MAX_ROWS for gate in circuit.gates):
        circuit = simplify(circuit, Basis.AC)
    check_names(circuit, "BLIF", "#\\")
    model = "_".join(circuit.name.replace("#", "_").replace("\\", "_").split()) or "circuit"
    lines = [f".model {model}", f".inputs {' '.join(circuit.inputs)}", f".outputs {' '.join(circuit.outputs)}"]
    for gate in circuit.gates:
        lines += [f".names {' '.join((*gate.inputs, gate.name))}", *_rows(gate)]
    return "\n".join([*lines, ".end"]) + "\n"


def _count_rows(gate: Gate) -> int:
    width = len(gate.inputs)
    match gate.kind:
        case GateKind.XOR | GateKind.XNOR:
            return 1 << min(width - 1, 60)
        case GateKind.MAJ | GateKind.THR:
            return comb(width, max(gate.effective_threshold, 0))
    return 0


def _rows(gate: Gate) -> Iterator[str]:
    """Yield the rows of a gate's cover."""
    width = len(gate.inputs)
    match gate.kind:
        case GateKind.AND | GateKind.NAND | GateKind.BUF:
            yield f"{'1' * width} {0 if gate.kind is GateKind.NAND else 1}"
        case GateKind.OR | GateKind.NOR:
            yield f"{'0' * width} {int(gate.kind is GateKind.NOR)}"
        case GateKind.NOT:
            yield "0 1"
        case GateKind.ONE:
            yield "1"
        case GateKind.XOR | GateKind.XNOR:
            for bits in product("01", repeat=width):
                if gate.evaluate(*(bit == "1" for bit in bits)):
                    yield f"{''.join(bits)} 1"
        case GateKind.MAJ | GateKind.THR:
            for places in combinations(range(width), max(gate.effective_threshold, 0)):
                yield "".join("1" if k in places else "-" for k in range(width)) + " 1"
