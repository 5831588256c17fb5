"""Printer of the transformer of Corollary 5.1: a family of circuits, reduced to circuit evaluation.

The programs show that the construction of Corollary 5.1 of "Revisiting Padded Transformer Expressivity" is L-uniform.
From 1ⁿ the first machine counts the gates and arguments of C_n, finds a T such that (w, ⟨C_n⟩) fits and ⌈log₂ T⌉^d
iterations suffice (Lemma C.2), and prints the evaluator for T tokens. The second machine finds the token at position i
(Lemma C.1): it enumerates the gates by the rules of the family and counts tokens; if position i is in the number of a
wire, it enumerates them again and counts wires.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from softmachine.languages.circuit import GateKind
from softmachine.languages.family import CircuitFamily
from softmachine.languages.family.family import INPUT_NAME, LENGTH_NAME, Rule
from softmachine.studies.uniformity import evaluator_printer, threshold_printer
from softmachine.studies.uniformity.circuit_binary_printer import address_bits
from softmachine.studies.uniformity.circuit_families import SUBROUTINES, generate_code, generate_loops, local_name
from softmachine.studies.uniformity.python_to_machine import GeneratedProgram
from softmachine.studies.uniformity.stdlib import TapeIO, get_bit, power, power_of_two
from softmachine.studies.uniformity.weight_printer import print_identity, print_signed_bits

ZERO, ONE, AND, OR, NOT, THR, AT_LEAST, ARGUMENT_NUMBER, GATE_NUMBER, INPUT_TOKEN, PADDING = range(11)
"""The tokens, and the kinds of positions without a token of ⟨C_n⟩."""
_TOKENS = {GateKind.AND: AND, GateKind.OR: OR, GateKind.NOT: NOT, GateKind.THR: THR}


class Reduction(Protocol):
    """Interface of a family to the programs; every method is a program."""

    exponent: int
    """The exponent d of the depth O(log^d n)."""
    has_thresholds: int
    """1 if gates have thresholds."""

    def count_gates(self, n: int) -> tuple[int, int]:
        """Return the number of gates and of arguments of C_n."""

    def max_depth(self, n: int) -> int:
        """Return an upper bound of the depth of C_n."""

    def locate_token(self, n: int, bits: int, i: int) -> tuple[int, int, int]:
        """Return the token at position i, or for a bit of a number its marker, the number and the offset."""


@dataclass(frozen=True)
class RuleReduction:
    """Reduction of a family given by rules. Its programs are generated from the rules."""

    exponent: int
    has_thresholds: int
    count_gates: GeneratedProgram
    max_depth: GeneratedProgram
    locate_token: GeneratedProgram


def reduce_family(family: CircuitFamily) -> RuleReduction | None:
    """Generate the programs of a family; None if it does not bound the depth of its circuits."""
    if family.max_depth is None:
        return None
    n = local_name(LENGTH_NAME)
    counts = int(family.has_threshold_gates)
    return RuleReduction(
        family.exponent,
        counts,
        GeneratedProgram(_generate_count(family), SUBROUTINES, (n,)),
        GeneratedProgram(f"return {generate_code(family.max_depth)}", SUBROUTINES, (n,)),
        GeneratedProgram(_generate_locate(family, counts), SUBROUTINES, (n, "bits", "i")),
    )


def _generate_count(family: CircuitFamily) -> str:
    lines = ["gates = 0", "arguments = 0"]
    for rule in family.rules:
        body = ["gates += 1"]
        for argument in rule.arguments:
            body += generate_loops(argument.ranges, argument.conditions, ["arguments += 1"])
        lines += generate_loops(rule.ranges, rule.conditions, body)
    return "\n".join([*lines, "return gates, arguments"])


def _generate_locate(family: CircuitFamily, counts: int) -> str:
    """Generate the program that finds the token at position i, and inside a number the number and the offset."""
    n = local_name(LENGTH_NAME)
    wires = {INPUT_NAME: 1} | {wire: 2 + k for k, wire in enumerate(sorted({rule.wire.name for rule in family.rules}))}
    arity = max(len(part.indices) for rule in family.rules for part in (rule.wire, *rule.arguments))
    lines = [f"token = {INPUT_TOKEN} if i < {n} else {PADDING}", "number = 0", "offset = 0", "wanted = 0"]
    lines += [f"index_{k} = 0" for k in range(arity)]
    lines += [f"here = {n}", f"gate = {n}"]
    for rule in family.rules:
        lines += generate_loops(rule.ranges, rule.conditions, _generate_tokens(rule, wires, counts))
    again = ["number = index_0", f"gate = {n}"]
    for rule in family.rules:
        indices = [f"{generate_code(index)} == index_{k}" for k, index in enumerate(rule.wire.indices)]
        same = " and ".join([f"wanted == {wires[rule.wire.name]}", *indices])
        again += generate_loops(rule.ranges, rule.conditions, [f"if {same}:", "    number = gate", "gate += 1"])
    lines += ["if wanted > 0:", *(f"    {line}" for line in again)]
    return "\n".join([*lines, "return token, number, offset"])


def _generate_tokens(rule: Rule, wires: dict[str, int], counts: int) -> list[str]:
    """Generate code that counts the tokens of a gate: its type, its threshold, and two numbers per argument."""
    lines = ["if i == here:", f"    token = {_TOKENS[rule.kind]}", "here += 1"]
    if counts:
        lines += _generate_number(AT_LEAST, _generate_threshold(rule))
    for argument in rule.arguments:
        seen = [f"wanted = {wires[argument.name]}"]
        seen += [f"index_{k} = {generate_code(index)}" for k, index in enumerate(argument.indices)]
        both = _generate_number(ARGUMENT_NUMBER, seen) + _generate_number(GATE_NUMBER, ["number = gate"])
        lines += generate_loops(argument.ranges, argument.conditions, both)
    return [*lines, "gate += 1"]


def _generate_number(mark: int, seen: list[str]) -> list[str]:
    """Generate code that counts a marker and the bits of a number, and runs ``seen`` if position i is one of them."""
    body = [f"token = {mark}", "offset = i - here", *seen]
    return ["if i >= here and i <= here + bits:", *(f"    {line}" for line in body), "here += bits + 1"]


def _generate_threshold(rule: Rule) -> list[str]:
    """Generate code that computes the threshold of a gate: given for THR, the fan-in for AND, otherwise 1."""
    if rule.threshold is not None:
        return [f"number = {generate_code(rule.threshold)}"]
    if rule.kind is not GateKind.AND:
        return ["number = 1"]
    lines = ["number = 0"]
    for argument in rule.arguments:
        lines += generate_loops(argument.ranges, argument.conditions, ["number += 1"])
    return lines


def count_positions(family: Reduction, n: int) -> int:
    """Return a T such that (w, ⟨C_n⟩) fits and ⌈log₂ T⌉^d iterations suffice (Lemma C.2 of Svete et al. 2026)."""
    gates, arguments = family.count_gates(n)
    found = find_fitting_length(n, n, gates, arguments, family.has_thresholds)
    while power(address_bits(found), family.exponent) < family.max_depth(n):
        found = find_fitting_length(power_of_two(address_bits(found)) + 1, n, gates, arguments, family.has_thresholds)
    return found


def find_fitting_length(found: int, n: int, gates: int, arguments: int, counts: int) -> int:
    """Return the smallest length, at least ``found``, that the gates and arguments fit in."""
    needed = count_tokens(address_bits(found), n, gates, arguments, counts)
    while needed > found:
        found = needed
        needed = count_tokens(address_bits(found), n, gates, arguments, counts)
    return found


def count_tokens(p: int, n: int, gates: int, arguments: int, counts: int) -> int:
    """Return the number of tokens of the inputs, gates and arguments, with numbers of p bits."""
    more = gates * (p + 1) if counts == 1 else 0
    return n + gates + more + arguments * (2 * p + 2)


def token_at(family: Reduction, n: int, p: int, i: int) -> int:
    """Return the token at position i."""
    found, number, offset = family.locate_token(n, p, i)
    if offset > 0:
        found = get_bit(number, p - offset)
    return found


def print_weights(tape: TapeIO, family: Reduction) -> None:
    """Print the weights for n letters in constant precision, from 1ⁿ (M₁; Theorem 5.1 (a) of Svete et al. 2026)."""
    n = tape.unary()
    p = address_bits(count_positions(family, n))
    tape.put(
        f"width {evaluator_printer.wires_offset(p) + 6:b}\n"
        "tokens 11\n"
        "embedding 1 0 1\n"
        f"embedding 1 {evaluator_printer.wires_offset(p):b} 1\n"
        f"features {5 * p + 11:b}\n"
    )
    print_identity(tape, 0, 3 * p, 1)
    flag = 3 * p
    tape.put(
        f"positions {flag:b} {evaluator_printer.marks_offset(p):b} 1\n"
        f"positions {flag + 1:b} {evaluator_printer.marks_offset(p) + 2:b} 1\n"
        f"positions {flag + 2:b} {evaluator_printer.ones_offset(p):b} 1\n"
        f"positions {flag + 3:b} {evaluator_printer.gates_offset(p):b} 1\n"
    )
    print_negative_features(tape, flag + 3, evaluator_printer.queries_offset(p), p)
    print_negative_features(tape, flag + 3, evaluator_printer.sources_offset(p) + 2 * p, 2 * p)
    tape.put(
        f"positions {flag + 4:b} {evaluator_printer.gates_offset(p) + 1:b} 1\n"
        f"positions {flag + 5:b} {evaluator_printer.gates_offset(p) + 2:b} 1\n"
    )
    print_negative_features(tape, flag + 5, evaluator_printer.queries_offset(p), p)
    print_negative_features(tape, flag + 5, evaluator_printer.targets_offset(p) + 2 * p, p)
    print_negative_features(tape, flag + 5, evaluator_printer.sources_offset(p) + 2 * p, p)
    print_negative_features(tape, flag + 6, evaluator_printer.queries_offset(p), p)
    print_negative_features(tape, flag + 6, evaluator_printer.sources_offset(p) + 2 * p, p)
    print_identity(tape, flag + 7, 2, evaluator_printer.queries_offset(p) + p)
    print_identity(tape, flag + 9, p, evaluator_printer.targets_offset(p))
    print_identity(tape, flag + 9 + p, p, evaluator_printer.sources_offset(p))
    print_identity(tape, flag + 9 + 2 * p, 2, evaluator_printer.wires_offset(p) + 4)
    evaluator_printer.print_layers(tape, p, power(p, family.exponent))


def print_negative_features(tape: TapeIO, feature: int, first: int, count: int) -> None:
    """Print the weights that subtract a feature from ``count`` coordinates."""
    for k in range(count):
        tape.put(f"positions {feature:b} {first + k:b} -1\n")


def print_features(tape: TapeIO, family: Reduction) -> None:
    """Print the features of position i in constant precision, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    length = count_positions(family, n)
    p = address_bits(length)
    token = token_at(family, n, p, i)
    evaluator_printer.print_positions(tape, length, p, i)
    tape.put(
        f"{token in (ARGUMENT_NUMBER, GATE_NUMBER):b}\n"
        f"{token in (ZERO, ONE):b}\n"
        f"{token == ONE:b}\n"
        f"{token in (AND, OR, NOT):b}\n"
        f"{token == INPUT_TOKEN:b}\n"
        f"{token == ARGUMENT_NUMBER:b}\n"
        f"{token in (ZERO, ONE, GATE_NUMBER, PADDING):b}\n"
        f"{token == OR:b}\n"
        f"{token in (AND, NOT):b}\n"
    )
    print_signed_bits(tape, evaluator_printer.clip_position(i + 2 * p + 1, length), p)
    print_signed_bits(tape, evaluator_printer.clip_position(i + p, length), p)
    tape.put(f"{token in (AND, OR):b}\n{token == NOT:b}\n")


