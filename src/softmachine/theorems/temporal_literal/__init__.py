"""Temporal logic with exactly the position encodings of the corollaries of Yang et al. 2024."""
