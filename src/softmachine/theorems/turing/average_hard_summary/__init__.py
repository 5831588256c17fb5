"""Turing machines by average-hard attention with summaries: the context grows with the space, not the time."""
