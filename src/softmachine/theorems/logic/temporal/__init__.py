"""Temporal logic with counting, in encoders and in future-masked transformers."""
