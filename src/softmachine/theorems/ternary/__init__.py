"""Every Turing machine in low precision: activations -1, 0 and 1."""
