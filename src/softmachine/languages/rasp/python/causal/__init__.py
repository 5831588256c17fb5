"""RASP-L style: causal programs over arrays."""
