"""Walks of odd length, by two composed reductions to connectivity."""
