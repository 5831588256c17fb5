"""Measurements: growth of families, Myhill–Nerode slices, formula search, cost of rewrites, and the atlas."""
