"""Boolean circuits in padded transformers."""
