"""Circuits."""
