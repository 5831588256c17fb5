"""Temporal logic with the position encodings of the corollaries, and nothing more."""
