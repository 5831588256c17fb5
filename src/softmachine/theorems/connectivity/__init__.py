"""Graph connectivity by repeated squaring of paths (Theorem C.1 of Svete et al. 2026)."""
