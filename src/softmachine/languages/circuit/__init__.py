"""Boolean circuits: the data type, what a circuit computes, and the file formats people already use."""

from softmachine.languages.circuit.circuit import Circuit
from softmachine.languages.circuit.evaluate import evaluate, evaluate_many, evaluate_words, truth_table
from softmachine.languages.circuit.gates import Gate, GateKind

__all__ = ["Circuit", "Gate", "GateKind", "evaluate", "evaluate_many", "evaluate_words", "truth_table"]
