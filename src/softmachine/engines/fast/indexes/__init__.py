"""Indexes that find the best keys: groups, tables, linear scan; growable arrays and the kernels that work on them."""
