"""Standard library of the programs that machines are compiled from: tape interface, arithmetic, table lookup.

A program is an ordinary function in a subset of Python in which every variable is a natural number. It can be typed and
run as Python (:class:`PythonTapes`), and is compiled to a machine
(:mod:`softmachine.studies.uniformity.python_to_machine`) with one work tape per live variable. Supported are ``=``,
``+=``, ``-=``, ``if``, ``while``, ``for … in range(…)``, ``+``, ``-``, ``*``, ``//``, ``%``, comparisons, ``and``,
``or``, ``not``, calls of other such functions, and one ``return`` at the end. A text that is printed is a string or an
f-string with numbers in binary (``{x:b}``). There is no recursion, no list and no other value larger than a number, so
all memory is explicit and can be counted.

The arithmetic subroutines are linear or quadratic in the number of bits.

Table lookup is a circuit of depth 3 for any function on O(log n) bits (Lemma B.1); a logarithmic-space machine prints
it. "Revisiting Padded Transformer Expressivity" uses the lemma to move position encodings and parameters into circuits:
a function of few bits is a table, and a table is an OR of ANDs. For k bits of input and m of output there are k gates
NOT, 2ᵏ gates AND, one per input, and m gates OR; with k ≤ c log₂ n these are at most n^c + c log₂ n + m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from softmachine.languages.circuit import Circuit, Gate, GateKind


def multiply(a: int, b: int) -> int:
    """Multiply by shift and add."""
    total = 0
    while b > 0:
        if b % 2 == 1:
            total += a
        a += a
        b //= 2
    return total


def divide(a: int, b: int) -> tuple[int, int]:
    """Return quotient and remainder, by long division."""
    quotient = 0
    place = 1
    while b <= a:
        b += b
        place += place
    while place > 1:
        b //= 2
        place //= 2
        quotient += quotient
        if b <= a:
            a -= b
            quotient += 1
    return quotient, a


def bit_length(x: int) -> int:
    """Return the number of bits of x: ⌈log₂(x + 1)⌉."""
    bits = 0
    while x > 0:
        x //= 2
        bits += 1
    return bits


def power_of_two(k: int) -> int:
    """Return 2 to the power k."""
    power = 1
    while k > 0:
        power += power
        k -= 1
    return power


def power(base: int, exponent: int) -> int:
    """Return a power, for an exponent of O(log log n) bits."""
    found = 1
    while exponent > 0:
        found = found * base
        exponent -= 1
    return found


def ceil_log2(x: int) -> int:
    """Return ⌈log₂ x⌉, and 0 for 0."""
    if x > 0:
        x -= 1
    return bit_length(x)


def monus(a: int, b: int) -> int:
    """Return the difference, truncated at 0 (monus)."""
    return a - b if a > b else 0


def get_bit(x: int, k: int) -> int:
    """Return bit k of a number."""
    while k > 0:
        x //= 2
        k -= 1
    return 1 if x % 2 == 1 else 0


def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b > 0:
        rest = a % b
        a = b
        b = rest
    return a


def isqrt(x: int) -> int:
    """Return ⌊√x⌋, bit by bit: a bit is kept if the square does not exceed x."""
    place = 1
    while place <= x:
        place += place
        place += place
    found = 0
    while place > 1:
        place //= 2
        place //= 2
        tried = found + place
        found //= 2
        if tried <= x:
            x -= tried
            found += place
    return found


Program = Callable[..., None]


class TapeIO(Protocol):
    """Input and output tapes of a program."""

    def unary(self) -> int:
        """Read a number in unary from the input tape."""

    def binary(self) -> int:
        """Read a number in binary from the input tape."""

    def put(self, text: str) -> None:
        """Print a text; numbers in it are in binary, ``{x:b}``."""


class PythonTapes:
    """Tapes for running a program as Python: the reference for the compiled machine.

    Args:
        number: The number in unary.
        more: The numbers in binary.
    """

    def __init__(self, number: int, *more: int) -> None:
        self._unary = number
        self._binary = list(more)
        self.text = ""

    def unary(self) -> int:
        """Read a number in unary from the input tape."""
        return self._unary

    def binary(self) -> int:
        """Read a number in binary from the input tape."""
        return self._binary.pop(0)

    def put(self, text: str) -> None:
        """Print a text."""
        self.text += text


def run_in_python(program: Program, given: Iterable[object], number: int, *more: int) -> str:
    """Run a program as Python and return its output; ``given`` are its other arguments, such as a circuit family."""
    paper = PythonTapes(number, *more)
    program(paper, *given)
    return paper.text


class BitFunction(Protocol):
    """A function on bits, as programs: linear space in its argument is logarithmic space in n."""

    def bits(self, n: int) -> int:
        """Return the number of bits of the argument: at most c log₂ n."""

    def outputs(self, n: int) -> int:
        """Return the number of bits of the value."""

    def value(self, x: int) -> int:
        """Return the value of the function."""


def print_table(tape: TapeIO, function: BitFunction) -> None:
    """Print the circuit gate by gate: the kind, and the numbers of the arguments.

    Wires: the inputs, the lowest bit first; their negations; an AND for each argument; an OR for each bit of the value.
    """
    n = tape.unary()
    k = function.bits(n)
    arguments = power_of_two(k)
    for j in range(k):
        tape.put(f"NOT {j:b}\n")
    for x in range(arguments):
        tape.put("AND")
        for j in range(k):
            tape.put(f" {j if get_bit(x, j) == 1 else k + j:b}")
        tape.put("\n")
    for j in range(function.outputs(n)):
        tape.put("OR")
        for x in range(arguments):
            if get_bit(function.value(x), j) == 1:
                tape.put(f" {k + k + x:b}")
        tape.put("\n")


def parse_circuit(name: str, inputs: int, outputs: int, text: str) -> Circuit:
    """Parse a printed circuit; an empty OR is the constant 0."""
    names = [f"x{k}" for k in range(inputs)]
    gates = []
    for line in text.splitlines():
        kind, *arguments = line.split()
        wires = tuple(names[int(number, 2)] for number in arguments)
        gates.append(Gate(f"w{len(names)}", GateKind(kind) if wires else GateKind.ZERO, wires))
        names.append(gates[-1].name)
    return Circuit(name=name, inputs=tuple(names[:inputs]), gates=tuple(gates), outputs=tuple(names[-outputs:]))
