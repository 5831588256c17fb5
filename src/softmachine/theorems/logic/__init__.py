"""Logic."""
