"""Nondeterministic logspace machines, by reduction to connectivity."""
