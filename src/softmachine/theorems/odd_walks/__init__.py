"""A chain of two reductions below connectivity: walks of odd length."""