def print_threshold_weights(tape: TapeIO, family: Reduction) -> None:
    """Print the weights for n letters in constant width, from 1ⁿ (M₁; Theorem 5.1 (b) of Svete et al. 2026)."""
    n = tape.unary()
    p = address_bits(count_positions(family, n))
    nowhere = power_of_two(p + p)
    tape.put("width 100001\ntokens 11\n")
    for token in range(3):
        if token == 1:
            tape.put(f"embedding {token:b} 0 1\n")
        tape.put(f"embedding {token:b} 10001 {nowhere:b}\nembedding {token:b} 10111 {nowhere:b}\n")
        if token == 1:
            tape.put(f"embedding {token:b} 11000 1\n")
    tape.put("features 1110\n")
    print_identity(tape, 0, 4, 1)
    print_identity(tape, 4, 2, 7)
    tape.put(
        "positions 110 1010 1\n"
        f"positions 110 10001 -{nowhere:b}\n"
        f"positions 110 10111 -{nowhere:b}\n"
        "positions 110 11101 1/10\n"
        "positions 111 1100 1\n"
        "positions 1000 1110 1\n"
        f"positions 1000 10001 -{nowhere:b}\n"
        "positions 1001 10010 1\n"
        "positions 1010 10101 1\n"
        f"positions 1010 10111 -{nowhere:b}\n"
        "positions 1011 11011 1\n"
    )
    print_identity(tape, 12, 2, 31)
    threshold_printer.print_layers(tape, p, power(p, family.exponent))


def print_threshold_features(tape: TapeIO, family: Reduction) -> None:
    """Print the features of position i in constant width, from 1ⁿ and i in binary (machine M₂)."""
    n = tape.unary()
    i = tape.binary()
    length = count_positions(family, n)
    p = address_bits(length)
    token = token_at(family, n, p, i)
    threshold_printer.print_positions(tape, length, p, i)
    tape.put(
        f"{token == ONE:b}\n"
        f"{token in (ZERO, ONE):b}\n"
        f"{token in (AND, OR, NOT, THR):b}\n"
        f"{evaluator_printer.clip_position(i + 2 * p + 1, length):b}\n"
        f"{token == ARGUMENT_NUMBER:b}\n"
        f"{evaluator_printer.clip_position(i + p, length):b}\n"
        f"{token == INPUT_TOKEN:b}\n"
        f"{evaluator_printer.clip_position(i + p + 1, length):b}\n"
        f"{token in (AND, OR, THR):b}\n"
        f"{token == NOT:b}\n"
    )
