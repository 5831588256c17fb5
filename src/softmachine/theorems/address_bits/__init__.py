"""Turing machines by addresses in binary, for float32."""
