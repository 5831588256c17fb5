"""Theorem 8.2: every Turing machine, by average-hard attention."""
