from __future__ import annotations

import pytest

from softmachine.languages.circuit import Circuit, Gate, GateKind, adder, are_equivalent, evaluate, majority
from softmachine.languages.formats import formats, parse
from softmachine.support.errors import InvalidError, SourceError, UsageError
from softmachine.testing.circuit import random_circuit
from softmachine.theorems.read_source import read_source
from tests.sources.circuits import AIGER, BENCH, BLIF, BRISTOL

NAMES = ("bench", "blif", "aiger", "bristol")


def read(text: str, name: str) -> Circuit:
    made = parse(text, format=name, source=f"here.{name}")
    assert isinstance(made, Circuit)
    return made


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_reads_as_the_same_function(seed: int, name: str) -> None:
    one = random_circuit(
        seed, inputs=seed % 9, gates=1 + seed, outputs=1 + seed % 4, fan_in=2 + seed % 10, kinds=tuple(GateKind)
    )
    other = read(formats()[name].to_text(one), name)
    assert are_equivalent(one, other)
    if name == "bench":
        assert (other.inputs, other.gates, other.outputs) == (one.inputs, one.gates, one.outputs)
    if name == "aiger":
        assert other.inputs == one.inputs


@pytest.mark.parametrize("name", NAMES)
def test_large_circuits_survive(name: str) -> None:
    for one in (read_source("interrupt-controller"), adder(32), majority(15)):
        assert isinstance(one, Circuit)
        assert are_equivalent(one, read(formats()[name].to_text(one), name), samples=2048)


def test_blif_reads_covers_that_are_gates_as_gates() -> None:
    gates = [
        Gate(f"y{k}", kind, ("a", "b", "c"), 2 if kind is GateKind.THR else None)
        for k, kind in enumerate(
            (GateKind.AND, GateKind.OR, GateKind.XOR, GateKind.XNOR, GateKind.NAND, GateKind.NOR, GateKind.MAJ)
        )
    ]
    gates += [Gate("n", GateKind.NOT, ("a",)), Gate("i", GateKind.BUF, ("a",)), Gate("0", GateKind.ZERO)]
    gates += [Gate("1", GateKind.ONE), Gate("t", GateKind.THR, ("a", "b", "c", "n"), 2)]
    one = Circuit(name="c", inputs=("a", "b", "c"), gates=tuple(gates), outputs=tuple(gate.name for gate in gates))
    assert read(formats()["blif"].to_text(one), "blif") == one


@pytest.mark.parametrize(
    ("cover", "kind"),
    [("1" * 9 + " 1", "AND"), ("1" * 9 + " 0", "NAND"), ("0" * 9 + " 1", "NOR"), ("0" * 9 + " 0", "OR"), ("", "ZERO")],
)
def test_blif_reads_wide_covers(cover: str, kind: str) -> None:
    wires = " ".join(f"x{k}" for k in range(9))
    assert read(f".inputs {wires}\n.outputs y\n.names {wires} y\n{cover}\n", "blif").gates[0].kind == kind


def test_the_examples_have_the_expected_errors() -> None:
    for word in ("00", "01", "10", "11"):
        total = word.count("1")
        carry, digit = total // 2, total % 2
        assert evaluate(read(AIGER, "aiger"), word) == f"{digit}{carry}"
        assert evaluate(read(BRISTOL, "bristol"), word) == f"{carry}{digit}"
        assert evaluate(read(BENCH, "bench"), word) == f"{digit}{carry}{int(word[1] == '1')}"
        assert evaluate(read(BLIF, "blif"), word)[:2] == f"{digit}{carry}"


def test_names_with_brackets_as_in_the_mcnc_benchmarks() -> None:
    made = read("INPUT(1GAT(0))\nINPUT(4GAT(1))\nOUTPUT(y)\ny = nand(1GAT(0), 4GAT(1))\n", "bench")
    assert made.inputs == ("1GAT(0)", "4GAT(1)")
    assert evaluate(made, "11") == "0"


def test_a_name_that_cannot_be_written_is_refused() -> None:
    one = Circuit(name="c", inputs=("a b",), gates=(Gate("y", GateKind.NOT, ("a b",)),), outputs=("y",))
    for name in ("bench", "blif"):
        with pytest.raises(UsageError, match="'a b'"):
            formats()[name].to_text(one)
    for name in ("aiger", "bristol"):
        assert are_equivalent(one, read(formats()[name].to_text(one), name))


