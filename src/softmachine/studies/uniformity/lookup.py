"""Printer of table-lookup circuits: a function on O(log n) bits is a circuit of depth 3 (Lemma B.1).

A logarithmic-space machine prints it. "Revisiting Padded Transformer Expressivity" uses the lemma to move position
encodings and parameters into circuits: a function of few bits is a table, and a table is an OR of ANDs. For k bits of
input and m of output there are k gates NOT, 2ᵏ gates AND, one per input, and m gates OR; with k ≤ c log₂ n these are
at most n^c + c log₂ n + m.
"""

from __future__ import annotations

from typing import Protocol

from softmachine.languages.circuit import Circuit, Gate, GateKind
from softmachine.studies.uniformity.library import bit, length, power_of_two, root
from softmachine.studies.uniformity.programs import Tapes


class Function(Protocol):
    """A function on bits, as programs: linear space in its argument is logarithmic space in n."""

    def bits(self, n: int) -> int:
        """Return the number of bits of the argument: at most c log₂ n."""
        ...

    def outputs(self, n: int) -> int:
        """Return the number of bits of the value."""
        ...

    def value(self, x: int) -> int:
        """Return the value of the function."""
        ...


class Square:
    """The square of a number of ⌊log₂ n⌋ + 1 bits."""

    @staticmethod
    def bits(n: int) -> int:
        """The bits of n."""
        return length(n)

    @staticmethod
    def outputs(n: int) -> int:
        """Twice as many."""
        return 2 * length(n)

    @staticmethod
    def value(x: int) -> int:
        """x²."""
        return x * x


class Root:
    """The integer square root of a number of ⌊log₂ n⌋ + 1 bits."""

    @staticmethod
    def bits(n: int) -> int:
        """The bits of n."""
        return length(n)

    @staticmethod
    def outputs(n: int) -> int:
        """Half as many, rounded up."""
        return (length(n) + 1) // 2

    @staticmethod
    def value(x: int) -> int:
        """⌊√x⌋."""
        return root(x)


def table(tape: Tapes, function: Function) -> None:
    """Print the circuit gate by gate: the kind, and the numbers of the arguments.

    Wires: the inputs, the lowest bit first; their negations; an AND for each argument; an OR for each bit of the value.
    """
    n = tape.unary()
    k = function.bits(n)
    arguments = power_of_two(k)
    for j in range(k):
        tape.line("NOT", j)
    for x in range(arguments):
        tape.put("AND")
        for j in range(k):
            tape.put(" ", j if bit(x, j) == 1 else k + j)
        tape.put("\n")
    for j in range(function.outputs(n)):
        tape.put("OR")
        for x in range(arguments):
            if bit(function.value(x), j) == 1:
                tape.put(" ", k + k + x)
        tape.put("\n")


def read(name: str, inputs: int, outputs: int, text: str) -> Circuit:
    """Parse a printed circuit; an empty OR is the constant 0."""
    names = [f"x{k}" for k in range(inputs)]
    gates = []
    for line in text.splitlines():
        kind, *arguments = line.split()
        wires = tuple(names[int(number, 2)] for number in arguments)
        gates.append(Gate(f"w{len(names)}", GateKind(kind) if wires else GateKind.ZERO, wires))
        names.append(gates[-1].name)
    return Circuit(name=name, inputs=tuple(names[:inputs]), gates=tuple(gates), outputs=tuple(names[-outputs:]))
