"""Sweeps in this process or on workers, part by part. Workers receive text and numbers, never weights."""
