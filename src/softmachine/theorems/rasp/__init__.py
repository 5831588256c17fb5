"""RASP."""
