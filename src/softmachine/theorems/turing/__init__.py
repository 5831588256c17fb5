"""Turing."""
