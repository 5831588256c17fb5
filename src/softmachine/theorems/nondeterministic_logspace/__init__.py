"""Machines that guess in logarithmic space, by reduction to connectivity."""
