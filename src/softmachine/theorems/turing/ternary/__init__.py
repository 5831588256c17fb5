"""Turing machines in low precision: activations -1, 0 and 1 (Brösamle and Eckstein)."""
