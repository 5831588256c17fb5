"""Conversion of transformers to threshold circuits: the converse of compiling circuits."""

from softmachine.studies.circuits.conversion import TransformerCircuit, to_circuit

__all__ = ["TransformerCircuit", "to_circuit"]
