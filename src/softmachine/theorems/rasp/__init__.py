"""Rasp."""
