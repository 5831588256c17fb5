"""Finite automata in logarithmically many iterations, with one set of weights and no position features."""
