"""Turing machines that only read, by reduction to connectivity."""
