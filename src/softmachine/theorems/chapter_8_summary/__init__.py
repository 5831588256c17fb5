"""Theorem 8.2 with summaries: a context that grows with the space, not the time."""
