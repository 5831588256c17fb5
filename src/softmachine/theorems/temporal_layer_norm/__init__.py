"""Temporal logic with counting by hard attention and layer norm."""
