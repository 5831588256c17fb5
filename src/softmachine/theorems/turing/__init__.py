"""Turing machines by counting alone."""
