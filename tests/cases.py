"""One table of cases, which run at every level: every theorem, with inputs and what should come of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from softmachine.theorems.codec import Outcome

Examples: TypeAlias = tuple[tuple[str, str], ...]
"""Inputs, each with a verdict, and after a blank the output or the value at every symbol."""


@dataclass(frozen=True)
class Case:
    """A model, and what should come of some inputs.

    Args:
        source: The name of a zoo entry, or a text in one line.
        theorem: What it is compiled by.
        attention: "hard" or "soft".
        examples: Inputs, and what should come of them.
        length: The length that the weights are made for, if they depend on one.
        positions: How many positions a stock checkpoint of it has; 0 if there cannot be one.
    """

    source: str
    theorem: str
    attention: str
    examples: Examples
    length: int | None = None
    positions: int = 0

    def __str__(self) -> str:
        return f"{self.theorem}-{self.attention}-{self.source}"


def told(outcome: Outcome) -> str:
    """What an outcome comes to, as the table has it."""
    values = [str(int(value)) if isinstance(value, bool) else value for value in outcome.values or ()]
    return " ".join(filter(None, (outcome.verdict, outcome.output or "".join(values))))


INCREMENT = (("", "halt 1"), ("1", "halt 10"), ("101", "halt 110"))
PALINDROME = (("", "accept"), ("ab", "reject b"), ("aba", "accept"))
TWO_TAPES = (("", "accept"), ("ab", "reject ab"), ("aba", "accept aba"))
SINCE = (("b", "accept 1"), ("ab", "accept 01"), ("aba", "accept 011"), ("baba", "accept 1111"), ("aa", "reject 00"))
DYCK = (("", "accept"), ("()", "accept 01"), ("())(", "reject 0100"))
MAJORITY = (("", "reject"), ("a", "accept 1"), ("abb", "reject 100"), ("aab", "accept 111"))
PARITY = (("", "reject a=0 b=0"), ("a", "accept a=1 b=0"), ("aba", "reject a=0 b=1"))
ADD = (("000", "halt 00"), ("110", "halt 10"), ("111", "halt 11"))
AND_OR = (("000", "reject 0"), ("110", "accept 1"), ("001", "accept 1"))

CASES = (
    Case("increment", "turing-average-hard", "hard", INCREMENT, positions=16),
    Case("two-tape-palindrome", "turing-average-hard", "hard", TWO_TAPES, positions=32),
    Case("increment", "turing-average-hard-summary", "hard", INCREMENT),
    Case("increment", "turing-ternary", "hard", INCREMENT, length=32),
    Case("increment", "turing-ternary", "soft", INCREMENT[:2], length=32, positions=32),
    Case("increment", "turing-ternary-summary", "hard", INCREMENT, length=32),
    Case("increment", "turing-binary-address", "hard", INCREMENT, length=16, positions=16),
    Case("palindrome", "turing-residue-address", "hard", PALINDROME, length=16, positions=16),
    Case("increment", "turing-residue-address-no-positions", "hard", INCREMENT, length=16, positions=16),
    Case("power-of-two", "turing-counter", "soft", (("1", "accept"), ("", "reject")), positions=16),
    Case("palindrome", "turing-counter-relative-bias", "soft", (("", "accept"),)),
    Case("parity", "turing-configuration-graph", "hard", (("", "reject"),), length=0),
    Case("parity", "automaton-layer-norm", "hard", (("1", "accept 1"), ("11", "reject 10"), ("101", "reject 110"))),
    Case("Q_a since Q_b", "temporal-encoder", "hard", SINCE, positions=8),
    Case("Q_a since Q_b", "temporal-encoder", "soft", SINCE, positions=8),
    Case(
        "Q_a until Q_b",
        "temporal-encoder-unbounded-positions",
        "soft",
        (("ab", "accept 11"), ("ba", "reject 10")),
        positions=8,
    ),
    Case("Q_a since Q_b", "temporal-masked", "hard", SINCE, positions=8),
    Case("Q_a since Q_b", "temporal-masked-unbounded-positions", "soft", SINCE, positions=8),
    Case(
        "Q_b or prev Q_a",
        "temporal-encoder-paper-positions",
        "hard",
        (("ab", "accept 01"), ("baa", "accept 101")),
        positions=8,
    ),
    Case(
        "Q_b and next Q_a",
        "temporal-encoder-paper-positions",
        "soft",
        (("ab", "reject 00"), ("baa", "reject 100")),
        positions=8,
    ),
    Case("Q_a since Q_b", "temporal-masked-paper-positions", "soft", SINCE, positions=8),
    Case("Q_a and next Q_b", "temporal-encoder-unbounded-paper-positions", "soft", (("ab", "reject 10"),), positions=8),
    Case("Q_a since Q_b", "temporal-masked-unbounded-paper-positions", "soft", SINCE, positions=8),
    Case("Q_a since Q_b", "temporal-unique-hard", "hard", SINCE, positions=8),
    Case("Q_a until Q_b", "temporal-unique-hard", "hard", (("ab", "accept 11"), ("ba", "reject 10")), positions=8),
    Case("Q_a since Q_b", "temporal-layer-norm", "hard", SINCE),
    Case("#<[Q_a] > #<[Q_b]", "temporal-layer-norm", "hard", MAJORITY[1:]),
    Case("reverse-program", "srasp", "hard", (("abc", "halt cba"), ("ab", "halt ba")), positions=8),
    Case("dyck-1-program", "srasp", "soft", DYCK[1:], positions=8),
    Case("reverse-rasp", "rasp", "hard", (("abc", "halt cba"), ("ab", "halt ba")), positions=8),
    Case("histogram-rasp", "rasp-causal", "hard", (("aba", "halt 112"), ("bb", "halt 12")), positions=8),
    Case("parity-scratchpad-rasp", "rasp-generate", "hard", (("10|", "halt 11"), ("0|", "halt 0")), positions=12),
    Case("dyck-1-crasp", "crasp", "soft", DYCK, positions=8),
    Case("dyck-1-crasp", "crasp", "hard", DYCK, positions=8),
    Case("dyck-1-crasp", "crasp-layer-norm", "soft", DYCK),
    Case("dyck-1-crasp", "crasp-layer-norm", "hard", DYCK),
    Case("majority-crasp", "crasp-relu", "soft", MAJORITY, positions=8),
    Case("dyck-1-crasp", "crasp-relu-max-length", "soft", DYCK, length=8, positions=8),
    Case("parity-counter", "counter", "soft", PARITY, positions=16),
    Case("parity-counter", "counter-relu", "hard", PARITY, positions=16),
    Case("parity-counter", "counter-relu-max-length", "soft", PARITY, length=16, positions=16),
    Case("full-adder", "circuit-and-or-not", "hard", ADD, positions=64),
    Case("full-adder", "circuit-and-or-not", "soft", ADD, positions=64),
    Case("and-or", "circuit-threshold", "hard", AND_OR, positions=64),
    Case("and-or", "circuit-evaluator", "soft", AND_OR, length=80, positions=80),
    Case("and-or", "circuit-evaluator-threshold", "hard", AND_OR, length=110, positions=110),
    Case("parity-family", "uniform-circuits", "hard", (("1", "accept"), ("0", "reject")), length=1),
    Case("parity-family", "uniform-circuits-threshold", "soft", (("1", "accept"), ("0", "reject")), length=1),
    Case("anbn-logspace", "nl-configuration-graph", "hard", (("a", "reject"), ("b", "reject")), length=1),
    Case("one-street", "odd-walks", "hard", (("there back", "accept"), ("back back", "reject")), positions=112),
    Case("koenigsberg", "connectivity", "hard", (("altstadt lomse", "accept"),), positions=80),
)
