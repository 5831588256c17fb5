"""Transformers with exact weights: data types of weights, attention kinds and position features."""
