"""Turing machines by counting: counter machines, C-RASP with chain of thought, softmax decoders."""
