"""Temporal logic with counting."""