LARGE = "9" * 12
BAD = [
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = AND(a, q)\n", 3, "'q', which nothing drives"),
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = NOT(a)\ny = BUFF(a)\n", 4, "driven by two gates, first at here.bench:3"),
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = AND(a, z)\nz = NOT(y)\n", 4, "z → y → z form a cycle"),
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = DFF(a)\n", 3, "memory element"),
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = FOO(a)\n", 3, "no gate FOO"),
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = LUT 0x8 (a)\n", 3, "look-up tables"),
    ("bench", "INPUT(a)\nOUTPUT(y)\ny = NOT(a, a)\n", 3, "takes 1 argument"),
    ("bench", "INPUT(a)\nhello\n", 2, "neither an input"),
    ("bench", "INPUT(a b)\n", 1, "not the name of a wire"),
    ("blif", ".inputs a\n.outputs y\n.latch a y re clk 0\n", 3, "describes memory"),
    ("blif", ".inputs a\n.outputs y\n.subckt f x=a y=y\n", 3, ".subckt is not supported"),
    ("blif", ".inputs a\n.outputs y\n.names a y\n11 1\n", 4, "2 characters, but 'y' has 1"),
    ("blif", ".inputs a\n.outputs y\n.names a y\n1 1\n0 0\n", 5, "all end in 1, or all in 0"),
    ("blif", ".inputs a\n.outputs y\n.names a y\nx 1\n", 4, "not a row"),
    ("blif", ".inputs a\n.outputs y\n1 1\n", 3, "before any .names"),
    ("blif", ".inputs a\n.outputs y\n.names a b y\n11 1\n.names y b\n1 1\n", 5, "b → y → b form a cycle"),
    ("blif", ".model a\n.model b\n", 2, "second model"),
    ("blif", ".names\n", 1, ".names needs"),
    ("aiger", "aag 2 1 1 1 0\n2\n4 2\n4\n", 1, "latches, which are memory"),
    ("aiger", "aag 3 1 0 1 2\n2\n6\n4 2 6\n6 2 4\n", 5, "v3 → v2 → v3 form a cycle"),
    ("aiger", "aag 3 1 0 1 1\n2\n6\n6 2 4\n", 4, "nothing drives variable 2"),
    ("aiger", "aag 3 1 0 1 2\n2\n6\n6 2 2\n6 3 3\n", 5, "defined twice"),
    ("aiger", "aag 3 1 0 1 1\n3\n6\n6 2 2\n", 2, "even"),
    ("aiger", "aag 3 1 0 1 1\n2\n8\n6 2 2\n", 3, "at most 7"),
    ("aiger", "aag 3 1 0 1 5\n2\n", 2, "the file ends here"),
    ("aiger", " aig 3 1 0 1 5\n", 1, "not the header"),
    ("aiger", f"aag {LARGE} 1 0 1 5\n", 1, "at most"),
    ("aiger", "aag 1 1 0 1 0\n2\n2\nq9 x\n", 4, "neither a name"),
    ("aiger", "aag 1 1 0 1 0\n2\n2\ni9 x\n", 4, "no input 9"),
    ("aiger", "aag 1 1 0 1 0 1\n2\n2\n", 1, "properties"),
    ("bristol", "1 3\n1 2\n1 1\n2 1 0 1 9 AND\n", 4, "at most 2"),
    ("bristol", "1 3\n1 2\n1 1\n2 1 0 1 2 OR\n", 4, "no gate OR"),
    ("bristol", "1 3\n1 2\n1 1\n1 1 0 2 AND\n", 4, "does not read 1 wires"),
    ("bristol", "1 3\n1 2\n1 1\n2 1 0 1 AND\n", 4, "6 fields"),
    ("bristol", "2 3\n1 2\n1 1\n2 1 0 1 2 AND\n", 1, "2 gates, but 1 follow"),
    ("bristol", "1 3\n2 2 5 7\n1 1\n2 1 0 1 2 AND\n", 2, "older Bristol format"),
    ("bristol", "2 4\n1 2\n1 1\n2 1 0 3 2 AND\n1 1 2 3 INV\n", 5, "w3 → w2 → w3 form a cycle"),
    ("bristol", "1 4\n1 2\n1 1\n2 1 0 3 2 AND\n", 4, "which nothing drives"),
    ("bristol", "2 3\n1 2\n1 1\n2 1 0 1 2 AND\n1 1 0 2 INV\n", 5, "driven by two gates"),
    ("bristol", "1 3\n1 2\n1 1\n2 1 0 x 2 AND\n", 4, "a wire should be a number"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line", "message"), BAD)
def test_an_error_is_reported_with_file_and_line(name: str, text: str, line: int, message: str) -> None:
    with pytest.raises((SourceError, InvalidError)) as caught:
        read(text, name)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"here.{name}:{line}")


def test_a_field_that_is_wrong_has_a_caret() -> None:
    with pytest.raises(SourceError) as caught:
        read("1 3\n1 2\n1 1\n2 1 0 x 2 AND\n", "bristol")
    assert "    2 1 0 x 2 AND\n          ^" in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_far_too_long_is_refused(name: str) -> None:
    with pytest.raises(SourceError, match="characters long"):
        read("#" * ((1 << 24) + 1), name)
