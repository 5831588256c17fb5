"""Measurements: how families grow, Myhill–Nerode slices, the atlas, and their pictures."""
