"""The dense engine: computes every score, in any arithmetic; the reference for all other engines."""
