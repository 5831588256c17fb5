"""Read-only Turing machines, by reduction to connectivity."""
