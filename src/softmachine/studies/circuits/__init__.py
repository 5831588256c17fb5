"""Transformers as threshold circuits: the other direction of the equivalence."""

from softmachine.studies.circuits.circuit import TransformerCircuit, to_circuit

__all__ = ["TransformerCircuit", "to_circuit"]
