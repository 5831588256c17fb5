"""Boolean circuits in padded transformers (Svete et al. 2026)."""
