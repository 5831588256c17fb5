"""Turing machines by binary addresses, exact in float32."""
