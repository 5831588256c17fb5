"""Graph connectivity by doubling."""
