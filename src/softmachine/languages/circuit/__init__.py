"""Boolean circuits: data type, evaluation, simplification, generators and the established file formats."""

from softmachine.languages.circuit.circuit import Circuit, CircuitBuilder, Gate, GateKind
from softmachine.languages.circuit.generators import (
    adder,
    comparator,
    lookahead_adder,
    majority,
    multiplier,
    parity,
    sorting_network,
    threshold,
)
from softmachine.languages.circuit.interpreter import evaluate, evaluate_many, evaluate_wires, truth_table
from softmachine.languages.circuit.structural_hashing import Basis, are_equivalent, simplify

__all__ = [
    "Circuit", "Gate", "GateKind", "CircuitBuilder",
    "evaluate", "evaluate_many", "evaluate_wires", "truth_table",
    "Basis", "simplify", "are_equivalent",
    "adder", "lookahead_adder", "multiplier", "comparator", "majority", "threshold", "parity", "sorting_network",
]  # fmt: skip
