"""Languages of uniform circuit families, by reduction to circuit evaluation."""
